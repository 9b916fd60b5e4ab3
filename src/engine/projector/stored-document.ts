/** Documents on their way from the store, and to it. */
import type { AnyProjection } from "../../../projections/define-projection.js";
import { documentOf } from "../../../projections/document.js";
import { indexKeys, movedIndexKeys } from "../../../projections/reducer.js";
import { LedgerError } from "../../kernel/errors.js";
import type { DocumentReads, DocumentWrite, StoredDocument } from "../../journal/documents.js";
import type { Held } from "./cache.js";
import type { Moves } from "./ranges.js";

export const noDocument: Held = { document: null, seq: -1 };

/** The documents of some keys, in their order. */
export async function readDocuments(
  reads: DocumentReads,
  table: number,
  projection: AnyProjection,
  keys: readonly string[],
): Promise<Held[]> {
  const stored = await reads.documents(table, keys);
  return stored.map((each) => (each === null ? noDocument : heldOf(projection, each)));
}

/** A stored document, frozen. `STORE_DAMAGED` when its text is none. */
export function heldOf(projection: AnyProjection, { key, seq, text }: StoredDocument): Held {
  try {
    return { document: documentOf(text), seq };
  } catch (cause) {
    throw damagedDocument(projection, key, cause);
  }
}

/** The error of a stored document that is none. */
export function damagedDocument({ name, version }: AnyProjection, key: string, cause: unknown): LedgerError {
  return new LedgerError(
    "STORE_DAMAGED",
    `document ${JSON.stringify(key)} of projection ${name} (version ${version}) must be a JSON object, found other text`,
    {
      details: { projection: name, version, key },
      hint: "documents are derived: run `runledger verify --deep`, which compares them with the journal",
      cause,
    },
  );
}

/** Is it about one document that is damaged, and not about the store that was asked? */
export function isDamagedDocument(error: unknown): error is LedgerError {
  if (!(error instanceof LedgerError)) return false;
  return error.code === "STORE_DAMAGED" && "projection" in error.details && "key" in error.details;
}

/** Did an index answer otherwise for a document than when it was folded? */
export function isFailedIndex(error: unknown): error is LedgerError {
  return error instanceof LedgerError && error.code === "PROJECTION_FAILED" && "index" in error.details;
}

/** The change from what is stored to what is to be; columns of indexes that stay are not written. */
export function writeOf(
  projection: AnyProjection,
  key: string,
  { document, seq, stored, moves = null }: Held & { readonly stored: object | null; readonly moves?: Moves | null },
): DocumentWrite {
  const text = document === null ? null : JSON.stringify(document);
  return { key, seq, text, indexes: moves ?? movesOf(projection, key, stored, document) };
}

/** Works out where a document moved. */
export function movesOf(projection: AnyProjection, key: string, before: object | null, after: object | null): Moves {
  if (after === null) return Array.from(projection.indexes, () => null);
  return before === null ? indexKeys(projection, after, key) : movedIndexKeys(projection, after, before, key);
}
