/** Pages of entry rows for the verifier.
 *  Invariant: both ways give the same rows; the fast one is taken only for a file whose schema, storage classes and pages
 *  were checked and found sound, because it would show a text `7` as the number 7. */
import type { RawEntry } from "../../journal/raw-reader.js";
import type { RawStatements } from "./statements.js";

/** A page of rows, column by column as they are. */
export function plainPage(statements: RawStatements, after: number, limit: number, asBytes: boolean): RawEntry[] {
  const rows = (asBytes ? statements.entryBytes : statements.entries).all(after, limit);
  return rows.map(([seq, id, stream, rev, before, type, at, skew, entry]) => {
    return { seq, id, stream, rev, before, type, at, skew, entry: exact(statements, seq, entry) };
  });
}

/** The same page of a sound file, in two values a row less work; null when it is not as sound as it was said to be. */
export function soundPage(statements: RawStatements, after: number, limit: number): RawEntry[] | null {
  const texts = statements.entryTexts.all(after, limit) as unknown[];
  if (texts.length === 0) return [];
  const [seqList, idText, idBytesMin, idBytesMax, ...lists] = statements.entryColumns.get(after, limit) as Columns;
  if (idBytesMin !== 32 || idBytesMax !== 32) return null;
  const seqs = numbers(seqList);
  const [streams, revs, befores, types, ats, skews] = lists.map(numbers) as NumberLists;
  const ids = idText.toLowerCase();
  let previous = after;
  const entries: RawEntry[] = [];
  for (let index = 0; index < texts.length; index++) {
    const seq = seqs[index];
    if (seq === undefined || seq === null || seq <= previous) return null;
    previous = seq;
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

type Numbers = readonly (number | null)[];
type NumberLists = [streams: Numbers, revs: Numbers, befores: Numbers, types: Numbers, ats: Numbers, skews: Numbers];
// As the statement selects them: lists of numbers joined by commas.
type Columns = [
  seqs: string,
  ids: string,
  idBytesMin: number,
  idBytesMax: number,
  streams: string,
  revs: string,
  befores: string,
  types: string,
  ats: string,
  skews: string,
];

function numbers(list: string): Numbers {
  return JSON.parse(`[${list}]`) as Numbers; // integers and nulls, by the storage classes that were checked
}

/** Text that shows U+FFFD may hide other bytes: then the bytes themselves. */
function exact(statements: RawStatements, seq: unknown, entry: unknown): unknown {
  if (typeof entry !== "string" || !entry.includes("\ufffd")) return entry;
  const [bytes] = statements.oneEntryBytes.get(seq) as [Buffer];
  return bytes;
}
