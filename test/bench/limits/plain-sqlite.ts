/** What SQLite allows when nothing is decided, hashed or checked: rows of the same size into one table. */
import Database from "better-sqlite3";

export interface PlainSqlite {
  /** Inserts so many events in one transaction. */
  insert(events: number): void;
  close(): void;
}

const entry = "x".repeat(340);
const id = Buffer.alloc(32, 7);

/** `FULL`: a commit survives power loss; `NORMAL`: it survives the process. */
export function openPlainSqlite(path: string, synchronous: "FULL" | "NORMAL"): PlainSqlite {
  const database = new Database(path);
  database.pragma("journal_mode = WAL");
  database.pragma(`synchronous = ${synchronous}`);
  database.exec(
    "CREATE TABLE entries (seq INTEGER PRIMARY KEY, id BLOB, stream INTEGER, rev INTEGER, type INTEGER, at INTEGER, entry TEXT) STRICT",
  );
  const statement = database.prepare(
    "INSERT INTO entries (id, stream, rev, type, at, entry) VALUES (?, ?, ?, ?, ?, ?)",
  );
  let rev = 0;
  const insertAll = database.transaction((events: number) => {
    for (let index = 0; index < events; index++) statement.run(id, index % 64, ++rev, 1, 1_700_000_000_000, entry);
  });
  return { insert: (events) => insertAll.immediate(events), close: () => database.close() };
}
