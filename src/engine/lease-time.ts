/** Engine time for leases that are kept beside the journal: what the next event's time would be, without writing one. So
 *  leases run on while nothing is written, also in a journal that is ahead of the clock: there at the speed of this process,
 *  from when it first looked. Source: design section 8. */
import type { Clock } from "../kernel/clock.js";
import type { StoreHead } from "../journal/store.js";
import { nextTime } from "./time.js";

export class LeaseTime {
  private readonly clock: Clock;
  private headId: string | null = null;
  /** When this process first saw that head, on its monotonic clock. */
  private seen = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** The time now, behind this head. A journal that nobody wrote to for years is no reason to doubt the clock. */
  at(head: StoreHead): number {
    const reading = { clock: this.clock.now(), monotonic: this.clock.monotonic() };
    if (head.id !== this.headId) {
      this.headId = head.id;
      this.seen = reading.monotonic;
    }
    const previous = { at: head.at, clock: head.at - head.skew, seen: this.seen, own: false };
    return nextTime(previous, reading, true).at;
  }
}
