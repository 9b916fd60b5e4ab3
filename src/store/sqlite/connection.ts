/** Connections to a ledger file.
 *  Invariants: what a connection promises is set and read back before it is used; only the one write connection of a store
 *  can write; no connection sleeps inside SQLite; a connection never creates the main file. */
import Database from "better-sqlite3";
import type { Database as Connection } from "better-sqlite3";
import { LedgerError } from "../../kernel/errors.js";

export type { Database as Connection } from "better-sqlite3";

export type ConnectionMode = "write" | "read";

/** Pragmas with the value that must be read back. */
type Settings = readonly (readonly [name: string, value: number])[];

const common: Settings = [
  ["trusted_schema", 0], // a schema that somebody changed must not call functions
  ["temp_store", 2], // MEMORY: no content in files that nobody erases, no descriptor for them
  ["cell_size_check", 1], // damage is seen when a page is read, not later
];
const readSettings: Settings = [...common, ["query_only", 1]];
const writeSettings: Settings = [
  ...common,
  ["foreign_keys", 1],
  ["recursive_triggers", 1], // REPLACE fires the delete triggers that guard append-only tables
  ["secure_delete", 1], // what is erased is overwritten
  ["synchronous", 2], // FULL: an acknowledged commit survives power loss
  ["fullfsync", 1], // where fsync alone does not reach the disk (macOS)
  ["wal_autocheckpoint", 0], // checkpoints run between commits, after callers were answered
];

/** Opens a connection and sets what it promises. Nothing of the file is read or locked before the first statement. */
export function connect(path: string, mode: ConnectionMode): Connection {
  const connection = open(path, mode);
  try {
    for (const [name, value] of mode === "write" ? writeSettings : readSettings) setPragma(connection, name, value);
    return connection;
  } catch (cause) {
    connection.close();
    throw cause;
  }
}

/** Opens a connection that reads nothing and locks nothing: it only holds the file open. */
export function hold(path: string): Connection {
  return open(path, "read");
}

/** Locks a file that is there and empty, for as long as the connection is open; `SQLITE_BUSY` when somebody else has. */
export function lockFile(path: string): Connection {
  const connection = open(path, "write");
  try {
    connection.pragma("journal_mode = MEMORY"); // nothing is ever written, and nothing is to stand beside it
    connection.exec("BEGIN EXCLUSIVE");
    return connection;
  } catch (cause) {
    connection.close();
    throw cause;
  }
}

/** The settings of a connection as SQLite reports them. */
export function connectionSettings(connection: Connection): Readonly<Record<string, unknown>> {
  const names = ["journal_mode", "encoding", ...writeSettings.map(([name]) => name)];
  return Object.fromEntries(names.map((name) => [name, pragma(connection, name)]));
}

/** Reads several things at one position, whoever writes meanwhile. */
export function atOnePosition<T>(connection: Connection, read: () => T): T {
  connection.exec("BEGIN");
  try {
    return read();
  } finally {
    if (connection.inTransaction) connection.exec("COMMIT");
  }
}

/** The first value that a pragma answers. */
export function pragma(connection: Connection, text: string): unknown {
  return connection.pragma(text, { simple: true });
}

function open(path: string, mode: ConnectionMode): Connection {
  try {
    return new Database(path, { readonly: mode === "read", fileMustExist: true, timeout: 0 });
  } catch (cause) {
    // The driver's own check, without a code: the directory is gone.
    if (!(cause instanceof TypeError)) throw cause;
    throw new LedgerError("STORE_UNAVAILABLE", `${path} cannot be opened: ${cause.message}`, {
      details: { path },
      cause,
    });
  }
}

function setPragma(connection: Connection, name: string, value: number): void {
  pragma(connection, `${name} = ${value}`);
  const found = pragma(connection, name);
  if (found !== value) {
    throw new LedgerError("STORE_UNSUPPORTED", `SQLite must take ${name} = ${value}, found ${String(found)}`, {
      details: { name, expected: value, found },
    });
  }
}
