/** The layout of a ledger file, version 1, and the constants by which it is told from any other file.
 *  Invariant: a file is ours only when every row of its `sqlite_schema` is exactly one of these, or of those of a table of
 *  documents that a row of `projections` calls for.
 *  The reasons for the layout and what was measured: src/decisions. */
import { revisionsPerPage } from "../stream-page.js";

/** `application_id` in the header of each ledger file: "rldg" in ASCII. */
export const applicationId = 0x726c6467;
/** `user_version`: the version of this layout. */
export const layoutVersion = 1;
/** What `meta` says under the key `schema`. */
export const schemaIdentifier = "runledger/1";

/** One row of `sqlite_schema`. */
export interface SchemaObject {
  readonly type: "table" | "index" | "trigger";
  readonly name: string;
  readonly table: string;
  /** Null for the indexes that SQLite makes for a UNIQUE or PRIMARY KEY. */
  readonly sql: string | null;
}

const table = (name: string, sql: string): SchemaObject => ({
  type: "table",
  name,
  table: name,
  sql: `CREATE TABLE ${name} ${sql}`,
});
const automatic = (of: string): SchemaObject => ({
  type: "index",
  name: `sqlite_autoindex_${of}_1`,
  table: of,
  sql: null,
});
const trigger = (name: string, on: string, event: string, when: string, says: string): SchemaObject => ({
  type: "trigger",
  name,
  table: on,
  sql: `CREATE TRIGGER ${name} BEFORE ${event} ON ${on}${when === "" ? "" : ` WHEN ${when}`} BEGIN SELECT RAISE(ABORT, '${says}'); END`,
});

/** Everything in a new ledger file, in the order of its making. */
export const schema: readonly SchemaObject[] = [
  table("meta", "(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID"),
  table("types", "(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT"),
  automatic("types"),
  table(
    "streams",
    "(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, rev INTEGER NOT NULL, last_seq INTEGER NOT NULL) STRICT",
  ),
  automatic("streams"),
  // No index but the position: uniqueness of (stream, rev) is held by the writer and checked by the verifier.
  table(
    "entries",
    "(seq INTEGER PRIMARY KEY, id BLOB NOT NULL CHECK (length(id) = 32), stream INTEGER NOT NULL, rev INTEGER NOT NULL, before INTEGER, type INTEGER NOT NULL, at INTEGER NOT NULL, skew INTEGER NOT NULL, entry TEXT NOT NULL) STRICT",
  ),
  table(
    "stream_pages",
    `(stream INTEGER NOT NULL, page INTEGER NOT NULL, seqs BLOB NOT NULL CHECK (length(seqs) = ${revisionsPerPage * 8}), PRIMARY KEY (stream, page)) STRICT`,
  ),
  automatic("stream_pages"),
  // `bytes` stands last, so that reading the columns before it never walks a blob's overflow pages.
  table(
    "contents",
    "(n INTEGER PRIMARY KEY, digest BLOB NOT NULL CHECK (length(digest) = 32), media TEXT, salt BLOB, plain BLOB, erased INTEGER, bytes BLOB) STRICT",
  ),
  {
    type: "index",
    name: "contents_plain",
    table: "contents",
    // Partial: a content that is small or erased, or a journal without deduplication, costs nothing here.
    sql: "CREATE INDEX contents_plain ON contents (plain) WHERE plain IS NOT NULL",
  },
  // WITHOUT ROWID: a level is read as one range, and there is no index beside it.
  table(
    "nodes",
    "(level INTEGER NOT NULL, n INTEGER NOT NULL, hash BLOB NOT NULL CHECK (length(hash) = 32), PRIMARY KEY (level, n)) STRICT, WITHOUT ROWID",
  ),
  // What is operational: it may be changed and lost.
  table("checkpoints", "(size INTEGER PRIMARY KEY, note TEXT NOT NULL) STRICT"),
  table(
    "consumers",
    "(name TEXT PRIMARY KEY, position INTEGER NOT NULL, id BLOB, incarnation INTEGER NOT NULL, generation INTEGER NOT NULL, claim TEXT) STRICT, WITHOUT ROWID",
  ),
  // What is derived: each row is a table of documents, made and dropped with it (document-table.ts).
  table(
    "projections",
    "(id INTEGER PRIMARY KEY, name TEXT NOT NULL, version INTEGER NOT NULL, indexes TEXT NOT NULL, status TEXT NOT NULL, position INTEGER NOT NULL, entry_id BLOB, error TEXT) STRICT",
  ),
  table(
    "folded",
    "(id INTEGER PRIMARY KEY CHECK (id = 1), position INTEGER NOT NULL, entry_id BLOB NOT NULL, tables TEXT NOT NULL) STRICT",
  ),
  trigger("entries_no_update", "entries", "UPDATE", "", "entries are append-only"),
  trigger("entries_no_delete", "entries", "DELETE", "", "entries are append-only"),
  // REPLACE fires no delete trigger unless the connection asks for it, and a sqlite3 shell does not. This guard costs a bulk
  // append 0.6 µs of 8 a row; the forms that compare with max(seq) cost up to twice that.
  trigger(
    "entries_no_replace",
    "entries",
    "INSERT",
    "EXISTS (SELECT 1 FROM entries WHERE seq = NEW.seq)",
    "entries are append-only",
  ),
  trigger(
    "contents_only_erase",
    "contents",
    "UPDATE",
    "OLD.erased IS NOT NULL OR NEW.erased IS NULL OR NEW.n <> OLD.n OR NEW.digest <> OLD.digest OR NEW.media IS NOT NULL OR NEW.salt IS NOT NULL OR NEW.plain IS NOT NULL OR NEW.bytes IS NOT NULL",
    "contents can only be erased",
  ),
  trigger("contents_no_delete", "contents", "DELETE", "", "contents can only be erased"),
  trigger(
    "contents_no_replace",
    "contents",
    "INSERT",
    "EXISTS (SELECT 1 FROM contents WHERE n = NEW.n)",
    "contents can only be erased",
  ),
];
