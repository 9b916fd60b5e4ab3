import type { FilledLedgers } from "./filled-ledger.js";
import type { Figure, Line } from "./report.js";
import type { Scratch } from "./scratch.js";
import type { Settings } from "./settings.js";

/** What a measure is given. */
export interface Bench {
  readonly settings: Settings;
  readonly scratch: Scratch;
  readonly filled: FilledLedgers;
  /** Says a figure that has no target. */
  figure(figure: Figure): void;
  /** Says something in a sentence: what was not run, and why. */
  say(sentence: string): void;
}

/** One measure; some share a run and give several lines. */
export interface Measure {
  readonly ids: readonly string[];
  readonly title: string;
  run(bench: Bench): Promise<readonly Line[]>;
}
