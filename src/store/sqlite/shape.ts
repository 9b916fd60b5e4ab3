/** Is the schema of a file exactly ours? Row by row: a view in place of a table, a changed trigger, a lost UNIQUE all show. */
import type { Connection } from "./connection.js";
import { unknownSchema } from "./header.js";
import { schema, schemaIdentifier } from "./schema.js";
import { readStatements } from "./statements.js";

/** How much of a differing definition a message shows. */
const textMax = 200;

/** One way in which a schema differs. */
export interface ShapeDifference {
  readonly where: string;
  readonly message: string;
}

/** All differences between the schema of a connection and ours, in order of name. */
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
  for (const { type, name, table, sql } of schema) {
    const there = found.get(name) ?? [];
    found.delete(name);
    if (there.length === 1 && there[0] === describeObject(type, table, sql)) continue;
    differences.push({ where: name, message: `${type} ${name} must be as it was made, found ${shown(there)}` });
  }
  for (const [name, there] of found) {
    differences.push({ where: name, message: `${name} must not be there, found ${shown(there)}` });
  }
  return differences.sort((one, other) => (one.where < other.where ? -1 : 1));
}

/** Refuses a schema that is not exactly ours; names the stored identifier, or the first difference. */
export function checkShape(connection: Connection, path: string): void {
  const differences = shapeDifferences(connection);
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
  const text = objects.length === 0 ? "nothing" : objects.join(" and ");
  return text.length > textMax ? `${text.slice(0, textMax)}…` : text;
}

function describeObject(type: unknown, table: unknown, sql: unknown): string {
  return `${String(type)} on ${String(table)}: ${typeof sql === "string" ? sql : "made by SQLite"}`;
}
