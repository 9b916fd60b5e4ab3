/** The memory store: the reference for the others, and a ledger for tests. It keeps nothing when the process ends.
 *  Invariants: one write transaction at a time, granted in the order of asking; a reader sees what was committed
 *  when it began, whatever is written meanwhile. */
import { LedgerError } from "../../kernel/errors.js";
import type { RawReader } from "../../journal/raw-reader.js";
import type { FaultSeam, Store, StoreHealth, StoreSnapshot, StoreTransaction } from "../../journal/store.js";
import { FairLock } from "../fair-lock.js";
import { Lifetime } from "../lifetime.js";
import { MemoryRawReader } from "./raw-reader.js";
import { MemoryReads } from "./reads.js";
import { MemoryRows, nothing } from "./rows.js";
import type { Extent } from "./rows.js";
import { MemoryTransaction } from "./transaction.js";

export interface MemoryStoreOptions {
  readonly faults?: FaultSeam;
}

/** A store in memory. Several ledgers may share it. @public */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore(options);
}

class MemoryStore implements Store {
  readonly kind = "memory";
  readonly location = "memory:";
  readonly readOnly = false;
  readonly clock = null;
  readonly remote = false;
  private readonly faults: FaultSeam | undefined;
  private readonly rows = new MemoryRows();
  private readonly lock = new FairLock();
  private committed: Extent = nothing;
  private open: MemoryTransaction | null = null;
  private closed = false;

  constructor(options: MemoryStoreOptions) {
    this.faults = options.faults;
  }

  async begin(): Promise<StoreTransaction> {
    this.check();
    const release = await this.lock.acquire();
    try {
      this.check();
      this.faults?.("begin", "before");
      const end = (committed: Extent): void => {
        this.committed = committed;
        this.open = null;
        release();
      };
      const { rows, committed, faults } = this;
      this.open = new MemoryTransaction({ rows, committed, faults, end });
      this.faults?.("begin", "after");
      return this.open;
    } catch (cause) {
      await this.open?.rollback();
      release();
      throw cause;
    }
  }

  async snapshot(): Promise<StoreSnapshot> {
    this.check();
    return new MemorySnapshot(this.rows, this.committed, () => this.check());
  }

  async reset(): Promise<void> {
    this.check();
  }

  listen(): () => void {
    return () => {};
  }

  async maintain(): Promise<void> {}

  async scrub(): Promise<boolean> {
    return !this.closed; // what was erased was let go of with the commit
  }

  async health(): Promise<StoreHealth> {
    this.check();
    return { kind: this.kind, durability: "nothing", copied: false, scrubOwed: false, wal: null };
  }

  async raw(): Promise<RawReader> {
    this.check();
    return new MemoryRawReader(this.location, this.rows, this.committed);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.open?.abandon();
  }

  private check(): void {
    if (this.closed) throw new LedgerError("CLOSED", "the store must be open, found it closed");
  }
}

class MemorySnapshot extends MemoryReads implements StoreSnapshot {
  private readonly lifetime: Lifetime;

  constructor(rows: MemoryRows, extent: Extent, checkStore: () => void) {
    const lifetime = new Lifetime();
    super(
      rows,
      () => extent,
      () => {
        checkStore();
        lifetime.require();
      },
    );
    this.lifetime = lifetime;
  }

  async release(): Promise<void> {
    this.lifetime.end();
  }
}
