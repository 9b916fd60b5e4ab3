/** Copies a journal from one store into an empty one: entries as they stand, contents, erasures, checkpoints and the places of
 *  consumers. What is derived is left: it is folded again.
 *  Invariants: it is one transaction, so there is a whole copy or none; what is read is checked like everything that is read,
 *  and a journal that is damaged, or that somebody writes meanwhile, is not copied. */
import { LedgerError } from "../kernel/errors.js";
import { contentDigest, contentReferences } from "../journal/content.js";
import { zeroId } from "../journal/entry.js";
import type { EntryFields } from "../journal/entry.js";
import { decodeStored } from "../journal/stored.js";
import type {
  ContentRow,
  EntryRow,
  Store,
  StoredContent,
  StoredEntry,
  StoreHead,
  StoreReads,
  StoreSnapshot,
  StoreTransaction,
  StreamHead,
} from "../journal/store.js";
import { beginWithin, snapshotWithin } from "./begin.js";
import { completedNodes } from "./tree-nodes.js";
import { undo } from "./undo.js";

/** Entries a step. */
const pageEntries = 512;
/** Bytes of contents that are held at once; one larger content alone. */
const contentBytesAtOnce = 8 * 1024 * 1024;

/** What was copied. @public */
export interface CopiedLedger {
  readonly entries: number;
  readonly contents: number;
  /** Of those, how many are erased. */
  readonly erased: number;
  readonly head: { readonly position: number; readonly id: string };
}

/** Copies the journal of one store into another one, which must have none. */
export async function copyJournal(from: Store, to: Store, timeoutMs: number): Promise<CopiedLedger> {
  const source = await snapshotWithin(from, timeoutMs);
  try {
    const transaction = await beginWithin(to, timeoutMs);
    try {
      const copied = await copyInto(source, transaction, from, to);
      await requireStill(from, copied.head.id, timeoutMs);
      await commit(transaction, to, copied.head.id, timeoutMs);
      return copied;
    } catch (error) {
      await undo(transaction);
      throw error;
    }
  } finally {
    await source.release();
  }
}

/** What nobody answered may be done: a journal that ends with the last entry is the copy, whole. */
async function commit(transaction: StoreTransaction, to: Store, headId: string, timeoutMs: number): Promise<void> {
  try {
    await transaction.commit();
  } catch (error) {
    await undo(transaction);
    const isThere = await endsWith(to, headId, timeoutMs).catch(() => false);
    if (!isThere) throw error;
  }
}

/** Asked under the lock, so that nothing of it is on its way any more. */
async function endsWith(store: Store, headId: string, timeoutMs: number): Promise<boolean> {
  await store.reset();
  const transaction = await beginWithin(store, timeoutMs);
  try {
    return (await transaction.head())?.id === headId;
  } finally {
    await undo(transaction);
  }
}

async function copyInto(
  source: StoreSnapshot,
  transaction: StoreTransaction,
  from: Store,
  to: Store,
): Promise<CopiedLedger> {
  const head = await source.head();
  if (head === null)
    throw new LedgerError("NOT_FOUND", `there must be a journal to copy at ${from.location}, found none`, {
      details: { location: from.location },
    });
  if ((await transaction.head()) !== null)
    throw new LedgerError("STORE_EXISTS", `${to.location} must have no journal yet, found one`, {
      details: { location: to.location },
      hint: "name a place where nothing is",
    });
  const journal = new Copying(source, transaction, head);
  for (let position = 0; position <= head.seq;) position = await journal.copyPage(position);
  const erased = await journal.erase();
  for (const checkpoint of await source.checkpoints(null, Number.MAX_SAFE_INTEGER))
    await transaction.putCheckpoint(checkpoint);
  // Who had them has the old journal.
  for (const consumer of await source.consumers()) await transaction.putConsumer({ ...consumer, claim: null });
  return {
    entries: head.seq + 1,
    contents: head.contents,
    erased,
    head: { position: head.seq, id: head.id },
  };
}

/** Nobody may go on in a journal of which there is a copy. */
async function requireStill(from: Store, headId: string, timeoutMs: number): Promise<void> {
  const now = await snapshotWithin(from, timeoutMs);
  const head = await headOf(now);
  if (head?.id === headId) return;
  throw new LedgerError("STORE_BUSY", `${from.location} must stand still while it is copied, found new events`, {
    details: { location: from.location },
    hint: "stop everybody who writes it, and copy it then",
  });
}

async function headOf(snapshot: StoreSnapshot): Promise<StoreHead | null> {
  try {
    return await snapshot.head();
  } finally {
    await snapshot.release();
  }
}

class Copying {
  private readonly source: StoreReads;
  private readonly transaction: StoreTransaction;
  private readonly last: StoreHead;
  private previousId = zeroId;
  private contents = 0;
  private readonly erased = new Map<number, number[]>();

