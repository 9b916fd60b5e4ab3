/** All SQL of this adapter that touches rows, with the reason for each; that on documents is in document-statements.ts.
 *  Invariant: nothing scans; a test asserts the query plan of every statement in both tables. */
import type { Database, Statement } from "better-sqlite3";

interface Query {
  readonly sql: string;
  /** What it is for, and why it is cheap. */
  readonly why: string;
  /** Only the verifier may read a whole table, and says so here. */
  readonly scans?: true;
  /** Rows are single values instead of arrays. */
  readonly pluck?: true;
}

const entryColumns = "seq, lower(hex(id)), entry";
const contentColumns = "n, lower(hex(digest)), media, salt, lower(hex(plain)), erased, bytes";
/** Class and size of a value are known without the pages that it fills. */
const factColumns =
  "n, lower(hex(digest)), media, salt, lower(hex(plain)), erased, iif(typeof(bytes) = 'blob', length(bytes), NULL)";
const consumerColumns = "name, position, lower(hex(id)), incarnation, generation, claim";
const projectionColumns = "id, name, version, indexes, status, position, lower(hex(entry_id)), error";
const rawPage = "WHERE seq > ? AND seq <= 9007199254740991 ORDER BY seq LIMIT ?";
const rawRange = "WHERE seq > ? AND seq <= ?";
const rawEntryColumns =
  "seq, CASE typeof(id) WHEN 'blob' THEN lower(hex(id)) ELSE id END, stream, rev, before, type, at, skew";
/** The columns whose value is of another storage class. */
const misfits = `nullif(ltrim(${[
  misfit("id", "blob"),
  ...["stream", "rev", "before", "type", "at", "skew"].map((column) => misfit(column, "integer")),
  misfit("entry", "text"),
].join(" || ")}, ', '), '')`;

/** What readers of a store ask, by key or by range of a key. */
export const readStatements: Queries<ReadName> = {
  head: {
    sql: "SELECT seq, lower(hex(id)), at, skew, (SELECT max(n) FROM contents) FROM entries WHERE seq = (SELECT max(seq) FROM entries)",
    why: "the last row, and the last content; max() of a key is one descent",
  },
  contentCount: {
    sql: "SELECT max(n) FROM contents",
    why: "contents are numbered densely, so the last number is the count",
  },
  streamHead: { sql: "SELECT id, rev, last_seq FROM streams WHERE name = ?", why: "by the unique index on name" },
  entries: {
    sql: `SELECT ${entryColumns} FROM entries WHERE seq >= ? ORDER BY seq LIMIT ?`,
    why: "a range of the key",
  },
  entriesReverse: {
    sql: `SELECT ${entryColumns} FROM entries WHERE seq <= ? ORDER BY seq DESC LIMIT ?`,
    why: "a range of the key",
  },
  entry: { sql: `SELECT ${entryColumns} FROM entries WHERE seq = ?`, why: "by key" },
  entryBytes: {
    sql: "SELECT CAST(entry AS BLOB) FROM entries WHERE seq = ?",
    why: "the bytes behind text that shows U+FFFD: decoding hides what stood there",
  },
  entryBefore: {
    sql: "SELECT before FROM entries WHERE seq = ?",
    why: "one step back in a stream, for its last page that is not full yet",
  },
  streamPage: {
    sql: "SELECT seqs FROM stream_pages WHERE stream = ? AND page = ?",
    why: "by primary key: where 256 revisions stand",
  },
  content: { sql: `SELECT ${contentColumns} FROM contents WHERE n = ?`, why: "by key" },
  contentFacts: { sql: `SELECT ${factColumns} FROM contents WHERE n = ?`, why: "by key, without the bytes" },
  contentByPlain: {
    sql: `SELECT ${factColumns} FROM contents WHERE plain = unhex(?) ORDER BY n LIMIT 1`,
    why: "by the partial index; the lowest number, so that the answer is the same on every store",
  },
  ids: {
    sql: "SELECT lower(hex(id)) FROM entries WHERE seq >= ? ORDER BY seq LIMIT ?",
    why: "a range of the key; an id stands before the text, whose overflow pages are not touched",
    pluck: true,
  },
  nodes: {
    sql: "SELECT lower(hex(hash)) FROM nodes WHERE level = ? AND n >= ? ORDER BY n LIMIT ?",
    why: "a range of the primary key",
    pluck: true,
  },
  checkpoints: {
    sql: "SELECT size, note FROM checkpoints WHERE size <= ? ORDER BY size DESC LIMIT ?",
    why: "a range of the key, from its end",
  },
  consumers: {
    sql: `SELECT ${consumerColumns} FROM consumers WHERE name >= '' ORDER BY name`,
    why: "a range of the primary key, all of it: consumers are few",
  },
  consumer: { sql: `SELECT ${consumerColumns} FROM consumers WHERE name = ?`, why: "by primary key" },
  projections: {
    sql: `SELECT ${projectionColumns} FROM projections WHERE id >= 1 ORDER BY id`,
    why: "a range of the key, all of it: tables of documents are few",
  },
  projection: { sql: "SELECT json_array_length(indexes) FROM projections WHERE id = ?", why: "by key: is it there?" },
  folded: { sql: "SELECT position, lower(hex(entry_id)), tables FROM folded WHERE id = 1", why: "by key: one row" },
  scrubMark: {
    sql: "SELECT value FROM meta WHERE key = 'scrub'",
    why: "by key; asked when the file is opened and when another process wrote",
  },
  schemaIdentifier: { sql: "SELECT value FROM meta WHERE key = 'schema'", why: "by key" },
};

