/** All SQL of the raw reader: rows as they are, with the reason for each. Ids and hashes come as hex, whatever their size. */
import type { Statement } from "./ask.js";
import { qualified } from "./schema.js";

interface RawQuery {
  readonly sql: string;
  /** What it is for, and why it is cheap. */
  readonly why: string;
}

const entryColumns = "seq, encode(id, 'hex'), stream, rev, before, type, at, skew";
const entryPage = "FROM $s.entries WHERE seq > $1 AND seq <= 9007199254740991 ORDER BY seq LIMIT $2";

export type RawName =
  | "entries"
  | "entryBytes"
  | "entryEnds"
  | "entryCount"
  | "streams"
  | "types"
  | "streamPages"
  | "contents"
  | "nodes"
  | "checkpoints"
  | "projections"
  | "folded";

/** `$s` stands for the schema. */
const queries: Readonly<Record<RawName, RawQuery>> = {
  entries: {
    sql: `SELECT ${entryColumns}, entry ${entryPage}`,
    why: "a range of the key; positions that a number cannot hold are a finding of their own",
  },
  entryBytes: {
    sql: `SELECT ${entryColumns}, convert_to(entry, 'UTF8') ${entryPage}`,
    why: "the same, all entries as bytes: nothing is decoded on the way",
  },
  entryEnds: { sql: "SELECT min(seq), max(seq) FROM $s.entries", why: "two descents" },
  entryCount: { sql: "SELECT count(*) FROM $s.entries", why: "counts what is really there; it scans" },
  streams: {
    sql: "SELECT id, name, rev, last_seq FROM $s.streams WHERE id > $1 ORDER BY id LIMIT $2",
    why: "a range of the key",
  },
  types: { sql: "SELECT id, name FROM $s.types ORDER BY id", why: "all of it, by key: types are few" },
  streamPages: {
    sql: "SELECT stream, page, seqs FROM $s.stream_pages WHERE (stream, page) > ($1, $2) ORDER BY stream, page LIMIT $3",
    why: "a range of the primary key",
  },
  contents: {
    sql: "SELECT n, encode(digest, 'hex'), media, salt, bytes, encode(plain, 'hex'), erased FROM $s.contents WHERE n > $1 ORDER BY n LIMIT $2",
    why: "a range of the key",
  },
  nodes: {
    sql: "SELECT level, n, encode(hash, 'hex') FROM $s.nodes WHERE (level, n) > ($1, $2) ORDER BY level, n LIMIT $3",
    why: "a range of the primary key",
  },
  checkpoints: {
    sql: "SELECT size, note FROM $s.checkpoints WHERE size > $1 ORDER BY size LIMIT $2",
    why: "a range of the key",
  },
  projections: {
    sql: "SELECT id, name, version, indexes, status, position, encode(entry_id, 'hex'), error FROM $s.projections ORDER BY id",
    why: "all of it, by key: tables of documents are few",
  },
  folded: { sql: "SELECT position, encode(entry_id, 'hex'), tables FROM $s.folded WHERE one = 1", why: "by key" },
};

export type RawStatements = Readonly<Record<RawName, Statement>>;

/** The statements on the journal in this schema. */
export function rawStatementsOn(schema: string): RawStatements {
  const all = Object.entries(queries).map(([name, { sql }]) => {
    const text = sql.replaceAll(/\$s\.(\w+)/g, (_, table: string) => qualified(schema, table));
    return [name, { name: `raw_${name}`, text }] as const;
  });
  return Object.fromEntries(all) as unknown as RawStatements; // of exactly these names
}

/** Documents of a table behind a key: its columns as `documentTable` orders them, then key and document as bytes where they are
 *  wanted. A key that is no UTF-8 is compared as bytes, which takes the whole table; there is none but by damage. */
export function documentsQuery(
  schema: string,
  table: number,
  after: string | Uint8Array | null,
  bytes: boolean,
): string {
  const name = qualified(schema, `doc_${table}`);
  const columns = bytes ? "convert_to(key, 'UTF8'), convert_to(doc, 'UTF8')" : "*";
  const key = after instanceof Uint8Array ? "convert_to(key, 'UTF8')" : "key";
  return `SELECT ${columns} FROM ${name} ${after === null ? "" : `WHERE ${key} > $2 `}ORDER BY ${key} LIMIT $1`;
}

/** How many rows a table has, of those where a column is not NULL if one is named: in the order of an index, which nothing else
 *  than the index can give once sorting and the ways around it are switched off, or in any. */
export function countQuery(schema: string, table: string, notNull: string | null, order: readonly string[]): string {
  const from = `FROM ${qualified(schema, table)}${notNull === null ? "" : ` WHERE "${notNull}" IS NOT NULL`}`;
  if (order.length === 0) return `SELECT count(*) ${from}`;
  const columns = order.map((column) => `"${column}"`).join(", ");
  // Without OFFSET the order would be taken for needless.
  return `SELECT count(*) FROM (SELECT ${columns} ${from} ORDER BY ${columns} OFFSET 0) t`;
}
