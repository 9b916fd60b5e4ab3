/** The run queue: one document a run that waits for a worker, is worked on, or was.
 *  What leaves the queue by `release` stays as `released`, which no list shows: its generation must never be issued again.
 *  Source: design section 8, decisions 15.6, 15.14, 15.17, 0022. */
import type { ContentReference } from "../src/journal/content.js";
import type {
  QueueCancelRequested,
  QueueClaimed,
  QueueClosed,
  QueueDied,
  QueueEnqueued,
  QueueParked,
  QueueReleased,
  QueueRenewed,
  QueueRequeued,
  QueueWanted,
} from "../src/journal/events/queue.js";
import { queueKind, runIdOf } from "../src/journal/events/queue.js";
import type { FenceRefused } from "../src/journal/events/fence.js";
import { priorityStepMs } from "../src/kernel/limits.js";
import { defineProjection } from "./define-projection.js";
import type { Projection } from "./define-projection.js";
import { isOwned, onFenceRefused, take } from "./owned.js";
import type { OwnedDocument } from "./owned.js";

/** Where an item stands. `released`: it left the queue, and no list shows it. @public */
export type QueueStatus = "queued" | "claimed" | "parked" | "done" | "dead" | "released";

/** An item of the run queue. Times are engine time, ms since the epoch. @public */
export interface QueueItem extends OwnedDocument {
  runId: string;
  status: QueueStatus;
  createdAt: number;
  updatedAt: number;
  /** Before it nobody gets the item; null: nobody does before somebody asks for it. */
  availableAt: number | null;
  priority: number;
  /** Lower is earlier: `createdAt − 60,000 × priority`. */
  rank: number;
  affinity: string | null;
  parent: string | null;
  input: ContentReference | null;
  /** Takeovers since it was enqueued, or asked for again when it was dead. */
  reclaims: number;
  reclaimsMax: number;
  /** How often its workers gave it back since then. */
  failures: number;
  /** The earliest time that somebody asked for since it was claimed, unless it came before a takeover. */
  wantedAt: number | null;
  /** Somebody asks that it be ended. */
  cancel: { at: number; reason: string } | null;
  /** Why it was parked, requeued, asked for, released or given up last. */
  reason: string | null;
}

/** What its events say. */
export interface QueueEventData {
  "queue.enqueued": QueueEnqueued;
  "queue.claimed": QueueClaimed;
  "queue.renewed": QueueRenewed;
  "queue.parked": QueueParked;
  "queue.completed": object;
  "queue.released": QueueReleased;
  "queue.requeued": QueueRequeued;
  "queue.wanted": QueueWanted;
  "queue.cancelRequested": QueueCancelRequested;
  "queue.closed": QueueClosed;
  "queue.died": QueueDied;
  "fence.refused": FenceRefused;
}

