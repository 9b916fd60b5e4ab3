/** What stands in a schema, looked at before anything is changed there.
 *  Invariant: nothing here writes. A server that is too old, a database of another encoding and a schema that is not a journal
 *  of this version are refused as they are. */
import { LedgerError } from "../../kernel/errors.js";
import { parseIndexes } from "../projection-row.js";
import { catalogueQuery, linesOfGuard, linesOfTable } from "./catalogue.js";
import type { CatalogueLine } from "./catalogue.js";
import type { Connection } from "./connection.js";
import { storeError } from "./errors.js";
import type { PostgresLocation } from "./location.js";
import { denied, requireRights, requireWritable } from "./rights.js";
import { documentTable, guards, layoutVersion, qualified, retiredPrefix, schemaIdentifier, tables } from "./schema.js";

/** PostgreSQL 14, in the server's own way of counting. */
const serverVersionMin = 140_000;
/** How much of a differing object a message shows. */
const textMax = 200;

/** What a schema is to us. */
export type Found = "nothing" | "empty schema" | "ours";

/** One way in which a schema differs. */
export interface ShapeDifference {
  readonly where: string;
  readonly message: string;
}

/** What stands in a schema. */
interface Survey {
  readonly found: Found;
  /** There is a table that can say which layout it is. */
  readonly identified: boolean;
  readonly lines: readonly CatalogueLine[];
}

type Place = Pick<PostgresLocation, "schema" | "shown">;

/** Looks at the schema of a connection that is in no transaction. Refuses what is neither free nor a journal that can be read,
 *  or, to write, changed. */
export async function inspect(connection: Connection, place: Place, intent: "read" | "write"): Promise<Found> {
  try {
    await requireServer(connection, place.shown);
    const found = await atOneMoment(connection, () => look(connection, place, intent));
    if (intent === "write") await requireWritable(connection, place.shown);
    if (found === "ours" || intent === "write") return found;
    throw nothingThere(place.shown, found);
  } catch (cause) {
    throw storeError(cause, place.shown, "opening");
  }
}

/** Asks the server what it is, and refuses one in which no journal can be kept. */
export async function requireServer(connection: Connection, shown: string): Promise<void> {
  const [server] = await connection.rows<[number, string]>(serverQuery);
  checkServer(server![0], server![1], shown);
}

/** Refuses a version or an encoding in which no journal can be kept. */
export function checkServer(version: number, encoding: string, shown: string): void {
  if (version < serverVersionMin)
    throw unsupported(shown, "PostgreSQL 14 or newer", `version ${version}`, "use a newer server");
  if (encoding !== "UTF8")
    throw unsupported(shown, "a database of the encoding UTF8", encoding, "make it with ENCODING 'UTF8'");
}

/** All differences between the lines of a schema and ours, in order of name. The connection must be inside the transaction of
 *  one snapshot in which they were read, for tables are called for by rows. What is the matter with a whole table is told once. */
export async function shapeDifferences(
  connection: Connection,
  schema: string,
  lines: readonly CatalogueLine[],
): Promise<readonly ShapeDifference[]> {
  const there = new Map(lines.map((line) => [keyOf(line), line]));
  const ours = [...tables.flatMap(linesOfTable), ...guards.flatMap(linesOfGuard)];
  const differences = take(ours, there);
  const readable = !differences.some(({ where }) => where.startsWith("projections"));
  const documents = readable ? await readDocumentTables(connection, schema) : { problems: [], lines: [] };
  differences.push(...documents.problems, ...take(documents.lines, there));
  const retired = differences.some(({ where }) => where.startsWith("meta"))
    ? []
    : await readRetired(connection, schema);
  for (const [key, { where, of }] of there) if (retired.includes(where) || retired.includes(of)) there.delete(key);
  const known = readable && documents.problems.length === 0;
  for (const line of there.values()) {
    const { kind, where, is, of } = line;
    if (isRebuilt(line, [...ours, ...documents.lines])) continue;
    if (there.has(keyOf({ kind: "relation", where: of, of: "" })) || (!known && /^doc_\d+$/.test(where))) continue;
    differences.push({ where, message: `${kind} ${where} must not be there, found ${cut(is)}` });
  }
  return differences.sort((one, other) => (one.where < other.where ? -1 : 1));
}

