import { storedSubtrees } from "../journal/proof.js";
import type { SubtreeRoot } from "../journal/proof.js";
import type { StoreReads } from "../journal/store.js";

/** The tree as it is stored: ids, and above them the roots of 256 each. It believes the stored nodes, which `verify`
 *  computes again. Keep it for one snapshot: it remembers what it read. */
export function storedTree(reads: StoreReads): SubtreeRoot {
  return storedSubtrees((level, from, limit) =>
    level === 0 ? reads.ids(from, limit) : reads.nodes(level, from, limit),
  );
}