  constructor(source: StoreReads, transaction: StoreTransaction, last: StoreHead) {
    this.source = source;
    this.transaction = transaction;
    this.last = last;
  }

  /** Copies entries from a position on, and what they name for the first time. Answers the position behind them. */
  async copyPage(position: number): Promise<number> {
    const stored = await this.source.entries(position, pageEntries);
    if (stored.length === 0 || stored[0]!.seq !== position)
      throw damaged(position, "seq", `it must be there, found ${stored[0]?.seq ?? "nothing"} next`);
    const fields = stored.map((entry, index) => this.check(entry, position + index));
    await this.copyContents(fields);
    const rows = await this.rowsOf(stored, fields);
    const ids = stored.map(({ id }) => id);
    await this.transaction.append(rows, [], await completedNodes(this.transaction, position, ids));
    return position + rows.length;
  }

  /** Erases what is erased there. Answers how much that is. */
  async erase(): Promise<number> {
    let count = 0;
    for (const [position, numbers] of this.erased) {
      await this.transaction.erase(numbers, position);
      count += numbers.length;
    }
    return count;
  }

  private check(entry: StoredEntry, position: number): EntryFields {
    if (entry.seq !== position) throw damaged(position, "seq", `it must be there, found ${entry.seq} next`);
    const { fields, id } = decodeStored(entry);
    if (fields.prev !== this.previousId)
      throw damaged(position, "prev", `it must name ${this.previousId}, found ${fields.prev}`);
    this.previousId = id;
    return fields;
  }

  private async rowsOf(stored: readonly StoredEntry[], fields: readonly EntryFields[]): Promise<EntryRow[]> {
    const names = [...new Set(fields.map(({ stream }) => stream))];
    const found = await this.transaction.streamHeads(names);
    const heads = new Map<string, StreamHead | null>(names.map((name, index) => [name, found[index]!]));
    return fields.map(({ seq, stream, rev, type, at }, index) => {
      const head = heads.get(stream) ?? null;
      if (rev !== (head?.rev ?? 0) + 1)
        throw damaged(seq, "rev", `revision ${(head?.rev ?? 0) + 1} of ${stream} must come next, found ${rev}`);
      heads.set(stream, { rev, seq });
      const { id, entry } = stored[index]!;
      return {
        seq,
        id,
        stream,
        rev,
        before: head?.seq ?? null,
        type,
        at,
        // What clocks were ahead by is known of the last entry, and of no use for the others.
        skew: seq === this.last.seq ? this.last.skew : 0,
        entry: typeof entry === "string" ? entry : Buffer.from(entry).toString("utf8"),
      };
    });
  }

  private async copyContents(fields: readonly EntryFields[]): Promise<void> {
    const named = new Map<number, number>();
    for (const { data } of fields)
      for (const { n, bytes } of contentReferences(data)) if (n > this.contents) named.set(n, bytes);
    let numbers: number[] = [];
    let bytes = 0;
    for (const [n, size] of [...named].sort(([one], [other]) => one - other)) {
      const next = this.contents + numbers.length + 1;
      if (n !== next) throw missing(next, `content ${n} named next`);
      numbers.push(n);
      bytes += size;
      if (bytes < contentBytesAtOnce) continue;
      await this.putContents(numbers);
      [numbers, bytes] = [[], 0];
    }
    await this.putContents(numbers);
  }

  private async putContents(numbers: readonly number[]): Promise<void> {
    if (numbers.length === 0) return;
    const stored = await this.source.contents(numbers);
    const rows = numbers.map((n, index) => this.contentRow(n, stored[index]!));
    await this.transaction.append([], rows, []);
    this.contents += rows.length;
  }

  private contentRow(n: number, stored: StoredContent | null): ContentRow {
    if (stored === null) throw missing(n, "nothing");
    if ("erased" in stored) {
      const others = this.erased.get(stored.erased);
      if (others === undefined) this.erased.set(stored.erased, [n]);
      else others.push(n);
      // It is emptied again when the entry that erases it is there.
      return { n, digest: stored.digest, media: "", salt: new Uint8Array(), bytes: new Uint8Array(), plain: null };
    }
    const digest = contentDigest(stored.media, stored.salt, stored.bytes);
    if (digest !== stored.digest) throw missing(n, `one of digest ${digest}`);
    return stored;
  }
}

function missing(n: number, found: string): LedgerError {
  return new LedgerError("STORE_DAMAGED", `content ${n} must be there as it was written, found ${found}`, {
    details: { content: n },
    hint: "run `runledger verify` on it",
  });
}

function damaged(position: number, field: string, message: string): LedgerError {
  return new LedgerError("STORE_DAMAGED", `event #${position} is damaged: ${message}`, {
    details: { position, field },
    hint: "run `runledger verify` on it",
  });
}
