/** The one write connection of a store, its lock and its caches.
 *  Invariants: BEGIN IMMEDIATE comes before anything is read; caches are believed only while the head is the one they were
 *  made from; a commit is acknowledged only when the file that was opened still stands at its path. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Statement } from "better-sqlite3";
import { LedgerError } from "../../kernel/errors.js";
import type { DurableStep, FaultSeam } from "../../journal/store.js";
import { FairLock } from "../fair-lock.js";
import { whenFree } from "./busy.js";
import type { Checkpoints } from "./checkpoints.js";
import { connect, pragma } from "./connection.js";
import type { Connection } from "./connection.js";
import { createSchema } from "./create.js";
import { DocumentStatements } from "./document-statements.js";
import { storeError } from "./errors.js";
import type { FileGuard } from "./file-guard.js";
import { readHead } from "./reads.js";
import { Scrub } from "./scrub.js";
import { checkShape } from "./shape.js";
import { prepare, readStatements, writeStatements } from "./statements.js";
import type { ReadStatements, WriteStatements } from "./statements.js";
import { StreamCache } from "../stream-cache.js";
import { SqliteTransaction } from "./transaction.js";

/** Readings of this process hold the log back for some ms; longer than this a scrub does not wait for anybody. */
const scrubPatienceMs = 200;

export interface WriterOptions {
  readonly path: string;
  readonly busyTimeoutMs: number;
  readonly faults: FaultSeam | undefined;
  readonly guard: FileGuard;
  readonly checkpoints: Checkpoints;
}

interface OpenWriter {
  readonly connection: Connection;
  readonly reads: ReadStatements;
  readonly writes: WriteStatements;
  readonly tables: DocumentStatements;
  readonly begin: Statement;
  readonly commit: Statement;
}

export class Writer {
  private readonly options: WriterOptions;
  private readonly lock = new FairLock();
  private readonly cache = new StreamCache();
  private cachedAt: string | null = null;
  private open: OpenWriter | null = null;
  private transaction: SqliteTransaction | null = null;
  private readonly scrubs: Scrub;
  private closed = false;

  constructor(options: WriterOptions) {
    this.options = options;
    this.scrubs = new Scrub(options.checkpoints);
  }

  /** Opens the connection: makes the schema in an empty file, and takes the file into WAL mode. */
  async connect(isNew: boolean): Promise<OpenWriter> {
    const { path, busyTimeoutMs, faults, guard } = this.options;
    // Setting what a connection promises reads the schema, so that another process's lock can be in the way already.
    const connection = await whenFree(path, "opening", busyTimeoutMs, () => connect(path, "write"));
    try {
      guard.checkMain();
      if (isNew) await whenFree(path, "creating", busyTimeoutMs, () => createSchema(connection, faults));
      // Once more on the connection that will write, before it changes anything.
      await whenFree(path, "opening", busyTimeoutMs, () => checkShape(connection, path));
      await this.openLog(connection);
      guard.rememberSidecars();
      const open: OpenWriter = {
        connection,
        reads: prepare(connection, readStatements),
        writes: prepare(connection, writeStatements),
        tables: new DocumentStatements(connection),
        begin: connection.prepare("BEGIN IMMEDIATE"),
        commit: connection.prepare("COMMIT"),
      };
      this.scrubs.look(open.reads);
      if (this.scrubs.due()) this.scrubs.attempt(open);
      this.open = open;
      return open;
    } catch (cause) {
      guard.release();
      connection.close();
      throw storeError(cause, path, "opening");
    }
  }

  private async openLog(connection: Connection): Promise<void> {
    const { path, busyTimeoutMs } = this.options;
    do {
      await whenFree(path, "opening", busyTimeoutMs, () => this.enterWal(connection));
      // The first read in WAL mode opens the sidecars, or makes them; nobody can take them away from then on.
      await whenFree(path, "opening", busyTimeoutMs, () => pragma(connection, "schema_version"));
      // Before it somebody else who closed the ledger last may have left WAL mode.
    } while (pragma(connection, "journal_mode") !== "wal");
  }

  private enterWal(connection: Connection): void {
    this.step("mode", () => {
      const mode = pragma(connection, "journal_mode = WAL");
      if (mode === "wal") return;
      const { path } = this.options;
      throw new LedgerError("STORE_UNSUPPORTED", `${path} must take a write-ahead log, found ${String(mode)}`, {
        details: { path, found: mode },
      });
    });
  }

