/** The nodes of the tree that a batch completes. It keeps nothing: when a batch crosses a multiple of 256, what stands before
 *  it is read through its transaction, at most 255 hashes a level. Source: FORMAT.md section 8, decision 0012. */
import { LedgerError } from "../kernel/errors.js";
import { tileRoot, tileWidth } from "../journal/merkle.js";
import type { StoreReads, TreeNode } from "../journal/store.js";

const digestUnits = 64;

/** The nodes that are completed when entries with these ids follow the first `before` entries, level by level, in order. */
export async function completedNodes(
  reads: Pick<StoreReads, "ids" | "nodes">,
  before: number,
  ids: readonly string[],
): Promise<readonly TreeNode[]> {
  const nodes: TreeNode[] = [];
  let children = ids;
  for (let level = 1, first = before; ; level++) {
    const missing = first % tileWidth;
    const parents = Math.floor((missing + children.length) / tileWidth);
    if (parents === 0) return nodes;
    const from = first - missing;
    const stored = level === 1 ? await reads.ids(from, missing) : await reads.nodes(level - 1, from, missing);
    const sound = stored.filter((each) => each.length === digestUnits).length; // a store hands out nothing but hex digits
    if (sound !== missing) throw damaged(level - 1, from, missing, sound);
    const n = from / tileWidth;
    children = rootsOf([...stored, ...children.slice(0, parents * tileWidth - missing)]);
    children.forEach((root, index) => nodes.push({ level, n: n + index, hash: root }));
    first = n;
  }
}

/** The root of each 256 hashes. */
function rootsOf(hashes: readonly string[]): string[] {
  const roots: string[] = [];
  for (let from = 0; from < hashes.length; from += tileWidth)
    roots.push(tileRoot(hashes.slice(from, from + tileWidth)));
  return roots;
}

function damaged(level: number, from: number, expected: number, found: number): LedgerError {
  return new LedgerError(
    "STORE_DAMAGED",
    `level ${level} of the tree must have ${expected} hashes from ${from} on, found ${found}`,
    { details: { level, from, expected, found }, hint: "run `runledger verify` on it" },
  );
}
