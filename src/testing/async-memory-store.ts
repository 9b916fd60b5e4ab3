/** The memory store made deliberately asynchronous: every call takes a while, locks are refused, commits fail, and some
 *  of them fail after they happened. Whatever runs on it must not lean on a store that answers at once or tells all.
 *  Invariant: one seed gives the same choices in the same order of calls. */
import { setTimeout as sleep } from "node:timers/promises";
import { LedgerError } from "../kernel/errors.js";
import type {
  DocumentRange,
  DocumentWrite,
  FoldedMark,
  FoundDocument,
  ProjectionRow,
  StoredDocument,
} from "../journal/documents.js";
import type { RawReader } from "../journal/raw-reader.js";
import type {
  ConsumerRow,
  ContentRow,
  EntryRow,
  Store,
  StoredCheckpoint,
  StoredContent,
  StoredEntry,
  StoreHead,
  StoreHealth,
  StoreReads,
  StoreSnapshot,
  StoreTransaction,
  StreamHead,
  TreeNode,
} from "../journal/store.js";
import { createMemoryStore } from "../store/memory/store.js";

/** How much trouble there is. Rates are from 0 to 1. @public */
export interface AsyncMemoryStoreOptions {
  /** The store underneath; default: a new memory store. */
  readonly store?: Store;
  /** The longest delay of a call, in ms. Most take one turn of the event loop or less. Default 2. */
  readonly delayMsMax?: number;
  /** How many `begin`s and commits are refused with `STORE_BUSY`, and how many scrubs with false, without having done
   *  anything. Default 0.1. */
  readonly busyRate?: number;
  /** How many commits happen and yet throw, as if the reply was lost. Default 0.05. */
  readonly lostReplyRate?: number;
}

/** A memory store that delays, refuses and loses replies as the seed says. @public */
export function asyncMemoryStore(seed: number, options: AsyncMemoryStoreOptions = {}): Store {
  const { store = createMemoryStore(), delayMsMax = 2, busyRate = 0.1, lostReplyRate = 0.05 } = options;
  return new AsyncStore(store, new Trouble(seed, delayMsMax), busyRate, lostReplyRate);
}

/** The seeded source of delays and failures. */
class Trouble {
  private state: number;
  private readonly delayMsMax: number;

  constructor(seed: number, delayMsMax: number) {
    this.state = seed | 0 || 1;
    this.delayMsMax = delayMsMax;
  }

  /** True with the given probability. */
  strikes(rate: number): boolean {
    return this.draw() < rate;
  }

  /** Lets the event loop do other things: nothing, one turn of it, or some ms. */
  async delay(): Promise<void> {
    const kind = this.draw();
    if (kind < 0.4) return;
    if (kind < 0.9) return new Promise((resolve) => setImmediate(resolve));
    await sleep(this.draw() * this.delayMsMax);
  }

  /** A number from 0 to below 1: xorshift, 32 bits. */
  private draw(): number {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return (this.state >>> 0) / 2 ** 32;
  }
}

class AsyncReads implements StoreReads {
  protected readonly trouble: Trouble;
  private readonly reads: StoreReads;

  constructor(reads: StoreReads, trouble: Trouble) {
    this.reads = reads;
    this.trouble = trouble;
  }

  head(): Promise<StoreHead | null> {
    return this.later(() => this.reads.head());
  }

  streamHeads(streams: readonly string[]): Promise<readonly (StreamHead | null)[]> {
    return this.later(() => this.reads.streamHeads(streams));
  }

  entries(from: number, limit: number, reverse?: boolean): Promise<readonly StoredEntry[]> {
    return this.later(() => this.reads.entries(from, limit, reverse));
  }

  entriesAt(positions: readonly number[]): Promise<readonly (StoredEntry | null)[]> {
    return this.later(() => this.reads.entriesAt(positions));
  }

  ids(from: number, limit: number): Promise<readonly string[]> {
    return this.later(() => this.reads.ids(from, limit));
  }

  streamEntries(stream: string, fromRev: number, limit: number, reverse?: boolean): Promise<readonly StoredEntry[]> {
    return this.later(() => this.reads.streamEntries(stream, fromRev, limit, reverse));
  }

  contents(numbers: readonly number[]): Promise<readonly (StoredContent | null)[]> {
    return this.later(() => this.reads.contents(numbers));
  }

  contentsByPlain(hashes: readonly string[]): Promise<readonly (ContentRow | null)[]> {
    return this.later(() => this.reads.contentsByPlain(hashes));
  }

  nodes(level: number, from: number, limit: number): Promise<readonly string[]> {
    return this.later(() => this.reads.nodes(level, from, limit));
  }

  checkpoints(sizeMax: number | null, limit: number): Promise<readonly StoredCheckpoint[]> {
    return this.later(() => this.reads.checkpoints(sizeMax, limit));
  }

  consumers(): Promise<readonly ConsumerRow[]> {
    return this.later(() => this.reads.consumers());
  }

  consumer(name: string): Promise<ConsumerRow | null> {
    return this.later(() => this.reads.consumer(name));
  }

  projections(): Promise<readonly ProjectionRow[]> {
    return this.later(() => this.reads.projections());
  }

  folded(): Promise<FoldedMark | null> {
    return this.later(() => this.reads.folded());
  }

  documents(table: number, keys: readonly string[]): Promise<readonly (StoredDocument | null)[]> {
    return this.later(() => this.reads.documents(table, keys));
  }

