/** The question whether a store still holds what a checkpoint that was kept elsewhere says. A file that was put back from
 *  a copy is sound in itself; only who remembers more can tell. */
import { hexOf } from "../kernel/digest.js";
import { LedgerError } from "../kernel/errors.js";
import { incarnationOf } from "../journal/checkpoint.js";
import type { Checkpoint } from "../journal/checkpoint.js";
import { rootAt } from "../journal/proof.js";
import type { StoreReads } from "../journal/store.js";
import { storedTree } from "./stored-tree.js";

/** Refuses unless the journal begins with the entries of a checkpoint. */
export async function requireAtLeast(reads: StoreReads, origin: string, expected: Checkpoint): Promise<void> {
  if (incarnationOf(expected.origin, origin) === null) throw rolledBack("origin", expected.origin, origin);
  const entries = ((await reads.head())?.seq ?? -1) + 1;
  if (entries < expected.size) throw rolledBack("entries", expected.size, entries);
  const [root, found] = [hexOf(expected.root), await rootAt(expected.size, storedTree(reads))];
  if (found !== root) throw rolledBack("root", root, found, expected.size);
}

/** The refusal of a store that is not what it was. */
export function rolledBack(
  what: "origin" | "entries" | "root",
  expected: string | number,
  found: string | number,
  size?: number,
): LedgerError {
  const message = {
    origin: `the journal must be ${expected}, as the checkpoint says, found ${found}`,
    entries: `the journal must have ${expected} entries or more, as a checkpoint says, found ${found}`,
    root: `the first ${size} entries must have the root ${expected}, as the checkpoint says, found ${found}`,
  };
  return new LedgerError("STORE_ROLLED_BACK", message[what], {
    details: { reason: what, expected, found, ...(size === undefined ? {} : { size }) },
    hint: "do not write to it: an older copy, a cut tail or another history stands where the journal was; find out which",
  });
}