/** Tables of documents that were dropped, and stand until nobody reads them any more. */
async function readRetired(connection: Connection, schema: string): Promise<readonly string[]> {
  const rows = await connection.rows<[string]>(
    `SELECT key FROM ${qualified(schema, "meta")} WHERE starts_with(key, '${retiredPrefix}')`,
  );
  return rows.map(([key]) => `doc_${key.slice(retiredPrefix.length)}`);
}

/** What `meta` says under a key; null when it says nothing. */
export async function storedMeta(connection: Connection, schema: string, key: string): Promise<string | null> {
  const [row] = await connection.rows<[unknown]>(`SELECT value FROM ${qualified(schema, "meta")} WHERE key = $1`, [
    key,
  ]);
  return typeof row?.[0] === "string" ? row[0] : null;
}

/** All objects of a schema. */
export async function readCatalogue(connection: Connection, schema: string): Promise<CatalogueLine[]> {
  const rows = await connection.rows<[CatalogueLine["kind"], string, string, string]>(catalogueQuery, [schema]);
  return rows.map(([kind, where, is, of]) => ({ kind, where, is, of }));
}

/** Refuses what the verifier cannot read at all. What is wrong with a journal of this version is a finding. */
export async function checkReadable(connection: Connection, place: Place): Promise<void> {
  const { schema, shown } = place;
  const { found, identified } = await survey(connection, place);
  if (found !== "ours") throw nothingThere(shown, found);
  await requireRights(connection, place, "read");
  const layout = identified ? await storedMeta(connection, schema, "layout") : null;
  if (layout !== null && Number(layout) > layoutVersion)
    throw unknownSchema(shown, `layout version ${layoutVersion} at most`, cut(layout));
}

/** What stands in the schema; a ruin counts as ours while one of two tables tells what it was. */
async function survey(connection: Connection, { schema, shown }: Place): Promise<Survey> {
  const [usage] = await connection.rows<[boolean]>(
    "SELECT pg_catalog.has_schema_privilege(oid, 'USAGE') FROM pg_catalog.pg_namespace WHERE nspname = $1",
    [schema],
  );
  if (usage === undefined) return { found: "nothing", identified: false, lines: [] };
  const lines = await readCatalogue(connection, schema);
  if (lines.length === 0) return { found: "empty schema", identified: false, lines };
  const there = new Set(lines.map(({ kind, where, is }) => `${kind} ${where} ${is}`));
  const identified = there.has("column meta.key text") && there.has("column meta.value text");
  if (!identified && !(there.has("column entries.seq bigint") && there.has("column entries.entry text"))) {
    const relations = lines.filter(({ kind }) => kind === "relation").map(({ where }) => where);
    throw foreign(shown, "the tables meta and entries", relations.sort().join(", ") || "other objects");
  }
  if (!usage[0]) throw denied(shown, "USAGE of the schema");
  return { found: "ours", identified, lines };
}

export function nothingThere(shown: string, found: string): LedgerError {
  return new LedgerError("NOT_FOUND", `there must be a ledger at ${shown}, found ${found}`, {
    details: { location: shown, found },
    hint: "look at the database and at ?journal=; whoever opens it for writing makes it",
  });
}

/** Refuses a layout that this version does not know, the newest first: it may mean anything. */
function checkLayout(identifier: string | null, layout: string | null, shown: string): void {
  if (identifier === null || layout === null) throw foreign(shown, "an identifier in meta", "none");
  if (identifier !== schemaIdentifier)
    throw unknownSchema(shown, `schema identifier ${schemaIdentifier}`, cut(identifier));
  if (layout !== String(layoutVersion)) throw unknownSchema(shown, `layout version ${layoutVersion}`, cut(layout));
}

const serverQuery =
  "SELECT current_setting('server_version_num')::integer, pg_catalog.pg_encoding_to_char(encoding) FROM pg_catalog.pg_database WHERE datname = current_database()";

