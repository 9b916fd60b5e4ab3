import type { Clock, Scheduled } from "../kernel/clock.js";

/** A clock that stands still until it is told. @public */
export interface ManualClock extends Required<Clock> {
  /** Time passes: both the wall clock and the monotonic clock move on by `ms`, and what becomes due on the way is called in
   *  order, each at its own time. What that sets going behind promises goes on when the caller waits for it. */
  advance(ms: number): void;
  /** Somebody sets the wall clock, to any moment; the monotonic clock does not notice, nor does any timer: a host that slept. */
  set(now: number): void;
  /** How many callbacks wait for their time. */
  readonly waiting: number;
}

interface Due {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock for tests, started at `now`. @public */
export function manualClock(now: number = Date.UTC(2026, 0, 1)): ManualClock {
  let wall = now;
  let monotonic = 0;
  const waiting = new Set<Due>();
  const moveTo = (to: number): void => {
    wall += Math.floor(to) - Math.floor(monotonic);
    monotonic = to;
  };
  return {
    now: () => wall,
    monotonic: () => monotonic,
    schedule(ms, callback): Scheduled {
      const due = { at: monotonic + ms, callback };
      waiting.add(due);
      return { cancel: () => void waiting.delete(due) };
    },
    advance(ms) {
      const end = monotonic + ms;
      for (let due = earliest(waiting); due !== null && due.at <= end; due = earliest(waiting)) {
        waiting.delete(due);
        moveTo(Math.max(due.at, monotonic));
        due.callback();
      }
      moveTo(Math.max(end, monotonic)); // a callback may have moved on further
    },
    set(to) {
      wall = to;
    },
    get waiting() {
      return waiting.size;
    },
  };
}

/** The first in time; of those at one time the one that was scheduled first. */
function earliest(waiting: ReadonlySet<Due>): Due | null {
  let first: Due | null = null;
  for (const due of waiting) if (first === null || due.at < first.at) first = due;
  return first;
}
