/** What a writer remembers of the journal between two batches, and how a batch starts from it.
 *  Invariants: all of it, the documents included, is as of one entry, `head`; it goes on from there by what this process commits
 *  and by what others wrote behind it, read as entries, or it is dropped whole. Source: decisions 0008, 0028. */
import type { Clock } from "../kernel/clock.js";
import { LedgerError } from "../kernel/errors.js";
import { decodeStored } from "../journal/stored.js";
import type { DecodedEntry } from "../journal/stored.js";
import type { EntryFields } from "../journal/entry.js";
import { journalStream, parseAreaDefined, restoredIncarnation } from "../journal/events/journal.js";
import type { Store, StoreHead, StoreReads, StoreTransaction } from "../journal/store.js";
import type { Areas } from "./areas.js";
import { Batch } from "./batch.js";
import type { Documents, ReadDocuments } from "./documents.js";
import { Foreseen } from "./foreseen.js";
import type { Glimpse } from "./foreseen.js";
import { Known } from "./known.js";
import { OpenTile } from "./open-tile.js";
import { readOwnEvents } from "./own-events.js";
import type { Queued } from "./queue.js";
import { StreamHeads } from "./stream-heads.js";
import type { TimeState } from "./time.js";
import { waitForAll } from "./wait-for-all.js";
import { readWrittenSince, sinceMax, sinceMaxNear } from "./written-since.js";
import type { EntryPlace, WrittenSince } from "./written-since.js";

export interface RememberedOptions {
  readonly store: Store;
  readonly areas: Areas;
  readonly documents: Documents;
  readonly clock: Clock;
  readonly acceptClockStep: boolean;
}

/** What was read for the next batch before the lock. */
interface Ahead {
  readonly queued: ReadonlySet<Queued>;
  /** What these were foreseen to need. */
  readonly foreseen: Foreseen;
  readonly known: Known;
  /** The number of contents then. */
  readonly contents: number;
}

/** What is known of time, as of an entry. */
interface Seen {
  readonly time: TimeState | null;
  /** Its id. */
  readonly of: string | null;
}

const nothingSeen: Seen = { time: null, of: null };

/** So many batches in a row without anybody else's mean that this process writes alone. */
const undisturbedMax = 16;
/** Stages of reads, and what their events need. */
const stepsMax = 3;

export class Remembered {
  private readonly options: RememberedOptions;
  private head: EntryPlace | null = null;
  private seen: Seen = nothingSeen;
  /** The last that is on disk. It outlives a reset: when an entry was seen is known for as long as it is the head. */
  private seenOnDisk: Seen = nothingSeen;
  private journalRevision = 0;
  private incarnation = 1;
  private readonly streamHeads = new StreamHeads();
  private readonly tile = new OpenTile();
  private ahead: Ahead | null = null;
  /** How many batches began since others were last seen to have written. */
  private undisturbed = Infinity;

  constructor(options: RememberedOptions) {
    this.options = options;
  }

  /** Under the lock: brings all on to the head, reads what the batch is known to need, and starts it. */
  async startBatch(transaction: StoreTransaction, queued: readonly Queued[]): Promise<Batch> {
    const head = await transaction.head();
    this.streamHeads.trim();
    const known = new Known(transaction, this.streamHeads);
    const { ahead } = this;
    const since = await this.bringOn(transaction, head, known);
    const { areas, documents, clock, acceptClockStep, store } = this.options;
    // What was looked at ahead is not looked at again: what it needs and others changed since is read again.
    const unseen = ahead === null ? queued : queued.filter((each) => !ahead.queued.has(each));
    const foreseen = store.remote ? this.foresee(unseen, null, ahead?.foreseen.again()) : null;
    const beginning = documents.begin(transaction, { head, since, foreseen });
    // An area may have to be recorded with its first event, so the journal's own stream is always among them.
    const touched = new Set([journalStream, ...queued.flatMap((each) => each.touched)]);
    const loading = this.load(known, foreseen, [...touched]);
    if (loading !== undefined) await waitForAll([Promise.resolve(beginning).then(() => {}), loading]);
    const begun = beginning instanceof Promise ? await beginning : beginning;
    if (store.remote && unseen.length > 0) await this.lookFurther(begun, known, unseen);
    return new Batch({
      known,
      documents: begun,
      head,
      time: head === null ? null : this.seen.time,
      areas,
      incarnation: this.incarnation,
      clock,
      acceptClockStep,
    });
  }

