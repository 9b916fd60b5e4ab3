/** Interleaved rounds: every contender runs once a round, so that what the disk and the neighbours do hits all of them.
 *  Invariant: a ratio is taken within a round, from samples that lie next to each other; the first round only warms up. */
import { setTimeout as sleep } from "node:timers/promises";
import { percentile, spread } from "./statistics.js";
import type { Spread } from "./statistics.js";

/** What a contender did in one round. Latencies are in ms, ascending. */
export interface Sample {
  readonly operations: number;
  readonly elapsedMs: number;
  readonly latenciesMs: readonly number[];
}

/** One turn of a contender. */
export type Turn = () => Promise<Sample>;

/** The samples of each contender, one a round. */
export type Samples<Name extends string> = Readonly<Record<Name, readonly Sample[]>>;

/** What is collected between two rounds, so that no contender pays for what another one left. `young` keeps compiled code, as it
 *  is kept in a host at work. `all` throws away what was compiled for objects of which none is alive just then, and the first
 *  tenths of a second of the next turns go to compiling it again: it is for turns that are one long block of work. */
export type Collection = "young" | "all";

/** Runs the contenders in turns, forward in one round and backward in the next. */
export async function interleave<Name extends string>(
  turns: Readonly<Record<Name, Turn>>,
  rounds: number,
  collection: Collection = "young",
): Promise<Samples<Name>> {
  const names = Object.keys(turns) as Name[]; // the type has no other keys
  const samples = Object.fromEntries(names.map((name) => [name, [] as Sample[]])) as Record<Name, Sample[]>;
  for (let round = 0; round <= rounds; round++) {
    globalThis.gc?.({ type: collection === "all" ? "major" : "minor" });
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const sample = await turns[name]();
      if (round > 0) samples[name].push(sample);
      await sleep(5); // housekeeping that a ledger does after its last commit is not the next contender's
    }
  }
  return samples;
}

/** One caller that repeats an operation for so many ms. */
export async function oneCaller(ms: number, operation: () => unknown): Promise<Sample> {
  return callers(1, ms, operation);
}

/** Concurrent callers, each of which repeats for so many ms: call, wait for the answer. */
export function callers(count: number, ms: number, operation: (caller: number) => unknown): Promise<Sample> {
  return sideBySide(count, operation, (elapsedMs) => elapsedMs < ms);
}

/** Concurrent callers, each of which calls so many times: where the work is there in a number, and must not run out. */
export function callersTimes(count: number, times: number, operation: (caller: number) => unknown): Promise<Sample> {
  return sideBySide(count, operation, (_, calls) => calls < times);
}

async function sideBySide(
  count: number,
  operation: (caller: number) => unknown,
  goesOn: (elapsedMs: number, calls: number) => boolean,
): Promise<Sample> {
  const latenciesMs: number[] = [];
  const started = performance.now();
  let ended = started;
  const call = async (caller: number): Promise<void> => {
    let before = performance.now();
    for (let calls = 0; goesOn(before - started, calls); calls++) {
      await operation(caller);
      ended = performance.now();
      latenciesMs.push(ended - before);
      before = ended;
    }
  };
  await Promise.all(Array.from({ length: count }, (_, caller) => call(caller)));
  return {
    operations: latenciesMs.length,
    elapsedMs: ended - started,
    latenciesMs: latenciesMs.sort((left, right) => left - right),
  };
}

/** One block of work that counts as so many operations. */
export async function block(operations: number, work: () => unknown): Promise<Sample> {
  const started = performance.now();
  await work();
  const elapsedMs = performance.now() - started;
  return { operations, elapsedMs, latenciesMs: [elapsedMs] };
}

/** Operations a second. */
export function rate(sample: Sample): number {
  return (sample.operations / sample.elapsedMs) * 1_000;
}

/** A percentile of the latencies, as a figure to compare. */
export function latency(percent: number): (sample: Sample) => number {
  return (sample) => percentile(sample.latenciesMs, percent);
}

/** The figure of each round as a spread. */
export function spreadOf(samples: readonly Sample[], figure: (sample: Sample) => number): Spread {
  return spread(samples.map(figure));
}

/** Round by round one figure over another. */
export function ratio(
  over: readonly Sample[],
  figure: (sample: Sample) => number,
  under: readonly Sample[],
  underFigure: (sample: Sample) => number = figure,
): Spread {
  return spread(over.map((sample, round) => figure(sample) / underFigure(under[round]!)));
}
