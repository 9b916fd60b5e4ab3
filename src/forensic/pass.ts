/** One pass over the entries, in order. Each row is first shown to be right in one cheap step; a row that cannot be shown
 *  right that way is looked at slowly (`explain.ts`), and only then are there findings.
 *  Invariants: the cheap step accepts nothing that the slow one would report (a test runs both over every mutation); a
 *  row that it refuses has changed nothing; memory does not grow with the number of entries, but for causes. */
import { hash } from "node:crypto";
import { clockStepMsMax } from "../kernel/limits.js";
import type { RawEntry, RawReader } from "../journal/raw-reader.js";
import type { ContentTable } from "./contents.js";
import type { IdIndex } from "./causes.js";
import type { Findings } from "./findings.js";
import { EntryScanner } from "./scanner.js";
import { nameOf } from "./streams.js";
import type { StreamState, StreamTable } from "./streams.js";
import type { TreeWalk } from "./tree.js";
import type { TypeState, TypeTable } from "./types.js";

/** The tx that entries belong to, as they say themselves. */
export interface TxMark {
  readonly first: number;
  readonly count: number;
  readonly at: number;
}

export interface PassParts {
  readonly reader: RawReader;
  readonly findings: Findings;
  readonly streams: StreamTable;
  readonly types: TypeTable;
  readonly contents: ContentTable;
}

/** What is known of the journal up to a row. The next row is judged by it. */
export class PassState {
  readonly parts: PassParts;
  /** Null when the entries do not start at a place where a part of the tree does. */
  readonly tree: TreeWalk | null;
  /** The position that the next row must have. */
  next: number;
  /** The first position that was looked at. */
  readonly first: number;
  /** Id of the last entry; null when it is not known what the next one must name. */
  previous: string | null;
  /** The id that a damaged entry claimed: its follower may name that one. */
  claimed: string | null = null;
  /** The tx of the last entry; null when it is not known. */
  tx: TxMark | null;
  /** Time of the last entry. */
  at = 0;
  /** Row position minus the position that the entry itself says. */
  offset = 0;
  /** Entries that could not be read, or are missing: what they said explains as many jumps in revisions. */
  unread: number;
  /** Is anything before the next row unknown? */
  incomplete: boolean;
  /** Ranges of positions that could not be read, from and to, both included. */
  readonly unreadRanges: { readonly from: number; to: number }[] = [];
  /** Ids by which causes are looked up; null as long as no entry had one. */
  ids: IdIndex | null = null;
  causes = 0;
  /** Rows seen. */
  rows = 0;
  /** The time of whoever verifies, and the first entry that is ahead of it. */
  readonly now: number;
  ahead: { readonly position: number; readonly at: number } | null = null;

  constructor(parts: PassParts, first: number, now: number, tree: TreeWalk | null) {
    this.parts = parts;
    this.tree = tree;
    this.first = first;
    this.now = now;
    this.next = first;
    this.unread = first;
    this.incomplete = first > 0;
    this.previous = first === 0 ? "0".repeat(64) : null;
    this.tx = first === 0 ? { first: -1, count: 1, at: 0 } : null;
  }

  /** Moves on to the next row. Causes are looked up by the id that the store shows. */
  moveOn(seq: number, id: string | null, at: number, shownId: string | null = id): void {
    this.previous = id;
    this.claimed = null;
    this.at = at;
    this.next = seq + 1;
    this.rows++;
    this.tree?.add(seq, id, at);
    if (shownId !== null) this.ids?.add(seq, shownId);
    if (at > this.now && this.ahead === null) this.ahead = { position: seq, at };
  }

  /** Is the last entry not the last of its tx? */
  inTx(position: number): boolean {
    return this.tx !== null && position < this.tx.first + this.tx.count;
  }

  /** Notes that a position could not be read. */
  missed(from: number, to: number = from): void {
    this.incomplete = true;
    this.unread += to - from + 1;
    this.parts.contents.unread += to - from + 1;
    const last = this.unreadRanges.at(-1);
    if (last !== undefined && from <= last.to + 1) last.to = Math.max(last.to, to);
    else this.unreadRanges.push({ from, to });
  }

