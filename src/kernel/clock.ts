import { types } from "node:util";
import { invalid } from "./errors.js";
import { timeMsMax } from "./limits.js";

/** Where the engine takes its time from. Injected, so that a history can be repeated. @public */
export interface Clock {
  /** Wall time in integer ms since the epoch; may step in either direction. */
  now(): number;
  /** Ms since an arbitrary moment; never falls, never steps. Fractions are welcome. */
  monotonic(): number;
  /** Calls back once, when `monotonic()` is so many ms further. Workers and `waitFor` wait by it. Default: the timers of this
   *  host, whatever the rest of the clock says. */
  schedule?(ms: number, callback: () => void): Scheduled;
}

/** What a clock will call. @public */
export interface Scheduled {
  /** It will not be called; nothing when it was. */
  cancel(): void;
}

/** The clock of this host. @public */
export const systemClock: Required<Clock> = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(ms, callback) {
    const timer = setTimeout(callback, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};

/** A host's clock, with the timers of this host when it has none. */
export function withTimers(clock: Clock): Required<Clock> {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    schedule: (ms, callback) =>
      clock.schedule === undefined ? systemClock.schedule(ms, callback) : clock.schedule(ms, callback),
  };
}

/** Waits on a clock. */
export function pause(clock: Required<Clock>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.schedule(ms, resolve);
  });
}

/** Parses a caller's time, a `Date` or integer ms since the epoch, into ms. Rows G-07 and C11. */
export function parseTime(value: unknown, path: string): number {
  const isDate = types.isDate(value);
  const ms = isDate ? Date.prototype.getTime.call(value) : value;
  if (typeof ms !== "number" || !Number.isSafeInteger(ms) || Math.abs(ms) > timeMsMax) {
    throw invalid(path, "a valid Date or integer ms since the epoch, at most 8.64e15 in size", isDate ? ms : value);
  }
  return ms + 0; // -0 becomes 0
}

/** Parses a duration: a positive safe integer of ms, at most `max`. Row G-08. */
export function parseDuration(value: unknown, path: string, max: number): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 1 || value > max) {
    throw invalid(path, `a whole number of ms from 1 to ${max}`, value);
  }
  return value;
}
