/** The nodes of the tree that a batch completes. It keeps nothing: when a batch crosses a multiple of 256, what stands before
 *  it is read through its transaction, at most 255 hashes a level. Source: FORMAT.md section 8, decision 0012. */
import { hash } from "node:crypto";
import { isDigest } from "../kernel/digest.js";
import { LedgerError } from "../kernel/errors.js";
import type { StoreReads, TreeNode } from "../journal/store.js";

const width = 256;
const hashBytes = 32;

/** The nodes that are completed when entries with these ids follow the first `before` entries, level by level, in order. */
export async function completedNodes(
  reads: Pick<StoreReads, "ids" | "nodes">,
  before: number,
  ids: readonly string[],
): Promise<readonly TreeNode[]> {
  const nodes: TreeNode[] = [];
  let children = ids;
  for (let level = 1, first = before; ; level++) {
    const missing = first % width;
    const parents = Math.floor((missing + children.length) / width);
    if (parents === 0) return nodes;
    const from = first - missing;
    const stored = level === 1 ? await reads.ids(from, missing) : await reads.nodes(level - 1, from, missing);
    const sound = stored.filter(isDigest).length;
    if (sound !== missing) throw damaged(level - 1, from, missing, sound);
    const n = from / width;
    children = rootsOf([...stored, ...children.slice(0, parents * width - missing)]);
    children.forEach((root, index) => nodes.push({ level, n: n + index, hash: root }));
    first = n;
  }
}

/** A node is hashed from these 65 bytes: the role of a node, left, right. */
const node: Buffer = Buffer.alloc(1 + 2 * hashBytes, 1);

/** The root of each 256 hashes. In place, pair by pair; text of one unit a byte is the fastest way out of a hash. */
function rootsOf(hashes: readonly string[]): string[] {
  const bytes = Buffer.from(hashes.join(""), "hex");
  let count = hashes.length;
  for (let halved = width; halved > 1; halved /= 2) {
    count /= 2;
    for (let pair = 0; pair < count; pair++) {
      bytes.copy(node, 1, pair * 2 * hashBytes, (pair + 1) * 2 * hashBytes);
      bytes.write(hash("sha256", node, "binary"), pair * hashBytes, "binary");
    }
  }
  return Array.from({ length: count }, (_, index) => bytes.toString("hex", index * hashBytes, (index + 1) * hashBytes));
}

function damaged(level: number, from: number, expected: number, found: number): LedgerError {
  return new LedgerError(
    "STORE_DAMAGED",
    `level ${level} of the tree must have ${expected} hashes from ${from} on, found ${found}`,
    { details: { level, from, expected, found }, hint: "run `runledger verify` on it" },
  );
}