  wasMissed(position: unknown): boolean {
    return typeof position === "number" && this.unreadRanges.some(({ from, to }) => from <= position && position <= to);
  }
}

/** What the cheap step judges a row by, and moves on. */
export interface ProvingState extends Pick<
  PassState,
  "next" | "previous" | "tx" | "at" | "offset" | "causes" | "moveOn" | "inTx"
> {
  readonly parts: {
    readonly streams: Pick<StreamTable, "numbered" | "advance">;
    readonly types: Pick<TypeTable, "numbered">;
    readonly contents: Pick<ContentTable, "name">;
  };
  readonly ids: Pick<IdIndex, "find"> | null;
}

/** The cheap step. */
export class Prover {
  private readonly scanner = new EntryScanner();
  private readonly state: ProvingState;
  /** Neighbours are often of one stream and type. */
  private stream: StreamState | undefined;
  private streamNumber: unknown;
  private type: TypeState | undefined;
  private typeNumber: unknown;

  constructor(state: ProvingState) {
    this.state = state;
  }

  /** Is the row right in every respect? Then the state has moved on; otherwise nothing has changed. */
  prove(row: RawEntry): boolean {
    const { state, scanner } = this;
    const { seq, entry, at, skew } = row;
    const { streams, types } = state.parts;
    if (
      seq !== state.next ||
      typeof entry !== "string" ||
      typeof row.misfits === "string" ||
      state.previous === null ||
      state.tx === null ||
      state.offset !== 0
    )
      return false;
    if (row.stream !== this.streamNumber || this.stream === undefined) {
      this.streamNumber = row.stream;
      this.stream = streams.numbered(row.stream);
    }
    if (row.type !== this.typeNumber || this.type === undefined) {
      this.typeNumber = row.type;
      this.type = types.numbered(row.type);
    }
    const { stream, type } = this;
    if (stream === undefined || type === undefined || stream.special || type.special) return false;
    if (row.rev !== stream.revision + 1 || row.before !== stream.last) return false;
    if (typeof at !== "number" || typeof skew !== "number" || !Number.isSafeInteger(skew) || skew < 0 || skew > at)
      return false;

    const inTx = state.inTx(seq);
    if (at < state.at || (inTx ? at !== state.tx.at : at - state.at > clockStepMsMax)) return false;
    const matched = type.shapes.match(entry);
    const prev = matched < 0 ? scanner.scanToPrev(entry) : scanner.skipToPrev(entry, matched);
    if (prev < 0 || scanner.at !== at || scanner.replacement || scanner.brokenReference) return false;
    const txFirst = inTx ? state.tx.first : seq;
    const revision = stream.revision + 1;
    if (
      !scanner.endsAs(prev, {
        previous: state.previous,
        rev: revision,
        seq,
        middle: stream.middle,
        ending: type.ending,
      })
    )
      return false;
    if (scanner.txFirst !== txFirst || (inTx && scanner.txCount !== state.tx.count)) return false;
    const { cause } = scanner;
    if (cause !== null && !this.isEarlier(cause, txFirst)) return false;
    const id = hash("sha256", "\0" + entry, "hex");
    if (id !== row.id) return false;

    if (!inTx) state.tx = { first: seq, count: scanner.txCount, at };
    if (cause !== null) state.causes++;
    if (scanner.references.length > 0) this.nameContents(stream, seq);
    else if (matched < 0) type.shapes.learn(entry);
    streams.advance(stream, revision, seq);
    type.used = true;
    state.moveOn(seq, id, at);
    return true;
  }

  private isEarlier(cause: string, txFirst: number): boolean {
    const position = this.state.ids?.find(cause);
    return typeof position === "number" && position < txFirst;
  }

  private nameContents(stream: StreamState, position: number): void {
    const naming = { position, stream: nameOf(stream), revision: stream.revision + 1 };
    for (const reference of this.scanner.references) this.state.parts.contents.name(reference, naming);
  }
}
