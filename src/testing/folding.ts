/** Folding for laws: whole histories through one driver, up to where a reducer fails. */
import assert from "node:assert/strict";
import { BulkTable } from "../../projections/bulk.js";
import type { AnyProjection } from "../../projections/define-projection.js";
import { DocumentsDigest } from "../../projections/digest.js";
import { documentOf } from "../../projections/document.js";
import type { ProjectionEvent } from "../../projections/event.js";
import { foldLive } from "../../projections/live.js";
import { compareKeys } from "../../projections/order.js";
import { applyPatches, foldPatches } from "../../projections/patches.js";
import { keyOf } from "../../projections/reducer.js";
import { canonicalize } from "../kernel/canonical.js";
import { LedgerError } from "../kernel/errors.js";

/** What is left of folding: documents by key, and where and why it stopped. */
export interface Folded {
  readonly documents: ReadonlyMap<string, object>;
  readonly failure: LedgerError | null;
}

export const nothingFolded: Folded = { documents: new Map(), failure: null };

/** Folds events one by one, as a writer does for each commit. */
export function foldAllLive(
  projection: AnyProjection,
  events: readonly ProjectionEvent[],
  from: Folded = nothingFolded,
): Folded {
  const documents = new Map(from.documents);
  for (const event of events) {
    try {
      const key = keyOf(projection, event);
      if (key === null) continue;
      const after = foldLive<object>(projection, event, key, documents.get(key) ?? null);
      if (after === null) documents.delete(key);
      else documents.set(key, after);
    } catch (error) {
      return { documents, failure: asFailure(error) };
    }
  }
  return { documents, failure: from.failure };
}

/** Folds events as a rebuild does. */
export function foldAllBulk(
  projection: AnyProjection,
  events: readonly ProjectionEvent[],
  from: Folded = nothingFolded,
): Folded {
  const table = new BulkTable(projection);
  for (const [key, document] of from.documents) table.load(key, document);
  for (const event of events) table.fold(event);
  return { documents: new Map(table.documents()), failure: asFailure(table.error) ?? from.failure };
}

/** Folds events one by one with patches, and holds what they say against what they are said of. */
export function foldAllPatches(projection: AnyProjection, events: readonly ProjectionEvent[]): Folded {
  const documents = new Map<string, object>();
  for (const event of events) {
    try {
      const key = keyOf(projection, event);
      if (key === null) continue;
      const before = documents.get(key) ?? null;
      const { document: after, patches, inverse } = foldPatches<object>(projection, event, key, before);
      assert.deepEqual(applyPatches(before, patches), after, `the patches of event #${event.position} lead elsewhere`);
      assert.deepEqual(applyPatches(after, inverse), before, `the patches back behind event #${event.position} do not`);
      if (after === null) documents.delete(key);
      else documents.set(key, after);
    } catch (error) {
      return { documents, failure: asFailure(error) };
    }
  }
  return { documents, failure: null };
}

/** The digest of the documents, as the ledger and whoever verifies it compute it. */
export function digestOf(projection: AnyProjection, { documents }: Folded): string {
  const digest = new DocumentsDigest(projection);
  const inOrder = [...documents].sort(([one], [other]) => compareKeys(one, other));
  for (const [key, document] of inOrder) digest.add(key, document);
  return digest.end(-1).digest;
}

/** The documents as a store gives them back. */
export function throughStore({ documents, failure }: Folded): Folded {
  return {
    documents: new Map([...documents].map(([key, document]) => [key, documentOf(JSON.stringify(document))])),
    failure,
  };
}

/** Documents and failure in one comparable text. */
export function textOf({ documents, failure }: Folded): string {
  const rows = [...documents].sort(([one], [other]) => (one < other ? -1 : 1)).map((row) => canonicalize(row));
  return [...rows, failure === null ? "folded" : `stopped: ${canonicalize(failure.details)}`].join("\n");
}

function asFailure(error: unknown): LedgerError | null {
  if (error === null || error instanceof LedgerError) return error;
  throw error as Error; // a bug, of the drivers or of the host
}
