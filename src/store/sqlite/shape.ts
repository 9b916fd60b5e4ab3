/** Is the schema of a file exactly ours? Row by row: a view in place of a table, a changed trigger, a lost UNIQUE all show. */
import { atOnePosition } from "./connection.js";
import type { Connection } from "./connection.js";
import { unknownSchema } from "./header.js";
import { documentTable } from "./document-table.js";
import { parseIndexes } from "../projection-row.js";
import { schema, schemaIdentifier } from "./schema.js";
import type { SchemaObject } from "./schema.js";
import { readStatements } from "./statements.js";

/** How much of a differing definition a message shows. */
const textMax = 200;

/** One way in which a schema differs. */
export interface ShapeDifference {
  readonly where: string;
  readonly message: string;
}

/** All differences between the schema of a connection and ours, in order of name. The connection must be inside a transaction:
 *  a table and its row are looked at one after the other. */
export function shapeDifferences(connection: Connection): readonly ShapeDifference[] {
  const rows = connection
    .prepare<unknown[], unknown[]>("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    .raw()
    .all();
  const found = new Map<string, string[]>();
  for (const [type, name, table, sql] of rows) {
    const key = String(name);
    found.set(key, [...(found.get(key) ?? []), describeObject(type, table, sql)]);
  }
  const differences: ShapeDifference[] = [];
  compare(schema, found, differences);
  if (!differences.some(({ where }) => where === "projections"))
    compare(tablesOfDocuments(connection, differences), found, differences);
  for (const [name, there] of found) {
    differences.push({ where: name, message: `${name} must not be there, found ${shown(there)}` });
  }
  return differences.sort((one, other) => (one.where < other.where ? -1 : 1));
}

/** Takes what is expected out of what was found. */
function compare(
  expected: readonly SchemaObject[],
  found: Map<string, string[]>,
  differences: ShapeDifference[],
): void {
  for (const { type, name, table, sql } of expected) {
    const there = found.get(name) ?? [];
    found.delete(name);
    if (there.length === 1 && there[0] === describeObject(type, table, sql)) continue;
    differences.push({ where: name, message: `${type} ${name} must be as it was made, found ${shown(there)}` });
  }
}

/** What the rows of `projections` call for. */
function tablesOfDocuments(connection: Connection, differences: ShapeDifference[]): readonly SchemaObject[] {
  const rows = connection
    .prepare<unknown[], [bigint, unknown]>("SELECT id, indexes FROM projections")
    .raw()
    .safeIntegers()
    .all();
  return rows.flatMap(([id, text]) => {
    const indexes = parseIndexes(text);
    if (id >= 1n && id <= BigInt(Number.MAX_SAFE_INTEGER) && indexes !== null)
      return documentTable(Number(id), indexes.length);
    const row = typeof text === "string" ? text : typeof text;
    const message = `a row of projections must have a number from 1 and a list of indexes, found ${id} and ${row}`;
    differences.push({ where: "projections", message: cut(message) });
    return [];
  });
}

/** Refuses a schema that is not exactly ours; names the stored identifier, or the first difference. */
export function checkShape(connection: Connection, path: string): void {
  const differences = atOnePosition(connection, () => shapeDifferences(connection));
  if (!differences.some(({ where }) => where === "meta")) {
    const identifier = storedIdentifier(connection);
    if (identifier !== schemaIdentifier) throw unknownSchema(path, `schema identifier ${schemaIdentifier}`, identifier);
  }
  const [first] = differences;
  if (first !== undefined)
    throw unknownSchema(path, `the schema of ${schemaIdentifier} (${differences.length} differences)`, first.message);
}

/** The schema identifier that a file carries; `none` when it has none. */
export function storedIdentifier(connection: Connection): string {
  const identifier = connection.prepare<unknown[], string>(readStatements.schemaIdentifier.sql).pluck().get();
  return identifier ?? "none";
}

function shown(objects: readonly string[]): string {
  return cut(objects.length === 0 ? "nothing" : objects.join(" and "));
}

function cut(text: string): string {
  return text.length > textMax ? `${text.slice(0, textMax)}…` : text;
}

function describeObject(type: unknown, table: unknown, sql: unknown): string {
  return `${String(type)} on ${String(table)}: ${typeof sql === "string" ? sql : "made by SQLite"}`;
}