async function look(connection: Connection, place: Place, intent: "read" | "write"): Promise<Found> {
  const { schema, shown } = place;
  const { found, identified, lines } = await survey(connection, place);
  if (found !== "ours") return found;
  await requireRights(connection, place, intent);
  if (!identified) throw foreign(shown, "a table meta", "none");
  const [identifier, layout] = [
    await storedMeta(connection, schema, "schema"),
    await storedMeta(connection, schema, "layout"),
  ];
  checkLayout(identifier, layout, shown);
  const differences = await shapeDifferences(connection, schema, lines);
  const [first] = differences;
  if (first !== undefined)
    throw unknownSchema(shown, `the layout of ${schemaIdentifier} (${differences.length} differences)`, first.message);
  return "ours";
}

/** Runs it in a transaction of one snapshot, which changes nothing. */
async function atOneMoment<T>(connection: Connection, act: () => Promise<T>): Promise<T> {
  await connection.command("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  try {
    return await act();
  } finally {
    // A connection that is gone has ended it; its error is the one to be seen.
    await connection.command("ROLLBACK").catch(() => {});
  }
}

/** Takes what is expected out of what is there, and says what differs. */
function take(expected: readonly CatalogueLine[], there: Map<string, CatalogueLine>): ShapeDifference[] {
  const lost = new Set<string>();
  return expected.flatMap((line) => {
    const { kind, where, is, of } = line;
    const found = there.get(keyOf(line));
    there.delete(keyOf(line));
    if (found?.is === is || lost.has(of)) return [];
    if (kind === "relation") lost.add(where);
    return [
      {
        where,
        message: `${kind} ${where} must be ${cut(is)}, found ${found === undefined ? "nothing" : cut(found.is)}`,
      },
    ];
  });
}

/** Is it what REINDEX CONCURRENTLY makes of an index of ours, until it takes its place, or leaves behind when it was cancelled? */
function isRebuilt({ kind, where, is, of }: CatalogueLine, ours: readonly CatalogueLine[]): boolean {
  const [, name] = /^(.+)_cc(?:new|old)\d*$/.exec(where) ?? [];
  if (kind !== "index" || name === undefined) return false;
  const whole = ours.find((line) => keyOf(line) === keyOf({ kind, where: name, of }));
  return whole !== undefined && is === `${whole.is.replace(/^the primary key/, "unique")} that is not whole`;
}

/** Constraints and triggers have names of their own in each table. */
function keyOf({ kind, where, of }: Omit<CatalogueLine, "is">): string {
  return `${kind} ${where} ${of}`;
}

/** What the rows of `projections` call for. */
async function readDocumentTables(
  connection: Connection,
  schema: string,
): Promise<{ readonly problems: ShapeDifference[]; readonly lines: readonly CatalogueLine[] }> {
  const problems: ShapeDifference[] = [];
  const rows = await connection.rows<[unknown, unknown]>(
    `SELECT id, indexes FROM ${qualified(schema, "projections")} ORDER BY id`,
  );
  const lines = rows.flatMap(([id, text]) => {
    const indexes = parseIndexes(text);
    if (typeof id === "number" && id >= 1 && indexes !== null) return linesOfTable(documentTable(id, indexes.length));
    const message = `a row of projections must have a number from 1 and a list of indexes, found ${String(id)} and ${String(text)}`;
    problems.push({ where: "projections", message: cut(message) });
    return [];
  });
  return { problems, lines };
}

function foreign(shown: string, expected: string, found: string): LedgerError {
  return new LedgerError("STORE_FOREIGN", `${shown} must be a ledger with ${expected}, found ${cut(found)}`, {
    details: { location: shown, expected, found: cut(found) },
    hint: "name another journal; nothing was changed in this schema",
  });
}

function unknownSchema(shown: string, expected: string, found: string): LedgerError {
  return new LedgerError("SCHEMA_UNKNOWN", `${shown} must have ${expected}, found ${found}`, {
    details: { location: shown, expected, found },
    hint: "open it with the version of this program that wrote it; nothing was changed",
  });
}

function unsupported(shown: string, expected: string, found: string, hint: string): LedgerError {
  return new LedgerError("STORE_UNSUPPORTED", `${shown} must be in ${expected}, found ${found}`, {
    details: { location: shown, expected, found },
    hint,
  });
}

function cut(text: string): string {
  return text.length > textMax ? `${text.slice(0, textMax)}…` : text;
}