/** What the writer adds. */
export const writeStatements: Queries<WriteName> = {
  typeNumber: {
    sql: "SELECT id FROM types WHERE name = ?",
    why: "by the unique index on name; cached for the life of the connection",
  },
  lastType: { sql: "SELECT max(id) FROM types", why: "the next number; one descent" },
  lastStream: { sql: "SELECT max(id) FROM streams", why: "the next number; one descent" },
  insertType: { sql: "INSERT INTO types (id, name) VALUES (?, ?)", why: "once a type" },
  insertStream: { sql: "INSERT INTO streams (id, name, rev, last_seq) VALUES (?, ?, ?, ?)", why: "once a stream" },
  updateStream: {
    sql: "UPDATE streams SET rev = ?, last_seq = ? WHERE id = ?",
    why: "once a stream and batch; no index holds these columns",
  },
  insertPage: { sql: "INSERT INTO stream_pages (stream, page, seqs) VALUES (?, ?, ?)", why: "once in 256 revisions" },
  insertContent: {
    sql: "INSERT INTO contents (n, digest, media, salt, plain, erased, bytes) VALUES (?, unhex(?), ?, ?, unhex(?), NULL, ?)",
    why: "at the end of the key; the partial index only when there is a plain hash",
  },
  hasPlain: {
    sql: "SELECT plain IS NOT NULL FROM contents WHERE n = ? AND erased IS NULL",
    why: "by key: is it stored, and does the index name it?",
  },
  eraseContent: {
    sql: "UPDATE contents SET media = NULL, salt = NULL, plain = NULL, bytes = NULL, erased = ? WHERE n = ?",
    why: "by key; what the guard lets through, once a content",
  },
  rebuildPlains: {
    sql: "REINDEX contents_plain",
    why: "once an erasure of contents with plain hashes, 2 µs for each one there is: where a page of the index was split, a copy of what moved is left behind, which secure deletion does not see",
  },
  markScrub: {
    sql: "INSERT INTO meta (key, value) VALUES ('scrub', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    why: "by key, once an erasure",
  },
  unmarkScrub: { sql: "DELETE FROM meta WHERE key = 'scrub' AND value = ?", why: "by key" },
  insertNode: {
    sql: "INSERT INTO nodes (level, n, hash) VALUES (?, ?, unhex(?))",
    why: "at the end of its level, once in 256 entries",
  },
  putCheckpoint: {
    sql: "INSERT INTO checkpoints (size, note) VALUES (?, ?) ON CONFLICT (size) DO UPDATE SET note = excluded.note",
    why: "by key, almost always at its end",
  },
  putConsumer: {
    sql: "INSERT INTO consumers (name, position, id, incarnation, generation, claim) VALUES (?, ?, unhex(?), ?, ?, ?) ON CONFLICT (name) DO UPDATE SET position = excluded.position, id = excluded.id, incarnation = excluded.incarnation, generation = excluded.generation, claim = excluded.claim",
    why: "by primary key",
  },
  deleteConsumer: { sql: "DELETE FROM consumers WHERE name = ?", why: "by primary key" },
  lastTable: {
    sql: "SELECT max(ifnull((SELECT max(id) FROM projections), 0), ifnull((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'table'), 0))",
    why: "the largest id ever given: of the rows, or of one that was dropped; two descents",
  },
  markTable: {
    sql: "INSERT INTO meta (key, value) VALUES ('table', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    why: "by key, once a table of documents",
  },
  insertProjection: {
    sql: "INSERT INTO projections (id, name, version, indexes, status, position, entry_id, error) VALUES (?, ?, ?, ?, ?, ?, unhex(?), ?)",
    why: "at the end of the key",
  },
  updateProjection: {
    sql: "UPDATE projections SET status = ?, position = ?, entry_id = unhex(?), error = ? WHERE id = ? AND name = ? AND version = ? AND indexes = ?",
    why: "by key; what it was made with must be so still",
  },
  deleteProjection: { sql: "DELETE FROM projections WHERE id = ?", why: "by key" },
  putFolded: {
    sql: "INSERT INTO folded (id, position, entry_id, tables) VALUES (1, ?, unhex(?), ?) ON CONFLICT (id) DO UPDATE SET position = excluded.position, entry_id = excluded.entry_id, tables = excluded.tables",
    why: "by key: the one row that says it for all tables, so that a commit writes one",
  },
  insertEntry: { sql: insertEntries(1), why: "at the end of the key, no other index" },
  insertEntryBlock: {
    sql: insertEntries(16),
    why: "16 rows a call save a tenth of the time of a bulk insert; more rows save no more",
  },
};

