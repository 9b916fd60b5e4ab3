/** A store in memory as one that is a round trip away: whoever writes begins on what the batch before left, whose commit the test
 *  holds back or fails. Invariants: what is sent comes to the store in the order in which it was sent; one that rests on another
 *  that failed, or on a head that is not there, is refused with STORE_BUSY and leaves nothing. Source: decision 0030. */
import { LedgerError } from "../../src/index.js";
import type { Store } from "../../src/index.js";
import type { FoldedMark } from "../../src/journal/documents.js";
import type { AssumedTransaction, EntryRow, StoreHead, StoreReads, StoreTransaction } from "../../src/journal/store.js";
import { createMemoryStore } from "../../src/store/memory/store.js";

/** What one commit meets on its way. Either may wait, or throw what the commit then fails of. */
export interface Passage {
  /** Before it comes to the store: of one that was assumed and has read nothing, not even the lock was asked for. */
  readonly before?: () => Promise<void> | void;
  /** When it happened, and nobody was told. */
  readonly after?: () => Promise<void> | void;
}

export interface AssumingStore {
  readonly store: Store;
  /** Where others write to the same journal. */
  readonly inner: Store;
  /** The next commits meet these, one each, in the order in which they are sent. */
  meet(...passages: readonly Passage[]): void;
  /** From here on, what the numbers below count. */
  startCounting(): void;
  /** May anything be assumed? */
  assumes: boolean;
  /** Is nobody there to ask? */
  gone: boolean;
  /** Commits that were sent, and how many at most were on their way at once. */
  readonly sent: number;
  readonly togetherMax: number;
  /** What was assumed, and what of it was found void. */
  readonly assumed: number;
  readonly voided: number;
}

/** What a transaction leaves. */
interface Standing {
  readonly head: StoreHead | null;
  readonly folded: FoldedMark | null;
}

export function busy(): LedgerError {
  return new LedgerError("STORE_BUSY", "injected: busy");
}

export function unavailable(): LedgerError {
  return new LedgerError("STORE_UNAVAILABLE", "injected: no answer");
}

/** Opens when the test says so; `reached`: somebody waits at it. */
export interface Gate {
  readonly pass: () => Promise<void>;
  readonly open: () => void;
  readonly reached: Promise<void>;
}

export function gate(): Gate {
  let open = (): void => {};
  let reach = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const pass = (): Promise<void> => {
    reach();
    return opened;
  };
  return { open, reached, pass };
}

export function assumingStore(): AssumingStore {
  return new Assuming().handle();
}

class Assuming {
  private readonly inner = createMemoryStore();
  private readonly passages: Passage[] = [];
  private standing: Standing | null = null;
  /** Is what the last one that was sent leaves so? */
  private last: Promise<boolean> = Promise.resolve(true);
  private flying = 0;
  private readonly state = { assumes: true, gone: false, sent: 0, togetherMax: 0, assumed: 0, voided: 0 };

  handle(): AssumingStore {
    const own: Partial<Store> = { remote: true, begin: () => this.begin(), assume: () => this.assume() };
    return Object.assign(this.state, {
      inner: this.inner,
      startCounting: () => void Object.assign(this.state, { sent: 0, togetherMax: 0, assumed: 0, voided: 0 }),
      store: over(this.inner, own),
      meet: (...passages: readonly Passage[]) => void this.passages.push(...passages),
    });
  }

  private async begin(): Promise<StoreTransaction> {
    if (this.state.gone) throw unavailable();
    const transaction = await this.inner.begin();
    const ground = await standingOf(transaction);
    if (this.flying === 0) this.standing = ground;
    const leaving = { ...ground };
    return over(transaction, {
      ...noting(leaving, (write) => write(transaction)),
      commit: () => this.send(leaving, () => transaction.commit()),
    });
  }

