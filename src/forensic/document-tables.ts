/** The tables of documents as their rows describe them: which there are, and up to which position each says that it is
 *  folded. Nothing is taken from a row that is not as it must be. */
import { isDigest } from "../kernel/digest.js";
import type { RawDocumentReads, RawFolded, RawProjection } from "../journal/raw-reader.js";
import type { DocumentFault, DocumentPlace, Findings, Sight } from "./findings.js";

/** A table whose row can be read. */
export interface DocumentTable {
  readonly id: number;
  readonly name: string;
  readonly version: number;
  readonly indexes: readonly string[];
  /** Why it stopped; null: it goes on. */
  readonly failure: string | null;
  /** Up to where it says that it is folded. */
  readonly claim: Claim;
}

/** A position that a row names, with the id of its entry. */
export interface Claim {
  readonly where: string;
  readonly position: number;
  readonly entryId: string | null;
  readonly document: DocumentPlace;
}

/** What the rows say. */
export interface DocumentTables {
  readonly tables: readonly DocumentTable[];
  /** Every position that a row names. */
  readonly claims: readonly Claim[];
}

/** How a table is named in a report. */
export function tableLabel({ id, name, version }: Pick<DocumentTable, "id" | "name" | "version">): string {
  return `table ${id} ${name}@${version}`;
}

/** Where a finding about a table, or one of its documents, is. */
export function placeIn(
  table: Pick<DocumentTable, "id" | "name" | "version">,
  fault: DocumentFault,
  key: string | null = null,
  path: string | null = null,
): DocumentPlace {
  return { fault, table: table.id, projection: table.name, version: table.version, key, path };
}

/** Reads the rows, and reports those that cannot be read. */
export async function readTables(reader: RawDocumentReads, findings: Findings): Promise<DocumentTables> {
  const mark = parseMark(await reader.folded(), findings);
  const rows = await reader.projections();
  const tables: DocumentTable[] = [];
  const claims: Claim[] = mark === null ? [] : [mark.claim];
  const ids = new Set<unknown>();
  for (const row of rows) {
    const problem = ids.has(row.id) ? "has the id of another" : problemOf(row);
    ids.add(row.id);
    if (problem !== null) {
      const id = isWithin(row.id, 1) ? row.id : null;
      const document = { fault: "table", table: id, projection: null, version: null, key: null, path: null } as const;
      findings.add("E_PROJECTION", {
        where: `table ${String(row.id)}`,
        message: `the row of the table ${problem}`,
        document,
      });
      continue;
    }
    const table = parseRow(row, mark);
    tables.push(table);
    const own = parseRow(row, null).claim;
    claims.push(own);
    if (table.claim !== own && own.position > table.claim.position)
      report(findings, table, "the row of the table must not be ahead of the mark that it is listed in", {
        want: table.claim.position,
        have: own.position,
      });
  }
  for (const id of mark?.tables ?? [])
    if (!ids.has(id)) {
      const { where, document } = mark!.claim;
      findings.add("E_PROJECTION", { where, message: "the mark lists a table that is not there", have: id, document });
    }
  return { tables, claims };
}

function report(findings: Findings, table: DocumentTable, message: string, sight: Sight): void {
  findings.add("E_PROJECTION", {
    where: tableLabel(table),
    message,
    document: placeIn(table, "position"),
    ...sight,
  });
}

interface Mark {
  readonly claim: Claim;
  readonly tables: readonly number[];
}

/** Null when there is none, or it cannot be read: then tables have the positions of their own rows. */
function parseMark(row: RawFolded | null, findings: Findings): Mark | null {
  if (row === null) return null;
  const { position, entryId, tables: text } = row;
  const tables = parseList(text);
  const document = { fault: "position", table: null, projection: null, version: null, key: null, path: null } as const;
  const where = "mark of what is folded";
  if (isWithin(position, 0) && isDigest(entryId) && tables !== null && tables.every((id) => isWithin(id, 1)))
    return { claim: { where, position, entryId, document }, tables };
  const column = !isWithin(position, 0) ? "position" : isDigest(entryId) ? "tables" : "entry_id";
  findings.add("E_PROJECTION", { where, message: `the ${column} of the mark cannot be read`, document });
  return null;
}

function problemOf(row: RawProjection): string | null {
  const { id, name, version, indexes, status, position, entryId, error } = row;
  if (!isWithin(id, 1)) return "has no id that is one";
  if (typeof name !== "string") return "has no name that is text";
  if (!isWithin(version, 1)) return "has no version that is one";
  if (parseList(indexes)?.every((index) => typeof index === "string") !== true) return "has no list of index names";
  if (!isWithin(position, -1)) return "has no position that is one";
  if (position === -1 ? entryId !== null : !isDigest(entryId)) return "has no entry id that fits its position";
  if (status !== "following" && status !== "failed") return "has no status that is one";
  if (status === "following" ? error !== null : !isErrorText(error)) return "has no error that fits its status";
  return null;
}

/** The row was looked at: its members are what `problemOf` asks for. */
function parseRow(row: RawProjection, mark: Mark | null): DocumentTable {
  const table = {
    id: row.id as number,
    name: row.name as string,
    version: row.version as number,
    indexes: parseList(row.indexes) as readonly string[],
    failure: row.error === null ? null : messageOf(row.error as string),
  };
  if (mark?.tables.includes(table.id) === true)
    return { ...table, claim: { ...mark.claim, document: placeIn(table, "position") } };
  const { position, entryId } = row as { readonly position: number; readonly entryId: string | null };
  return { ...table, claim: { where: tableLabel(table), position, entryId, document: placeIn(table, "position") } };
}

function parseList(text: unknown): readonly unknown[] | null {
  const list = typeof text === "string" ? parseJson(text) : null;
  return Array.isArray(list) ? list : null;
}

function isErrorText(error: unknown): boolean {
  const value = typeof error === "string" ? parseJson(error) : null;
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What an error says, in the form in which it is kept. */
function messageOf(error: string): string {
  const { message } = parseJson(error) as { readonly message?: unknown }; // an object, as was looked at
  return typeof message === "string" ? message : error;
}

/** Null when it is none. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function isWithin(value: unknown, min: number): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= min;
}
