/** A transaction of one snapshot for the verifier, which goes on after a statement that failed.
 *  Invariants: it changes nothing; what is asked is answered in the order of asking, one after the other, so that a failure is
 *  that of one question alone. */
import { LedgerError } from "../../kernel/errors.js";
import { Connection } from "./connection.js";
import type { Statement } from "./ask.js";
import type { ConnectionOptions } from "./connection.js";
import { sqlState, storeError } from "./errors.js";
import type { PostgresLocation } from "./location.js";
import { qualified, tables } from "./schema.js";
import { checkReadable, requireServer } from "./shape.js";

/** Counting a large table takes its time. */
const answerMsMax = 3_600_000;

export class RawSession {
  private readonly connection: Connection;
  private readonly shown: string;
  private last: Promise<unknown> = Promise.resolve();

  private constructor(connection: Connection, shown: string) {
    this.connection = connection;
    this.shown = shown;
  }

  /** Refuses what cannot be read at all. */
  static async open(place: PostgresLocation, { config, timeoutMs }: ConnectionOptions): Promise<RawSession> {
    const patient = { config: { ...config, query_timeout: answerMsMax }, timeoutMs };
    const connection = await Connection.open(patient, "reads");
    try {
      await requireServer(connection, place.shown);
      await connection.command("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      await hold(
        connection,
        tables.map(({ name }) => qualified(place.schema, name)),
      );
      await checkReadable(connection, place);
      await holdDocuments(connection, place.schema);
      await connection.command("SAVEPOINT question");
      return new RawSession(connection, place.shown);
    } catch (cause) {
      connection.destroy();
      throw cause;
    }
  }

  rows<Row>(statement: Statement | string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.ask((connection) => connection.rows<Row>(statement, values));
  }

  /** Asks several things at once; whatever is set for them is as it was afterwards. */
  ask<T>(question: (connection: Connection) => Promise<T>, settings: readonly string[] = []): Promise<T> {
    const answer = this.last.then(() => this.run(question, settings));
    this.last = answer.catch(() => {});
    return answer;
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  private async run<T>(question: (connection: Connection) => Promise<T>, settings: readonly string[]): Promise<T> {
    const { connection } = this;
    let undo = settings.length > 0;
    try {
      if (undo) await connection.script(settings);
      return await question(connection);
    } catch (cause) {
      undo = true;
      throw rawError(cause, this.shown);
    } finally {
      if (undo && !connection.broken) await this.undo();
    }
  }

  private async undo(): Promise<void> {
    try {
      await this.connection.command("ROLLBACK TO SAVEPOINT question");
    } catch (cause) {
      throw rawError(cause, this.shown);
    }
  }
}

/** Tables of documents that others retire meanwhile are dropped by nobody before the transaction ends. */
async function holdDocuments(connection: Connection, schema: string): Promise<void> {
  const rows = await connection.rows<[string]>(
    `SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace
     WHERE s.nspname = $1 AND c.relkind = 'r' AND c.relname ~ '^doc_[0-9]+$' AND pg_catalog.has_table_privilege(c.oid, 'SELECT')`,
    [schema],
  );
  await hold(
    connection,
    rows.map(([name]) => qualified(schema, name)),
  );
}

/** Nobody rewrites or drops these tables before the transaction ends. What ALTER TABLE writes anew is empty to whoever began
 *  before, so they are held before anything is read. */
async function hold(connection: Connection, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await connection.command("SAVEPOINT held");
  try {
    await connection.command(`LOCK TABLE ${names.join(", ")} IN ACCESS SHARE MODE`);
  } catch (cause) {
    if (connection.broken) throw cause;
    // One of them is not there, or may not be read. Whoever needs it says so.
    await connection.command("ROLLBACK TO SAVEPOINT held");
  }
}

/** A table or a column that is not as it must be says nothing of the rows: which it is, `problems` says. */
function rawError(cause: unknown, shown: string): unknown {
  const state = sqlState(cause);
  if (state === null || !state.startsWith("42") || state === "42501") return storeError(cause, shown, "reading");
  return new LedgerError("SCHEMA_UNKNOWN", `reading ${shown} failed: its tables are not as they must be (${state})`, {
    details: { location: shown, found: state },
    hint: "run verify; nothing was changed",
  });
}
