/** A stretch while it is proved: the state that the cheap step works on, started in the middle of a journal.
 *  Invariant: what stands before it is taken from what its own rows say, and nothing else is; each thing that was taken so
 *  is written down, once. What the cheap step then shows is what it would show of the same rows in one pass. */
import type { ContentReference } from "../journal/content.js";
import type { RawEntry } from "../journal/raw-reader.js";
import { Prover } from "./pass.js";
import type { ProvingState, TxMark } from "./pass.js";
import { idBytes } from "./ranges.js";
import type { ProvedStretch, RangeRoom } from "./ranges.js";
import { EntryScanner } from "./scanner.js";
import { newState } from "./streams.js";
import type { StreamState } from "./streams.js";
import { tileRoot, tileWidth } from "../journal/merkle.js";
import type { TypeTable } from "./types.js";

/** A stream with its place in the lists of the stretch, and where it stood before. */
interface PlacedStream extends StreamState {
  readonly place: number;
  readonly revisionBefore: number;
  readonly lastBefore: number | null;
}

/** The room of a range, and where that starts. */
export interface StretchRoom extends RangeRoom {
  readonly from: number;
}

const scanner = new EntryScanner();

export class Stretch implements ProvingState {
  readonly parts: ProvingState["parts"];
  readonly ids: ProvingState["ids"] = { find: (cause) => this.assumeEarlier(cause) };
  next: number;
  previous: string | null;
  tx: TxMark | null;
  at: number;
  readonly offset = 0;
  causes = 0;

  private readonly from: number;
  private readonly firstPrevious: string;
  private readonly firstTx: TxMark;
  private readonly types: TypeTable;
  private readonly now: number;
  private readonly prover: Prover;
  private readonly byNumber = new Map<unknown, PlacedStream>();
  private readonly streams: PlacedStream[] = [];
  private readonly room: StretchRoom;
  private readonly nodes: string[] = [];
  /** The ids behind the last multiple of 256. */
  private idsOfNode: string[] = [];
  private cause: string | null = null;
  private readonly causeList: string[] = [];
  private readonly causesBefore: number[] = [];
  private readonly digests: string[] = [];
  private readonly references: number[] = [];
  private ahead: ProvedStretch["ahead"] = null;

  /** A stretch that starts with a row; null when the row says nothing that could be taken for what stands before. */
  static start(row: RawEntry, room: StretchRoom, types: TypeTable, now: number): Stretch | null {
    const { seq, entry } = row;
    if (typeof seq !== "number" || typeof entry !== "string" || !scanner.scan(entry)) return null;
    return new Stretch(seq, room, types, now);
  }

  /** The row was scanned. */
  private constructor(from: number, room: StretchRoom, types: TypeTable, now: number) {
    const { prev, txFirst, txCount, at } = scanner;
    this.from = from;
    this.room = room;
    this.next = from;
    this.firstPrevious = prev;
    this.firstTx = { first: txFirst, count: txCount, at };
    this.previous = prev;
    this.tx = this.firstTx;
    this.at = at;
    this.types = types;
    this.now = now;
    this.parts = {
      streams: {
        numbered: (number) => this.byNumber.get(number),
        advance: (stream, revision, position) => this.advance(stream as PlacedStream, revision, position), // all of them are
      },
      types,
      contents: { name: (reference) => this.name(reference) },
    };
    this.prover = new Prover(this);
  }

  /** Is the row right in every respect, as far as that can be said here? Otherwise the stretch is to end before it. */
  prove(row: RawEntry): boolean {
    this.cause = null;
    if (!this.byNumber.has(row.stream)) this.assumeStream(row);
    if (!this.prover.prove(row)) return false;
    if (this.cause !== null) {
      this.causeList.push(this.cause);
      this.causesBefore.push(this.tx!.first);
    }
    return true;
  }

  /** What was proved; null when nothing was. */
  finish(): ProvedStretch | null {
    const { from, next, room, streams } = this;
    if (next === from) return null;
    this.keepIds();
    const [first, end] = [from - room.from, next - room.from];
    return {
      from,
      count: next - from,
      previous: this.firstPrevious,
      firstTx: this.firstTx,
      streams: {
        numbers: Float64Array.from(streams, ({ number }) => number!),
        middles: streams.map(({ middle }) => middle),
        revisions: Float64Array.from(streams, ({ revisionBefore }) => revisionBefore),
        lasts: Float64Array.from(streams, ({ lastBefore }) => lastBefore ?? -1),
      },
      places: room.places.subarray(first, end),
      types: this.types.used(),
      ids: room.ids.subarray(first * idBytes, end * idBytes),
      times: room.times.subarray(first, end),
      nodes: this.nodes,
      causes: this.causeList.join(""),
      causesBefore: Float64Array.from(this.causesBefore),
      digests: this.digests.join(""),
      references: Float64Array.from(this.references),
      lastTx: this.tx!,
      ahead: this.ahead,
    };
  }

  moveOn(seq: number, id: string | null, at: number): void {
    this.previous = id;
    this.at = at;
    this.next = seq + 1;
    this.room.times[seq - this.room.from] = at;
    this.idsOfNode.push(id!);
    if (this.next % tileWidth === 0) this.endNode();
    if (at > this.now && this.ahead === null) this.ahead = { position: seq, at };
  }

  inTx(position: number): boolean {
    return this.tx !== null && position < this.tx.first + this.tx.count;
  }

  private endNode(): void {
    this.keepIds();
    if (this.idsOfNode.length === tileWidth) this.nodes.push(tileRoot(this.idsOfNode));
    this.idsOfNode = [];
  }

  private keepIds(): void {
    const { room, next, idsOfNode } = this;
    room.ids.write(idsOfNode.join(""), (next - idsOfNode.length - room.from) * idBytes, "hex");
  }

  private advance(stream: PlacedStream, revision: number, position: number): void {
    stream.revision = revision;
    stream.last = position;
    this.room.places[position - this.room.from] = stream.place;
  }

  /** Takes name, revision and last position of a stream from its first row, unless they cannot be right. */
  private assumeStream({ stream, rev, before, entry }: RawEntry): void {
    const { streams } = this;
    if (!Number.isSafeInteger(stream) || !Number.isSafeInteger(rev) || (rev as number) < 1) return;
    if (before !== null && !(Number.isSafeInteger(before) && (before as number) >= 0)) return;
    if (typeof entry !== "string" || !scanner.scan(entry)) return;
    const revisionBefore = (rev as number) - 1; // a safe integer, as the others
    const lastBefore = before as number | null;
    const state: PlacedStream = {
      ...newState(scanner.stream, stream as number, null, null),
      revision: revisionBefore,
      last: lastBefore,
      place: streams.length,
      revisionBefore,
      lastBefore,
    };
    streams.push(state);
    this.byNumber.set(stream, state);
  }

  /** That a cause is an entry of an earlier tx is for whoever knows all ids to say. */
  private assumeEarlier(cause: string): number {
    this.cause = cause;
    return -1;
  }

  private name({ n, bytes, $content }: ContentReference): void {
    this.digests.push($content);
    this.references.push(this.next - this.from, n, bytes);
  }
}
