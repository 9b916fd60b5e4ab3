/** One batch: appends decided one after the other against the head, staged in memory, written together.
 *  Invariants: a refused append leaves nothing in the batch; each accepted one is a whole `tx`; positions, revisions and
 *  content numbers are dense; how appends are grouped into batches leaves no mark in the bytes. */
import type { Clock } from "../kernel/clock.js";
import { canonicalize } from "../kernel/canonical.js";
import { invariant, LedgerError, limit } from "../kernel/errors.js";
import { entriesPerTxMax, entryBytesMax } from "../kernel/limits.js";
import type { ContentReference } from "../journal/content.js";
import { encodeEntry, entryId, entryTemplate } from "../journal/entry.js";
import type { EntryLabels, EntryTemplate } from "../journal/entry.js";
import { journalStream } from "../journal/events/journal.js";
import type { AreaDefined } from "../journal/events/journal.js";
import type { ContentRow, EntryRow, StoreHead, StreamHead } from "../journal/store.js";
import type { Areas } from "./areas.js";
import type { BatchDocuments } from "./documents.js";
import type { Known } from "./known.js";
import { fillData } from "./prepare.js";
import type { PendingContent, PreparedAppend, PreparedEvent, Requirement } from "./prepare.js";
import { nextTime } from "./time.js";
import type { TimeState } from "./time.js";
import type { AppendResult } from "./types.js";

/** What a batch starts from. */
export interface BatchStart {
  readonly known: Known;
  readonly documents: BatchDocuments;
  readonly head: StoreHead | null;
  readonly time: TimeState | null;
  readonly areas: Areas;
  readonly clock: Clock;
  readonly acceptClockStep: boolean;
}

interface Draft {
  readonly stream: string;
  readonly type: string;
  readonly template: EntryTemplate;
  readonly event: PreparedEvent | null;
  readonly data: string;
}

export class Batch {
  readonly known: Known;
  readonly documents: BatchDocuments;
  readonly entries: EntryRow[] = [];
  readonly contents: ContentRow[] = [];
  readonly recordedAreas: AreaDefined[] = [];
  /** Stream heads as this batch leaves them. */
  readonly heads: Map<string, StreamHead> = new Map();
  /** Contents to be emptied, and the positions of the entries that say so. */
  readonly erasures: { readonly numbers: readonly number[]; readonly position: number }[] = [];
  time: TimeState | null;
  private readonly start: BatchStart;
  private readonly byPlain = new Map<string, ContentRow>();
  private position: number;
  private headId: string;
  private contentCount: number;

  constructor(start: BatchStart) {
    this.start = start;
    this.known = start.known;
    this.documents = start.documents;
    this.time = start.time;
    this.position = start.head === null ? 0 : start.head.seq + 1;
    this.headId = start.head?.id ?? "0".repeat(64);
    this.contentCount = start.head?.contents ?? 0;
  }

  /** The head as this batch leaves it. */
  head(): StoreHead | null {
    const last = this.entries.at(-1);
    return last === undefined
      ? this.start.head
      : { seq: last.seq, id: last.id, at: last.at, skew: last.skew, contents: this.contentCount };
  }

  /** Decides one append whose `Known` is loaded: stages all of it and returns what it became, or throws and stages nothing. */
  stage(append: PreparedAppend): AppendResult {
    for (const requirement of append.requirements) this.check(requirement);
    if (append.cause !== undefined) this.checkCause(append.cause.position, append.cause.id);
    const recording = this.areasToRecord(append.events);
    const count = recording.length + append.events.length;
    if (count > entriesPerTxMax) throw limit("append", "events", entriesPerTxMax, count);
    const contents = new StagedContents(this.known, this.contents, this.contentCount, this.byPlain);
    const drafts: Draft[] = recording.map(recordingDraft);
    for (const event of append.events) {
      const { stream, type, template } = event;
      drafts.push({ stream, type, template, event, data: fillData(event, contents.place(event)) });
    }
    const time = this.nextTime();
    const rows = this.encode(drafts, time);
    this.accept(rows, contents.rows, recording, time);
    return result(append, rows, recording.length, (stream) => this.headOf(stream)?.rev ?? 0);
  }

