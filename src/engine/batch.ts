/** One batch: appends and commands decided one after the other against the head, staged in memory, written together.
 *  Invariants: what is refused leaves nothing in the batch; each that is accepted is a whole `tx`; positions, revisions and
 *  content numbers are dense; how they are grouped into batches leaves no mark in the bytes. */
import type { Clock } from "../kernel/clock.js";
import { invariant, LedgerError } from "../kernel/errors.js";
import type { AreaDefined } from "../journal/events/journal.js";
import type { ContentRow, EntryRow, StoreHead, StreamHead } from "../journal/store.js";
import type { Areas } from "./areas.js";
import type { BatchDocuments, TxDocuments } from "./documents.js";
import type { Known } from "./known.js";
import type { Requirement } from "./prepare-labels.js";
import { StagedContents } from "./staged-contents.js";
import { nextTime } from "./time.js";
import type { TimeState } from "./time.js";
import { Tx } from "./tx.js";
import type { SealedTx, TxGround } from "./tx.js";
import type { EventReference } from "./types.js";

/** What a batch starts from. */
export interface BatchStart {
  readonly known: Known;
  readonly documents: BatchDocuments;
  readonly head: StoreHead | null;
  readonly time: TimeState | null;
  readonly areas: Areas;
  /** The incarnation of the journal. */
  readonly incarnation: number;
  readonly clock: Clock;
  readonly acceptClockStep: boolean;
}

export class Batch implements TxGround {
  readonly known: Known;
  readonly documents: BatchDocuments;
  readonly entries: EntryRow[] = [];
  readonly contents: ContentRow[] = [];
  /** Stream heads as this batch leaves them. */
  readonly heads: Map<string, StreamHead> = new Map();
  /** Contents to be emptied, and the positions of the entries that say so. */
  readonly erasures: { readonly numbers: readonly number[]; readonly position: number }[] = [];
  readonly incarnation: number;
  time: TimeState | null;
  private readonly start: BatchStart;
  private readonly byPlain = new Map<string, ContentRow>();
  position: number;
  headId: string;
  private contentCount: number;

  constructor(start: BatchStart) {
    this.start = start;
    this.known = start.known;
    this.documents = start.documents;
    this.incarnation = start.incarnation;
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

  /** Opens a tx. One at a time: one that is not sealed when the next is opened was dropped. */
  open(): Tx {
    const before = { count: this.contentCount, staged: this.contents, byPlain: this.byPlain };
    return new Tx(this, new StagedContents(this.known, before));
  }

  /** Refuses unless streams and a cause are as said, as the batch leaves them so far. What it asks for must be known. */
  require(requirements: readonly Requirement[], cause: EventReference | undefined): void {
    for (const requirement of requirements) this.check(requirement);
    if (cause !== undefined) this.checkCause(cause.position, cause.id);
  }

  toRecord(stream: string, type: string): AreaDefined | null {
    return this.start.areas.toRecord(stream, type);
  }

  nextTime(): TimeState {
    const { clock, acceptClockStep } = this.start;
    return nextTime(this.time, { clock: clock.now(), monotonic: clock.monotonic() }, acceptClockStep);
  }

  concerns(type: string): boolean {
    return this.documents.concerns(type);
  }

  openDocuments(): TxDocuments {
    return this.documents.open();
  }

  /** Takes over a tx that was sealed. */
  seal({ rows, contents, recorded, time }: SealedTx): void {
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
    for (const area of recorded) this.start.areas.record(area);
  }

  /** The head of a stream as the batch leaves it so far. */
  headOf(stream: string): StreamHead | null {
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

function sayExpected(expected: string | number): string {
  if (typeof expected === "number") return `at revision ${expected}`;
  if (expected === "none") return "to have no events";
  if (expected === "exists") return "to have events";
  return `to end with event ${expected}`;
}
