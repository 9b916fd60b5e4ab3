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
 *  positions are not one behind the other from `after` on: a position that a damaged page shows in the wrong place, or does
 *  not show, is a finding. */
export function soundPage(statements: RawStatements, after: number, limit: number): RawEntry[] | null {
  const to = after + limit;
  const texts = statements.entryTexts.all(after, to) as unknown[];
  if (texts.length < limit && statements.entries.all(to, 1).length > 0) return null;
  if (texts.length === 0) return [];
  const columns = readColumns(statements, after, to);
  if (columns === null) return null;
  const [idTexts, ...lists] = columns;
  // In JSON a fraction has a point and text has quotes.
  if (idTexts.length !== texts.length * idStride - 1 || lists.some((list) => list.includes(".") || list.includes(`"`)))
    return null;
  const [seqs, streams, revs, befores, types, ats, skews] = lists.map((list) => JSON.parse(list) as unknown[]) as Lists;
  const ids = idTexts.toLowerCase();
  const entries: RawEntry[] = [];
  for (let index = 0; index < texts.length; index++) {
    const seq = after + 1 + index;
    const end = index * idStride + idDigits;
    const text = texts[index];
    if (seqs[index] !== seq || typeof text !== "string" || (end < ids.length && ids[end] !== ",")) return null;
    entries.push({
      seq,
      id: ids.slice(end - idDigits, end),
      stream: streams[index],
      rev: revs[index],
      before: befores[index],
      type: types[index],
      at: ats[index],
      skew: skews[index],
      entry: exact(statements, seq, text),
    });
  }
  return entries;
}

const idDigits = 64;
/** A comma stands between two of them. */
const idStride: number = idDigits + 1;

type Lists = [
  seqs: unknown[],
  streams: unknown[],
  revs: unknown[],
  befores: unknown[],
  types: unknown[],
  ats: unknown[],
  skews: unknown[],
];
// As the statement selects them: the ids in one text, lists in JSON.
type Columns = [string, string, string, string, string, string, string, string];

function readColumns(statements: RawStatements, after: number, to: number): Columns | null {
  try {
    return statements.entryColumns.get(after, to) as Columns;
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
