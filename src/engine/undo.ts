import type { StoreTransaction } from "../journal/store.js";

/** Undoes a transaction. A store's rollback never throws; one that does all the same must not hide the error that came first,
 *  nor end the writer: the next `begin` starts afresh. Row D-31. */
export async function undo(transaction: StoreTransaction): Promise<void> {
  try {
    await transaction.rollback();
  } catch {
    // The first error is the one that is told.
  }
}
