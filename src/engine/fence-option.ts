/** The fence that a call presents, as it was given. */
import { parseFence } from "../kernel/claim.js";
import type { FenceProof } from "../kernel/claim.js";
import { invalid } from "../kernel/errors.js";
import { kindOf } from "../kernel/names.js";
import type { FenceMark } from "../journal/entry.js";
import { ownedBy } from "../../projections/owned-by.js";

/** Parses `options.fence`; null when there is none. */
export function parseFenceOption(fence: unknown): FenceProof | null {
  if (fence === undefined) return null;
  const proof = parseFence(fence, "options.fence");
  if (ownedBy(kindOf(proof.key)) === undefined)
    throw invalid("options.fence.key", "the claim key of a queue item: queue/<run id>", proof.key);
  return proof;
}

/** What entries say of the fence that they are written under. */
export function markOf(fence: FenceProof | null): FenceMark | undefined {
  return fence === null ? undefined : [fence.key, fence.incarnation, fence.generation];
}