  /** Before the lock, where each read is a round trip and others write as well: reads for the batch from a snapshot, so that under
   *  the lock there is little left to read. Nothing rests on it, so it never fails: what is wrong with the store shows again under
   *  the lock, and is told there. */
  async readAhead(queued: readonly Queued[]): Promise<void> {
    const { store, documents } = this.options;
    this.undisturbed++;
    this.streamHeads.trim();
    // Who writes alone reads under the lock, for nobody waits for it.
    if (!store.remote || this.undisturbed > undisturbedMax || this.head === null) return;
    // Nor does it wait for readers: they may stay for long.
    const reads = await store.snapshot(0).catch(() => null);
    if (reads === null) return;
    try {
      const head = await reads.head();
      if (head === null) return;
      const known = new Known(reads, this.streamHeads);
      const since = await this.bringOn(reads, head, known);
      const foreseen = this.foresee(queued, null);
      foreseen.stream(journalStream);
      const beginning = documents.beginAhead(reads, { head, since, foreseen });
      await waitForAll([beginning.then(() => {}), known.load(foreseen.needs)]);
      const begun = await beginning;
      const further = begun === null ? foreseen : await this.lookFurther(begun, known, queued);
      begun?.adopt();
      this.ahead = { queued: new Set(queued), foreseen: further, known, contents: head.contents };
    } catch {
      this.forget();
    } finally {
      await reads.release().catch(() => {});
    }
  }

  /** Streams that these touch and of which nothing is known, where asking for them is a round trip. */
  unknownStreams(queued: readonly Queued[]): readonly string[] {
    if (!this.options.store.remote) return [];
    const touched = new Set([journalStream, ...queued.flatMap((each) => each.touched)]);
    return [...touched].filter((stream) => !this.streamHeads.has([stream]));
  }

  /** The next batch goes on from this one, which is on disk or on its way. */
  adopt(batch: Batch): void {
    batch.documents.adopt();
    if (batch.entries.length === 0) return;
    this.streamHeads.adopt(batch.heads);
    this.tile.add(
      batch.entries[0]!.seq,
      batch.entries.map(({ id }) => id),
    );
    this.seen = seenWith(batch);
    this.head = batch.head();
    this.journalRevision = batch.heads.get(journalStream)?.rev ?? this.journalRevision;
  }

  /** A batch that was adopted is on disk. */
  settle(batch: Batch): void {
    batch.documents.settle();
    if (batch.entries.length > 0) this.seenOnDisk = seenWith(batch);
  }

  /** A batch turned out to be committed after all. */
  keep(batch: Batch): void {
    this.seen = this.seenOnDisk = seenWith(batch);
    batch.documents.adopt();
    batch.documents.settle();
  }

  /** Drops everything, to be read again. */
  forget(): void {
    this.head = null;
    this.ahead = null;
    this.seen = this.seenOnDisk;
    this.journalRevision = 0;
    this.incarnation = 1;
    this.options.areas.forget();
    this.options.documents.forget();
    this.streamHeads.clear();
    this.tile.start();
  }

  /** Reads of the tree, for the nodes that a batch completes. */
  treeReads(reads: StoreReads): Pick<StoreReads, "ids" | "nodes"> {
    return this.tile.over(reads);
  }

  /** Brings what is known of the journal on to a head; answers what was written since, if that could be told. */
  private async bringOn(reads: StoreReads, head: StoreHead | null, known: Known): Promise<WrittenSince | null> {
    const { ahead } = this;
    this.ahead = null;
    if (head !== null && head.id === this.head?.id) {
      if (ahead !== null) takeOver(known, ahead, head);
      return null;
    }
    if (this.head !== null) this.undisturbed = 0;
    const since = head === null ? null : await this.readSince(reads, head);
    if (since === null) await this.catchUp(reads, head);
    else this.take(since);
    if (head !== null) this.see(head);
    if (ahead !== null && since !== null && !since.entries.some(isErasure)) takeOver(known, ahead, head);
    return since;
  }

