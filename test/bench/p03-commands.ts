/** P3 and P4 for commands: 64 callers, each of which waits for its command before it sends the next. */
import { openPerCallStore } from "./limits/per-call-store.js";
import { overwriteBlocks } from "./limits/raw-disk.js";
import { jobEvent, jobStream } from "./harness/events.js";
import { jobLength, Jobs } from "./harness/jobs.js";
import type { Measure } from "./harness/measure.js";
import { least, most, short } from "./harness/report.js";
import { callers, interleave, latency, oneCaller, rate, ratio, spreadOf } from "./harness/rounds.js";
import { openRunLedger, step } from "./harness/run-area.js";
import { warmUp, warmUpCommands } from "./harness/warm-up.js";

const callerCount = 64;

export const concurrentCommandsMeasure: Measure = {
  ids: ["P3", "P4"],
  title: `durable commands that change two documents, ${callerCount} concurrent callers`,
  async run({ settings, scratch }) {
    const raw = overwriteBlocks(scratch.path("raw"));
    const perCall = openPerCallStore(scratch.path("per-call.db"));
    const ledger = await openRunLedger(scratch.path("many-commands.ledger"));
    await warmUp(ledger);
    await warmUpCommands(ledger);
    const jobs = new Jobs(callerCount);
    const perCallJobs = new Jobs(callerCount);
    for (const { stream, events } of perCallJobs.beginnings()) {
      for (let count = 0; count < events; count++) perCall.append(stream, jobEvent(count));
    }
    let next = 0;
    const samples = await interleave(
      {
        raw: () => oneCaller(settings.turnMs, () => raw.write()),
        many: () => callers(callerCount, settings.turnMs, (caller) => ledger.execute(step(jobs.next(caller), next++))),
        one: () => oneCaller(settings.turnMs, () => ledger.execute(step(jobStream(next % 64), next++))),
        perCall: () =>
          oneCaller(settings.turnMs, () => perCall.append(perCallJobs.next(next % callerCount), jobEvent(next++))),
      },
      settings.rounds,
    );
    await ledger.close();
    perCall.close();
    raw.close();
    const rawP50Ms = spreadOf(samples.raw, latency(50)).median;
    const perSecond = (name: keyof typeof samples): string => `${short(spreadOf(samples[name], rate).median)}/s`;
    const latencies = (percent: number): string => `${spreadOf(samples.many, latency(percent)).median.toFixed(2)} ms`;
    return [
      {
        id: "P3",
        what: "command, 64 callers / one caller",
        value: ratio(samples.many, rate, samples.one),
        target: least(6, 10),
        rawP50Ms,
        note: `${perSecond("many")} to ${perSecond("one")}`,
      },
      {
        id: "P3",
        what: "command, 64 callers / per-call store",
        value: ratio(samples.many, rate, samples.perCall),
        target: least(5.5, 15),
        rawP50Ms,
        note: `${perSecond("many")} to ${perSecond("perCall")}, runs of up to ${jobLength} events`,
      },
      {
        id: "P4",
        what: "its p50 / raw p50",
        value: ratio(samples.many, latency(50), samples.raw),
        target: most(18, 6),
        rawP50Ms,
        note: latencies(50),
      },
      {
        id: "P4",
        what: "its p99 / raw p50",
        value: ratio(samples.many, latency(99), samples.raw, latency(50)),
        target: most(120, 30),
        rawP50Ms,
        note: latencies(99),
      },
    ];
  },
};
