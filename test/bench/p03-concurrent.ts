/** P3 and P4: 64 callers, each of which waits for its append before it sends the next, against the same ledger with one
 *  caller, against the per-call store on the same jobs, and against the latency of the raw disk. */
import { openLedger } from "../../src/index.js";
import { openPerCallStore } from "./limits/per-call-store.js";
import { overwriteBlocks } from "./limits/raw-disk.js";
import { jobEvent, jobEvents, jobStream } from "./harness/events.js";
import { jobLength, Jobs } from "./harness/jobs.js";
import type { Measure } from "./harness/measure.js";
import { least, most, short } from "./harness/report.js";
import { callers, interleave, latency, oneCaller, rate, ratio, spreadOf } from "./harness/rounds.js";
import { warmUp } from "./harness/warm-up.js";

const callerCount = 64;

export const concurrentMeasure: Measure = {
  ids: ["P3", "P4"],
  title: `durable appends, ${callerCount} concurrent callers`,
  async run({ settings, scratch, say }) {
    const raw = overwriteBlocks(scratch.path("raw"));
    const perCall = openPerCallStore(scratch.path("per-call.db"));
    const ledger = await openLedger(scratch.path("many.ledger"), { events: [jobEvents] });
    await warmUp(ledger);
    const ledgerJobs = new Jobs(callerCount);
    const perCallJobs = new Jobs(callerCount);
    for (const { stream, events } of perCallJobs.beginnings()) {
      for (let count = 0; count < events; count++) perCall.append(stream, jobEvent(count));
    }
    let next = 0;
    const turns = {
      raw: () => oneCaller(settings.turnMs, () => raw.write()),
      many: () =>
        callers(callerCount, settings.turnMs, (caller) => ledger.append(ledgerJobs.next(caller), [jobEvent(next++)])),
      one: () => oneCaller(settings.turnMs, () => ledger.append(jobStream(0), [jobEvent(next++)])),
      perCall: () =>
        oneCaller(settings.turnMs, () => perCall.append(perCallJobs.next(next % callerCount), jobEvent(next++))),
    };
    const samples = await interleave(turns, settings.rounds);
    say("emmett-sqlite not run: as shipped it opens a connection an append, and concurrent ones fail with SQLITE_BUSY");
    await ledger.close();
    perCall.close();
    raw.close();
    const rawP50Ms = spreadOf(samples.raw, latency(50)).median;
    const perSecond = (name: keyof typeof samples): string => `${short(spreadOf(samples[name], rate).median)}/s`;
    const latencies = (percent: number): string => `${spreadOf(samples.many, latency(percent)).median.toFixed(2)} ms`;
    const note = `jobs of up to ${jobLength} events`;
    return [
      {
        id: "P3",
        what: "plain append, 64 callers / one caller",
        value: ratio(samples.many, rate, samples.one),
        target: least(12, 25),
        rawP50Ms,
        note: `${perSecond("many")} to ${perSecond("one")}`,
      },
      {
        id: "P3",
        what: "plain append, 64 callers / per-call store",
        value: ratio(samples.many, rate, samples.perCall),
        target: least(18, 40),
        rawP50Ms,
        note: `${perSecond("many")} to ${perSecond("perCall")}, ${note}`,
      },
      {
        id: "P4",
        what: "its p50 / raw p50",
        value: ratio(samples.many, latency(50), samples.raw),
        target: most(5.5, 3),
        rawP50Ms,
        note: latencies(50),
      },
      {
        id: "P4",
        what: "its p99 / raw p50",
        value: ratio(samples.many, latency(99), samples.raw, latency(50)),
        target: most(22, 10),
        rawP50Ms,
        note: latencies(99),
      },
    ];
  },
};
