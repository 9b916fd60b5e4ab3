/** P5: one worker that claims an item, renews its claim and completes it, each when the one before it is on disk, against the
 *  three transactions of the per-call store. */
import { Backlog, openQueueLedger, warmUpQueue } from "./harness/backlog.js";
import type { Measure } from "./harness/measure.js";
import { PerCallBacklog } from "./harness/per-call-backlog.js";
import { least, short } from "./harness/report.js";
import { callersTimes, interleave, latency, oneCaller, rate, ratio, spreadOf } from "./harness/rounds.js";
import { warmUp } from "./harness/warm-up.js";
import { overwriteBlocks } from "./limits/raw-disk.js";

const queued = 1_000;

export const oneWorkerMeasure: Measure = {
  ids: ["P5"],
  title: "claim, renew and complete, durable, one worker",
  async run({ settings, scratch }) {
    const raw = overwriteBlocks(scratch.path("raw"));
    const perCall = new PerCallBacklog(scratch.path("per-call.db"), queued);
    const ledger = await openQueueLedger(scratch.path("worker.ledger"));
    const backlog = new Backlog(ledger, queued);
    await warmUp(ledger);
    await warmUpQueue(backlog);
    const items = Math.ceil(settings.turnMs / 2);
    const samples = await interleave(
      {
        raw: () => oneCaller(settings.turnMs, () => raw.write()),
        async ledger() {
          await backlog.fill(items);
          return callersTimes(1, items, () => backlog.work("worker-0"));
        },
        perCall() {
          perCall.fill(items);
          return callersTimes(1, items, () => perCall.work("worker-0"));
        },
      },
      settings.rounds,
    );
    await ledger.close();
    perCall.close();
    raw.close();
    const said = (name: "ledger" | "perCall"): string =>
      `${short(spreadOf(samples[name], rate).median)}/s, p50 ${spreadOf(samples[name], latency(50)).median.toFixed(2)} ms`;
    return [
      {
        id: "P5",
        what: "claim + renew + complete, one worker / per-call store",
        value: ratio(samples.ledger, rate, samples.perCall),
        target: least(0.55, 1),
        rawP50Ms: spreadOf(samples.raw, latency(50)).median,
        note: `${said("ledger")} to ${said("perCall")}`,
      },
    ];
  },
};
