/** The Merkle tree of RFC 6962 over the entries: FORMAT.md section 8. A hash is 64 hex digits, as an id is, so that ids,
 *  rows and messages need no conversion; hashing from such text is as fast as from bytes that stay bytes.
 *  Invariant: sizes and positions are whole numbers up to 2^53 − 1, and no 32-bit arithmetic touches them. */
import { hash } from "node:crypto";
import { invariant } from "../kernel/errors.js";

/** The root of nothing: SHA-256 of no bytes. */
export const emptyRoot: string = hash("sha256", "", "hex");

/** The root of a complete subtree: of the 2^level entries from index × 2^level on. */
export interface Subtree {
  readonly level: number;
  readonly index: number;
  readonly hash: string;
}

/** Entries `from` up to `to`, without `to`. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

// One buffer for all nodes: 0x01, left, right. Nothing here waits, so nobody else can find it half written.
const node = Buffer.alloc(65);
node[0] = 1;

/** The hash of a node, from those of its two children. */
export function nodeHash(left: string, right: string): string {
  const written = node.write(left, 1, 32, "hex") + node.write(right, 33, 32, "hex");
  invariant(written === 64, "a hash must be 64 hex digits");
  return hash("sha256", node, "hex");
}

/** A full tile has so many hashes; its root is one hash of the level of tiles above. */
export const tileWidth = 256;

const hashed = Buffer.alloc(tileWidth * 32);
const pairs = Array.from({ length: tileWidth / 2 }, (_, at) => hashed.subarray(at * 64, at * 64 + 64));

/** The root of a full tile. As `merkleRoot`, in three fifths of its time: each level is decoded at once, and what lies between
 *  the first hashes and the root is never hex. */
export function tileRoot(hashes: readonly string[]): string {
  invariant(hashes.length === tileWidth, "a full tile must have 256 hashes");
  let text = hashes.join("");
  let encoding: "hex" | "binary" = "hex";
  for (let width = tileWidth / 2; width >= 1; width /= 2) {
    const written = hashed.write(text, encoding);
    invariant(written === width * 64, "a hash must be 64 hex digits");
    encoding = width === 1 ? "hex" : "binary";
    text = "";
    for (let at = 0; at < width; at++) {
      node.set(pairs[at]!, 1);
      text += hash("sha256", node, encoding);
    }
  }
  return text;
}

/** The root over leaf hashes in their order, or over the roots of equally large complete subtrees. */
export function merkleRoot(hashes: Iterable<string>): string {
  const range = new CompactRange();
  for (const each of hashes) range.append(each);
  return range.root();
}

/** What must be kept of consecutive entries to go on hashing: the roots of the largest complete subtrees among them,
 *  at most 105 hashes. Two ranges where the second starts at the end of the first join into one. */
export class CompactRange {
  readonly begin: number;
  readonly #hashes: string[] = [];
  #end: number;

  constructor(begin = 0) {
    this.begin = begin;
    this.#end = begin;
  }

  /** The position behind the last entry. */
  get end(): number {
    return this.#end;
  }

  /** Adds the entry at `end`; with a level, the complete subtree of 2^level entries that starts there. */
  append(leafOrRoot: string, level = 0): void {
    let width = 2 ** level;
    let start = this.#end;
    invariant(start % width === 0, "a subtree must start at a multiple of its width");
    invariant(start <= Number.MAX_SAFE_INTEGER - width, "a tree must have at most 2^53 - 1 entries");
    this.#end = start + width;
    let root = leafOrRoot;
    // Whoever has an odd index completes its left sibling, which is the last one kept unless it starts before the range.
    while ((start / width) % 2 === 1 && start - width >= this.begin) {
      root = nodeHash(this.#hashes.pop()!, root);
      start -= width;
      width *= 2;
    }
    this.#hashes.push(root);
  }

  /** Adds what another range has kept, which starts at the end of this one. */
  join(subtrees: Iterable<Subtree>): void {
    for (const { level, index, hash: root } of subtrees) {
      invariant(index * 2 ** level === this.#end, "a range must start where the one before it ends");
      this.append(root, level);
    }
  }

  /** What is kept, in order: plain data that can be sent elsewhere and joined there. */
  subtrees(): Subtree[] {
    return completeSubtrees(this.begin, this.#end).map((place, at) => ({ ...place, hash: this.#hashes[at]! }));
  }

  /** The root of the entries of a range that starts at 0, or at a multiple of a power of two that is not below its length. */
  root(): string {
    if (this.begin === this.#end) return emptyRoot;
    invariant(isSubtree({ from: this.begin, to: this.#end }), "only a range that is a subtree has a root");
    return this.#hashes.reduceRight((right, left) => nodeHash(left, right));
  }
}

/** The largest complete subtrees that make up the entries from `begin` up to `end`, in order. */
export function completeSubtrees(begin: number, end: number): { readonly level: number; readonly index: number }[] {
  const places = [];
  for (let start = begin; start < end;) {
    let [level, width] = [0, 1];
    while (start % (width * 2) === 0 && start + width * 2 <= end) [level, width] = [level + 1, width * 2];
    places.push({ level, index: start / width });
    start += width;
  }
  return places;
}

/** The largest power of two below a number of entries, of which there are two or more: where RFC 6962 splits them. */
export function splitOf(count: number): number {
  let split = 1;
  while (split * 2 < count) split *= 2;
  return split;
}

function isSubtree({ from, to }: Range): boolean {
  return from === 0 || from % (to - from > 1 ? 2 * splitOf(to - from) : 1) === 0;
}
