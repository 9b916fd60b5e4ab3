/** The run queue: what may happen to its items. Each command is one pure decision; what is claimed and by which fence is
 *  decided here and nowhere else.
 *  Source: design section 8, decisions 15.1, 15.14, 15.17, 15.18, 0022; rows N-01 to N-14. */
import { claimOwned, isLive, renewClaim } from "../kernel/claim.js";
import { invariant } from "../kernel/errors.js";
import { dueCandidatesMax, reclaimsMaxDefault, spentMax } from "../kernel/limits.js";
import { queueStream } from "../journal/events/queue.js";
import type {
  QueueCancelRequested,
  QueueClaimed,
  QueueDied,
  QueueEnqueued,
  QueueParked,
  QueueReleased,
  QueueRenewed,
  QueueRequeued,
  QueueWanted,
} from "../journal/events/queue.js";
import type { FindQuery, FoundDocuments, QueryRead } from "../../projections/define-projection.js";
import { queue, waits } from "../../projections/queue.js";
import type { QueueItem, QueueStatus } from "../../projections/queue.js";
import { accept, refuse } from "./answer.js";
import type { CommandAnswer, CommandEvent, Refused } from "./answer.js";
import type { CommandContext } from "./context.js";
import { defineCommand } from "./define-command.js";
import type { CommandMaker } from "./define-command.js";
import { ownedAs, requireFence } from "./guard.js";
import { comesBefore, isClaimable, isSpent, itemsOf } from "./queue-order.js";
import {
  parseEnqueue,
  parseClaimNext,
  parseRenew,
  parsePark,
  parseComplete,
  parseRelease,
  parseRequeue,
  parseRequestCancel,
} from "./queue-input.js";
import type {
  ClaimNextInput,
  ClaimNextParsed,
  ClaimWish,
  CompleteInput,
  EnqueueInput,
  EnqueueParsed,
  ParkInput,
  ReleaseInput,
  RenewInput,
  RequestCancelInput,
  RequeueInput,
} from "./queue-input.js";

interface OneItem {
  readonly item: QueueItem | null;
}

interface Candidates {
  /** The run that is asked for; then nothing else is looked for. */
  readonly item: QueueItem | null;
  readonly ready: FoundDocuments<QueueItem> | null;
  readonly affine: FoundDocuments<QueueItem> | null;
  readonly due: FoundDocuments<QueueItem> | null;
  readonly expired: FoundDocuments<QueueItem> | null;
  /** More of them, when all of these die. */
  readonly further: FoundDocuments<QueueItem> | null;
}

type Maker<Given, Result, Found, Input = Given> = CommandMaker<Given, Input, CommandAnswer<Result>, Found>;

/** The claim of an item that is its originator's from birth. @public */
export interface EnqueuedClaim {
  readonly runId: string;
  readonly incarnation: number;
  readonly generation: number;
  readonly expiresAt: number;
}

/** How long the claim is live, and whether somebody asks that the work be ended. @public */
export interface Renewed {
  readonly expiresAt: number;
  readonly cancel: QueueItem["cancel"];
}

/** Where a requeue left the item. @public */
export interface Requeued {
  readonly status: QueueStatus;
  readonly availableAt: number | null;
}

/** Where a request to cancel found, or left, the item. `claimed`: its holder will hear of it. @public */
export interface CancelRequested {
  readonly status: QueueStatus;
}

/** What `claimNext` finds. @public */
export interface ClaimedItem {
  readonly runId: string;
  readonly incarnation: number;
  readonly generation: number;
  readonly expiresAt: number;
  /** The generation that was taken over; null when nobody had it. */
  readonly superseded: number | null;
  readonly availableAt: number | null;
  readonly priority: number;
  readonly affinity: string | null;
  readonly parent: string | null;
  readonly input: QueueItem["input"];
  readonly reclaims: number;
  readonly failures: number;
  readonly cancel: QueueItem["cancel"];
}

