/** The one write connection of a store, its lock and its caches.
 *  Invariants: the head row is locked before anything is read, or what was assumed instead is compared under its lock before anything
 *  is written; caches are believed only while the head is the one they were made from; a connection in doubt is not used again, and
 *  what may still be on its way by it comes too late. */
import { invariant, LedgerError } from "../../kernel/errors.js";
import type { FaultSeam, StoreHead } from "../../journal/store.js";
import { FairLock } from "../fair-lock.js";
import { StreamCache } from "../stream-cache.js";
import type { DatabaseClock } from "./clock.js";
import { Connection } from "./connection.js";
import type { ConnectionOptions } from "./connection.js";
import { storeError } from "./errors.js";
import { channelOf } from "./listen.js";
import { toGround, toStreams } from "./reads.js";
import type { Ground, GroundColumns, Journal, StreamColumns, StreamRow } from "./reads.js";
import { qualified, retiredPrefix } from "./schema.js";
import { idleMsDefault } from "./snapshots.js";
import type { Undone } from "./outbox.js";
import { begin, Standing } from "./standing.js";
import type { Assumed, GuardColumns, Opening } from "./standing.js";
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

const failed: Undone = { isOpened: true, isDirty: true };

/** How a transaction was begun. */
interface Begun extends Pick<Assumed, "isVoid"> {
  readonly opening: Opening | null;
  readonly release: () => void;
}

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
  private readonly standing: Standing;
  /** Commits that are not answered yet. */
  private readonly flying = new Set<Promise<unknown>>();
  /** Is something on its way by a connection that was lost, which may still be done? */
  private owesTurn = false;
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
    this.standing = new Standing(options.journal, options.connecting, this.idleMs);
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
      if (this.owesTurn) await this.takeTurn(connection);
      const asked = streams.filter((name) => this.cache.get(name) === undefined);
      this.within = true;
      const { ground, found } = await this.lockHead(connection, asked);
      this.checkOpen();
      faults?.("begin", "after");
      const isMine = ground.head !== null && ground.head.id === this.cachedAt;
      if (!isMine) this.forget();
      this.standing.found(isMine);
      this.cachedAt = ground.head?.id ?? null;
      this.transaction = this.start(connection, ground, { release, opening: null, isVoid: () => false });
      this.transaction.learn(asked, found);
      return this.transaction;
    } catch (cause) {
      await this.undo(failed);
      release();
      throw storeError(cause, journal.shown, "writing to");
    }
  }

  /** Begins on what the last transaction left, without waiting for the lock; null where others have been writing, or somebody else
   *  here has the lock. What begins it goes out with the first thing that it reads, or with its writes. */
  assume(): PostgresTransaction | null {
    const { connection, closed, owesTurn, options } = this;
    if (closed || connection === null || connection.broken || owesTurn || options.faults !== undefined) return null;
    const assumed = this.standing.assume();
    if (assumed === null) return null;
    const release = this.lock.tryAcquire();
    if (release === null) return null;
    this.usedAt = performance.now();
    this.within = true;
    const ground = { ...assumed.ground, now: options.clock.now() };
    this.transaction = this.start(connection, ground, { release, ...assumed });
    return this.transaction;
  }

  /** Drops the connection and all caches; the next `begin` opens it again. Waits for the open transaction, and for what is on its
   *  way. */
  async reset(): Promise<void> {
    const release = await this.lock.acquire();
    await Promise.allSettled(this.flying);
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
      const retired = await connection.rows<[string]>(retiredTables, [clock.now() - retiredMs]);
      for (const [key] of retired) {
        const id = Number(key.slice(retiredPrefix.length));
        this.within = true;
        const dropping = connection.script([
          "BEGIN",
          // Without the write lock, and behind nobody: another time will do.
          `SET LOCAL lock_timeout = 10`,
          `DROP TABLE IF EXISTS ${qualified(journal.schema, `doc_${id}`)}`,
          `DELETE FROM ${qualified(journal.schema, "meta")} WHERE key = '${retiredPrefix}${id}'`,
          "COMMIT",
        ]);
        // One that somebody reads keeps no other one, and says nothing of the journal.
        await dropping.catch(() => this.undo({ isOpened: true, isDirty: false }));
        this.within = false;
        if (connection.broken) return;
      }
    } catch {
      await this.undo(failed);
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

  async close(): Promise<void> {
    this.closed = true;
    await this.transaction?.abandon();
    const release = await this.lock.acquire();
    try {
      this.options.faults?.("close", "before");
    } finally {
      await Promise.allSettled(this.flying);
      await this.standing.rest();
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
    const askedAt = performance.now();
    const answers = [
      connection.command(begin.statement.text),
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
    this.options.clock.hear(read.now, askedAt);
    return { ground: read, found: toStreams(found) };
  }

  private start(connection: Connection, ground: Ground, begun: Begun): PostgresTransaction {
    const { journal, faults, clock } = this.options;
    const { release, opening, isVoid } = begun;
    // What is on its way is known here alone.
    this.cache.trim(this.flying.size === 0 ? Infinity : this.standing.committed);
    let isOnItsWay = false;
    return new PostgresTransaction(
      {
        journal,
        connection,
        cache: this.cache,
        faults,
        opening,
        isVoid,
        opened: ([, , guard], askedAt) => {
          const [row] = guard as readonly GuardColumns[];
          clock.hear(row![1], askedAt); // it has one row, or fails
        },
        takesForNew: () => this.standing.takesForNew,
        wasThere: () => this.standing.wasThere(),
        aside: (names) => this.standing.streamsAside(names),
        sent: (left, committing) => {
          isOnItsWay = true;
          this.flying.add(committing);
          const lastStream = this.cache.nextStream === null ? left.lastStream : this.cache.nextStream - 1;
          this.standing.leave({ ...left, lastStream });
          this.cachedAt = left.head?.id ?? null;
          this.end(release);
          const land = (): void => void this.flying.delete(committing);
          committing.then(land, land);
        },
        committed: (head: StoreHead | null) => {
          this.standing.confirm(head);
          if (head !== null && head.seq !== ground.head?.seq) this.unannounced = head.seq;
        },
        lost: (isDoubtful) => {
          if (isDoubtful) this.owesTurn = true;
          this.forget();
        },
        undo: async (what) => {
          invariant(!isOnItsWay, "what is on its way cannot be undone");
          await this.undo(what);
          release();
        },
      },
      ground,
    );
  }

  private end(release: () => void): void {
    this.transaction = null;
    this.within = false;
    release();
  }

  /** Makes what may still be on its way come too late: it was assumed that nobody has taken a turn. */
  private async takeTurn(connection: Connection): Promise<void> {
    const { lock, takeTurn } = this.options.journal.statements;
    this.within = true;
    const taking = connection.together([begin, { statement: lock, values: [] }, { statement: takeTurn, values: [] }]);
    const committing = connection.commit();
    committing.catch(() => {}); // what failed before it is told first
    await taking;
    if ((await committing) !== "COMMIT") throw new Error("the server undid a turn");
    this.owesTurn = false;
  }

  /** Ends an open transaction without its changes, and what was remembered of them. Never throws. */
  private async undo({ isOpened, isDirty }: Undone): Promise<void> {
    this.transaction = null;
    if (isDirty) this.forget();
    const { connection } = this;
    if (isOpened && connection !== null && !connection.broken) {
      try {
        await connection.command("ROLLBACK");
      } catch {
        // The server undoes it when it sees that the connection is gone.
      }
    }
    this.within = false;
    if (connection?.broken === true) this.drop();
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
    const isUsed = this.flying.size > 0 || performance.now() - this.usedAt < this.idleMs;
    if (connection !== null && isUsed) this.watchIdle();
    else if (connection !== null) {
      this.forget();
      this.connection = null;
      void connection.close();
      void this.standing.rest();
    }
    release();
  }

  private drop(): void {
    this.forget();
    this.connection?.destroy();
    this.connection = null;
    void this.standing.rest(); // the server may be another one now, and answers of the old one say nothing of it
  }

  private forget(): void {
    this.cache.clear();
    this.cachedAt = null;
    this.standing.forget();
  }

  private checkOpen(): void {
    if (this.closed) throw new LedgerError("CLOSED", "the store must be open, found it closed");
  }
}