  /** Takes the lock, waiting in turn for this process and at most the busy timeout for others. */
  async begin(): Promise<SqliteTransaction> {
    const { path, busyTimeoutMs, guard, faults } = this.options;
    const release = await this.lock.acquire();
    try {
      this.checkOpen();
      guard.requireUnbroken();
      const open = this.open ?? (await this.connect(false));
      faults?.("begin", "before");
      await whenFree(path, "writing to", busyTimeoutMs, () => {
        this.checkOpen();
        open.begin.run();
      });
      faults?.("begin", "after");
      this.transaction = this.start(open, release);
      return this.transaction;
    } catch (cause) {
      this.undo();
      release();
      throw storeError(cause, path, "writing to");
    }
  }

  /** Drops the connection and all caches; the next `begin` opens it again. Waits for the open transaction. */
  async reset(): Promise<void> {
    const release = await this.lock.acquire();
    try {
      this.forget();
      this.open?.connection.close();
      this.open = null;
      this.options.guard.forgetSidecars();
    } finally {
      release();
    }
  }

  /** Looks after the sidecars, and checkpoints when it is time and nobody writes. Never throws. */
  async maintain(): Promise<void> {
    const { guard, checkpoints } = this.options;
    if (this.closed || !guard.memoryStands()) return;
    if (!checkpoints.due() && !this.scrubs.due()) return;
    const release = await this.lock.acquire();
    if (this.open !== null && checkpoints.due()) checkpoints.run(this.open.connection);
    if (this.open !== null && this.scrubs.due()) this.scrubs.attempt(this.open);
    release();
  }

  get scrubOwed(): boolean {
    return this.scrubs.owed;
  }

  /** Takes what was erased out of the log. Never throws. */
  async scrub(): Promise<boolean> {
    for (const until = performance.now() + scrubPatienceMs; !this.closed;) {
      if (await this.tryToScrub()) return true;
      if (performance.now() >= until) return false;
      await sleep(5);
    }
    return false;
  }

  /** Takes the log into the file and leaves WAL mode when nobody else has it open, then closes. */
  async close(): Promise<void> {
    this.closed = true;
    this.transaction?.abandon();
    const release = await this.lock.acquire();
    const { faults } = this.options;
    try {
      if (this.open === null) return;
      faults?.("fold", "before");
      if (!this.options.guard.failed) this.fold(this.open);
      faults?.("fold", "after");
      faults?.("close", "before");
    } finally {
      this.open?.connection.close();
      this.open = null;
      this.options.guard.release();
      release();
    }
    faults?.("close", "after");
  }

  private async tryToScrub(): Promise<boolean> {
    const release = await this.lock.acquire();
    try {
      this.checkOpen();
      return this.scrubs.attempt(this.open ?? (await this.connect(false)));
    } catch {
      return false; // it cannot be opened now: the mark in the file says what is owed
    } finally {
      release();
    }
  }

  private start({ reads, writes, tables, commit }: OpenWriter, release: () => void): SqliteTransaction {
    const head = readHead(reads);
    if (head === null || head.id !== this.cachedAt) {
      this.forget();
      this.scrubs.look(reads);
    }
    this.cachedAt = head?.id ?? null;
    this.cache.trim();
    const { path, guard, checkpoints } = this.options;
    return new SqliteTransaction(
      {
        path,
        reads,
        writes,
        tables,
        cache: this.cache,
        step: (name, act) => this.step(name, act),
        commit: ({ head: last, bytes, erased }) => {
          let acknowledged = false;
          if (erased) this.scrubs.owe();
          try {
            this.step("commit", () => commit.run());
            guard.checkCommitted();
            this.cachedAt = last?.id ?? null;
            checkpoints.wrote(bytes);
            acknowledged = true;
          } finally {
            if (!acknowledged) this.undo();
            release();
          }
        },
        rollback: () => {
          this.undo();
          release();
        },
      },
      head,
    );
  }

  private step(name: DurableStep, act: () => unknown): void {
    this.options.faults?.(name, "before");
    act();
    this.options.faults?.(name, "after");
  }

  /** Ends an open transaction without its changes, and what was remembered of them. */
  private undo(): void {
    this.forget();
    try {
      if (this.open?.connection.inTransaction) this.open.connection.exec("ROLLBACK");
    } catch {
      // SQLite has ended it already, or will when the connection closes; a connection in doubt is not used again.
      this.open?.connection.close();
      this.open = null;
    }
  }

  private fold(open: OpenWriter): void {
    this.scrubs.attempt(open);
    const { connection } = open;
    try {
      connection.pragma("wal_checkpoint(TRUNCATE)");
      pragma(connection, "journal_mode = DELETE");
    } catch {
      // Others have it open, or the disk is full: the log keeps what the file lacks, and whoever opens it next goes on from there.
    }
  }

  private forget(): void {
    this.cache.clear();
    this.cachedAt = null;
  }

  private checkOpen(): void {
    if (this.closed) throw new LedgerError("CLOSED", "the store must be open, found it closed");
  }
}
