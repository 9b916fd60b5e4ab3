import type { Clock } from "../../kernel/clock.js";

/** The database's clock: what it last said, carried on by the time of this process. So hosts whose own clocks disagree have one
 *  time, whatever theirs do.
 *  Invariants: it is behind the database by the way of an answer at most, and never before what it was told; an answer that took long
 *  does not set it back, for a clock that goes back and forth has the journal's time run ahead of it. */
export class DatabaseClock implements Clock {
  private said = 0;
  private heardAt = 0;

  /** The database has said what time it was, in an answer that was asked for at `askedAt`: since then it may be as much later. */
  hear(now: number, askedAt: number): void {
    const latest = now + Math.ceil(performance.now() - askedAt);
    this.said = Math.min(Math.max(this.exact(), now), latest);
    this.heardAt = performance.now();
  }

  now(): number {
    return Math.floor(this.exact());
  }

  monotonic(): number {
    return performance.now();
  }

  private exact(): number {
    return this.said + performance.now() - this.heardAt;
  }
}