/** Puts a run on the queue, or makes it the caller's from birth. */
export const enqueue: Maker<
  EnqueueInput,
  EnqueuedClaim | null,
  OneItem & { readonly slot: FoundDocuments<QueueItem> | null },
  EnqueueParsed
> = defineCommand("queue.enqueue", {
  parse: parseEnqueue,
  reads: [
    ({ runId, parent }) => ({
      item: queue.get(runId),
      slot: parent === undefined ? null : queue.find({ index: "parent", prefix: [parent], limit: 1 }),
    }),
  ],
  decide({ item, slot }, { runId, parent, claim: wish, ...said }, context) {
    if (item !== null && item.status !== "released")
      return refuse(
        "ALREADY_EXISTS",
        { runId, status: item.status },
        { message: `${runId} must be new to the queue, found it ${item.status}` },
      );
    const taken = slot?.documents[0];
    if (taken !== undefined)
      return refuse(
        "SLOT_TAKEN",
        { parent: parent ?? null, runId: taken.key },
        { message: `${parent} must not have a continuation yet, found ${taken.key}` },
      );
    const event: QueueEnqueued = {
      availableAt: Math.max(said.availableAt ?? context.at, context.at),
      priority: said.priority ?? 0,
      affinity: said.affinity ?? wish?.holder ?? null,
      parent: parent ?? null,
      reclaimsMax: said.reclaimsMax ?? reclaimsMaxDefault,
    };
    const data = said.input === undefined ? event : { ...event, input: said.input };
    if (wish === undefined) return accept([on(runId, "queue.enqueued", data)], null);
    const claim = claimOf(runId, item, wish, context);
    return accept([on(runId, "queue.enqueued", { ...data, claim })], {
      runId,
      incarnation: context.incarnation,
      generation: claim.generation,
      expiresAt: claim.expiresAt,
    });
  },
});

/** Claims the item that is first in order for a runner, or the one that is asked for; null when there is none. */
export const claimNext: Maker<ClaimNextInput, ClaimedItem | null, Candidates, ClaimNextParsed> = defineCommand(
  "queue.claimNext",
  {
    parse: parseClaimNext,
    reads: [
      // What is left out may stand in front of what is looked for.
      ({ holder, exclude, runId }, _, { at }) => {
        const find = (query: FindQuery): QueryRead<QueueItem> | null =>
          runId === undefined ? queue.find(query) : null;
        return {
          item: queue.get(runId),
          ready: find({ index: "ready", limit: 1 + exclude.length }),
          affine: find({ index: "affine", prefix: [holder], limit: 1 + exclude.length }),
          due: find({ index: "later", range: { lte: at }, limit: dueCandidatesMax + exclude.length }),
          expired: find({ index: "expiring", range: { lte: at }, limit: dueCandidatesMax + exclude.length }),
        };
      },
      ({ exclude }, { ready, affine, due, expired }, { at }) => {
        const left = new Set(exclude);
        const isNothing = itemsOf([ready, affine, due, expired]).every((item) => left.has(item.runId) || isSpent(item));
        return {
          further:
            isNothing && expired !== null && expired.next !== null
              ? queue.find({ index: "expiring", range: { lte: at }, after: expired.next, limit: spentMax })
              : null,
        };
      },
    ],
    decide({ item: asked, ready, affine, due, expired, further }, { holder, leaseMs, tokenHash, exclude }, context) {
      const left = new Set(exclude);
      const candidates =
        asked === null
          ? itemsOf([ready, affine, due, expired, further])
          : [asked].filter((item) => isClaimable(item, context.at));
      const events: CommandEvent[] = [];
      let next: QueueItem | null = null;
      for (const item of candidates) {
        if (left.has(item.runId)) continue;
        left.add(item.runId);
        if (isSpent(item)) {
          const died: QueueDied = { cause: "reclaims" };
          events.push(on(item.runId, "queue.died", died));
        } else if (next === null || comesBefore(item, next, holder)) next = item;
      }
      if (next === null) return accept(events, null);
      const claim = claimOf(next.runId, next, { holder, leaseMs, tokenHash }, context);
      const claimed: QueueClaimed = { claim };
      events.push(on(next.runId, "queue.claimed", claimed));
      const { runId, availableAt, priority, affinity, parent, input, failures, cancel } = next;
      const { generation, expiresAt, superseded } = claim;
      const reclaims = next.reclaims + (superseded === null ? 0 : 1);
      const said = { runId, incarnation: context.incarnation, generation, expiresAt, superseded, reclaims };
      const result: ClaimedItem = { ...said, availableAt, priority, affinity, parent, input, failures, cancel };
      return accept(events, result);
    },
  },
);