/** Rows a call of `insertEntryBlock`. */
export const entryBlockRows = 16;
/** Values that a row of `insertEntry` binds. */
export const entryValues = 9;

/** What the verifier reads: rows as they are, in key order. */
export const rawStatements: Queries<RawName> = {
  entries: {
    sql: `SELECT ${rawEntryColumns}, entry, ${misfits} FROM entries ${rawPage}`,
    why: "a range of the key; positions that a number cannot hold are a finding of their own",
  },
  entryBytes: {
    sql: `SELECT ${rawEntryColumns}, CAST(entry AS BLOB), ${misfits} FROM entries ${rawPage}`,
    why: "the same, all entries as bytes",
  },
  entryTexts: {
    sql: `SELECT entry FROM entries ${rawRange} ORDER BY seq`,
    why: "half of a page: the texts, nothing else",
    pluck: true,
  },
  entryColumns: {
    sql: `SELECT group_concat(iif(typeof(id) = 'blob', hex(id), '')), json_group_array(seq), json_group_array(stream), json_group_array(rev), json_group_array(before), json_group_array(type), json_group_array(at), json_group_array(skew) FROM entries ${rawRange}`,
    why: "the other half: all columns of a page as eight values instead of thousands, which saves half of the time; JSON tells text and fractions from integers; a range instead of a limit saves a subquery",
  },
  firstEntry: { sql: "SELECT min(seq) FROM entries", why: "where to start; one descent" },
  oneEntryBytes: {
    sql: "SELECT CAST(entry AS BLOB) FROM entries WHERE seq = ?",
    why: "the bytes behind text that shows U+FFFD",
  },
  streams: {
    sql: "SELECT id, name, rev, last_seq FROM streams WHERE id > ? ORDER BY id LIMIT ?",
    why: "a range of the key",
  },
  types: {
    sql: "SELECT id, name FROM types WHERE id > ? ORDER BY id",
    why: "a range of the key, all of it: types are few",
  },
  streamPages: {
    sql: "SELECT stream, page, seqs FROM stream_pages WHERE (stream, page) > (?, ?) ORDER BY stream, page LIMIT ?",
    why: "a range of the primary key",
  },
  contents: {
    sql: "SELECT n, CASE typeof(digest) WHEN 'blob' THEN lower(hex(digest)) ELSE digest END, media, salt, bytes, CASE typeof(plain) WHEN 'blob' THEN lower(hex(plain)) ELSE plain END, erased FROM contents WHERE n > ? ORDER BY n LIMIT ?",
    why: "a range of the key",
  },
  nodes: {
    sql: "SELECT level, n, CASE typeof(hash) WHEN 'blob' THEN lower(hex(hash)) ELSE hash END FROM nodes WHERE (level, n) > (?, ?) ORDER BY level, n LIMIT ?",
    why: "a range of the primary key",
  },
  checkpoints: {
    sql: "SELECT size, note FROM checkpoints WHERE size > ? ORDER BY size LIMIT ?",
    why: "a range of the key",
  },
  projections: {
    sql: "SELECT id, name, version, indexes, status, position, CASE typeof(entry_id) WHEN 'blob' THEN lower(hex(entry_id)) ELSE entry_id END, error FROM projections WHERE id > ? ORDER BY id",
    why: "a range of the key, all of it: tables of documents are few",
  },
  folded: {
    sql: "SELECT position, CASE typeof(entry_id) WHEN 'blob' THEN lower(hex(entry_id)) ELSE entry_id END, tables FROM folded WHERE id = 1",
    why: "by key",
  },
  entryCount: { sql: "SELECT count(*) FROM entries", why: "counts what is really there", scans: true },
};

