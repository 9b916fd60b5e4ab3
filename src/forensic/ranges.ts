/** Ranges of the entries, proved apart from each other: what is handed out, what comes back, and who does it.
 *  Invariants: a proof holds no finding; whatever is taken for granted at the start of a stretch stands in it by name, and
 *  counts for nothing until it was compared with what stands before (`ranges-join.ts`); a proof is plain data, and grows
 *  with its range alone. */
import type { TxMark } from "./pass.js";

/** Entries `from` up to `to`, without `to`. @public */
export interface EntryRange {
  readonly from: number;
  readonly to: number;
  /** The time of whoever verifies: the first entry that is ahead of it is named. */
  readonly now: number;
  /** Where id, time and stream of each entry are written: whoever asked and whoever proves share it, and it serves one range
   *  after the other. Handed over anew each time it would wait for a collector that has little else to do. */
  readonly room: SharedArrayBuffer;
}

/** The lists in such a room. */
export interface RangeRoom {
  readonly times: Float64Array;
  readonly places: Uint32Array;
  /** 32 bytes each. */
  readonly ids: Buffer;
}

export const idBytes = 32;

/** Room for so many entries. */
export function makeRoom(entries: number): SharedArrayBuffer {
  return new SharedArrayBuffer(entries * (8 + 4 + idBytes));
}

export function listsIn(room: SharedArrayBuffer, entries: number): RangeRoom {
  return {
    times: new Float64Array(room, 0, entries),
    places: new Uint32Array(room, entries * 8, entries),
    ids: Buffer.from(room, entries * (8 + 4), entries * idBytes),
  };
}

/** What was shown of a range. Plain data: it goes from thread to thread as it is, once the room of the
 *  range is written. @public */
export interface RangeProof {
  /** In order, with at least one row between two of them; their form is the verifier's own. Rows that lie in none were not
   *  shown to be right: whoever asked looks at them. Null: there is not one row a position, or rows cannot be read. */
  readonly stretches: readonly object[] | null;
}

/** A proof as `RangeProver` makes it. */
export interface ProvedRange extends RangeProof {
  readonly stretches: readonly ProvedStretch[] | null;
}

/** Rows one behind the other, each shown to be right, given what the first ones of them say of the time before. */
export interface ProvedStretch {
  readonly from: number;
  readonly count: number;
  /** What the first entry names as the one before it, what tx it is of, when it was written. */
  readonly previous: string;
  readonly firstTx: TxMark;
  /** The streams that occur, in the order in which they do: their numbers, how their entries go on behind `seq` (as
   *  `StreamState`), revision and position of their last entry before (−1: none). */
  readonly streams: {
    readonly numbers: Float64Array;
    readonly middles: readonly string[];
    readonly revisions: Float64Array;
    readonly lasts: Float64Array;
  };
  /** For each row the place of its stream among these. In the room of the range, as ids and times are. */
  readonly places: Uint32Array;
  /** The types that occur in it, and those that occurred to the same worker before. */
  readonly types: readonly { readonly number: number; readonly name: string }[];
  /** The ids, 32 bytes each, and the times. */
  readonly ids: Uint8Array;
  readonly times: Float64Array;
  /** The roots of each 256 entries from a multiple of 256 on that lie in it whole, in hex. */
  readonly nodes: readonly string[];
  /** The causes that are named, 64 hex digits each, joined, and for each the first position of the tx that names it. */
  readonly causes: string;
  readonly causesBefore: Float64Array;
  /** References to contents, in order: their digests, joined, and for each the row, the number and the size. */
  readonly digests: string;
  readonly references: Float64Array;
  readonly lastTx: TxMark;
  /** The first entry that is ahead of `now`. */
  readonly ahead: { readonly position: number; readonly at: number } | null;
}

/** Those who prove ranges beside the caller, each with a reader of its own on the same rows. @public */
export interface RangeWorkers {
  /** How many ranges can be proved at the same time. */
  readonly count: number;
  /** How many entries a range has. */
  readonly rangeEntries: number;
  /** How many entries the caller's thread checks at most between two ranges; 0: it leaves all to the workers. */
  readonly gapEntriesMax: number;
  /** Rejects when whoever took it is gone. Ranges may be asked for ahead; each worker takes them in the order of asking. */
  prove(range: EntryRange): Promise<RangeProof>;
  /** Ends them; what was asked for and not answered is rejected. Closing twice is a no-op. */
  close(): Promise<void>;
}

/** Starts workers for a journal of so many entries; null when they would cost more than they bring. @public */
export type StartRangeWorkers = (entries: number) => RangeWorkers | null;

/** Values a reference in `references`. */
export const referenceValues = 3;
