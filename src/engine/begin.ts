import { systemClock } from "../kernel/clock.js";
import { LedgerError } from "../kernel/errors.js";
import type { Store, StoreSnapshot, StoreTransaction } from "../journal/store.js";

/** Takes the write lock, with what the heads of these streams are, asking again while the store is busy, for at most `timeoutMs`. */
export async function beginWithin(
  store: Store,
  timeoutMs: number,
  streams: readonly string[] = [],
): Promise<StoreTransaction> {
  const deadline = systemClock.monotonic() + timeoutMs;
  for (;;) {
    try {
      return await store.begin(streams);
    } catch (error) {
      if (!isBusy(error) || systemClock.monotonic() >= deadline) throw error;
      await pause(5);
    }
  }
}

/** Takes a snapshot for somebody who stays, asking again while the store cannot be read just now, for at most `timeoutMs`. */
export async function snapshotWithin(store: Store, timeoutMs: number): Promise<StoreSnapshot> {
  const deadline = systemClock.monotonic() + timeoutMs;
  for (;;) {
    try {
      return await store.snapshot();
    } catch (error) {
      if (!isPassing(error) || systemClock.monotonic() >= deadline) throw error;
      await pause(20);
    }
  }
}

/** Reads a snapshot for somebody who stays, and does it again while the store cannot be read just now, for at most `timeoutMs`: a
 *  connection is lost when the snapshot is taken, or while it is read. */
export async function readWithin<Value>(
  store: Store,
  timeoutMs: number,
  read: (snapshot: StoreSnapshot) => Promise<Value>,
): Promise<Value> {
  const deadline = systemClock.monotonic() + timeoutMs;
  for (;;) {
    let snapshot: StoreSnapshot | null = null;
    try {
      snapshot = await store.snapshot();
      return await read(snapshot);
    } catch (error) {
      if (!isPassing(error) || systemClock.monotonic() >= deadline) throw error;
    } finally {
      await snapshot?.release();
    }
    await pause(20);
  }
}

/** Did the store say that the same may be tried again? */
export function isBusy(error: unknown): boolean {
  return error instanceof LedgerError && error.code === "STORE_BUSY";
}

/** May it be over in a moment: the store is busy, or no answer is to be had just now? */
export function isPassing(error: unknown): boolean {
  return isBusy(error) || (error instanceof LedgerError && error.code === "STORE_UNAVAILABLE");
}

/** Was the store closed? Then it is over, however long one waits. */
export function isClosed(error: unknown): boolean {
  return error instanceof LedgerError && error.code === "CLOSED";
}

/** Waits, in real time. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