  /** Stages events of one type on the journal's own stream, as a tx by itself. */
  stageOwn(type: string, events: readonly object[], labels: EntryLabels): readonly EntryRow[] {
    if (events.length > entriesPerTxMax) throw limit(type, "events", entriesPerTxMax, events.length);
    const draft = { stream: journalStream, type, template: entryTemplate(journalStream, type, 1, labels), event: null };
    const drafts = events.map((data) => ({ ...draft, data: canonicalize(data) }));
    const time = this.nextTime();
    const rows = this.encode(drafts, time);
    this.accept(rows, [], [], time);
    return rows;
  }

  private nextTime(): TimeState {
    const { clock, acceptClockStep } = this.start;
    return nextTime(this.time, { clock: clock.now(), monotonic: clock.monotonic() }, acceptClockStep);
  }

  private encode(drafts: readonly Draft[], time: TimeState): EntryRow[] {
    const rows: EntryRow[] = [];
    const heads = new Map<string, StreamHead>();
    let prev = this.headId;
    const txFirst = this.position;
    for (const { stream, type, template, event, data } of drafts) {
      const head = heads.get(stream) ?? this.headOf(stream);
      const seq = txFirst + rows.length;
      const rev = (head?.rev ?? 0) + 1;
      const entry = encodeEntry(template, data, { seq, prev, txFirst, txCount: drafts.length, rev, at: time.at });
      if (entry.length * 3 > entryBytesMax) checkEntrySize(entry, event);
      const id = entryId(entry);
      rows.push({
        seq,
        id,
        stream,
        rev,
        before: head?.seq ?? null,
        type,
        at: time.at,
        skew: time.at - time.clock,
        entry,
      });
      heads.set(stream, { rev, seq });
      prev = id;
    }
    return rows;
  }

  private accept(
    rows: readonly EntryRow[],
    contents: readonly ContentRow[],
    recording: readonly AreaDefined[],
    time: TimeState,
  ): void {
    for (const row of rows) {
      invariant(row.seq === this.position, "an entry follows the head");
      this.entries.push(row);
      this.heads.set(row.stream, { rev: row.rev, seq: row.seq });
      this.position++;
      this.headId = row.id;
    }
    for (const row of contents) {
      this.contents.push(row);
      if (row.plain !== null) this.byPlain.set(row.plain, row);
    }
    this.contentCount += contents.length;
    this.time = time;
    this.recordedAreas.push(...recording);
    for (const area of recording) this.start.areas.record(area);
  }

  private areasToRecord(events: readonly PreparedEvent[]): AreaDefined[] {
    const recording = new Map<string, AreaDefined>();
    let last: PreparedEvent | undefined;
    for (const event of events) {
      if (event.type === last?.type && event.stream === last.stream) continue;
      last = event;
      const area = this.start.areas.toRecord(event.stream, event.type);
      if (area !== null) recording.set(area.area, area);
    }
    return [...recording.values()];
  }

  private headOf(stream: string): StreamHead | null {
    return this.heads.get(stream) ?? this.known.head(stream);
  }

  private check({ stream, expected, path }: Requirement): void {
    const head = this.headOf(stream);
    const actual = head?.rev ?? 0;
    if (expected === "any") return;
    if (expected === "exists" ? actual > 0 : expected === "none" ? actual === 0 : expected === actual) return;
    const actualId =
      head === null || typeof expected !== "string" || expected.length !== 64 ? null : this.idAt(head.seq);
    if (actualId !== null && actualId === expected) return;
    throw new LedgerError(
      "REVISION_CONFLICT",
      `${path} expected ${stream} ${sayExpected(expected)} but it is at revision ${actual}; read it and decide again`,
      {
        details: { stream, expected, actual, ...(actualId === null ? {} : { actualId }) },
      },
    );
  }

  private checkCause(position: number, id: string): void {
    if (this.idAt(position) === id) return;
    throw new LedgerError(
      "NOT_FOUND",
      `options.cause must name an event of an earlier append, found no event ${id} at position ${position}`,
      { details: { position, id } },
    );
  }

