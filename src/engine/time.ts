/** Engine time: `at = max(clock, previous.at + elapsed)`, taken once a `tx`.
 *  Invariants: it never falls; it never stands still, because a journal that is ahead of the wall clock goes on at real
 *  speed; a clock behind changes nothing. Pure: the readings of the clock come in. Source: design section 8, decision 0004. */
import { LedgerError } from "../kernel/errors.js";
import { clockStepMsMax, timeMsMax } from "../kernel/limits.js";

/** What is known of the last entry's time. */
export interface TimeState {
  readonly at: number;
  /** The raw clock that its writer saw. */
  readonly clock: number;
  /** This process's monotonic time when it saw the entry, moved along by whole ms so that no fraction is lost. */
  readonly seen: number;
  /** Did this process write it? Then its monotonic time knows exactly how old it is. */
  readonly own: boolean;
}

export interface ClockReading {
  readonly clock: number;
  readonly monotonic: number;
}

/** Wall clock and monotonic clock tick apart by up to 2 ms; taking the larger of both each time would run fast. */
const jitterMs = 2;

/** The time of the next `tx`, and what to remember of it. `previous` is null for the first entry of a journal. */
export function nextTime(previous: TimeState | null, reading: ClockReading, acceptClockStep: boolean): TimeState {
  const { clock, monotonic } = reading;
  if (!Number.isSafeInteger(clock) || clock < 0 || clock > timeMsMax) {
    throw unsure(`the clock must show integer ms since the epoch, found ${clock}`, { clock });
  }
  if (previous === null) return { at: clock, clock, seen: monotonic, own: true };
  const byMonotonic = Math.max(0, Math.floor(monotonic - previous.seen));
  const byClock = clock - previous.clock;
  const elapsed = previous.own && byClock <= byMonotonic + jitterMs ? byMonotonic : Math.max(byMonotonic, byClock);
  const going = previous.at + elapsed;
  const at = Math.max(clock, going);
  if (at - previous.at > clockStepMsMax && !acceptClockStep) {
    throw unsure(`time may step at most 366 days past the last event at ${previous.at}, found ${at}`, {
      previousAt: previous.at,
      at,
    });
  }
  if (at > timeMsMax) throw unsure(`time must stay within what a Date can show, found ${at}`, { at });
  const wholeMs = at === going && elapsed === byMonotonic;
  return { at, clock, seen: wholeMs ? previous.seen + byMonotonic : monotonic, own: true };
}

function unsure(message: string, details: Record<string, unknown>): LedgerError {
  return new LedgerError("CLOCK_UNSURE", message, {
    details,
    hint: "check the host's clock; open with acceptClockStep when the step is right",
  });
}
