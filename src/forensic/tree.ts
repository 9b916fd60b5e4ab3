/** The tree, computed from the ids of the entries while they go by, for its root at every size that somebody asks for.
 *  Invariants: nothing is taken from stored nodes; ids come from the bytes; what is behind an entry that is missing or
 *  cannot be read has no root. A part that starts at a multiple of 256 is computed apart and joined. It keeps 32 bytes for
 *  256 entries and 48 for each size. */
import { CompactRange, merkleRoot, nodeHash, tileRoot, tileWidth } from "../journal/merkle.js";

/** How many levels of the tree lie between two levels of stored nodes. */
const nodeLevel = 8;

/** What a part of the journal adds to the tree: plain data, to be sent and joined. */
export interface TreePart {
  /** A multiple of 256. */
  readonly first: number;
  /** Behind its last entry. */
  readonly end: number;
  /** The roots of each 256 entries, in hex. */
  readonly nodes: readonly string[];
  /** The root of the entries behind the last multiple of 256; empty when there are none. */
  readonly rest: string;
  /** The sizes that were asked for and lie in it, behind `first`, in order. */
  readonly sizes: Float64Array;
  /** For each size: the root of the entries between the last multiple of 256 and it, 32 bytes, in one buffer. */
  readonly rests: Uint8Array;
  /** For each size: the time of its last entry. */
  readonly times: Float64Array;
}

/** Entries one behind the other, as far as the tree needs them. */
export interface ProvedEntries {
  readonly from: number;
  readonly count: number;
  readonly ids: Uint8Array;
  readonly times: Float64Array;
  readonly nodes: readonly string[];
}

/** Takes ids in order, from `first` on. */
export class TreeWalk {
  private readonly first: number;
  private readonly sizes: Float64Array;
  private readonly rests: Buffer;
  private readonly times: Float64Array;
  private readonly nodes: string[] = [];
  /** The ids behind the last multiple of 256. */
  private ids: string[] = [];
  private next: number;
  /** How many of the sizes have gone by. */
  private marked = 0;
  /** At which position something must be done before the next id is taken. */
  private stop: number;
  private lost = false;

  /** `sizes`: in ascending order, each once; those up to `first` are of no part that starts here. */
  constructor(first: number, sizes: Float64Array) {
    this.first = first;
    this.next = first;
    this.sizes = sizes.filter((size) => size > first);
    this.rests = Buffer.alloc(this.sizes.length * 32);
    this.times = new Float64Array(this.sizes.length);
    this.stop = this.nextStop();
  }

  /** Takes the entry at a position; any other than the next one ends what can be known. */
  add(position: number, id: string | null, at: number): void {
    if (position !== this.next || id === null || this.lost) return this.lose();
    this.ids.push(id);
    if (++this.next === this.stop) this.reach(at);
  }

  /** Takes entries that were proved apart: their ids (32 bytes each), their times, and the roots of each 256 of them from a
   *  multiple of 256 on. */
  take({ from, count, ids, times, nodes }: ProvedEntries): void {
    const bytes = Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength);
    let whole = 0;
    for (let row = 0; row < count; row++) {
      const isWhole = (from + row) % tileWidth === 0 && row + tileWidth <= count;
      const root = isWhole ? nodes[whole++] : undefined;
      // A size that was asked for may lie among them.
      if (root !== undefined && this.next === from + row && this.stop === this.next + tileWidth && !this.lost) {
        this.next += tileWidth;
        row += tileWidth - 1;
        this.reach(times[row]!, root);
      } else this.add(from + row, bytes.toString("hex", row * 32, row * 32 + 32), times[row]!);
    }
  }

  /** The next entry cannot be read: nothing behind it has a root. */
  lose(): void {
    this.lost = true;
  }

  /** What went by, up to where something was lost. */
  part(): TreePart {
    const { first, next: end, nodes, marked } = this;
    return {
      first,
      end,
      nodes,
      rest: this.ids.length === 0 ? "" : merkleRoot(this.ids),
      sizes: this.sizes.subarray(0, marked),
      rests: this.rests.subarray(0, marked * 32),
      times: this.times.subarray(0, marked),
    };
  }

  private reach(at: number, root?: string): void {
    if (this.next % tileWidth === 0) {
      this.nodes.push(root ?? tileRoot(this.ids));
      this.ids = [];
    }
    if (this.next === this.sizes[this.marked]) {
      if (this.ids.length > 0) this.rests.write(merkleRoot(this.ids), this.marked * 32, "hex");
      this.times[this.marked] = at;
      this.marked++;
    }
    this.stop = this.nextStop();
  }

  private nextStop(): number {
    const edge = this.next - (this.next % tileWidth) + tileWidth;
    return Math.min(edge, this.sizes[this.marked] ?? edge);
  }
}

/** The roots of a journal at the sizes that were asked for, in ascending order: each costs a few hashes more. */
export class Roots {
  /** How many entries are known. */
  readonly end: number;
  /** The roots of each 256 entries, in hex. */
  readonly nodes: readonly string[];
  private readonly rest: string;
  private readonly sizes: Float64Array;
  private readonly rests: Buffer;
  private readonly times: Float64Array;
  private range = new CompactRange();
  private at = 0;

  /** `parts`: from 0 on, each where the one before it ends; what comes behind an end that is no multiple of 256 is left. */
  constructor(parts: readonly TreePart[]) {
    let joined = 0;
    const used = parts.filter(({ first, end }) => {
      const follows = first === joined;
      if (follows) joined = end;
      return follows;
    });
    this.end = joined;
    this.nodes = used.length === 1 ? used[0]!.nodes : used.flatMap(({ nodes }) => nodes);
    this.rest = used.at(-1)?.rest ?? "";
    this.sizes = concatenated(used.map(({ sizes }) => sizes));
    this.rests = Buffer.concat(used.map(({ rests }) => rests));
    this.times = concatenated(used.map(({ times }) => times));
  }

  /** The root of the first `size` entries and the time of the last of them; null when it is not known. Sizes come in
   *  ascending order, and are of those that were asked for. */
  rootAt(size: number): { readonly root: string; readonly at: number } | null {
    while (this.at < this.sizes.length && this.sizes[this.at]! < size) this.at++;
    if (this.sizes[this.at] !== size) return null;
    const rest = this.rests.toString("hex", this.at * 32, this.at * 32 + 32);
    return { root: this.fold(size, size % tileWidth === 0 ? "" : rest), at: this.times[this.at]! };
  }

  /** The root of all entries that are known. */
  root(): string {
    return this.fold(this.end, this.rest);
  }

  private fold(size: number, rest: string): string {
    const edge = size - (size % tileWidth);
    if (this.range.end > edge) this.range = new CompactRange();
    while (this.range.end < edge) this.range.append(this.nodes[this.range.end / tileWidth]!, nodeLevel);
    if (rest === "") return this.range.root();
    return [...this.range.subtrees().map(({ hash: root }) => root), rest].reduceRight((right, left) =>
      nodeHash(left, right),
    );
  }
}

function concatenated(lists: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(lists.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return all;
}