/** The items of the run queue by run id. @public */
export const queue: Projection<QueueItem> = defineProjection<QueueItem, QueueEventData>()({
  name: queueKind,
  version: 1,
  indexes: {
    ready: (item) => (isReady(item) ? [item.rank] : null),
    affine: (item) => (isReady(item) && item.affinity !== null ? [item.affinity, item.rank] : null),
    later: (item) => (waits(item) && item.availableAt !== null && !isReady(item) ? [item.availableAt] : null),
    expiring: ({ claim }) => (claim === null ? null : [claim.expiresAt]),
    parent: ({ parent }) => (parent === null ? null : [parent]),
    created: ({ status, createdAt }) => (status === "released" ? null : [createdAt]),
    status: ({ status, createdAt }) => (status === "released" ? null : [status, createdAt]),
  },
  on: {
    "queue.enqueued": {
      key: keyOf,
      apply(before, { stream, data, at }) {
        const { availableAt, priority, affinity, parent, input = null, reclaimsMax, claim } = data;
        const item: QueueItem = {
          runId: runIdOf(stream),
          status: claim === undefined ? "queued" : "claimed",
          createdAt: at,
          updatedAt: at,
          availableAt,
          priority,
          rank: at - priorityStepMs * priority,
          affinity,
          parent,
          input,
          reclaims: 0,
          reclaimsMax,
          failures: 0,
          wantedAt: null,
          cancel: null,
          reason: null,
          generation: before?.generation ?? 0,
          claim: null,
        };
        if (before?.refused !== undefined) item.refused = before.refused;
        if (claim !== undefined) take(item, claim, at);
        return item;
      },
    },
    "queue.claimed": {
      key: keyOf,
      apply(item, { data: { claim }, at }) {
        const there = present(item);
        there.status = "claimed";
        there.updatedAt = at;
        // A time that has come is served by this claim; a later one is still to be kept when the holder lets go.
        if (there.wantedAt !== null && there.wantedAt <= at) there.wantedAt = null;
        if (claim.superseded !== null) there.reclaims++;
        take(there, claim, at);
      },
    },
    "queue.renewed": {
      key: keyOf,
      apply(item, { data: { expiresAt }, at }) {
        const there = present(item);
        there.updatedAt = at;
        if (there.claim !== null) there.claim = { ...there.claim, expiresAt };
      },
    },
    "queue.parked": {
      key: keyOf,
      apply(item, { data: { availableAt, reason = null }, at }) {
        const there = present(item);
        letGo(there, "parked", earliest(availableAt, there.wantedAt), at).reason = reason;
      },
    },
    "queue.completed": {
      key: keyOf,
      apply(item, { at }) {
        letGo(present(item), "done", null, at);
      },
    },
    "queue.released": {
      key: keyOf,
      apply(item, { data: { reason = null }, at }) {
        const there = letGo(present(item), "released", null, at);
        there.reason = reason;
        there.parent = null;
        there.affinity = null;
        there.input = null;
      },
    },
    "queue.requeued": {
      key: keyOf,
      apply(item, { data: { availableAt, reason = null }, at }) {
        const there = present(item);
        letGo(there, "queued", earliest(availableAt, there.wantedAt), at);
        there.failures++;
        there.reason = reason;
      },
    },
    "queue.wanted": {
      key: keyOf,
      apply(item, { data: { availableAt, reason = null }, at }) {
        const there = present(item);
        there.updatedAt = at;
        there.reason = reason ?? there.reason;
        if (there.status === "claimed") {
          there.wantedAt = earliest(there.wantedAt, availableAt);
          return;
        }
        if (there.status === "dead") {
          there.status = "queued";
          there.reclaims = 0;
          there.failures = 0;
          there.cancel = null;
          there.availableAt = availableAt;
          return;
        }
        there.availableAt = earliest(there.availableAt, availableAt);
      },
    },
    "queue.cancelRequested": {
      key: keyOf,
      apply(item, { data: { reason }, at }) {
        const there = present(item);
        there.cancel = { at, reason };
        if (isOwned(there, at)) there.updatedAt = at;
        else letGo(there, "done", null, at);
      },
    },
    "queue.closed": {
      key: keyOf,
      apply(item, { data: { reason = null }, at }) {
        letGo(present(item), "done", null, at).reason = reason;
      },
    },
    "queue.died": {
      key: keyOf,
      apply(item, { data: { cause, reason = null }, at }) {
        const there = letGo(present(item), "dead", null, at);
        if (cause === "failures") there.failures++;
        there.reason = reason;
      },
    },
    "fence.refused": onFenceRefused(queueKind),
  },
});

/** Does it wait for a worker? */
export function waits({ status }: Pick<QueueItem, "status">): boolean {
  return status === "queued" || status === "parked";
}

/** Was its time come when it changed last? Then it stands in the order of ranks; else it is looked for by its time. */
function isReady(item: QueueItem): boolean {
  return waits(item) && item.availableAt !== null && item.availableAt <= item.updatedAt;
}

/** The earlier of the times; null is never. */
function earliest(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}

/** Ends the claim. */
function letGo(item: QueueItem, status: QueueStatus, availableAt: number | null, at: number): QueueItem {
  item.availableAt = availableAt;
  item.status = status;
  item.updatedAt = at;
  item.wantedAt = null;
  item.claim = null;
  return item;
}

function keyOf({ stream }: { readonly stream: string }): string {
  return runIdOf(stream);
}

function present(item: QueueItem | undefined): QueueItem {
  if (item === undefined) throw new Error("an event of a queue item comes behind the one that enqueued it");
  return item;
}
