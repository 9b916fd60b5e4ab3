/** Tells those who wait at the end of the journal that it goes on. One poll for all of them, each time after a longer wait
 *  while nothing happens; a hint, from a commit of this process or from the store, comes before the next poll, and nothing
 *  rests on it.
 *  Invariant: a timer runs, and hints of the store are listened to, while somebody waits, and only then. */
import { systemClock } from "../kernel/clock.js";
import type { Clock, Scheduled } from "../kernel/clock.js";
import type { Store } from "../journal/store.js";

const pollMsMin = 20;
const pollMsMax = 250;
const pollMsGrowth = 1.5;

interface Waiter {
  /** The end of the journal as it is known to whoever waits. */
  readonly position: number;
  readonly wake: () => void;
}

/** What a watch waits by. */
export type Timers = Required<Pick<Clock, "monotonic" | "schedule">>;

/** Timers that keep no process alive. */
export const backgroundTimers: Timers = {
  monotonic: () => systemClock.monotonic(),
  schedule(ms, callback) {
    const timer = setTimeout(callback, ms).unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

export class HeadWatch {
  /** Reads the position of the head. */
  readonly readHead: () => Promise<number>;
  private readonly listen: Store["listen"];
  private readonly timers: Timers;
  private readonly waiters = new Set<Waiter>();
  private pollMs = pollMsMin;
  private timer: Scheduled | null = null;
  /** Ends listening to the store, while somebody waits. */
  private deafen: (() => void) | null = null;
  private dueAt = Infinity;
  private asking = false;
  /** The furthest position that was hinted at. */
  private hinted = -1;

  /** Whoever waits keeps the process alive, as somebody who reads from a socket does, unless the timers say otherwise. */
  constructor(readHead: () => Promise<number>, listen: Store["listen"], timers: Timers = systemClock) {
    this.readHead = readHead;
    this.listen = listen;
    this.timers = timers;
  }

  /** Calls `wake` once when the head is no longer at this position, or cannot be read, which whoever reads on will see.
   *  Returns how to wait no longer. */
  wait(position: number, wake: () => void): () => void {
    const waiter = { position, wake };
    this.deafen ??= this.listen((hinted) => this.hint(hinted));
    this.waiters.add(waiter);
    this.pollMs = pollMsMin;
    // The hint came while whoever waits was still on the way here. It may be void by now, so the head is asked.
    if (position < this.hinted && !this.asking) void this.poll();
    else this.arm();
    return () => {
      this.waiters.delete(waiter);
      if (this.waiters.size === 0) this.rest();
    };
  }

  /** The journal is said to go on up to this position. */
  hint(position: number): void {
    this.hinted = Math.max(this.hinted, position);
    this.wakeAll((waiter) => waiter.position < position);
  }

  private wakeAll(which: (waiter: Waiter) => boolean): void {
    for (const waiter of this.waiters) {
      if (!which(waiter)) continue;
      this.pollMs = pollMsMin;
      this.waiters.delete(waiter);
      waiter.wake();
    }
    if (this.waiters.size === 0) this.rest();
  }

  private rest(): void {
    this.disarm();
    this.deafen?.();
    this.deafen = null;
  }

  private arm(): void {
    const dueAt = this.timers.monotonic() + this.pollMs;
    if (this.asking || dueAt >= this.dueAt) return;
    this.disarm();
    this.dueAt = dueAt;
    this.timer = this.timers.schedule(this.pollMs, () => {
      this.disarm();
      void this.poll();
    });
  }

  private disarm(): void {
    this.timer?.cancel();
    this.timer = null;
    this.dueAt = Infinity;
  }

  private async poll(): Promise<void> {
    this.asking = true;
    this.pollMs = Math.min(this.pollMs * pollMsGrowth, pollMsMax);
    const { hinted } = this;
    try {
      const head = await this.readHead();
      // What was read is better than a hint from before, which may have been wrong.
      if (this.hinted === hinted) this.hinted = head;
      // A head that went back wakes as well: whoever waits has to see that.
      this.wakeAll((waiter) => waiter.position !== head);
    } catch {
      this.wakeAll(() => true);
    }
    this.asking = false;
    if (this.waiters.size > 0) this.arm();
  }
}
