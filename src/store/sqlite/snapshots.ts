/** Read connections, a few at most, each held by one snapshot at a time.
 *  Invariant: a snapshot's connection is inside a transaction that has read, so what it sees does not move. */
import { setTimeout as sleep } from "node:timers/promises";
import { LedgerError } from "../../kernel/errors.js";
import type { StoreSnapshot } from "../../journal/store.js";
import { Lifetime } from "../lifetime.js";
import { SnapshotSlots } from "../snapshot-slots.js";
import { whenFree } from "./busy.js";
import { connect } from "./connection.js";
import type { Connection } from "./connection.js";
import { DocumentStatements } from "./document-statements.js";
import { storeError } from "./errors.js";
import { readHead, SqliteReads } from "./reads.js";
import { prepare, readStatements } from "./statements.js";
import type { ReadStatements } from "./statements.js";

const pauseMs = 10;

interface Reader {
  readonly connection: Connection;
  readonly statements: ReadStatements;
  readonly tables: DocumentStatements;
}

export class SnapshotPool {
  private readonly path: string;
  private readonly busyTimeoutMs: number;
  private readonly check: () => void;
  private readonly idle: Reader[] = [];
  private readonly used = new Map<Reader, Lifetime>();
  private readonly slots: SnapshotSlots;
  private closed = false;

  /** `check` is asked before each snapshot whether the file may still be read. */
  constructor(path: string, busyTimeoutMs: number, check: () => void) {
    this.path = path;
    this.busyTimeoutMs = busyTimeoutMs;
    this.check = check;
    this.slots = new SnapshotSlots(path, busyTimeoutMs);
  }

  async take(waitMs?: number): Promise<StoreSnapshot> {
    const [reader, lifetime] = await this.hold(waitMs);
    return new SqliteSnapshot(this.path, reader, lifetime, () => this.release(reader));
  }

  /** Asks one question. */
  async ask<Answer>(question: (statements: ReadStatements) => Answer): Promise<Answer> {
    const [reader] = await this.hold();
    try {
      return question(reader.statements);
    } finally {
      this.release(reader);
    }
  }

  private async hold(waitMs?: number): Promise<readonly [Reader, Lifetime]> {
    await this.slots.take(waitMs);
    try {
      const reader = await this.pinWhenReadable();
      const lifetime = new Lifetime();
      this.used.set(reader, lifetime);
      return [reader, lifetime];
    } catch (cause) {
      this.slots.give();
      throw storeError(cause, this.path, "reading");
    }
  }

  /** A writer that comes or goes makes the file unreadable for a moment, and a longer one on a busy machine. */
  private async pinWhenReadable(): Promise<Reader> {
    const deadline = performance.now() + this.busyTimeoutMs;
    for (;;) {
      try {
        return await whenFree(this.path, "reading", this.busyTimeoutMs, () => this.pin());
      } catch (cause) {
        const passes = cause instanceof LedgerError && cause.code === "STORE_UNAVAILABLE";
        if (!passes || performance.now() >= deadline) throw cause;
        await sleep(pauseMs);
      }
    }
  }

  /** Closes idle connections. A snapshot in use goes on: it has read, and what it sees does not move. */
  reset(): void {
    for (const reader of this.idle.splice(0)) reader.connection.close();
  }

  /** Ends all snapshots, those in use too. */
  close(): void {
    this.closed = true;
    for (const lifetime of this.used.values()) lifetime.close();
    for (const reader of [...this.idle.splice(0), ...this.used.keys()]) reader.connection.close();
    this.used.clear();
    this.slots.close();
  }

  /** A connection inside a transaction that has read. */
  private pin(): Reader {
    if (this.closed) throw new LedgerError("CLOSED", "the store must be open, found it closed");
    this.check();
    const reader = this.idle.pop() ?? this.open();
    try {
      reader.connection.exec("BEGIN");
      readHead(reader.statements);
      return reader;
    } catch (cause) {
      reader.connection.close();
      throw cause;
    }
  }

  private open(): Reader {
    const connection = connect(this.path, "read");
    try {
      this.check();
      const statements = prepare(connection, readStatements);
      return { connection, statements, tables: new DocumentStatements(connection) };
    } catch (cause) {
      connection.close();
      throw cause;
    }
  }

  private release(reader: Reader): void {
    if (!this.used.delete(reader)) return;
    try {
      reader.connection.exec("ROLLBACK");
      this.idle.push(reader);
    } catch {
      // It read only: nothing is lost, and a connection that cannot end its transaction is not used again.
      reader.connection.close();
    }
    this.slots.give();
  }
}

class SqliteSnapshot extends SqliteReads implements StoreSnapshot {
  private readonly lifetime: Lifetime;
  private readonly giveBack: () => void;

  constructor(path: string, { statements, tables }: Reader, lifetime: Lifetime, giveBack: () => void) {
    super(path, tables, () => {
      lifetime.require();
      return statements;
    });
    this.lifetime = lifetime;
    this.giveBack = giveBack;
  }

  async release(): Promise<void> {
    if (!this.lifetime.open) return;
    this.lifetime.end();
    this.giveBack();
  }
}
