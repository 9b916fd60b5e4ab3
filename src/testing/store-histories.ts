/** Writing to a store as its port asks: take the lock, append behind what is there, and find out what became of a commit
 *  that threw. Rows are made up; whatever an adapter must not care about is random. */
import { entryId } from "../journal/entry.js";
import { completedNodes } from "../engine/tree-nodes.js";
import type {
  ContentRow,
  EntryRow,
  Store,
  StoredEntry,
  StoreReads,
  StoreTransaction,
  TreeNode,
} from "../journal/store.js";
import { sha256Hex } from "../kernel/digest.js";
import { LedgerError } from "../kernel/errors.js";

/** What one test transaction writes. */
export interface Batch {
  /** The stream of each entry. */
  readonly streams: readonly string[];
  readonly type?: string;
  /** Text inside each entry. */
  readonly data?: readonly string[];
  /** Texts of contents with plain hashes. */
  readonly contents?: readonly string[];
  /** Contents as they are. */
  readonly rows?: readonly ContentRow[];
  /** Numbers of contents that the first entry erases. */
  readonly erase?: readonly number[];
}

/** Appends and commits, again and again until it is known to be committed: the protocol of every writer. */
export async function write(store: Store, batch: Batch): Promise<void> {
  for (;;) {
    const transaction = await begin(store);
    const first = await append(transaction, batch);
    try {
      await transaction.commit();
      return;
    } catch {
      await retry(() => store.reset());
      const again = await begin(store);
      const [found] = await again.entriesAt([first.seq]);
      await again.rollback();
      if (found?.id === first.id) return;
    }
  }
}

/** Writes what may be written twice, again and again until the commit is answered. */
export async function operate(store: Store, act: (transaction: StoreTransaction) => Promise<void>): Promise<void> {
  for (;;) {
    const transaction = await begin(store);
    await act(transaction);
    try {
      await transaction.commit();
      return;
    } catch {
      await retry(() => store.reset());
    }
  }
}

/** Takes the lock, however often it is refused. */
export function begin(store: Store): Promise<StoreTransaction> {
  return retry(() => store.begin());
}

export async function retry<T>(act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (cause) {
      if (!(cause instanceof LedgerError) || cause.code !== "STORE_BUSY") throw cause;
    }
  }
}

/** Commits what appended something; false when nothing came of it. A commit that threw is looked up: what it says of itself is
 *  no evidence. */
export async function commits(store: Store, transaction: StoreTransaction): Promise<boolean> {
  const head = await transaction.head();
  try {
    await transaction.commit();
    return true;
  } catch (cause) {
    if (!(cause instanceof LedgerError)) throw cause;
    return (await read(store, (reads) => reads.head()))?.id === head?.id;
  }
}

/** Appends a batch behind what the transaction sees. Returns the first row. */
export async function append(transaction: StoreTransaction, batch: Batch): Promise<EntryRow> {
  const head = await transaction.head();
  const names = [...new Set(batch.streams)];
  const heads = new Map((await transaction.streamHeads(names)).map((found, index) => [names[index]!, found]));
  const rows = batch.streams.map((stream, index) => {
    const seq = (head?.seq ?? -1) + 1 + index;
    const before = heads.get(stream) ?? null;
    const rev = (before?.rev ?? 0) + 1;
    heads.set(stream, { rev, seq });
    return entryRow({ seq, stream, rev, before: before?.seq ?? null, type: batch.type, data: batch.data?.[index] });
  });
  const n = (head?.contents ?? 0) + 1;
  const contents = batch.rows ?? (batch.contents ?? []).map((text, index) => contentRow(n + index, text));
  await transaction.append(rows, contents, await nodesFor(transaction, rows));
  if (batch.erase !== undefined) await transaction.erase(batch.erase, rows[0]!.seq);
  return rows[0]!;
}

/** The nodes that rows complete which come next. */
export async function nodesFor(reads: StoreReads, rows: readonly EntryRow[]): Promise<readonly TreeNode[]> {
  const [first] = rows;
  if (first === undefined) return [];
  return completedNodes(
    reads,
    first.seq,
    rows.map(({ id }) => id),
  );
}

export interface RowFacts {
  readonly seq: number;
  readonly stream: string;
  readonly rev: number;
  readonly before: number | null;
  readonly type?: string | undefined;
  readonly data?: string | undefined;
}

export function entryRow({ seq, stream, rev, before, type = "test.happened", data = "" }: RowFacts): EntryRow {
  const entry = JSON.stringify({ data, nonce: Math.random(), rev, seq, stream });
  return { seq, id: entryId(entry), stream, rev, before, type, at: 1_000 + seq, skew: 0 - seq, entry };
}

export function contentRow(n: number, text: string): ContentRow {
  const salt = Buffer.alloc(32, n);
  return {
    n,
    digest: sha256Hex(`${text} ${n}`),
    media: "text/plain",
    salt,
    bytes: Buffer.from(text),
    plain: sha256Hex(text),
  };
}

/** Reads at one position. */
export async function read<T>(store: Store, act: (reads: StoreReads) => Promise<T>): Promise<T> {
  const snapshot = await store.snapshot();
  try {
    return await act(snapshot);
  } finally {
    await snapshot.release();
  }
}

export function readAll(store: Store): Promise<readonly StoredEntry[]> {
  return read(store, (reads) => reads.entries(0, 10_000));
}
