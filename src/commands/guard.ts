/** What deciders ask of claims: may this call write here, and what claim does it get? */
import { fencedError } from "../kernel/claim.js";
import type { FenceReason, Owned } from "../kernel/claim.js";
import type { OwnedDocument } from "../../projections/owned.js";
import { refuse } from "./answer.js";
import type { Refused } from "./answer.js";
import type { CommandContext } from "./context.js";

/** A thing that can be owned, as a decider sees it. */
export function ownedAs(key: string, document: OwnedDocument | null, { incarnation }: CommandContext): Owned {
  return { key, incarnation, generation: document?.generation ?? 0, claim: document?.claim ?? null };
}

/** Refuses a call that does not present the fence of this thing. That its fence is live was checked by the engine. */
export function requireFence(owned: Owned, { fence }: CommandContext): Refused | null {
  if (fence === null) return fenced(owned, "missing", owned.generation);
  if (fence.key !== owned.key) return fenced(owned, "key", fence.generation);
  return null;
}

function fenced({ key, generation }: Owned, reason: FenceReason, offered: number): Refused {
  const { message, details } = fencedError(key, { type: "fenced", reason, held: generation, offered });
  return refuse("FENCED", details, { message });
}
