/** Timers on the time of the world. Those of a process that is dead are gone; those of one that is stopped come late, when it goes
 *  on, as after a SIGSTOP. Invariant: what a callback sets going has come to rest before the next one is called. */
import type { Scheduled } from "../../kernel/clock.js";

/** Whose timer it is. */
export interface TimerOwner {
  /** Not before this moment of the world does it go on. */
  readonly pausedUntil: number;
}

interface Due {
  readonly owner: TimerOwner;
  readonly at: number;
  readonly callback: () => void;
}

export class Timers {
  private readonly waiting = new Set<Due>();
  fired = 0;

  schedule(owner: TimerOwner, at: number, callback: () => void): Scheduled {
    const due = { owner, at, callback };
    this.waiting.add(due);
    return { cancel: () => void this.waiting.delete(due) };
  }

  /** Its process is dead. */
  drop(owner: TimerOwner): void {
    for (const due of this.waiting) if (due.owner === owner) this.waiting.delete(due);
  }

  /** The moment of the next one; null when none waits. */
  get next(): number | null {
    const first = this.first();
    return first === null ? null : momentOf(first);
  }

  fire(): void {
    const first = this.first();
    if (first === null) return;
    this.waiting.delete(first);
    this.fired++;
    first.callback();
  }

  /** The first in time; of those at one time the one that was scheduled first. */
  private first(): Due | null {
    let first: Due | null = null;
    for (const due of this.waiting) if (first === null || momentOf(due) < momentOf(first)) first = due;
    return first;
  }
}

function momentOf({ at, owner }: Due): number {
  return Math.max(at, owner.pausedUntil);
}
