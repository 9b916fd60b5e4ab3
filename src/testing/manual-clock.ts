import type { Clock } from "../kernel/clock.js";

/** A clock that stands still until it is told. @public */
export interface ManualClock extends Clock {
  /** Time passes: both the wall clock and the monotonic clock move on by `ms`. */
  advance(ms: number): void;
  /** Somebody sets the wall clock, to any moment; the monotonic clock does not notice. */
  set(now: number): void;
}

/** A clock for tests, started at `now`. @public */
export function manualClock(now: number = Date.UTC(2026, 0, 1)): ManualClock {
  let wall = now;
  let monotonic = 0;
  return {
    now: () => wall,
    monotonic: () => monotonic,
    advance(ms) {
      wall += Math.floor(monotonic + ms) - Math.floor(monotonic);
      monotonic += ms;
    },
    set(to) {
      wall = to;
    },
  };
}
