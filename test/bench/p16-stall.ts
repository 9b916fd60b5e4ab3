/** P16: how long the event loop stands still while 64 callers append: by the histogram of Node and by a timer of 1 ms. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { openLedger } from "../../src/index.js";
import { jobEvent, jobEvents } from "./harness/events.js";
import { Jobs } from "./harness/jobs.js";
import type { Measure } from "./harness/measure.js";
import { most, short } from "./harness/report.js";
import type { Line } from "./harness/report.js";
import { callers, latency, oneCaller, rate } from "./harness/rounds.js";
import { percentile, spread } from "./harness/statistics.js";
import { overwriteBlocks } from "./limits/raw-disk.js";
import { warmUp } from "./harness/warm-up.js";

const callerCount = 64;

interface Stall {
  readonly p99Ms: number;
  readonly maxMs: number;
}

export const stallMeasure: Measure = {
  ids: ["P16"],
  title: `stalls of the event loop while ${callerCount} callers append`,
  async run({ settings, scratch }) {
    const raw = overwriteBlocks(scratch.path("raw"));
    const ledger = await openLedger(scratch.path("stall.ledger"), { events: [jobEvents] });
    await warmUp(ledger);
    const jobs = new Jobs(callerCount);
    let next = 0;
    const byHistogram: Stall[] = [];
    const byProbe: Stall[] = [];
    const appended: number[] = [];
    const rawP50Ms: number[] = [];
    for (let round = 0; round <= settings.rounds; round++) {
      const rawSample = await oneCaller(50, () => raw.write());
      const histogram = monitorEventLoopDelay({ resolution: 1 });
      const probe = startProbe();
      histogram.enable();
      const sample = await callers(callerCount, settings.turnMs * 2, (caller) =>
        ledger.append(jobs.next(caller), [jobEvent(next++)]),
      );
      histogram.disable();
      const probed = probe.stop();
      if (round === 0) continue;
      rawP50Ms.push(latency(50)(rawSample));
      byHistogram.push({ p99Ms: histogram.percentile(99) / 1e6, maxMs: histogram.max / 1e6 });
      byProbe.push(probed);
      appended.push(rate(sample));
    }
    await ledger.close();
    raw.close();
    const line = (what: string, stalls: readonly Stall[]): Line => ({
      id: "P16",
      what,
      value: spread(stalls.map(({ p99Ms }) => p99Ms)),
      unit: " ms",
      target: most(20, 10),
      rawP50Ms: spread(rawP50Ms).median,
      note: `maximum ${short(Math.max(...stalls.map(({ maxMs }) => maxMs)))} ms, at ${short(spread(appended).median)} appends/s`,
    });
    return [
      line("stall p99 by the event loop's histogram", byHistogram),
      line("stall p99 by a timer of 1 ms", byProbe),
    ];
  },
};

/** A timer of 1 ms: what lies between two of its calls beyond that is the stall. */
function startProbe(): { stop(): Stall } {
  const stalls: number[] = [];
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    stalls.push(now - last - 1);
    last = now;
  }, 1);
  return {
    stop() {
      clearInterval(timer);
      stalls.push(performance.now() - last - 1); // the stall that lasts until now
      const ascending = stalls.sort((left, right) => left - right);
      return { p99Ms: percentile(ascending, 99), maxMs: ascending.at(-1)! };
    },
  };
}
