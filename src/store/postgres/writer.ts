/** The one write connection of a store, its lock and its caches.
 *  Invariants: the head row is locked before anything is read; caches are believed only while the head is the one they were
 *  made from; a connection in doubt is not used again. */
import { LedgerError } from "../../kernel/errors.js";
import type { FaultSeam, StoreHead } from "../../journal/store.js";
import { FairLock } from "../fair-lock.js";
import { StreamCache } from "../stream-cache.js";
import type { DatabaseClock } from "./clock.js";
import { Connection } from "./connection.js";
import type { ConnectionOptions } from "./connection.js";
import { storeError } from "./errors.js";
import { channelOf } from "./listen.js";
import { toGround, toStreams } from "./reads.js";
import { mayVacuum } from "./rights.js";
import type { Ground, GroundColumns, Journal, StreamColumns, StreamRow } from "./reads.js";
import { qualified, retiredPrefix } from "./schema.js";
import { idleMsDefault } from "./snapshots.js";
import { PostgresTransaction } from "./transaction.js";

/** For so long a table of documents that was dropped stays for those who read it. */
const retiredMs = 60_000;

export interface WriterOptions {
  readonly journal: Journal;
  readonly connecting: ConnectionOptions;
  readonly clock: DatabaseClock;
  readonly faults: FaultSeam | undefined;
  readonly idleMs?: number;
}

/** Whoever waits hears of the last commit of so many ms: more often it would only cost. */
const announceMsMin = 10;

/** What came with the lock. */
interface Locked {
  readonly ground: Ground;
  readonly found: ReadonlyMap<string, StreamRow>;
}

export class Writer {
  private readonly options: WriterOptions;
  private readonly lock = new FairLock();
  private readonly cache = new StreamCache();
  private cachedAt: string | null = null;
  private connection: Connection | null = null;
  private transaction: PostgresTransaction | null = null;
  /** Is a transaction open on the connection, or about to be? What is sent then is part of it. */
  private within = false;
  private dropDueAt = 0;
  /** The last position that was committed here and not announced yet. */
  private unannounced: number | null = null;
  private announcedAt = Number.NEGATIVE_INFINITY;
  private announcing: NodeJS.Timeout | null = null;
  private readonly idleMs: number;
  private usedAt = performance.now();
  private resting: NodeJS.Timeout | null = null;
  private closed = false;

  constructor(options: WriterOptions, connection: Connection | null) {
    this.options = options;
    this.connection = connection;
    this.idleMs = options.idleMs ?? idleMsDefault;
    this.watchIdle();
  }

  /** Takes the lock, waiting in turn for this process and at most the busy timeout for others. */
  async begin(streams: readonly string[]): Promise<PostgresTransaction> {
    const { journal, faults } = this.options;
    const release = await this.lock.acquire();
    try {
      this.checkOpen();
      const connection = await this.connected();
      faults?.("begin", "before");
      const asked = streams.filter((name) => this.cache.get(name) === undefined);
      this.within = true;
      const { ground, found } = await this.lockHead(connection, asked);
      this.checkOpen();
      faults?.("begin", "after");
      this.transaction = this.start(connection, ground, release);
      this.transaction.learn(asked, found);
      return this.transaction;
    } catch (cause) {
      await this.undo();
      release();
      throw storeError(cause, journal.shown, "writing to");
    }
  }

  /** Drops the connection and all caches; the next `begin` opens it again. Waits for the open transaction. */
  async reset(): Promise<void> {
    const release = await this.lock.acquire();
    this.drop();
    release();
  }

  /** Drops tables of documents that were retired a while ago, so that those who read them then are done. Never throws. */
  async dropRetired(): Promise<void> {
    if (performance.now() < this.dropDueAt) return;
    this.dropDueAt = performance.now() + retiredMs;
    const { journal, clock } = this.options;
    const release = await this.lock.acquire();
    try {
      this.checkOpen();
      const connection = await this.connected();
      const { retiredTables } = journal.statements;
      for (const [key] of await connection.rows<[string]>(retiredTables, [clock.now() - retiredMs]))
        await connection.script([
          "BEGIN",
          // Without the write lock, and behind nobody: another time will do.
          `SET LOCAL lock_timeout = 10`,
          `DROP TABLE IF EXISTS ${qualified(journal.schema, `doc_${Number(key.slice(retiredPrefix.length))}`)}`,
          `DELETE FROM ${qualified(journal.schema, "meta")} WHERE key = '${retiredPrefix}${Number(key.slice(retiredPrefix.length))}'`,
          "COMMIT",
        ]);
    } catch {
      await this.undo();
    } finally {
      release();
    }
  }

