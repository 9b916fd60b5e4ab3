/** How fast a long work is: a count and a rate, shown while it lasts. */
import { counted, grouped } from "./figures.js";
import type { Terminal } from "./terminal.js";

export class Progress {
  private readonly terminal: Terminal;
  private readonly noun: string;
  private readonly started: number = performance.now();

  constructor(terminal: Terminal, noun: string) {
    this.terminal = terminal;
    this.noun = noun;
  }

  /** So many are done. */
  at(count: number): void {
    this.terminal.progress(`${counted(count, this.noun)}, ${grouped(this.rate(count))}/s`);
  }

  /** Ms since the work began. */
  elapsedMs(): number {
    return performance.now() - this.started;
  }

  /** So many a second, so far. */
  rate(count: number): number {
    return Math.round(count / Math.max(this.elapsedMs() / 1_000, 0.001));
  }
}
