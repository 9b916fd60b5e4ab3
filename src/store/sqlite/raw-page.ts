/** Pages of entry rows for the verifier.
 *  Invariant: both ways give the same rows; the fast one is given up wherever a value has another storage class than its
 *  column, and is not tried on a file with another schema. */
import { LedgerError } from "../../kernel/errors.js";
import { sqliteCode } from "./errors.js";
import type { RawEntry } from "../../journal/raw-reader.js";
import type { RawStatements } from "./statements.js";

/** A page of rows, column by column as they are. */
export function plainPage(statements: RawStatements, after: number, limit: number, asBytes: boolean): RawEntry[] {
  const rows = (asBytes ? statements.entryBytes : statements.entries).all(after, limit);
  return rows.map(([seq, id, stream, rev, before, type, at, skew, entry, misfits]) => {
    const row = { seq, id, stream, rev, before, type, at, skew, entry: exact(statements, seq, entry) };
    return typeof misfits === "string" ? { ...row, misfits } : row;
  });
}

/** The same page in two values a row less work; null when its values are not all of the classes that they must be, or its
 *  positions are not one behind the other: a position that a damaged page shows in the wrong place is a finding. */
export function soundPage(statements: RawStatements, after: number, limit: number): RawEntry[] | null {
  const texts = statements.entryTexts.all(after, limit) as unknown[];
  if (texts.length === 0) return [];
  const columns = readColumns(statements, after, limit);
  if (columns === null) return null;
  const [idText, soundIds, ...lists] = columns;
  // In JSON a fraction has a point and text has quotes.
  if (soundIds !== texts.length || lists.some((list) => list.includes(".") || list.includes(`"`))) return null;
  if (texts.some((text) => typeof text !== "string")) return null;
  const [seqs, streams, revs, befores, types, ats, skews] = lists.map((list) => JSON.parse(list) as unknown[]) as Lists;
  const ids = idText.toLowerCase();
  const entries: RawEntry[] = [];
  for (let index = 0; index < texts.length; index++) {
    const seq = seqs[index] as number; // the key of a table is an integer
    if (seq !== (seqs[0] as number) + index) return null;
    entries.push({
      seq,
      id: ids.slice(index * 64, index * 64 + 64),
      stream: streams[index],
      rev: revs[index],
      before: befores[index],
      type: types[index],
      at: ats[index],
      skew: skews[index],
      entry: exact(statements, seq, texts[index]),
    });
  }
  return entries;
}

type Lists = [
  seqs: unknown[],
  streams: unknown[],
  revs: unknown[],
  befores: unknown[],
  types: unknown[],
  ats: unknown[],
  skews: unknown[],
];
// As the statement selects them: the ids in one text, how many of them are sound, lists in JSON.
type Columns = [string, number, string, string, string, string, string, string, string];

function readColumns(statements: RawStatements, after: number, limit: number): Columns | null {
  try {
    return statements.entryColumns.get(after, limit) as Columns;
  } catch (cause) {
    if (sqliteCode(cause) === "SQLITE_ERROR") return null; // a blob, which JSON cannot hold
    throw cause;
  }
}

/** Text that shows U+FFFD may hide other bytes: then the bytes themselves. */
function exact(statements: RawStatements, seq: unknown, entry: unknown): unknown {
  if (typeof entry !== "string" || !entry.includes("\ufffd")) return entry;
  const row = statements.oneEntryBytes.get(seq);
  if (row !== undefined) return row[0];
  throw new LedgerError(
    "STORE_DAMAGED",
    `entry ${String(seq)} must be found by its position, found only by reading on`,
    {
      details: { position: seq },
    },
  );
}
