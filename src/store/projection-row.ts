/** Rows about tables of documents, as they are stored and as the port shows them. */
import type { FoldedMark, ProjectionRow } from "../journal/documents.js";
import { isDigest } from "../kernel/digest.js";
import { LedgerError } from "../kernel/errors.js";

/** A row of `projections` as the statements select it: one changed byte makes a value NULL or one of another class. */
export type ProjectionColumns = readonly [
  id: number,
  name: unknown,
  version: unknown,
  indexes: unknown,
  status: unknown,
  position: unknown,
  entryId: unknown,
  error: unknown,
];
/** The row of `folded` as the statements select it. */
export type FoldedColumns = readonly [position: unknown, entryId: unknown, tables: unknown];

/** The values of `insertProjection`. */
export function projectionValues(id: number, row: Omit<ProjectionRow, "id">): unknown[] {
  const { name, version, indexes, status, position, entryId, error } = row;
  return [id, name, version, JSON.stringify(indexes), status, position, entryId, error];
}

export function toProjection(columns: ProjectionColumns, path: string): ProjectionRow {
  const [id, name, version, indexText, status, position, entryId, error] = columns;
  const refuse = (column: string): LedgerError => damaged(path, `the ${column} of table ${id}`, { table: id, column });
  if (!isWithin(id, 1)) throw refuse("id");
  if (typeof name !== "string") throw refuse("name");
  if (!isWithin(version, 1)) throw refuse("version");
  const indexes = parseIndexes(indexText);
  if (indexes === null) throw refuse("indexes");
  if (status !== "following" && status !== "failed") throw refuse("status");
  if (!isWithin(position, -1)) throw refuse("position");
  if (position === -1 ? entryId !== "" : !isDigest(entryId)) throw refuse("entry_id");
  if (error !== null && typeof error !== "string") throw refuse("error");
  return { id, name, version, indexes, status, position, entryId: position === -1 ? null : String(entryId), error };
}

export function toFolded([position, entryId, tablesText]: FoldedColumns, path: string): FoldedMark {
  const refuse = (column: string): LedgerError =>
    damaged(path, `the ${column} of the mark of what is folded`, { table: "folded", column });
  if (!isWithin(position, 0)) throw refuse("position");
  if (!isDigest(entryId)) throw refuse("entry_id");
  const tables = parseList(tablesText, (value): value is number => isWithin(value, 1));
  if (tables === null) throw refuse("tables");
  return { position, entryId, tables };
}

/** The names of the indexes of a table; null when they are no list of names. */
export function parseIndexes(text: unknown): readonly string[] | null {
  return parseList(text, (value): value is string => typeof value === "string");
}

function parseList<T>(text: unknown, isItem: (value: unknown) => value is T): readonly T[] | null {
  if (typeof text !== "string") return null;
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every(isItem) ? list : null;
  } catch {
    return null;
  }
}

function isWithin(value: unknown, min: number): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= min;
}

function damaged(path: string, what: string, details: Readonly<Record<string, unknown>>): LedgerError {
  return new LedgerError("STORE_DAMAGED", `${what} in ${path} cannot be read`, {
    details: { path, ...details },
    hint: "run `runledger verify` on it; what is derived can be made again, the journal is not concerned",
  });
}
