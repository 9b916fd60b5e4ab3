/** Engine time for leases that are kept beside the journal: what the next event's time would be, without writing one. So
 *  leases run on while nothing is written, also in a journal that is ahead of the clock: there at the speed of this process,
 *  from when it first looked. Source: design section 8. */
import type { Clock } from "../kernel/clock.js";
import { LedgerError } from "../kernel/errors.js";
import type { StoreHead, StoreReads } from "../journal/store.js";
import type { OwnEvents } from "./own-events.js";
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

/** Now, as the next event would see it. */
export interface Moment {
  /** Of the head. */
  readonly position: number;
  /** Engine time, ms since the epoch. */
  readonly at: number;
  readonly incarnation: number;
}

/** The moment behind the head that a snapshot shows. */
export async function momentBehind(reads: StoreReads, own: OwnEvents, time: LeaseTime): Promise<Moment> {
  const head = await reads.head();
  if (head === null) throw new LedgerError("STORE_DAMAGED", "the journal must have its first entry, found none");
  await own.readOn(reads);
  return { position: head.seq, at: time.at(head), incarnation: own.epochs.incarnationOf(head.seq + 1) };
}
