/** The text of a row, and what it says. */
import { isUtf8 } from "node:buffer";
import type { EntryFields } from "../journal/entry.js";
import type { RawEntry } from "../journal/raw-reader.js";

/** A row whose bytes are text, with the text. */
export function withText(row: RawEntry): RawEntry {
  return row.entry instanceof Uint8Array && isUtf8(row.entry)
    ? { ...row, entry: Buffer.from(row.entry).toString() }
    : row;
}

/** What the text of a sound entry says; null when it is none. */
export function fieldsOf({ entry }: RawEntry): EntryFields | null {
  return typeof entry === "string" ? (JSON.parse(entry) as EntryFields) : null; // it was checked
}
