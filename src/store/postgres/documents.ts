/** The SQL on tables of documents, and their rows. Many documents are one statement.
 *  Invariant: nothing scans: a range is one of the key, or of a partial index, for comparing a column says that it is not NULL. */
import type { DocumentRange, DocumentWrite, FoundDocument, StoredDocument } from "../../journal/documents.js";
import { invariant, LedgerError } from "../../kernel/errors.js";
import type { Ask } from "./ask.js";
import { qualified } from "./schema.js";

export type DocumentColumns = readonly [key: string, seq: unknown, text: string];
export type FoundColumns = readonly [key: string, seq: unknown, text: string, at: Uint8Array];

export function byKeys(schema: string, table: number, keys: readonly string[]): Ask {
  return ask(schema, table, "keys", (name) => `SELECT key, seq, doc FROM ${name} WHERE key = ANY ($1::text[])`, [keys]);
}

export function byKey(schema: string, table: number, after: string | null, limit: number, reverse: boolean): Ask {
  const order = reverse ? "DESC" : "ASC";
  if (after === null)
    return ask(
      schema,
      table,
      `all_${order}`,
      (name) => `SELECT key, seq, doc FROM ${name} ORDER BY key ${order} LIMIT $1`,
      [limit],
    );
  const compare = reverse ? "<" : ">";
  return ask(
    schema,
    table,
    `behind_${order}`,
    (name) => `SELECT key, seq, doc FROM ${name} WHERE key ${compare} $1 ORDER BY key ${order} LIMIT $2`,
    [after, limit],
  );
}

export function byIndex(schema: string, table: number, { index, from, to, reverse, limit }: DocumentRange): Ask {
  const column = `index_${index}`;
  const order = reverse ? "DESC" : "ASC";
  const end = to === null ? "" : ` AND ${column} < $3`;
  return ask(
    schema,
    table,
    `${column}_${order}${to === null ? "" : "_to"}`,
    (name) =>
      `SELECT key, seq, doc, ${column} FROM ${name} WHERE ${column} >= $1${end} ORDER BY ${column} ${order} LIMIT $2`,
    to === null ? [from, limit] : [from, limit, to],
  );
}

/** What writes documents of a table that has so many indexes: at most three statements. One that says not all of its indexes
 *  must be there already; where it is not, the statement fails with `division_by_zero`. */
export function writes(
  schema: string,
  table: number,
  count: number,
  changes: readonly DocumentWrite[],
): readonly Ask[] {
  const removed: string[] = [];
  const whole: DocumentWrite[] = [];
  const partly: DocumentWrite[] = [];
  for (const change of changes) {
    const { text, indexes, key } = change;
    if (text === null) {
      removed.push(key);
      continue;
    }
    invariant(
      indexes.length === count,
      `a document of table ${table} must say ${count} indexes, found ${indexes.length}`,
    );
    (indexes.includes(undefined) ? partly : whole).push(change);
  }
  const asks: Ask[] = [];
  if (removed.length > 0)
    asks.push(ask(schema, table, "remove", (name) => `DELETE FROM ${name} WHERE key = ANY ($1::text[])`, [removed]));
  if (whole.length > 0) asks.push(put(schema, table, count, whole));
  if (partly.length > 0) asks.push(update(schema, table, count, partly));
  return asks;
}

function put(schema: string, table: number, count: number, changes: readonly DocumentWrite[]): Ask {
  const columns = ["seq", "doc", ...indexColumns(count)];
  const sql = (name: string): string =>
    `INSERT INTO ${name} (key, ${columns.join(", ")}) SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[]${indexColumns(
      count,
    )
      .map((_, index) => `, $${index + 4}::bytea[]`)
      .join(
        "",
      )}) ON CONFLICT (key) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(", ")}`;
  const indexes = indexColumns(count).map((_, index) => changes.map((change) => change.indexes[index] ?? null));
  return ask(schema, table, `put_${count}`, sql, [...rows(changes), ...indexes]);
}

/** An index that is not said stays as it is, and so does its index entry. */
function update(schema: string, table: number, count: number, changes: readonly DocumentWrite[]): Ask {
  const names = indexColumns(count);
  const parameters = names.map((_, index) => `, $${index * 2 + 4}::bytea[], $${index * 2 + 5}::boolean[]`).join("");
  const aliases = names.map((column) => `, ${column}, said_${column}`).join("");
  const sets = names
    .map((column) => `, ${column} = CASE WHEN w.said_${column} THEN w.${column} ELSE d.${column} END`)
    .join("");
  const last = 4 + count * 2;
  const sql = (name: string): string =>
    `WITH changed AS (UPDATE ${name} d SET seq = w.seq, doc = w.doc${sets} FROM unnest($1::text[], $2::bigint[], $3::text[]${parameters}) w (key, seq, doc${aliases}) WHERE d.key = w.key RETURNING 1) SELECT 1 / (CASE WHEN count(*) = $${last}::bigint THEN 1 ELSE 0 END) FROM changed`;
  const indexes = names.flatMap((_, index) => [
    changes.map((change) => change.indexes[index] ?? null),
    changes.map((change) => change.indexes[index] !== undefined),
  ]);
  return ask(schema, table, `update_${count}`, sql, [...rows(changes), ...indexes, changes.length]);
}

function rows(changes: readonly DocumentWrite[]): readonly (readonly unknown[])[] {
  return [changes.map(({ key }) => key), changes.map(({ seq }) => seq), changes.map(({ text }) => text)];
}

function indexColumns(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `index_${index}`);
}

function ask(
  schema: string,
  table: number,
  name: string,
  sql: (table: string) => string,
  values: readonly unknown[],
): Ask {
  return { statement: { name: `doc_${table}_${name}`, text: sql(qualified(schema, `doc_${table}`)) }, values };
}

export function toDocument([key, seq, text]: DocumentColumns, shown: string, table: number): StoredDocument {
  if (typeof seq === "number") return { key, seq, text };
  throw new LedgerError(
    "STORE_DAMAGED",
    `the seq of document ${JSON.stringify(key)} of table ${table} in ${shown} cannot be read`,
    {
      details: { path: shown, table, key, column: "seq" },
      hint: "run `runledger verify` on it; what is derived can be made again, the journal is not concerned",
    },
  );
}

export function toFound([key, seq, text, at]: FoundColumns, shown: string, table: number): FoundDocument {
  return { ...toDocument([key, seq, text], shown, table), at };
}
