/** A transaction of one snapshot for the verifier, which goes on after a statement that failed.
 *  Invariants: it changes nothing; what is asked is answered in the order of asking, one after the other, so that a failure is
 *  that of one question alone. */
import { LedgerError } from "../../kernel/errors.js";
import { Connection } from "./connection.js";
import type { ConnectionOptions, Statement } from "./connection.js";
import { sqlState, storeError } from "./errors.js";

/** Counting a large table takes its time. */
const answerMsMax = 3_600_000;

export class RawSession {
  readonly connection: Connection;
  private readonly shown: string;
  private last: Promise<unknown> = Promise.resolve();

  private constructor(connection: Connection, shown: string) {
    this.connection = connection;
    this.shown = shown;
  }

  static async open({ config, timeoutMs }: ConnectionOptions, shown: string): Promise<RawSession> {
    const patient = { config: { ...config, query_timeout: answerMsMax }, timeoutMs };
    const connection = await Connection.open(patient, "reads");
    try {
      await connection.script(["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SAVEPOINT question"]);
      return new RawSession(connection, shown);
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
      if (undo && !connection.broken) await connection.command("ROLLBACK TO SAVEPOINT question");
    }
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