  /** Tells those who listen how far the journal goes, if it went on here, once in a while. It is sent and not waited for: what
   *  comes next on the connection comes behind it. */
  announce(): void {
    const { connection, unannounced } = this;
    if (unannounced === null || connection === null || connection.broken || this.within) return;
    const waitMs = this.announcedAt + announceMsMin - performance.now();
    if (waitMs > 0) {
      const again = (): void => {
        this.announcing = null;
        this.announce();
      };
      this.announcing ??= setTimeout(again, waitMs).unref();
      return;
    }
    this.unannounced = null;
    this.announcedAt = performance.now();
    const { schema, statements } = this.options.journal;
    // Who does not hear of it asks for the head.
    connection.run(statements.announce, [channelOf(schema), String(unannounced)]).catch(() => {});
  }

  /** Gives back to the server what erased contents took, as far as it lets us. */
  async scrub(): Promise<boolean> {
    const { journal, faults } = this.options;
    const release = await this.lock.acquire();
    try {
      this.checkOpen();
      const connection = await this.connected();
      const [row] = await connection.rows<[boolean]>(mayVacuum, [journal.schema]);
      // The server would skip the table and say that all is well.
      if (row?.[0] !== true) return false;
      faults?.("scrub", "before");
      await connection.command(`VACUUM "${journal.schema}".contents`);
      faults?.("scrub", "after");
      return true;
    } catch {
      return false;
    } finally {
      release();
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.transaction?.abandon();
    const release = await this.lock.acquire();
    try {
      this.options.faults?.("close", "before");
    } finally {
      await this.connection?.close();
      this.connection = null;
      release();
    }
    this.options.faults?.("close", "after");
  }

  private async connected(): Promise<Connection> {
    this.usedAt = performance.now();
    this.watchIdle();
    if (this.connection?.broken === true) this.drop();
    return (this.connection ??= await Connection.open(this.options.connecting, "writes"));
  }

  /** All of it goes out at once; what is read is read behind the lock. */
  private async lockHead(connection: Connection, asked: readonly string[]): Promise<Locked> {
    const { lock, ground, streams } = this.options.journal.statements;
    const answers = [
      connection.command("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"),
      connection.rows(lock),
      connection.rows<GroundColumns>(ground),
      asked.length === 0 ? Promise.resolve([]) : connection.rows<StreamColumns>(streams, [asked]),
    ] as const;
    for (const answer of answers) answer.catch(() => {}); // the first one that fails is told
    const [, locked, [row], found] = [await answers[0], await answers[1], await answers[2], await answers[3]];
    if (locked.length !== 1 || row === undefined)
      throw new LedgerError("STORE_DAMAGED", `${this.options.journal.shown} must have one head row, found none`, {
        hint: "run verify",
      });
    const read = toGround(row);
    this.options.journal.identity.require(read.first);
    this.options.clock.hear(read.now);
    return { ground: read, found: toStreams(found) };
  }

  private start(connection: Connection, ground: Ground, release: () => void): PostgresTransaction {
    const id = ground.head?.id ?? null;
    if (id === null || id !== this.cachedAt) this.forget();
    this.cachedAt = id;
    this.cache.trim();
    return new PostgresTransaction(
      {
        journal: this.options.journal,
        connection,
        cache: this.cache,
        faults: this.options.faults,
        committed: (head: StoreHead | null) => {
          this.cachedAt = head?.id ?? null;
          if (head !== null && head.seq !== ground.head?.seq) this.unannounced = head.seq;
          this.transaction = null;
          this.within = false;
          release();
        },
        undo: async () => {
          await this.undo();
          release();
        },
      },
      ground,
    );
  }

  /** Ends an open transaction without its changes, and what was remembered of them. Never throws. */
  private async undo(): Promise<void> {
    this.transaction = null;
    this.forget();
    const { connection } = this;
    if (connection === null) {
      this.within = false;
      return;
    }
    try {
      if (!connection.broken) await connection.command("ROLLBACK");
    } catch {
      // The server undoes it when it sees that the connection is gone.
    }
    this.within = false;
    if (connection.broken) this.drop();
  }

  private watchIdle(): void {
    const rest = (): void => {
      this.resting = null;
      void this.rest();
    };
    // A timer may come a little early.
    this.resting ??= setTimeout(rest, this.usedAt + this.idleMs - performance.now() + 1).unref();
  }

  /** Gives a connection that was not used for a while back to the server. */
  private async rest(): Promise<void> {
    const release = await this.lock.acquire();
    const { connection } = this;
    if (connection !== null && performance.now() - this.usedAt < this.idleMs) this.watchIdle();
    else if (connection !== null) {
      this.forget();
      this.connection = null;
      void connection.close();
    }
    release();
  }

  private drop(): void {
    this.forget();
    this.connection?.destroy();
    this.connection = null;
  }

  private forget(): void {
    this.cache.clear();
    this.cachedAt = null;
  }

  private checkOpen(): void {
    if (this.closed) throw new LedgerError("CLOSED", "the store must be open, found it closed");
  }
}
