/** Fences under the lock: is the one that a call presents that of the live claim, and if not, what is recorded of it.
 *  Invariants: it is checked again before each command of a list, on the documents as the earlier ones left them; a fence
 *  that is refused changes nothing but the list of refusals in the document of its claim. Source: design section 8,
 *  decision 15.9, decision 0022. */
import { checkFence, checkHolder, fencedError } from "../kernel/claim.js";
import type { FenceProof, FenceReason } from "../kernel/claim.js";
import { LedgerError } from "../kernel/errors.js";
import { kindOf } from "../kernel/names.js";
import { fenceRefusedType, fenceStream } from "../journal/events/fence.js";
import type { FenceRefused } from "../journal/events/fence.js";
import type { AnyProjection, Projection } from "../../projections/define-projection.js";
import { isNewRefusal } from "../../projections/owned.js";
import type { OwnedDocument } from "../../projections/owned.js";
import { ownedBy } from "../../projections/owned-by.js";
import type { Batch } from "./batch.js";
import { noteUnready } from "./command-reads.js";
import type { Foreseen } from "./foreseen.js";
import { onceKnown } from "./once-known.js";
import { placeEvents } from "./place-events.js";
import { ownEvent } from "./prepare-event.js";
import { askStore } from "./store-failure.js";
import type { Tx } from "./tx.js";

/** What a command, or an append, needs around the fence that it presents. */
export interface FenceGround {
  readonly batch: Batch;
  readonly tx: Tx;
  readonly unready: AnyProjection[];
}

/** Why a fence is not accepted. `reason` is null where there is nothing of that key. */
export interface FenceRefusal {
  readonly error: LedgerError;
  readonly reason: FenceReason | null;
}

/** Why a write under this fence must be refused as its tx sees the claim; null when it may go on. `late`: the last holder may
 *  come after its claim has expired. */
export function refusalOfFence(
  fence: FenceProof,
  late: boolean,
  { batch, tx, unready }: FenceGround,
): Promise<FenceRefusal | null> | FenceRefusal | null {
  return onceKnown(readOwned(fence.key, tx, unready), (document) => {
    if (document === null) return { error: unknownKey(fence.key), reason: null };
    const { generation, claim } = document;
    const owned = { key: fence.key, incarnation: batch.incarnation, generation, claim };
    const refused = late ? checkHolder(owned, fence) : checkFence(owned, fence, tx.at);
    return refused === null ? null : { error: fencedError(fence.key, refused), reason: refused.reason };
  });
}

/** Adds the record of a refusal to a tx of its own, unless it is not one to be recorded: of a generation that nobody was
 *  given, the same as before, or one too many. */
export async function recordRefusal(
  { key, generation }: FenceProof,
  { command, reason }: { readonly command: string; readonly reason: FenceReason },
  { batch, tx, unready }: FenceGround,
): Promise<void> {
  const document = await readOwned(key, tx, unready);
  if (document === null || !isNewRefusal(document, generation, command)) return;
  const data: FenceRefused = { key, generation, command, reason };
  const event = ownEvent(fenceRefusedType, data, {}, fenceStream(key));
  await placeEvents([event], "record", { batch, tx });
}

/** Says which document a fence will be checked by. */
export function foreseeFence({ key }: FenceProof, foreseen: Foreseen): void {
  const { projection, name } = placeOf(key);
  foreseen.document(projection, name);
}

function readOwned(
  key: string,
  tx: Tx,
  unready: AnyProjection[],
): Promise<OwnedDocument | null> | OwnedDocument | null {
  const { projection, name } = placeOf(key);
  return askStore(() => tx.documents.get(projection, name), noteUnready(projection, { unready }));
}

function placeOf(key: string): { readonly projection: Projection<OwnedDocument>; readonly name: string } {
  const projection = ownedBy(kindOf(key)) as Projection<OwnedDocument>; // as `parseFenceOption` let it through
  return { projection, name: key.slice(key.indexOf("/") + 1) };
}

function unknownKey(key: string): LedgerError {
  return new LedgerError(
    "NOT_FOUND",
    `options.fence must be of something that was claimed, found nothing of key ${JSON.stringify(key)}`,
    {
      details: { key },
    },
  );
}
