/** Which subtrees prove that an entry is in a tree, or that a tree is a prefix of another, and how their roots are had:
 *  RFC 6962 sections 2.1.1 and 2.1.2. Whoever makes a proof and whoever checks one walks the same ranges; the tests hold
 *  both against the other way to say it, the one of FORMAT.md section 8. */
import { invariant, LedgerError } from "../kernel/errors.js";
import { isDigest } from "../kernel/digest.js";
import { completeSubtrees, emptyRoot, merkleRoot, nodeHash, splitOf } from "./merkle.js";
import type { Range } from "./merkle.js";

/** Hands out the root of the 2^level entries from index × 2^level on. It is only asked for complete subtrees. */
export type SubtreeRoot = (level: number, index: number) => Promise<string>;

/** Reads hashes of one level of the stored tree in order: at level 0 ids, above it roots of 256^level entries each. It may
 *  hand out fewer than `limit` where the level ends. */
export type ReadHashes = (level: number, from: number, limit: number) => Promise<readonly string[]>;

/** The ranges whose roots prove entry `index` of a tree of `size`, from the sibling of the leaf up. */
export function inclusionRanges(index: number, size: number): Range[] {
  invariant(index >= 0 && index < size, "the entry must be in the tree");
  const ranges: Range[] = [];
  for (let [from, to] = [0, size]; to - from > 1;) {
    const middle = from + splitOf(to - from);
    const left = index < middle;
    ranges.push(left ? { from: middle, to } : { from, to: middle });
    if (left) to = middle;
    else from = middle;
  }
  return ranges.reverse();
}

/** The ranges whose roots prove that the tree of `size1` entries is a prefix of that of `size2`, from the deepest up. The
 *  first one ends at `size1`, unless it would be the whole first tree, whose root the verifier has. */
export function consistencyRanges(size1: number, size2: number): Range[] {
  invariant(size1 >= 1 && size1 <= size2, "the first tree must have an entry and not be the larger one");
  const ranges: Range[] = [];
  let [from, to] = [0, size2];
  while (to !== size1) {
    const middle = from + splitOf(to - from);
    const left = size1 <= middle;
    ranges.push(left ? { from: middle, to } : { from, to: middle });
    if (left) to = middle;
    else from = middle;
  }
  if (from > 0) ranges.push({ from, to });
  return ranges.reverse();
}

/** The root of the first `size` entries. */
export async function rootAt(size: number, subtree: SubtreeRoot): Promise<string> {
  return size === 0 ? emptyRoot : await rangeRoot({ from: 0, to: size }, subtree);
}

/** The proof that an entry is at `index` of the first `size` entries. */
export async function proveInclusion(index: number, size: number, subtree: SubtreeRoot): Promise<string[]> {
  return await rangeRoots(inclusionRanges(index, size), subtree);
}

/** The proof that the first `size1` entries are where the first `size2` begin. */
export async function proveConsistency(size1: number, size2: number, subtree: SubtreeRoot): Promise<string[]> {
  return await rangeRoots(consistencyRanges(size1, size2), subtree);
}

/** Subtrees out of a stored tree. Each tile of 256 is read once; a proof or a root hashes at most 255 of it at once, so
 *  that a million entries take a few hundred hashes. Keep it for one proof or root: it remembers what it read. */
export function storedSubtrees(read: ReadHashes): SubtreeRoot {
  const tiles = new Map<string, Promise<readonly string[]>>();
  return async (level, index) => {
    const [tileLevel, count] = [Math.floor(level / 8), 2 ** (level % 8)];
    const first = index * count;
    const key = `${tileLevel}/${Math.floor(first / 256)}`;
    const tile = tiles.get(key) ?? read(tileLevel, first - (first % 256), 256);
    tiles.set(key, tile);
    const hashes = (await tile).slice(first % 256, (first % 256) + count);
    if (hashes.length === count && hashes.every(isDigest)) return merkleRoot(hashes);
    const found = hashes.filter(isDigest).length;
    throw new LedgerError(
      "STORE_DAMAGED",
      `level ${tileLevel} of the tree must have ${count} hashes from ${first} on, found ${found}; run verify`,
      { details: { level: tileLevel, from: first, expected: count, found } },
    );
  };
}

async function rangeRoots(ranges: readonly Range[], subtree: SubtreeRoot): Promise<string[]> {
  const roots = [];
  for (const range of ranges) roots.push(await rangeRoot(range, subtree));
  return roots;
}

async function rangeRoot({ from, to }: Range, subtree: SubtreeRoot): Promise<string> {
  const roots = [];
  for (const { level, index } of completeSubtrees(from, to)) roots.push(await subtree(level, index));
  return roots.reduceRight((right, left) => nodeHash(left, right));
}