  /** What others wrote, unless nothing that is remembered rests on it, or it changes what the journal is. */
  private async readSince(reads: StoreReads, head: StoreHead): Promise<WrittenSince | null> {
    const { documents, store } = this.options;
    // Where reads are cheap, heads of streams alone are read again for less than it takes to look through entries.
    if (this.head === null || !(store.remote || documents.remembers)) return null;
    const since = await readWrittenSince(reads, this.head, head, store.remote ? sinceMax : sinceMaxNear);
    const own = (since?.entries ?? []).filter(({ fields }) => fields.stream === journalStream);
    const follows = own.every(
      ({ fields: { rev, type } }, index) => rev === this.journalRevision + 1 + index && type !== "journal.restored",
    );
    return follows ? since : null;
  }

  private take({ entries }: WrittenSince): void {
    for (const { id, fields } of entries) {
      this.tile.add(fields.seq, [id]);
      this.streamHeads.move(fields.stream, { rev: fields.rev, seq: fields.seq });
      if (fields.stream === journalStream) this.seeOwn(fields);
    }
  }

  /** What was known of stream heads is void, the areas are read on, the head is looked at. */
  private async catchUp(reads: StoreReads, head: StoreHead | null): Promise<void> {
    this.streamHeads.clear();
    this.tile.start();
    if (head === null) return;
    const [last] = await reads.entriesAt([head.seq]);
    if (last === undefined || last === null)
      throw new LedgerError("STORE_DAMAGED", `the head must be at position ${head.seq}, found nothing there`);
    decodeStored(last);
    this.tile.add(head.seq, [head.id]);
    await readOwnEvents(reads, this.journalRevision, (fields) => this.seeOwn(fields));
  }

  private seeOwn({ type, rev, data }: EntryFields): void {
    if (type === "area.defined") this.options.areas.record(parseAreaDefined(data));
    if (type === "journal.restored") this.incarnation = restoredIncarnation(data);
    this.journalRevision = rev;
  }

  private see(head: StoreHead): void {
    if (head.id !== this.seen.of) {
      const time = { at: head.at, clock: head.at - head.skew, seen: this.options.clock.monotonic(), own: false };
      this.seen = this.seenOnDisk = { time, of: head.id };
    }
    this.head = { seq: head.seq, id: head.id };
  }

  /** Reads in lists what these will ask for behind what is known of them, step by step; answers all that was foreseen. */
  private async lookFurther(documents: ReadDocuments, known: Known, queued: readonly Queued[]): Promise<Foreseen> {
    for (let step = 1; ; step++) {
      const foreseen = this.foresee(queued, documents.glimpse);
      const reading = [documents.fetch(foreseen), known.load(foreseen.needs)];
      if (reading.every((each) => each === undefined)) return foreseen;
      await waitForAll(reading);
      if (step === stepsMax) return foreseen;
    }
  }

  /** What these will ask for. Time is that of the last entry: looking at the clock is for what is written. */
  private foresee(
    queued: readonly Queued[],
    glimpse: Glimpse | null,
    foreseen: Foreseen = new Foreseen({ at: this.seen.time?.at ?? 0, incarnation: this.incarnation, glimpse }),
  ): Foreseen {
    for (const each of queued) each.foresee(foreseen);
    return foreseen;
  }

  private load(known: Known, foreseen: Foreseen | null, touched: readonly string[]): Promise<void> | undefined {
    if (foreseen === null) return known.load({ touched, lookups: null });
    for (const stream of touched) foreseen.stream(stream);
    return known.load(foreseen.needs);
  }
}

function seenWith(batch: Batch): Seen {
  return { time: batch.time, of: batch.head()?.id ?? null };
}

function isErasure({ fields }: DecodedEntry): boolean {
  return fields.type === "content.erased";
}

function takeOver(known: Known, ahead: Ahead, head: StoreHead | null): void {
  known.takeOver(ahead.known);
  if (head?.contents === ahead.contents) known.takeOverMissing(ahead.known);
}
