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
    const { number, at, clock: written } = this.last;
    const [now, monotonic] = [clock.now(), clock.monotonic()];
    const seen = this.seen.get(clock);
    const before = seen?.number === number ? seen.monotonic : monotonic;
    this.seen.set(clock, { number, monotonic: before });
    return Math.max(now, at + Math.max(0, monotonic - before, now - written));
  }

  /** It wrote. */
  wrote(clock: Clock, at: number): void {
    const number = this.last.number + 1;
    this.last = { number, at, clock: clock.now() };
    this.seen.set(clock, { number, monotonic: clock.monotonic() });
  }
}
