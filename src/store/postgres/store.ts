/** The PostgreSQL store: one journal in one schema.
 *  Invariants: a schema is looked at, and found to be ours, before anything in it changes; a commit that was acknowledged is on
 *  the server's disk; nothing is held that outlives a connection. Decision 0028. */
import { LedgerError } from "../../kernel/errors.js";
import { busyTimeoutMsDefault } from "../../kernel/limits.js";
import type { Clock } from "../../kernel/clock.js";
import type { RawReader } from "../../journal/raw-reader.js";
import type {
  AssumedTransaction,
  FaultSeam,
  Store,
  StoreHealth,
  StoreSnapshot,
  StoreTransaction,
} from "../../journal/store.js";
import { DatabaseClock } from "./clock.js";
import { Connection, goneMsMax } from "./connection.js";
import type { ConnectionOptions } from "./connection.js";
import { storeError } from "./errors.js";
import { JournalIdentity } from "./identity.js";
import { channelOf, Listening } from "./listen.js";
import { parsePostgresLocation } from "./location.js";
import type { PostgresLocation } from "./location.js";
import { findOrCreate } from "./opening.js";
import { openRawReaderAt } from "./raw-reader.js";
import type { Journal } from "./reads.js";
import { owesScrub, Scrub } from "./scrub.js";
import { inspect } from "./shape.js";
import { SnapshotPool } from "./snapshots.js";
import { statementsOn } from "./statements.js";
import { Writer } from "./writer.js";

/** How a journal in PostgreSQL is opened. @public */
export interface PostgresStoreOptions {
  /** Never creates, changes or migrates anything; default false. */
  readonly readOnly?: boolean;
  /** Makes the schema and its tables where there are none; default true. */
  readonly create?: boolean;
  /** How long to wait for another writer, and for a connection, in ms. Default 5,000. */
  readonly busyTimeoutMs?: number;
  /** Is called before and after each durable step; may throw or end the process. For tests. */
  readonly faults?: FaultSeam;
}

/** Opens the journal at an address, or makes it: `postgres://user@host/database?journal=name`. Refuses as `openLedger`
 *  does. @public */
export async function openPostgresStore(url: string, options: PostgresStoreOptions = {}): Promise<Store> {
  const place = parsePostgresLocation(url);
  const { readOnly = false, create = true, busyTimeoutMs = busyTimeoutMsDefault, faults } = options;
  const connecting = { config: place.config, timeoutMs: busyTimeoutMs };
  try {
    const connection = await Connection.open(connecting, readOnly ? "reads" : "writes");
    try {
      if (readOnly) await inspect(connection, place, "read");
      else await findOrCreate(connection, place, { create, faults });
      const durable = await isDurable(connection);
      const scrubOwed = !readOnly && (await owesScrub(connection, { statements: statementsOn(place.schema) }));
      const writing = readOnly ? null : connection;
      const store = new PostgresStore({ place, connecting, durable, faults, writing, scrubOwed });
      await store.hearTime();
      if (readOnly) await connection.close();
      return store;
    } catch (cause) {
      connection.destroy();
      throw cause;
    }
  } catch (cause) {
    throw storeError(cause, place.shown, "opening");
  }
}

/** Does the server wait for its disk? */
async function isDurable(connection: Connection): Promise<boolean> {
  const [row] = await connection.rows<[string]>("SELECT coalesce(current_setting('fsync', true), 'on')");
  return row?.[0] === "on";
}

interface StoreParts {
  readonly place: PostgresLocation;
  readonly connecting: ConnectionOptions;
  readonly durable: boolean;
  readonly faults: FaultSeam | undefined;
  /** The connection to write by; null: for reading only. */
  readonly writing: Connection | null;
  readonly scrubOwed: boolean;
}

class PostgresStore implements Store {
  readonly kind = "postgres";
  readonly location: string;
  readonly readOnly: boolean;
  readonly clock: Clock;
  readonly remote = true;
  readonly goneHolderMs = goneMsMax;
  private readonly parts: StoreParts;
  private readonly pool: SnapshotPool;
  private readonly writer: Writer | null;
  private readonly scrubs: Scrub | null;
  private readonly journal: Journal;
  private readonly listening: Listening;
  private closing: Promise<void> | null = null;

  constructor(parts: StoreParts) {
    const { place, connecting, faults, writing, scrubOwed: owed } = parts;
    const clock = new DatabaseClock();
    const { shown, schema } = place;
    const journal = { shown, schema, statements: statementsOn(schema), identity: new JournalIdentity(shown) };
    this.parts = parts;
    this.journal = journal;
    this.location = place.shown;
    this.readOnly = writing === null;
    this.clock = clock;
    this.pool = new SnapshotPool({ journal, connecting, clock });
    this.listening = new Listening(connecting, channelOf(place.schema));
    this.writer = writing === null ? null : new Writer({ journal, connecting, clock, faults }, writing);
    this.scrubs = writing === null ? null : new Scrub({ journal, connecting, faults, owed });
    this.scrubs?.maintain();
  }

  /** The clock is right from the first snapshot on. */
  async hearTime(): Promise<void> {
    await (await this.pool.take()).release();
  }

  async begin(streams: readonly string[] = []): Promise<StoreTransaction> {
    this.check();
    if (this.writer === null)
      throw new LedgerError("READ_ONLY", `${this.location} was opened for reading only`, {
        details: { location: this.location },
      });
    return this.writer.begin(streams);
  }

  assume(): AssumedTransaction | null {
    return this.closing === null ? (this.writer?.assume() ?? null) : null;
  }

  async snapshot(waitMs?: number): Promise<StoreSnapshot> {
    this.check();
    return this.pool.take(waitMs);
  }

  async reset(): Promise<void> {
    this.check();
    this.pool.reset();
    await this.writer?.reset();
  }

  async maintain(): Promise<void> {
    if (this.closing !== null) return;
    this.writer?.announce();
    this.scrubs?.maintain();
    await this.writer?.dropRetired();
  }

  listen(hint: (position: number) => void): () => void {
    return this.listening.listen(hint);
  }

  async scrub(): Promise<boolean> {
    return this.closing === null && ((await this.scrubs?.scrub()) ?? false);
  }

  async health(): Promise<StoreHealth> {
    this.check();
    const durability = this.parts.durable ? "power loss" : "nothing";
    const scrubOwed = this.scrubs?.owed ?? (await this.readScrubOwed());
    return { kind: this.kind, durability, copied: false, scrubOwed, wal: null };
  }

  async raw(): Promise<RawReader> {
    this.check();
    return openRawReaderAt(this.parts.place, this.parts.connecting);
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    this.listening.close();
    await this.pool.close();
    // Its own readers are gone.
    await this.scrubs?.close();
    await this.writer?.close();
  }

  private async readScrubOwed(): Promise<boolean> {
    try {
      const connection = await Connection.open(this.parts.connecting, "reads");
      try {
        return await owesScrub(connection, this.journal);
      } finally {
        await connection.close();
      }
    } catch (cause) {
      throw storeError(cause, this.location, "reading");
    }
  }

  private check(): void {
    if (this.closing !== null) throw new LedgerError("CLOSED", "the store must be open, found it closed");
  }
}
