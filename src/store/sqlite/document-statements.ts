/** The SQL on tables of documents. They come and go while a program runs, so that each statement is prepared when it is first
 *  asked for, and kept while its table lives; SQLite itself notices when another process changed the schema.
 *  Invariant: nothing scans; a test asserts the query plan of each. */
import type { Statement } from "better-sqlite3";
import { invariant } from "../../kernel/errors.js";
import { pragma } from "./connection.js";
import type { Connection } from "./connection.js";
import { documentTable } from "./document-table.js";

/** What is asked of a table of documents, and why it is cheap. */
export const documentSql = {
  /** By the index of the key. */
  one: (table: number): string => `SELECT key, seq, doc FROM ${nameOf(table)} WHERE key = ?`,
  /** A range of the index of the key. */
  first: (table: number): string => `SELECT key, seq, doc FROM ${nameOf(table)} WHERE key >= '' ORDER BY key LIMIT ?`,
  behind: (table: number): string => `SELECT key, seq, doc FROM ${nameOf(table)} WHERE key > ? ORDER BY key LIMIT ?`,
  last: (table: number): string =>
    `SELECT key, seq, doc FROM ${nameOf(table)} WHERE key >= '' ORDER BY key DESC LIMIT ?`,
  before: (table: number): string =>
    `SELECT key, seq, doc FROM ${nameOf(table)} WHERE key < ? ORDER BY key DESC LIMIT ?`,
  /** A range of a partial index: comparing a column says that it is not NULL. */
  from: (table: number, index: number, reverse: boolean): string =>
    `SELECT key, seq, doc, index_${index} FROM ${nameOf(table)} WHERE index_${index} >= ? ORDER BY index_${index}${reverse ? " DESC" : ""} LIMIT ?`,
  between: (table: number, index: number, reverse: boolean): string =>
    `SELECT key, seq, doc, index_${index} FROM ${nameOf(table)} WHERE index_${index} >= ? AND index_${index} < ? ORDER BY index_${index}${reverse ? " DESC" : ""} LIMIT ?`,
  /** In place, by the index of the key; an index whose column is not named is not touched. */
  update: (table: number, columns: readonly number[]): string =>
    `UPDATE ${nameOf(table)} SET seq = ?, doc = ?${columns.map((column) => `, index_${column} = ?`).join("")} WHERE key = ?`,
  /** With all its columns: a new row, or the one that is there, in place. For new rows it saves a sixth of an update that finds
   *  none and an insert behind it. */
  put: (table: number, indexes: number): string => {
    const columns = ["seq", "doc", ...Array.from({ length: indexes }, (_, index) => `index_${index}`)];
    return `INSERT INTO ${nameOf(table)} (${columns.join(", ")}, key) VALUES (${"?, ".repeat(columns.length)}?) ON CONFLICT (key) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(", ")}`;
  },
  /** For the verifier, rows as they are. A key that is no text is a problem of its own: it has no place in this order. */
  rawFirst: (table: number): string =>
    `SELECT rowid, * FROM ${nameOf(table)} WHERE key >= '' AND key < x'' ORDER BY key LIMIT ?`,
  rawBehind: (table: number): string =>
    `SELECT rowid, * FROM ${nameOf(table)} WHERE key > CAST(? AS TEXT) AND key < x'' ORDER BY key LIMIT ?`,
  /** The bytes behind text that shows U+FFFD. */
  rawBytes: (table: number): string =>
    `SELECT CAST(key AS BLOB), CAST(doc AS BLOB) FROM ${nameOf(table)} WHERE rowid = ?`,
  remove: (table: number): string => `DELETE FROM ${nameOf(table)} WHERE key = ?`,
} as const;

type DocumentStatement = Statement<unknown[], unknown[]>;

/** Which columns change is the caller's data: what is kept is bounded. */
const statementsMax = 4_000;

/** The tables of documents of one connection. */
export class DocumentStatements {
  private readonly connection: Connection;
  private readonly prepared = new Map<string, DocumentStatement>();

  constructor(connection: Connection) {
    this.connection = connection;
  }

  of(sql: string): DocumentStatement {
    const kept = this.prepared.get(sql);
    if (kept !== undefined) return kept;
    const statement = this.connection.prepare<unknown[], unknown[]>(sql);
    if (statement.reader) statement.raw();
    if (this.prepared.size >= statementsMax) this.prepared.clear();
    this.prepared.set(sql, statement);
    return statement;
  }

  /** Makes a table with so many indexes. */
  make(table: number, indexes: number): void {
    for (const { sql } of documentTable(table, indexes)) if (sql !== null) this.connection.exec(sql);
  }

  /** Drops a table, and lets go of all statements. */
  drop(table: number): void {
    this.prepared.clear();
    // Else each page of it is overwritten, which takes its whole size in the log and 16 ms a MB under the lock. Documents hold
    // no contents: nothing of them is ever erased.
    pragma(this.connection, "secure_delete = 0");
    try {
      this.connection.exec(`DROP TABLE ${nameOf(table)}`);
    } finally {
      pragma(this.connection, "secure_delete = 1");
    }
  }
}

/** The name of a table: a number that was checked goes into SQL. */
function nameOf(table: number): string {
  invariant(Number.isSafeInteger(table) && table >= 1, `a table must have a number from 1, found ${table}`);
  return `doc_${table}`;
}
