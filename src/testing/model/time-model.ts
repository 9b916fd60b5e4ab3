/** The reference model of engine time, for calls that come one after the other:
 *  `at = max(clock, previous.at + what has passed since)`, where what has passed is what this process's monotonic clock says since
 *  it saw the previous event, or what the wall clock says since that was written, whichever is more.
 *  Source: design section 8. */
import type { Clock } from "../../kernel/clock.js";

export class TimeModel {
  /** The last tx: which one it is, its time, and the raw clock of its writer. */
  private last: { readonly number: number; readonly at: number; readonly clock: number };
  /** By process: the last tx that it saw, and when. */
  private readonly seen = new Map<Clock, { readonly number: number; readonly monotonic: number }>();

  /** A journal begins when its first entry is written. */
  constructor(at: number) {
    this.last = { number: 0, at, clock: at };
  }

  /** The moment that a call of this process is decided at. */
  at(clock: Clock): number {
    const { number } = this.last;
    this.seen.set(clock, { number, monotonic: this.seenAt(clock) });
    return this.foresee(clock);
  }

  /** The same, without a call: nothing is seen. */
  foresee(clock: Clock): number {
    const { at, clock: written } = this.last;
    const now = clock.now();
    return Math.max(now, at + Math.max(0, clock.monotonic() - this.seenAt(clock), now - written));
  }

  /** It wrote. */
  wrote(clock: Clock, at: number): void {
    const number = this.last.number + 1;
    this.last = { number, at, clock: clock.now() };
    this.seen.set(clock, { number, monotonic: clock.monotonic() });
  }

  /** When a process saw the last tx: now, when it has not yet. */
  private seenAt(clock: Clock): number {
    const seen = this.seen.get(clock);
    return seen?.number === this.last.number ? seen.monotonic : clock.monotonic();
  }
}
