/** The per-call store: what hosts use today. Each operation is a transaction of its own at synchronous=FULL, every statement
 *  is prepared on every call, and the run's state is one JSON text that is rewritten at every event. Its queue claims with a
 *  SELECT and an UPDATE, renews with an UPDATE and completes with a DELETE. */
import Database from "better-sqlite3";
import type { NewEvent } from "../../../src/index.js";

export interface PerCallStore {
  append(run: string, event: NewEvent): void;
  enqueue(run: string): void;
  /** The run that was claimed, or null when nothing is queued. */
  claim(holder: string, at: number): string | null;
  renew(run: string, holder: string, expiresAt: number): void;
  complete(run: string, holder: string): void;
  close(): void;
}

interface RunState {
  readonly status: string;
  readonly events: readonly unknown[];
}

const tables = `
  CREATE TABLE runs (id TEXT PRIMARY KEY, version INTEGER NOT NULL, state TEXT NOT NULL);
  CREATE TABLE events (run TEXT NOT NULL, rev INTEGER NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (run, rev));
  CREATE TABLE queue (run TEXT PRIMARY KEY, created INTEGER NOT NULL, holder TEXT, expires INTEGER NOT NULL);
  CREATE INDEX queue_ready ON queue (expires, created);`;

export function openPerCallStore(path: string): PerCallStore {
  const database = new Database(path);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  database.exec(tables);
  const one = (sql: string, ...values: readonly unknown[]): unknown => database.prepare(sql).get(...values);
  const run = (sql: string, ...values: readonly unknown[]): number => database.prepare(sql).run(...values).changes;
  const inTransaction = <T>(work: () => T): T => {
    database.prepare("BEGIN IMMEDIATE").run();
    try {
      const result = work();
      database.prepare("COMMIT").run();
      return result;
    } catch (error) {
      database.prepare("ROLLBACK").run();
      throw error;
    }
  };
  return {
    append(id, event) {
      inTransaction(() => {
        const found = one("SELECT version, state FROM runs WHERE id = ?", id) as
          { version: number; state: string } | undefined; // the columns selected
        const version = (found?.version ?? 0) + 1;
        const state = found === undefined ? { status: "running", events: [] } : (JSON.parse(found.state) as RunState); // as it was written below
        const next = JSON.stringify({ ...state, events: [...state.events, event.data] });
        run(
          "INSERT INTO events (run, rev, type, data, at) VALUES (?, ?, ?, ?, ?)",
          id,
          version,
          event.type,
          JSON.stringify(event.data),
          Date.now(),
        );
        if (found === undefined) run("INSERT INTO runs (id, version, state) VALUES (?, ?, ?)", id, version, next);
        else
          expectOne(
            run(
              "UPDATE runs SET version = ?, state = ? WHERE id = ? AND version = ?",
              version,
              next,
              id,
              found.version,
            ),
          );
      });
    },
    enqueue(id) {
      inTransaction(() =>
        run("INSERT INTO queue (run, created, holder, expires) VALUES (?, ?, NULL, 0)", id, Date.now()),
      );
    },
    claim(holder, at) {
      return inTransaction(() => {
        const found = one("SELECT run FROM queue WHERE expires <= ? ORDER BY expires, created LIMIT 1", at) as
          { run: string } | undefined; // the column selected
        if (found === undefined) return null;
        expectOne(run("UPDATE queue SET holder = ?, expires = ? WHERE run = ?", holder, at + 30_000, found.run));
        return found.run;
      });
    },
    renew(id, holder, expiresAt) {
      inTransaction(() =>
        expectOne(run("UPDATE queue SET expires = ? WHERE run = ? AND holder = ?", expiresAt, id, holder)),
      );
    },
    complete(id, holder) {
      inTransaction(() => expectOne(run("DELETE FROM queue WHERE run = ? AND holder = ?", id, holder)));
    },
    close: () => database.close(),
  };
}

function expectOne(changes: number): void {
  if (changes !== 1) throw new Error(`one row must change, found ${changes}`);
}
