/** How long the event loop stands still: by the histogram of Node and by a timer of 1 ms. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Bench } from "./measure.js";
import { most, short } from "./report.js";
import type { Line } from "./report.js";
import { latency, oneCaller, rate, spreadOf } from "./rounds.js";
import type { Sample, Turn } from "./rounds.js";
import { percentile, spread } from "./statistics.js";
import { overwriteBlocks } from "../limits/raw-disk.js";

interface Stall {
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** The lines of P16 for a turn, in which some operations are done beside each other. */
export async function measureStalls(
  { settings, scratch }: Bench,
  {
    while: doing,
    prepare,
    turn,
  }: { readonly while: string; readonly prepare?: () => Promise<void>; readonly turn: Turn },
): Promise<readonly Line[]> {
  const raw = overwriteBlocks(scratch.path("raw"));
  const byHistogram: Stall[] = [];
  const byProbe: Stall[] = [];
  const samples: Sample[] = [];
  const rawSamples: Sample[] = [];
  for (let round = 0; round <= settings.rounds; round++) {
    await prepare?.();
    const rawSample = await oneCaller(50, () => raw.write());
    const histogram = monitorEventLoopDelay({ resolution: 1 });
    const probe = startProbe();
    histogram.enable();
    const sample = await turn();
    histogram.disable();
    const probed = probe.stop();
    if (round === 0) continue;
    rawSamples.push(rawSample);
    byHistogram.push({ p99Ms: histogram.percentile(99) / 1e6, maxMs: histogram.max / 1e6 });
    byProbe.push(probed);
    samples.push(sample);
  }
  raw.close();
  const line = (what: string, stalls: readonly Stall[]): Line => ({
    id: "P16",
    what,
    value: spread(stalls.map(({ p99Ms }) => p99Ms)),
    unit: " ms",
    target: most(20, 10),
    rawP50Ms: spreadOf(rawSamples, latency(50)).median,
    note: `maximum ${short(Math.max(...stalls.map(({ maxMs }) => maxMs)))} ms, at ${short(spreadOf(samples, rate).median)} ${doing}/s`,
  });
  return [line("stall p99 by the event loop's histogram", byHistogram), line("stall p99 by a timer of 1 ms", byProbe)];
}

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
