/** P6: 64 workers, each of which claims an item, renews its claim and completes it, each when the one before it is on disk,
 *  against the per-call store; and the same on a long queue against the same on a short one. */
import { Backlog, openQueueLedger, warmUpQueue } from "./harness/backlog.js";
import type { Measure } from "./harness/measure.js";
import { PerCallBacklog } from "./harness/per-call-backlog.js";
import { least, short } from "./harness/report.js";
import { callersTimes, interleave, latency, oneCaller, rate, ratio, spreadOf } from "./harness/rounds.js";
import { warmUp } from "./harness/warm-up.js";
import { overwriteBlocks } from "./limits/raw-disk.js";

const workerCount = 64;
const queued = 1_000;

export const manyWorkersMeasure: Measure = {
  ids: ["P6"],
  title: `claim, renew and complete, durable, ${workerCount} workers`,
  async run({ settings, scratch, say }) {
    const raw = overwriteBlocks(scratch.path("raw"));
    const perCall = new PerCallBacklog(scratch.path("per-call.db"), queued);
    const open = async (size: number): Promise<{ backlog: Backlog; close: () => Promise<void> }> => {
      const ledger = await openQueueLedger(scratch.path(`${size}-queued.ledger`));
      const backlog = new Backlog(ledger, size);
      const started = performance.now();
      await backlog.fill(0);
      if (size > queued)
        say(`${short(size / ((performance.now() - started) / 1_000))} items enqueued a second, 1,000 a call`);
      await warmUp(ledger);
      await warmUpQueue(backlog);
      return { backlog, close: () => ledger.close() };
    };
    const few = await open(queued);
    const many = await open(settings.queued);
    const times = Math.ceil(settings.turnMs / 30);
    const workers = async ({ backlog }: typeof few) => {
      await backlog.fill(workerCount * times);
      return callersTimes(workerCount, times, (worker) => backlog.work(`worker-${worker}`));
    };
    const perCallItems = Math.ceil(settings.turnMs / 2);
    const samples = await interleave(
      {
        raw: () => oneCaller(settings.turnMs, () => raw.write()),
        few: () => workers(few),
        many: () => workers(many),
        perCall() {
          perCall.fill(perCallItems);
          return callersTimes(1, perCallItems, () => perCall.work("worker-0"));
        },
      },
      settings.rounds,
    );
    await few.close();
    await many.close();
    perCall.close();
    raw.close();
    const rawP50Ms = spreadOf(samples.raw, latency(50)).median;
    const perSecond = (name: keyof typeof samples): string => `${short(spreadOf(samples[name], rate).median)}/s`;
    return [
      {
        id: "P6",
        what: "claim + renew + complete, 64 workers / per-call store",
        value: ratio(samples.few, rate, samples.perCall),
        target: least(4, 12),
        rawP50Ms,
        note: `${perSecond("few")} to ${perSecond("perCall")}`,
      },
      {
        id: "P6",
        what: `the same, ${short(settings.queued)} queued / ${short(queued)} queued`,
        value: ratio(samples.many, rate, samples.few),
        target: least(0.7),
        rawP50Ms,
        note: `${perSecond("many")} to ${perSecond("few")}`,
      },
    ];
  },
};
