import { LedgerError } from "../kernel/errors.js";
import type { Epochs } from "../journal/epochs.js";
import type { ConsumerRow, StoreHead, StoreReads } from "../journal/store.js";

/** Why a consumer may not go on from where it was: what it has read is not what the journal says. Null when it may. */
export async function unfitError(
  { name, position, id, incarnation }: ConsumerRow,
  head: StoreHead,
  reads: StoreReads,
  epochs: Epochs,
): Promise<LedgerError | null> {
  if (position === -1 && id === null) return null;
  const refuse = (reason: "position" | "id" | "incarnation", found: string): LedgerError =>
    new LedgerError(
      "FENCED",
      `consumer ${JSON.stringify(name)} must go on behind the event that it read as #${position}, found ${found}`,
      {
        details: { consumer: name, reason, position, id, incarnation, head: head.seq },
        hint: "undo what it did about events that are gone, then subscribe with reset: true and from",
      },
    );
  if (position < 0 || position > head.seq) return refuse("position", `the head at #${head.seq}`);
  if (!epochs.isKept(position, incarnation)) return refuse("incarnation", "the journal restored to a size below it");
  const [stored] = await reads.entriesAt([position]);
  if (stored?.id !== id) return refuse("id", `another event there, ${stored?.id ?? "none"}`);
  return null;
}