  private assume(): AssumedTransaction | null {
    const { standing: ground, last: earlier, state } = this;
    if (!state.assumes || state.gone || ground === null) return null;
    state.assumed++;
    const leaving = { ...ground };
    /** Streams of which it was said that they are new. */
    const taken: string[] = [];
    let beginning: Promise<StoreTransaction> | null = null;
    const begin = (): Promise<StoreTransaction> =>
      (beginning ??= this.beginOn(ground, earlier, taken).catch((error: unknown) => {
        this.standing = null;
        this.state.voided++;
        throw error;
      }));
    let chain: Promise<unknown> = Promise.resolve();
    /** What was written, and goes out with the next read or the commit. */
    const outbox: ((transaction: StoreTransaction) => Promise<void>)[] = [];
    const inOrder = <Value>(call: (transaction: StoreTransaction) => Promise<Value>): Promise<Value> => {
      const writes = outbox.splice(0);
      const answer = chain.then(async () => {
        const transaction = await begin();
        for (const write of writes) await write(transaction);
        return call(transaction);
      });
      chain = answer;
      answer.catch(() => {});
      return answer;
    };
    const read = new Proxy({} as StoreTransaction, {
      get:
        (_, name) =>
        (...args: unknown[]) =>
          inOrder((transaction) => {
            const call = Reflect.get(transaction, name) as (...args: unknown[]) => Promise<unknown>;
            return call.apply(transaction, args);
          }),
    });
    const write = async (call: (transaction: StoreTransaction) => Promise<void>): Promise<void> =>
      void outbox.push(call);
    const own: Partial<AssumedTransaction> = {
      ...noting(leaving, write),
      head: async () => leaving.head,
      folded: async () => leaving.folded,
      streamHeads: async (streams) => {
        if (beginning !== null) return inOrder((transaction) => transaction.streamHeads(streams));
        taken.push(...streams);
        return streams.map(() => null);
      },
      check: () => inOrder(async () => {}),
      commit: () => this.send(leaving, () => inOrder((transaction) => transaction.commit())),
      rollback: async () => {
        await chain.catch(() => {});
        await beginning?.then((transaction) => transaction.rollback()).catch(() => {});
      },
    };
    return new Proxy(read as AssumedTransaction, {
      get: (target, name): unknown => Reflect.get(name in own ? own : target, name),
    });
  }

  /** Takes the lock behind what was sent before, and holds what was assumed to what is there. */
  private async beginOn(
    ground: Standing,
    earlier: Promise<boolean>,
    taken: readonly string[],
  ): Promise<StoreTransaction> {
    if (!(await earlier)) throw busy();
    if (this.state.gone) throw unavailable();
    const transaction = await this.inner.begin();
    const there = await standingOf(transaction);
    const isNew = (await transaction.streamHeads(taken)).every((head) => head === null);
    if (isNew && nameOf(there) === nameOf(ground)) return transaction;
    await transaction.rollback();
    throw busy();
  }

  private async send(leaving: Standing, commit: () => Promise<void>): Promise<void> {
    const { state } = this;
    const passage = this.passages.shift();
    const sent = this.last;
    let settle = (_: boolean): void => {};
    this.last = new Promise((resolve) => (settle = resolve));
    this.standing = leaving;
    state.sent++;
    state.togetherMax = Math.max(state.togetherMax, ++this.flying);
    try {
      await sent;
      await passage?.before?.();
      await commit();
      await passage?.after?.();
      settle(true);
    } catch (cause) {
      this.standing = null;
      settle(false);
      throw cause;
    } finally {
      this.flying--;
    }
  }
}

/** The calls that write, and what they leave; an answer that is needed is waited for. */
function noting(
  leaving: { -readonly [Part in keyof Standing]: Standing[Part] },
  write: (call: (transaction: StoreTransaction) => Promise<void>) => Promise<void>,
): Partial<StoreTransaction> {
  return {
    append: async (entries, contents, nodes) => {
      const last = entries.at(-1);
      if (last !== undefined) leaving.head = headOf(last, (leaving.head?.contents ?? 0) + contents.length);
      await write((transaction) => transaction.append(entries, contents, nodes));
    },
    putFolded: async (mark) => {
      leaving.folded = mark;
      await write((transaction) => transaction.putFolded(mark));
    },
    putDocuments: (table, writes) => write((transaction) => transaction.putDocuments(table, writes)),
    putProjection: (row) => write((transaction) => transaction.putProjection(row)),
    dropProjection: (id) => write((transaction) => transaction.dropProjection(id)),
    erase: (numbers, position) => write((transaction) => transaction.erase(numbers, position)),
  };
}

function headOf({ seq, id, at, skew }: EntryRow, contents: number): StoreHead {
  return { seq, id, at, skew, contents };
}

async function standingOf(reads: StoreReads): Promise<Standing> {
  return { head: await reads.head(), folded: await reads.folded() };
}

function nameOf({ head, folded }: Standing): string {
  return JSON.stringify([head?.seq, head?.id, folded?.entryId, folded?.tables]);
}

function over<Port extends object>(port: Port, own: Partial<Port>): Port {
  return new Proxy(port, {
    get: (target, name) => {
      const value: unknown = Reflect.get(own, name) ?? Reflect.get(target, name);
      return typeof value === "function" && !(name in own) ? (value.bind(target) as unknown) : value;
    },
  });
}