  documentsByKey(
    table: number,
    after: string | null,
    limit: number,
    reverse?: boolean,
  ): Promise<readonly StoredDocument[]> {
    return this.later(() => this.reads.documentsByKey(table, after, limit, reverse));
  }

  documentsByIndex(table: number, range: DocumentRange): Promise<readonly FoundDocument[]> {
    return this.later(() => this.reads.documentsByIndex(table, range));
  }

  protected async later<T>(act: () => Promise<T>): Promise<T> {
    await this.trouble.delay();
    const answer = await act();
    await this.trouble.delay();
    return answer;
  }
}

class AsyncSnapshot extends AsyncReads implements StoreSnapshot {
  private readonly snapshot: StoreSnapshot;

  constructor(snapshot: StoreSnapshot, trouble: Trouble) {
    super(snapshot, trouble);
    this.snapshot = snapshot;
  }

  release(): Promise<void> {
    return this.later(() => this.snapshot.release());
  }
}

class AsyncTransaction extends AsyncReads implements StoreTransaction {
  private readonly transaction: StoreTransaction;
  private readonly busyRate: number;
  private readonly lostReplyRate: number;

  constructor(transaction: StoreTransaction, trouble: Trouble, busyRate: number, lostReplyRate: number) {
    super(transaction, trouble);
    this.transaction = transaction;
    this.busyRate = busyRate;
    this.lostReplyRate = lostReplyRate;
  }

  append(entries: readonly EntryRow[], contents: readonly ContentRow[], nodes: readonly TreeNode[]): Promise<void> {
    return this.later(() => this.transaction.append(entries, contents, nodes));
  }

  erase(numbers: readonly number[], position: number): Promise<void> {
    return this.later(() => this.transaction.erase(numbers, position));
  }

  putCheckpoint(checkpoint: StoredCheckpoint): Promise<void> {
    return this.later(() => this.transaction.putCheckpoint(checkpoint));
  }

  putConsumer(consumer: ConsumerRow): Promise<void> {
    return this.later(() => this.transaction.putConsumer(consumer));
  }

  deleteConsumer(name: string): Promise<void> {
    return this.later(() => this.transaction.deleteConsumer(name));
  }

  addProjection(row: Omit<ProjectionRow, "id">): Promise<number> {
    return this.later(() => this.transaction.addProjection(row));
  }

  putProjection(row: ProjectionRow): Promise<void> {
    return this.later(() => this.transaction.putProjection(row));
  }

  dropProjection(id: number): Promise<void> {
    return this.later(() => this.transaction.dropProjection(id));
  }

  putFolded(mark: FoldedMark): Promise<void> {
    return this.later(() => this.transaction.putFolded(mark));
  }

  putDocuments(table: number, writes: readonly DocumentWrite[]): Promise<void> {
    return this.later(() => this.transaction.putDocuments(table, writes));
  }

  async commit(): Promise<void> {
    await this.trouble.delay();
    if (this.trouble.strikes(this.busyRate)) {
      await this.transaction.rollback();
      throw busy("the commit could not be serialised");
    }
    await this.transaction.commit();
    await this.trouble.delay();
    if (!this.trouble.strikes(this.lostReplyRate)) return;
    if (this.trouble.strikes(0.5)) throw busy("the reply to the commit was lost");
    throw new LedgerError("STORE_UNAVAILABLE", "the connection was lost while the commit was on its way");
  }

  rollback(): Promise<void> {
    return this.later(() => this.transaction.rollback());
  }
}

class AsyncStore implements Store {
  readonly kind: string;
  readonly location: string;
  readonly readOnly: boolean;
  private readonly store: Store;
  private readonly trouble: Trouble;
  private readonly busyRate: number;
  private readonly lostReplyRate: number;

  constructor(store: Store, trouble: Trouble, busyRate: number, lostReplyRate: number) {
    this.kind = store.kind;
    this.location = store.location;
    this.readOnly = store.readOnly;
    this.store = store;
    this.trouble = trouble;
    this.busyRate = busyRate;
    this.lostReplyRate = lostReplyRate;
  }

  async begin(): Promise<StoreTransaction> {
    await this.trouble.delay();
    if (this.trouble.strikes(this.busyRate)) throw busy("another writer holds the lock");
    const transaction = await this.store.begin();
    await this.trouble.delay();
    return new AsyncTransaction(transaction, this.trouble, this.busyRate, this.lostReplyRate);
  }

  async snapshot(): Promise<StoreSnapshot> {
    await this.trouble.delay();
    return new AsyncSnapshot(await this.store.snapshot(), this.trouble);
  }

  async reset(): Promise<void> {
    await this.trouble.delay();
    await this.store.reset();
  }

  async maintain(): Promise<void> {
    await this.trouble.delay();
    await this.store.maintain();
  }

  async scrub(): Promise<boolean> {
    await this.trouble.delay();
    return !this.trouble.strikes(this.busyRate) && this.store.scrub();
  }

  health(): Promise<StoreHealth> {
    return this.store.health();
  }

  raw(): Promise<RawReader> {
    return this.store.raw();
  }

  async close(): Promise<void> {
    await this.trouble.delay();
    await this.store.close();
  }
}

function busy(says: string): LedgerError {
  return new LedgerError("STORE_BUSY", says, { hint: "decide again" });
}
