import { systemClock } from "../kernel/clock.js";
import { LedgerError } from "../kernel/errors.js";
import type { Store, StoreTransaction } from "../journal/store.js";
import { beginWithin, isPassing, pause } from "./begin.js";
import { undo } from "./undo.js";

/** Writes operational rows, which are no part of the journal, in a small transaction of their own, asking again while the
 *  store is busy or away, for at most `timeoutMs`. What it writes may be written twice, or have been written although it throws:
 *  a commit may give no answer. */
export async function writeOperational<Result>(
  store: Store,
  timeoutMs: number,
  write: (transaction: StoreTransaction) => Promise<Result>,
): Promise<Result> {
  const deadline = systemClock.monotonic() + timeoutMs;
  for (;;) {
    let transaction: StoreTransaction | null = null;
    let isAsked = false;
    try {
      transaction = await beginWithin(store, Math.max(0, deadline - systemClock.monotonic()));
      const result = await write(transaction);
      isAsked = true;
      await transaction.commit();
      // Whoever never appends has nobody else who would ask for it.
      await store.maintain();
      return result;
    } catch (error) {
      if (transaction !== null) {
        await undo(transaction);
        // What was refused says nothing of the store. What keeps it from starting afresh is told by the next `begin`.
        const isRefused = !isAsked && error instanceof LedgerError && !isPassing(error);
        if (!isRefused) await store.reset().catch(() => {});
      }
      if (!isPassing(error) || systemClock.monotonic() >= deadline) throw error;
      await pause(20);
    }
  }
}
