/** Having the server clean up behind an erasure. The erasure itself leaves the old rows where they were, dead, until a VACUUM takes
 *  them out: which it does not while anybody in the database may see them still.
 *  Invariants: the commit that erases leaves a mark, which goes only after a VACUUM that began behind it left no dead row; it runs on
 *  a connection of its own, so that nobody who appends waits for it. Decision 0028. */
import { setTimeout as sleep } from "node:timers/promises";
import type { FaultSeam } from "../../journal/store.js";
import { Connection } from "./connection.js";
import type { ConnectionOptions } from "./connection.js";
import type { Journal } from "./reads.js";
import { mayVacuum } from "./rights.js";
import { qualified } from "./schema.js";

/** A large table takes its time. */
const answerMsMax = 3_600_000;
/** Readings of a moment hold it back for some ms; longer than this it is not tried again at once. */
const patienceMs = 1_000;
/** Between two attempts that nobody asked for, twice as long each time. */
const pauseMsMin = 1_000;
const pauseMsMax = 60_000;
/** Who was told to stop does it. */
const stopMsMax = 1_000;

/** What the server counts of the contents and of the table where it keeps long ones. `VACUUM` says by it how many rows it found dead
 *  and could not remove; so does `ANALYZE`, by a guess, which is not believed. */
const counts = `SELECT t.oid::bigint, pg_stat_get_vacuum_count(t.oid), pg_stat_get_analyze_count(t.oid) + pg_stat_get_autoanalyze_count(t.oid), pg_stat_get_dead_tuples(t.oid)
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace CROSS JOIN LATERAL unnest(ARRAY[c.oid, c.reltoastrelid]) t (oid)
  WHERE s.nspname = $1 AND c.relname = 'contents' AND t.oid <> 0 ORDER BY t.oid`;

type Counts = readonly [table: number, vacuums: number, analyses: number, dead: number];

export interface ScrubOptions {
  readonly journal: Journal;
  readonly connecting: ConnectionOptions;
  readonly faults: FaultSeam | undefined;
  /** Did somebody leave something to be done? */
  readonly owed: boolean;
}

export class Scrub {
  private readonly options: ScrubOptions;
  private isOwed: boolean;
  private triedAt = Number.NEGATIVE_INFINITY;
  private pauseMs = pauseMsMin;
  private connection: Connection | null = null;
  /** Attempts come one after the other. */
  private last: Promise<unknown> = Promise.resolve();
  private going = 0;
  private closed = false;
  private stopped = false;

  constructor(options: ScrubOptions) {
    this.options = options;
    this.isOwed = options.owed;
  }

  /** May erased bytes still stand in rows of the server, as far as this process knows? */
  get owed(): boolean {
    return this.isOwed;
  }

  /** Something was erased: true when it is out of the tables. Never throws. */
  async scrub(): Promise<boolean> {
    if (this.closed) return false;
    this.isOwed = true;
    this.pauseMs = pauseMsMin;
    return this.attempt(patienceMs);
  }

  /** Tries again when it is time to, and does not wait for it. */
  maintain(): void {
    if (this.closed || !this.isOwed || this.going > 0 || performance.now() - this.triedAt < this.pauseMs) return;
    this.pauseMs = Math.min(this.pauseMs * 2, pauseMsMax);
    void this.attempt(0);
  }

  /** Tries a last time; what takes longer than the busy timeout is stopped, and owed still. Never throws. */
  async close(): Promise<void> {
    this.closed = true;
    const ending = this.last.then(() => (this.isOwed ? this.attempt(0) : true));
    if (await endsWithin(ending, this.options.connecting.timeoutMs)) return;
    this.stopped = true;
    await this.cancel();
    if (await endsWithin(ending, stopMsMax)) return;
    this.connection?.destroy();
    await endsWithin(ending, stopMsMax);
  }

  private attempt(forMs: number): Promise<boolean> {
    this.going++;
    const attempt = this.last.then(() => this.run(forMs));
    this.last = attempt;
    return attempt;
  }

  private async run(forMs: number): Promise<boolean> {
    const { config, timeoutMs } = this.options.connecting;
    let connection: Connection | null = null;
    try {
      if (this.stopped) return false;
      connection = await Connection.open({ config: { ...config, query_timeout: answerMsMax }, timeoutMs }, "writes");
      this.connection = connection;
      return await this.clean(connection, forMs);
    } catch {
      return false; // the mark says what is owed
    } finally {
      this.connection = null;
      this.triedAt = performance.now();
      this.going--;
      await connection?.close();
    }
  }

  private async clean(connection: Connection, forMs: number): Promise<boolean> {
    const { schema, statements } = this.options.journal;
    const [mark] = await connection.rows<[string]>(statements.scrubMark);
    if (mark === undefined) {
      this.isOwed = false;
      return true;
    }
    const [row] = await connection.rows<[boolean]>(mayVacuum, [schema]);
    // The server would skip the table and say that all is well.
    if (row?.[0] !== true) return false;
    const { faults } = this.options;
    faults?.("scrub", "before");
    for (const until = performance.now() + forMs; !(await this.vacuum(connection)); await sleep(50))
      if (this.closed || performance.now() >= until) return false;
    faults?.("scrub", "after");
    // Of that very erasure: one that was committed since is owed still.
    this.isOwed = (await connection.run(statements.unmarkScrub, mark).catch(() => 0)) === 0;
    return true;
  }

  /** Did it take out all dead rows? */
  private async vacuum(connection: Connection): Promise<boolean> {
    const { journal } = this.options;
    if (this.stopped) return false;
    const before = await connection.rows<Counts>(counts, [journal.schema]);
    // The index holds hashes of what was erased, and would be passed over where little is dead.
    await connection.command(`VACUUM (INDEX_CLEANUP ON) ${qualified(journal.schema, "contents")}`);
    // Up to PostgreSQL 14 the counts come a moment later.
    for (const until = performance.now() + patienceMs; ; await sleep(50)) {
      const after = await connection.rows<Counts>(counts, [journal.schema]);
      const isCounted = after.every(([, vacuums], index) => vacuums > (before[index]?.[1] ?? Infinity));
      if (isCounted) return after.length > 0 && after.every((each, index) => isClean(each, before[index]!));
      if (this.stopped || performance.now() >= until) return false;
    }
  }

  /** The server would go on with it for somebody who is gone. */
  private async cancel(): Promise<void> {
    const backend = this.connection?.backend ?? null;
    if (backend === null) return;
    try {
      const connection = await Connection.open(this.options.connecting, "reads");
      try {
        await connection.rows("SELECT pg_catalog.pg_cancel_backend($1)", [backend]);
      } finally {
        await connection.close();
      }
    } catch {
      // It is not there to be told.
    }
  }
}

/** Is an erasure of this journal not cleaned up yet? */
export async function owesScrub(connection: Connection, { statements }: Pick<Journal, "statements">): Promise<boolean> {
  return (await connection.rows(statements.scrubMark)).length > 0;
}

function isClean([table, , analyses, dead]: Counts, before: Counts): boolean {
  return table === before[0] && analyses === before[2] && dead === 0;
}

async function endsWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const over = new AbortController();
  const ended = await Promise.race([
    promise.then(() => true),
    sleep(ms, false, { signal: over.signal }).catch(() => false),
  ]);
  over.abort();
  return ended;
}
