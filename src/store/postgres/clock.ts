import type { Clock } from "../../kernel/clock.js";

/** The database's clock: what it last said, carried on by the time of this process. So hosts whose own clocks disagree have one
 *  time, whatever theirs do.
 *  Invariant: it is behind the database by the way of an answer at most, and never before what it was told. */
export class DatabaseClock implements Clock {
  private said = 0;
  private heardAt = 0;

  /** The database has just said what time it is. */
  hear(now: number): void {
    this.said = now;
    this.heardAt = performance.now();
  }

  now(): number {
    return this.said + Math.floor(performance.now() - this.heardAt);
  }

  monotonic(): number {
    return performance.now();
  }
}
