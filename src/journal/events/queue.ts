/** The run queue's events, on `queue/<run id>`, which is also the claim key of the item.
 *  Source: design section 8, decisions 15.1, 15.14, 15.17; rows N-01 to N-14. */
import type { ContentReference } from "../content.js";
import type { ClaimTaken } from "../claim-facts.js";
import { defineEvents } from "../define-events.js";
import type { EventDefinitions } from "../define-events.js";

export const queueKind = "queue";

/** A run waits for a worker, or is its originator's from birth. */
export interface QueueEnqueued {
  /** Engine time, ms, before which nobody gets it. */
  readonly availableAt: number;
  /** −1,000 to 1,000. */
  readonly priority: number;
  /** The runner for which it counts ten minutes older; null: none. */
  readonly affinity: string | null;
  /** The run that it continues; at most one item holds the slot of a run. */
  readonly parent: string | null;
  readonly input?: ContentReference;
  /** Takeovers after which it is dead. */
  readonly reclaimsMax: number;
  /** The originator's, when it is owned from birth. */
  readonly claim?: ClaimTaken;
}

/** A worker owns it now. */
export interface QueueClaimed {
  readonly claim: ClaimTaken;
}

/** Its worker has more time. */
export interface QueueRenewed {
  readonly expiresAt: number;
}

/** Its worker let go of it. Null: nobody gets it before somebody asks for it. */
export interface QueueParked {
  readonly availableAt: number | null;
  readonly reason?: string;
}

/** Its worker failed and gave it back. */
export interface QueueRequeued {
  readonly availableAt: number;
  readonly reason?: string;
}

/** Somebody who is not its worker asks for it by then; what is dead begins again. */
export interface QueueWanted {
  readonly availableAt: number;
  readonly reason?: string;
}

/** Somebody asks that it be ended. */
export interface QueueCancelRequested {
  readonly reason: string;
}

/** Its worker took it off the queue, and the slot of its parent is free. */
export interface QueueReleased {
  readonly reason?: string;
}

/** It is given up until an operator asks for it: its worker gave it back too often, or it was taken over too often. */
export interface QueueDied {
  readonly cause: "failures" | "reclaims";
  readonly reason?: string;
}

/** Closed: written by the queue's commands alone. */
export const queueEvents: EventDefinitions = defineEvents(
  queueKind,
  { open: false },
  {
    "queue.enqueued": { content: ["/input"] },
    "queue.claimed": {},
    "queue.renewed": {},
    "queue.parked": {},
    "queue.completed": {},
    "queue.released": {},
    "queue.requeued": {},
    "queue.wanted": {},
    "queue.cancelRequested": {},
    "queue.died": {},
  },
);

/** The stream of an item, and its claim key. */
export function queueStream(runId: string): string {
  return `${queueKind}/${runId}`;
}

/** The run of such a stream. */
export function runIdOf(stream: string): string {
  return stream.slice(queueKind.length + 1);
}
