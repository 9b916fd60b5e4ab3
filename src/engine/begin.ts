import { systemClock } from "../kernel/clock.js";
import { LedgerError } from "../kernel/errors.js";
import type { Store, StoreTransaction } from "../journal/store.js";

/** Takes the write lock, asking again while the store is busy, for at most `timeoutMs`. */
export async function beginWithin(store: Store, timeoutMs: number): Promise<StoreTransaction> {
  const deadline = systemClock.monotonic() + timeoutMs;
  for (;;) {
    try {
      return await store.begin();
    } catch (error) {
      if (!isBusy(error) || systemClock.monotonic() >= deadline) throw error;
      await pause(5);
    }
  }
}

/** Did the store say that the same may be tried again? */
export function isBusy(error: unknown): boolean {
  return error instanceof LedgerError && error.code === "STORE_BUSY";
}

/** Waits, in real time. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