export type ReadStatements = Prepared<ReadName>;
type ReadName =
  | "head"
  | "contentCount"
  | "streamHead"
  | "entries"
  | "entriesReverse"
  | "entry"
  | "entryBytes"
  | "entryBefore"
  | "streamPage"
  | "content"
  | "contentFacts"
  | "contentByPlain"
  | "ids"
  | "nodes"
  | "checkpoints"
  | "consumers"
  | "consumer"
  | "projections"
  | "projection"
  | "folded"
  | "scrubMark"
  | "schemaIdentifier";
export type WriteStatements = Prepared<WriteName>;
type WriteName =
  | "typeNumber"
  | "lastType"
  | "lastStream"
  | "insertType"
  | "insertStream"
  | "updateStream"
  | "insertPage"
  | "insertContent"
  | "hasPlain"
  | "eraseContent"
  | "rebuildPlains"
  | "markScrub"
  | "unmarkScrub"
  | "insertNode"
  | "putCheckpoint"
  | "putConsumer"
  | "deleteConsumer"
  | "lastTable"
  | "markTable"
  | "insertProjection"
  | "updateProjection"
  | "deleteProjection"
  | "putFolded"
  | "insertEntry"
  | "insertEntryBlock";
export type RawStatements = Prepared<RawName>;
type RawName =
  | "entries"
  | "entryBytes"
  | "entryTexts"
  | "entryColumns"
  | "firstEntry"
  | "oneEntryBytes"
  | "streams"
  | "types"
  | "streamPages"
  | "contents"
  | "nodes"
  | "checkpoints"
  | "projections"
  | "folded"
  | "entryCount";
type Queries<Name extends string> = { readonly [N in Name]: Query };
type Prepared<Name extends string> = { readonly [N in Name]: Statement<unknown[], unknown[]> };

/** Prepares a table of statements, once a connection. Rows come as arrays: they cost half of objects. */
export function prepare<Name extends string>(database: Database, queries: Queries<Name>): Prepared<Name> {
  const prepared = Object.entries<Query>(queries).map(([name, { sql, pluck }]) => {
    const statement = database.prepare<unknown[], unknown[]>(sql);
    return [name, pluck === true ? statement.pluck() : statement.reader ? statement.raw() : statement] as const;
  });
  return Object.fromEntries(prepared) as Prepared<Name>; // one statement a name of the table, by the loop above
}

function misfit(column: string, storageClass: string): string {
  return `iif(typeof(${column}) IN ('${storageClass}', 'null'), '', ', ${column}')`;
}

function insertEntries(rows: number): string {
  const row = "(?, unhex(?), ?, ?, ?, ?, ?, ?, ?)";
  return `INSERT INTO entries (seq, id, stream, rev, before, type, at, skew, entry) VALUES ${Array<string>(rows).fill(row).join(", ")}`;
}