/** Gives the holder more time, never less. */
export const renew: Maker<RenewInput, Renewed, OneItem> = defineCommand("queue.renew", {
  parse: parseRenew,
  reads: [({ runId }) => ({ item: queue.get(runId) })],
  decide({ item }, { runId, leaseMs }, context) {
    const refused = refuseHolder(item, runId, context);
    if (refused !== null) return refused;
    const claim = item!.claim!; // what is not refused is claimed
    const outcome = renewClaim(ownedAs(queueStream(runId), item, context), context.fence!, {
      leaseMs,
      at: context.at,
    });
    const expiresAt = outcome.type === "renewed" ? outcome.claim.expiresAt : claim.expiresAt;
    const { cancel } = item!;
    if (expiresAt === claim.expiresAt) return accept([], { expiresAt, cancel });
    const renewed: QueueRenewed = { expiresAt };
    return accept([on(runId, "queue.renewed", renewed)], { expiresAt, cancel });
  },
});

/** Lets go of an item, which others may claim from a time on (at once when it is to be ended); null: not before somebody asks
 *  for it. The last holder may do so late. */
export const park: Maker<ParkInput, null, OneItem> = defineCommand("queue.park", {
  lateFence: true,
  parse: parsePark,
  reads: [({ runId }) => ({ item: queue.get(runId) })],
  decide({ item }, { runId, availableAt = 0, reason }, context) {
    const refused = refuseHolder(item, runId, context);
    if (refused !== null) return refused;
    // What somebody asks to be ended does not wait: its next holder ends it.
    const until = item!.cancel === null ? availableAt : 0;
    const parked: QueueParked = {
      availableAt: until === null ? null : Math.max(until, context.at),
      ...(reason !== undefined && { reason }),
    };
    return accept([on(runId, "queue.parked", parked)], null);
  },
});

/** The work is done, for good. */
export const complete: Maker<CompleteInput, null, OneItem> = defineCommand("queue.complete", {
  parse: parseComplete,
  reads: [({ runId }) => ({ item: queue.get(runId) })],
  decide({ item }, { runId }, context) {
    return refuseHolder(item, runId, context) ?? accept([on(runId, "queue.completed", {})], null);
  },
});

/** Takes an item off the queue, as if it had never been there, and frees the slot of its parent. The last holder may do so
 *  late. */
export const release: Maker<ReleaseInput, null, OneItem> = defineCommand("queue.release", {
  lateFence: true,
  parse: parseRelease,
  reads: [({ runId }) => ({ item: queue.get(runId) })],
  decide({ item }, { runId, reason }, context) {
    const released: QueueReleased = { ...(reason !== undefined && { reason }) };
    return refuseHolder(item, runId, context) ?? accept([on(runId, "queue.released", released)], null);
  },
});

/** Under its fence: the holder failed, and gives the item back for another try; behind `failuresMax` of them it is dead.
 *  Without a fence: somebody wants the item by a time. What is dead begins again. */