  private idAt(position: number): string | null {
    const first = this.entries[0]?.seq;
    if (first !== undefined && position >= first) return this.entries[position - first]?.id ?? null;
    return this.known.id(position);
  }
}

/** The contents of one append: numbered in the order in which they appear, equal ones found again. */
class StagedContents {
  readonly rows: ContentRow[] = [];
  private readonly known: Known;
  private readonly staged: readonly ContentRow[];
  private readonly before: number;
  private readonly stagedByPlain: ReadonlyMap<string, ContentRow>;

  constructor(
    known: Known,
    staged: readonly ContentRow[],
    before: number,
    stagedByPlain: ReadonlyMap<string, ContentRow>,
  ) {
    this.known = known;
    this.staged = staged;
    this.before = before;
    this.stagedByPlain = stagedByPlain;
  }

  /** The references to an event's contents, in their order. */
  place(event: PreparedEvent): readonly ContentReference[] {
    for (const reference of event.references) this.checkReference(reference, event.path);
    return event.contents.map((content) => this.put(content));
  }

  private put(content: PendingContent): ContentReference {
    const { plain, digest, media, salt, bytes } = content;
    const equal = plain === null ? null : this.equalTo(plain);
    if (equal !== null) return { $content: equal.digest, bytes: equal.bytes.length, n: equal.n };
    const row: ContentRow = { n: this.before + this.rows.length + 1, digest, media, salt, bytes, plain };
    this.rows.push(row);
    return { $content: digest, bytes: bytes.length, n: row.n };
  }

  private equalTo(plain: string): ContentRow | null {
    return (
      this.known.contentByPlain(plain) ??
      this.stagedByPlain.get(plain) ??
      this.rows.find((row) => row.plain === plain) ??
      null
    );
  }

  /** A reference given by the caller must name a content of this journal as it is. */
  private checkReference(reference: ContentReference, path: string): void {
    const details = { ...reference };
    const stored = this.staged.find((row) => row.n === reference.n) ?? this.known.content(reference.n);
    if (stored === null || stored.digest !== reference.$content) {
      throw new LedgerError(
        "CONTENT_MISSING",
        `${path} names content ${reference.n} ${reference.$content}, which this journal does not have`,
        { details },
      );
    }
    if ("erased" in stored) {
      throw new LedgerError(
        "CONTENT_ERASED",
        `${path} names content ${reference.n}, which was erased by event #${stored.erased}`,
        { details: { ...details, erasedBy: stored.erased } },
      );
    }
    if (stored.bytes.length !== reference.bytes) {
      throw new LedgerError(
        "INVALID_ARGUMENT",
        `${path} names content ${reference.n} with ${reference.bytes} bytes, found ${stored.bytes.length}`,
        { details },
      );
    }
  }
}

function recordingDraft(area: AreaDefined): Draft {
  const template = entryTemplate(journalStream, "area.defined", 1, {});
  return { stream: journalStream, type: "area.defined", template, event: null, data: canonicalize(area) };
}

function checkEntrySize(entry: string, event: PreparedEvent | null): void {
  const bytes = Buffer.byteLength(entry);
  if (bytes > entryBytesMax)
    throw limit(event?.path ?? "entry", "bytes as an entry (mark large values with content())", entryBytesMax, bytes);
}

function result(
  append: PreparedAppend,
  rows: readonly EntryRow[],
  recorded: number,
  revisionOf: (stream: string) => number,
): AppendResult {
  const streams = append.streams.map((stream) => ({ stream, revision: revisionOf(stream) }));
  const [first] = rows;
  const [named] = streams;
  invariant(first !== undefined && named !== undefined, "an append has a stream and an event");
  return {
    first: first.seq,
    position: first.seq + rows.length - 1,
    count: rows.length,
    at: first.at,
    ids: rows.slice(recorded).map((row) => row.id),
    revision: named.revision,
    streams,
  };
}

function sayExpected(expected: string | number): string {
  if (typeof expected === "number") return `at revision ${expected}`;
  if (expected === "none") return "to have no events";
  if (expected === "exists") return "to have events";
  return `to end with event ${expected}`;
}
