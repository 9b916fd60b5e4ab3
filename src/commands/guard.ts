/** What deciders ask of claims: may this call write here, and what claim does it get? */
import { fencedError, isLive } from "../kernel/claim.js";
import type { FenceReason, Owned } from "../kernel/claim.js";
import { queueStream } from "../journal/events/queue.js";
import { runStream } from "../journal/events/run.js";
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

/** A write to a run, or to what belongs to it, and what its writer has seen. */
export interface RunWrite {
  readonly runId: string;
  /** Its item on the run queue, whose claim is the run's; null: it is not on it. */
  readonly item: OwnedDocument | null;
  /** The revision that the run is at. */
  readonly revision: number;
  /** The one that the writer has seen; undefined: it does not say. */
  readonly expectedRevision: number | undefined;
}

/** Refuses who may not write to a run: while its claim is live, whoever does not present the fence of it; else whoever does
 *  not say which revision of the run it has seen; in both cases who says another than the run is at. */
export function writerOf(
  { runId, item, revision, expectedRevision }: RunWrite,
  context: CommandContext,
): Refused | null {
  const refused = requireHolder(runId, item, context);
  if (refused !== null) return refused;
  if (expectedRevision === undefined) return isLive(item?.claim ?? null, context.at) ? null : unseen(runId, revision);
  return expectedRevision === revision ? null : conflict(runId, expectedRevision, revision);
}

/** While the claim of a run is live, refuses who does not present the fence of it. */
export function requireHolder(runId: string, item: OwnedDocument | null, context: CommandContext): Refused | null {
  if (!isLive(item?.claim ?? null, context.at)) return null;
  return requireFence(ownedAs(queueStream(runId), item, context), context);
}

/** Nothing is kept of it: with a fence, once there is a claim, the same call is right. */
function unseen(runId: string, revision: number): Refused {
  return refuse(
    "INVALID_ARGUMENT",
    { path: "expectedRevision", runId, revision },
    {
      message: `expectedRevision must be the revision of ${runId} that was seen, for nobody has claimed it, found undefined`,
      transient: true,
    },
  );
}

function conflict(runId: string, expected: number, actual: number): Refused {
  const stream = runStream(runId);
  return refuse(
    "REVISION_CONFLICT",
    { stream, expected, actual },
    { message: `expectedRevision ${expected} of ${stream}, but it is at revision ${actual}; read it and decide again` },
  );
}

function fenced({ key, generation }: Owned, reason: FenceReason, offered: number): Refused {
  const { message, details } = fencedError(key, { type: "fenced", reason, held: generation, offered });
  return refuse("FENCED", details, { message });
}
