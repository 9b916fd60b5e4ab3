/** The run queue's events, on `queue/<run id>`, which is also the claim key of the item.
 *  Source: design section 8, decisions 15.1, 15.14, 15.17; rows N-01 to N-14. */
import { invalid } from "../../kernel/errors.js";
import { priorityMax, reclaimsMaxMax } from "../../kernel/limits.js";
import { parseInteger } from "../../kernel/members.js";
import { parseLabel, parseReason, parseRunId } from "../../kernel/names.js";
import type { ContentReference } from "../content.js";
import type { ClaimTaken } from "../claim-facts.js";
import { defineEvents } from "../define-events.js";
import type { EventDefinitions } from "../define-events.js";
import { checkClaimTaken, checkTime, factsOf, nullOr } from "../facts.js";

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

/** What it was queued for is over, and nobody was working on it. */
export interface QueueClosed {
  readonly reason?: string;
}

const why = { reason: parseReason };

/** Closed: written by the queue's commands alone. */
export const queueEvents: EventDefinitions = defineEvents(
  queueKind,
  { open: false },
  {
    "queue.enqueued": {
      content: ["/input"],
      parse: factsOf(
        "queue.enqueued",
        {
          availableAt: checkTime,
          priority: (value, path) => parseInteger(value, path, -priorityMax, priorityMax),
          affinity: nullOr(parseLabel),
          parent: nullOr(parseRunId),
          reclaimsMax: (value, path) => parseInteger(value, path, 0, reclaimsMaxMax),
        },
        { input: (value) => value, claim: checkClaimTaken },
      ),
    },
    "queue.claimed": { parse: factsOf("queue.claimed", { claim: checkClaimTaken }) },
    "queue.renewed": { parse: factsOf("queue.renewed", { expiresAt: checkTime }) },
    "queue.parked": { parse: factsOf("queue.parked", { availableAt: nullOr(checkTime) }, why) },
    "queue.completed": { parse: factsOf("queue.completed", {}) },
    "queue.released": { parse: factsOf("queue.released", {}, why) },
    "queue.requeued": { parse: factsOf("queue.requeued", { availableAt: checkTime }, why) },
    "queue.wanted": { parse: factsOf("queue.wanted", { availableAt: checkTime }, why) },
    "queue.cancelRequested": { parse: factsOf("queue.cancelRequested", { reason: parseReason }) },
    "queue.closed": { parse: factsOf("queue.closed", {}, why) },
    "queue.died": { parse: factsOf("queue.died", { cause: checkCause }, why) },
  },
);

function checkCause(value: unknown, path: string): void {
  if (value !== "failures" && value !== "reclaims") throw invalid(path, '"failures" or "reclaims"', value);
}

/** The stream of an item, and its claim key. */
export function queueStream(runId: string): string {
  return `${queueKind}/${runId}`;
}

/** The run of such a stream. */
export function runIdOf(stream: string): string {
  return stream.slice(queueKind.length + 1);
}