export const requeue: Maker<RequeueInput, Requeued, OneItem> = defineCommand("queue.requeue", {
  parse: parseRequeue,
  reads: [({ runId }) => ({ item: queue.get(runId) })],
  decide({ item }, { runId, availableAt: asked = 0, reason, failuresMax = Infinity }, context) {
    const availableAt = Math.max(asked, context.at);
    const why = reason === undefined ? {} : { reason };
    if (context.fence !== null) {
      const refused = refuseHolder(item, runId, context);
      if (refused !== null) return refused;
      if (item!.failures >= failuresMax) {
        const died: QueueDied = { cause: "failures", ...why };
        return accept([on(runId, "queue.died", died)], { status: "dead", availableAt: null });
      }
      const requeued: QueueRequeued = { availableAt, ...why };
      // Somebody may have asked for it by an earlier time while it was claimed.
      const wantedAt = item!.wantedAt ?? Infinity;
      return accept([on(runId, "queue.requeued", requeued)], {
        status: "queued",
        availableAt: Math.min(availableAt, wantedAt),
      });
    }
    if (item === null || item.status === "released") return unknownRun(runId);
    if (item.status === "done")
      return refuse(
        "ILLEGAL_TRANSITION",
        { runId, status: item.status },
        { message: `${runId} must not be done to be asked for again, found it done for good` },
      );
    const before = item.status === "claimed" ? item.wantedAt : item.status === "dead" ? null : item.availableAt;
    if (before !== null && before <= availableAt) return accept([], { status: item.status, availableAt: before });
    const wanted: QueueWanted = { availableAt, ...why };
    const status = waits(item) || item.status === "claimed" ? item.status : "queued";
    return accept([on(runId, "queue.wanted", wanted)], { status, availableAt });
  },
});

/** Asks that an item be ended: its holder hears of it with the next renewal; one that nobody owns is done. Needs no fence. */
export const requestCancel: Maker<RequestCancelInput, CancelRequested, OneItem> = defineCommand("queue.requestCancel", {
  parse: parseRequestCancel,
  reads: [({ runId }) => ({ item: queue.get(runId) })],
  decide({ item }, { runId, reason }, { at }) {
    if (item === null || item.status === "released") return unknownRun(runId);
    const isOwned = isLive(item.claim, at);
    const status = isOwned ? "claimed" : "done";
    if (item.status === "done" || (isOwned && item.cancel !== null)) return accept([], { status });
    const requested: QueueCancelRequested = { reason };
    return accept([on(runId, "queue.cancelRequested", requested)], { status });
  },
});

/** What `queueCommands` has. @public */
export interface QueueCommands {
  readonly enqueue: typeof enqueue;
  readonly claimNext: typeof claimNext;
  readonly renew: typeof renew;
  readonly park: typeof park;
  readonly complete: typeof complete;
  readonly release: typeof release;
  readonly requeue: typeof requeue;
  readonly requestCancel: typeof requestCancel;
}

/** The commands of the run queue. @public */
export const queueCommands: QueueCommands = {
  enqueue,
  claimNext,
  renew,
  park,
  complete,
  release,
  requeue,
  requestCancel,
};

/** The engine saw that the fence is good; is it this item's? */
function refuseHolder(item: QueueItem | null, runId: string, context: CommandContext): Refused | null {
  if (item === null) return unknownRun(runId);
  return requireFence(ownedAs(queueStream(runId), item, context), context);
}

function unknownRun(runId: string): Refused {
  return refuse(
    "NOT_FOUND",
    { runId },
    { message: `${JSON.stringify(runId)} must be on the queue, found no such run` },
  );
}

function claimOf(
  runId: string,
  item: QueueItem | null,
  wish: ClaimWish,
  context: CommandContext,
): QueueClaimed["claim"] {
  const outcome = claimOwned(ownedAs(queueStream(runId), item, context), { ...wish, at: context.at });
  invariant(outcome.type === "claimed", "nobody owns what is to be claimed");
  const { holder, generation, tokenHash, expiresAt } = outcome.claim;
  return { holder, generation, tokenHash, expiresAt, superseded: outcome.superseded };
}

function on(runId: string, type: string, data: object): CommandEvent {
  return { stream: queueStream(runId), type, data };
}
