/** Stored entries on the way back: the hash is checked against the id and the shape against the format, so that a reader
 *  gets what was written or an error that says where it is not. Source: rows G-16 and D-67, attack T59. */
import { decodeUtf8 } from "../kernel/canonical.js";
import { LedgerError } from "../kernel/errors.js";
import { checkEntry, entryId, EntryProblem } from "./entry.js";
import type { EntryFields } from "./entry.js";
import type { StoredEntry } from "./store.js";

/** A stored entry, checked. */
export interface DecodedEntry {
  readonly id: string;
  readonly fields: EntryFields;
}

/** Decodes a stored entry, or refuses it as damaged (`STORE_DAMAGED`) or unknown (`SCHEMA_UNKNOWN`). */
export function decodeStored(stored: StoredEntry): DecodedEntry {
  const { seq, id, entry } = stored;
  if (entryId(entry) !== id) throw damaged(seq, "id", `its bytes must hash to ${id}, found ${entryId(entry)}`);
  let fields: EntryFields;
  try {
    const text = typeof entry === "string" ? entry : decodeUtf8(entry, "entry");
    fields = checkEntry(JSON.parse(text), typeof entry === "string" ? Buffer.byteLength(entry) : entry.length);
  } catch (cause) {
    if (cause instanceof EntryProblem && cause.kind === "version") {
      throw new LedgerError("SCHEMA_UNKNOWN", `event #${seq}: ${cause.message}`, {
        details: { position: seq, field: "v" },
        cause,
        hint: "use a version of runledger that knows this format",
      });
    }
    throw damaged(seq, cause instanceof EntryProblem ? cause.path : "entry", (cause as Error).message, cause);
  }
  if (fields.seq !== seq) throw damaged(seq, "seq", `its position must be ${seq}, found ${fields.seq}`);
  return { id, fields };
}

function damaged(seq: number, field: string, message: string, cause?: unknown): LedgerError {
  return new LedgerError("STORE_DAMAGED", `event #${seq} is damaged: ${message}`, {
    details: { position: seq, field },
    hint: "run `runledger verify` on it",
    ...(cause === undefined ? {} : { cause }),
  });
}
