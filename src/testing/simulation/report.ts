/** How a simulation went, and how it is told when it went wrong. */
import type { Violation } from "./evidence.js";
import type { SimulatedStore } from "./world.js";

/** How a simulation went. @public */
export interface SimulationReport {
  /** Calls of the run queue, or the loop of workers. */
  readonly of: "calls" | "workers";
  readonly seed: number;
  /** `given`: the caller opened it. */
  readonly store: SimulatedStore | "given";
  readonly processes: number;
  /** Steps that ran. */
  readonly steps: number;
  /** By what callers were told, how often. */
  readonly answers: Readonly<Record<string, number>>;
  /** Faults that struck, and processes that were killed. */
  readonly faults: number;
  readonly crashes: number;
  /** The size of the journal, and the id of its last entry. */
  readonly entries: number;
  readonly head: string;
  readonly violations: readonly Violation[];
  /** What happened to the run of the first violation, or at the end, in the notation of this project; empty when all is well. */
  readonly history: readonly string[];
}

const shownMax = 5;

/** What is wrong, by which checker, how to run it again, and what happened before. @public */
export function sayViolations({ of, seed, store, violations, history }: SimulationReport): string {
  const shown = violations.slice(0, shownMax).map(({ checker, message }) => `${checker}: ${message}`);
  const more = violations.length - shown.length;
  return [
    `seed ${seed} of ${of} on ${store}: ${violations.length} violations (the same again: npm run test:long -- --seed ${seed} --runs 1)`,
    ...shown,
    ...(more > 0 ? [`and ${more} more`] : []),
    ...history,
  ].join("\n");
}
