/** Adds events to a tx while a call is decided. What they throw refuses the call; a failure of the store is a `StoreFailure`,
 *  but for a document that is damaged, which refuses who would change it. */
import type { Batch } from "./batch.js";
import { onceKnown } from "./once-known.js";
import type { PreparedEvent } from "./prepare-event.js";
import { needsOfEvents } from "./prepare.js";
import { isDamagedDocument } from "./projector/stored-document.js";
import { ofStoreIfAny } from "./store-failure.js";
import type { Tx } from "./tx.js";

/** Adds events that the caller asked for (`add`), or that are the engine's own (`record`), behind what must be known of the
 *  journal for that. */
export function placeEvents(
  events: readonly PreparedEvent[],
  how: "add" | "record",
  { batch, tx }: { readonly batch: Batch; readonly tx: Tx },
): Promise<void> | void {
  return onceKnown(ofStoreIfAny(batch.known.load(needsOfEvents(events))), () =>
    ofStoreIfAny(tx[how](events), isDamagedDocument),
  );
}
