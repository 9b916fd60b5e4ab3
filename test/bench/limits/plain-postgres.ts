/** What PostgreSQL allows when nothing is decided, hashed or checked: each row a transaction of its own on the first free of so
 *  many connections, into a table like that of entries; and the per-call store, as hosts write it today, on the same. */
import pg from "pg";
import type { NewEvent } from "../../../src/index.js";

export interface PlainPostgres {
  /** One row, as a statement that is a transaction by itself: nothing was read for it. */
  insert(): Promise<unknown>;
  /** One row, in a transaction that is begun and committed, as whoever looks at something first must. */
  transaction(): Promise<void>;
  /** One event of the per-call store: its row, and the run's state rewritten. */
  append(run: string, event: NewEvent): Promise<unknown>;
  close(): Promise<void>;
}

const entry = "x".repeat(340);
const id = Buffer.alloc(32, 7);

const tables = `
  CREATE SCHEMA plain;
  CREATE TABLE plain.entries (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id bytea NOT NULL CHECK (octet_length(id) = 32),
    stream bigint NOT NULL, rev bigint NOT NULL, before bigint, type bigint NOT NULL,
    at bigint NOT NULL, skew bigint NOT NULL, entry text COLLATE "C" NOT NULL);
  CREATE TABLE plain.runs (id text COLLATE "C" PRIMARY KEY, version bigint NOT NULL, state text NOT NULL);
  CREATE TABLE plain.events (
    run text COLLATE "C" NOT NULL, rev bigint NOT NULL, type text NOT NULL, data text NOT NULL, at bigint NOT NULL,
    PRIMARY KEY (run, rev));`;

const insertEntry =
  "INSERT INTO plain.entries (id, stream, rev, before, type, at, skew, entry) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

export async function openPlainPostgres(url: string, connections: number): Promise<PlainPostgres> {
  const pool = new pg.Pool({ connectionString: url, max: connections });
  pool.on("error", () => {}); // of connections that are ending while the server does
  await pool.query(tables);
  let rev = 0;
  const values = (): unknown[] => [id, rev % 64, ++rev, null, 1, 1_700_000_000_000, 0, entry];
  return {
    insert: () => pool.query(insertEntry, values()),
    async transaction() {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        await client.query(insertEntry, values());
        await client.query("COMMIT");
      } finally {
        client.release();
      }
    },
    async append(run, event) {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        const { rows } = await client.query<{ version: string; state: string }>(
          "SELECT version, state FROM plain.runs WHERE id = $1",
          [run],
        );
        const version = Number(rows[0]?.version ?? 0) + 1;
        const events = rows[0] === undefined ? [] : (JSON.parse(rows[0].state) as { events: unknown[] }).events; // as it was written below
        const state = JSON.stringify({ status: "running", events: [...events, event.data] });
        await client.query("INSERT INTO plain.events (run, rev, type, data, at) VALUES ($1, $2, $3, $4, $5)", [
          run,
          version,
          event.type,
          JSON.stringify(event.data),
          Date.now(),
        ]);
        await client.query(
          version === 1
            ? "INSERT INTO plain.runs (version, state, id) VALUES ($1, $2, $3)"
            : "UPDATE plain.runs SET version = $1, state = $2 WHERE id = $3",
          [version, state, run],
        );
        await client.query("COMMIT");
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}
