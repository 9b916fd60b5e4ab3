import { invariant } from "../kernel/errors.js";
import { tileWidth } from "../journal/merkle.js";
import type { TreeNode } from "../journal/store.js";

/** How many nodes of a level a journal of `size` entries has. */
export function nodeCount(level: number, size: number): number {
  return Math.floor(size / tileWidth ** level);
}

/** Asserts that `nodes` are exactly those that are completed when a journal grows from `before` entries to `after`, level by
 *  level, in order: so they are dense, and nobody has to ask the store how far they reach. */
export function requireCompleted(before: number, after: number, nodes: readonly TreeNode[]): void {
  let index = 0;
  for (let level = 1; nodeCount(level, after) > 0; level++) {
    for (let n = nodeCount(level, before); n < nodeCount(level, after); n++) {
      const found = nodes[index++];
      invariant(
        found?.level === level && found.n === n,
        `node ${n} of level ${level} must come with the entries that complete it`,
      );
    }
  }
  invariant(index === nodes.length, `${nodes.length} nodes must be those that the entries complete, expected ${index}`);
}
