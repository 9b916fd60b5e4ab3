/** The reference model of the run queue: what each wish does to a list of plain items, written from the design and not from the
 *  commands, with linear scans where the engine has indexes. It shares no code with what it is compared with.
 *  Source: design section 8, decisions 15.1, 15.14, 15.17, 15.18, 0022; rows N-01 to N-14. */
import { createHash } from "node:crypto";
import type { Fence } from "../../kernel/claim.js";
import { claimKey } from "./call.js";
import type { Wish, WishedClaim } from "./call.js";

/** A claim, with its token: the model may know it. */
export interface ModelClaim {
  readonly holder: string;
  readonly generation: number;
  readonly token: string;
  readonly acquiredAt: number;
  readonly expiresAt: number;
}

/** An item, whatever became of it. */
export interface ModelItem {
  runId: string;
  status: "queued" | "claimed" | "parked" | "done" | "dead" | "released";
  createdAt: number;
  updatedAt: number;
  availableAt: number | null;
  priority: number;
  affinity: string | null;
  parent: string | null;
  hasInput: boolean;
  reclaims: number;
  reclaimsMax: number;
  failures: number;
  wantedAt: number | null;
  cancel: { at: number; reason: string } | null;
  reason: string | null;
  generation: number;
  claim: ModelClaim | null;
  /** Refused fences that are remembered. */
  refused: readonly string[];
}

/** An event that must be written. */
export interface ModelEvent {
  readonly stream: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Why a wish is refused. */
export interface ModelRefusal {
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What becomes of a wish. */
export type ModelAnswer = { readonly result: unknown; readonly events: readonly ModelEvent[] } | ModelRefusal;

/** The items, and the moment. */
export interface Moment {
  readonly items: Map<string, ModelItem>;
  readonly at: number;
  readonly fence: Fence | null;
}

/** Does what is wished to the items, or says why not and leaves them as they are. */
export function askQueue(wish: Wish, moment: Moment): ModelAnswer {
  switch (wish.type) {
    case "enqueue":
      return enqueue(wish, moment);
    case "claimNext":
      return claimNext(wish, moment);
    case "renew":
      return asHolder(wish.runId, moment, (item) => renew(item, wish.leaseMs, moment.at));
    case "park":
      return asHolder(wish.runId, moment, (item) => park(item, wish, moment.at));
    case "complete":
      return asHolder(wish.runId, moment, (item) => {
        letGo(item, "done", null, moment.at);
        return { result: null, events: [event(item, "completed", {})] };
      });
    case "release":
      return asHolder(wish.runId, moment, (item) => release(item, wish.reason, moment.at));
    case "requeue":
      if (moment.fence === null) return want(wish, moment);
      return asHolder(wish.runId, moment, (item) => giveBack(item, wish, moment.at));
    case "requestCancel":
      return requestCancel(wish.runId, wish.reason, moment);
    case "append":
      return { result: null, events: [{ stream: wish.stream, type: "host.said", data: { says: wish.says } }] };
  }
}

/** The fence that is not good, and why; null when it is. `late`: for whoever only lets go. */
export function judgeFence(fence: Fence, late: boolean, { items, at }: Moment): ModelRefusal | null {
  const item = items.get(fence.key.slice("queue/".length));
  if (item === undefined) return { code: "NOT_FOUND", details: { key: fence.key } };
  if (fence.incarnation !== 1) return fenced(item, "incarnation", fence.generation);
  if (fence.generation !== item.generation) return fenced(item, "generation", fence.generation);
  if (item.claim === null) return fenced(item, "released", fence.generation);
  if (item.claim.token !== fence.token) return fenced(item, "token", fence.generation);
  if (item.claim.expiresAt <= at && !late) return fenced(item, "expired", fence.generation);
  return null;
}

/** Which item the next claim gets: everything that waits and is due, and whatever has expired. */
export function candidates(items: Iterable<ModelItem>, at: number): readonly ModelItem[] {
  return [...items].filter(({ status, availableAt, claim }) => {
    if (claim !== null) return claim.expiresAt <= at;
    return (status === "queued" || status === "parked") && availableAt !== null && availableAt <= at;
  });
}

/** The lower, the earlier. */
export function rankOf({ createdAt, priority }: ModelItem): number {
  return createdAt - 60_000 * priority;
}

function enqueue(wish: Wish & { readonly type: "enqueue" }, { items, at }: Moment): ModelAnswer {
  const { runId, parent = null, priority = 0, claim, reclaimsMax = 10 } = wish;
  const before = items.get(runId);
  if (before !== undefined && before.status !== "released")
    return { code: "ALREADY_EXISTS", details: { runId, status: before.status } };
  const sibling = [...items.values()].find((item) => parent !== null && item.parent === parent);
  if (sibling !== undefined) return { code: "SLOT_TAKEN", details: { parent, runId: sibling.runId } };
  const item: ModelItem = {
    runId,
    status: "queued",
    createdAt: at,
    updatedAt: at,
    availableAt: Math.max(wish.availableAt ?? at, at),
    priority,
    affinity: wish.affinity ?? claim?.holder ?? null,
    parent,
    hasInput: wish.input !== undefined,
    reclaims: 0,
    reclaimsMax,
    failures: 0,
    wantedAt: null,
    cancel: null,
    reason: null,
    generation: before?.generation ?? 0,
    claim: null,
    refused: before?.refused ?? [],
  };
  items.set(runId, item);
  const { availableAt, affinity } = item;
  const data = { availableAt, priority, affinity, parent, reclaimsMax };
  if (claim === undefined) return { result: null, events: [event(item, "enqueued", data)] };
  const taken = take(item, claim, at);
  const { generation, expiresAt } = taken;
  return {
    result: { runId, incarnation: 1, generation, expiresAt },
    events: [event(item, "enqueued", { ...data, claim: taken })],
  };
}

function claimNext(wish: Wish & { readonly type: "claimNext" }, { items, at }: Moment): ModelAnswer {
  const open = candidates(items.values(), at).filter(({ runId }) => !wish.exclude.includes(runId));
  const worn = open.filter(({ claim, reclaims, reclaimsMax }) => claim !== null && reclaims >= reclaimsMax);
  worn.sort((one, other) => one.claim!.expiresAt - other.claim!.expiresAt || (one.runId < other.runId ? -1 : 1));
  const events: ModelEvent[] = [];
  for (const item of worn) {
    letGo(item, "dead", null, at);
    item.reason = null;
    events.push(event(item, "died", { cause: "reclaims" }));
  }
  const rankFor = (item: ModelItem): number => rankOf(item) - (item.affinity === wish.holder ? 600_000 : 0);
  const [next] = open
    .filter((item) => !worn.includes(item))
    .sort((one, other) => rankFor(one) - rankFor(other) || (one.runId < other.runId ? -1 : 1));
  if (next === undefined) return { result: null, events };
  const claim = take(next, wish, at);
  const { runId, availableAt, priority, affinity, parent, reclaims, failures, cancel } = next;
  const { generation, expiresAt, superseded } = claim;
  const said = { runId, incarnation: 1, generation, expiresAt, superseded };
  return {
    result: { ...said, availableAt, priority, affinity, parent, reclaims, failures, cancel },
    events: [...events, event(next, "claimed", { claim })],
  };
}

function renew(item: ModelItem, leaseMs: number, at: number): ModelAnswer {
  const { claim, cancel } = item;
  const expiresAt = Math.max(claim!.expiresAt, at + leaseMs);
  if (expiresAt === claim!.expiresAt) return { result: { expiresAt, cancel }, events: [] };
  item.claim = { ...claim!, expiresAt };
  item.updatedAt = at;
  return { result: { expiresAt, cancel }, events: [event(item, "renewed", { expiresAt })] };
}

function park(item: ModelItem, { availableAt: said = 0, reason }: Park, at: number): ModelAnswer {
  const asked = item.cancel === null ? said : at;
  const availableAt = asked === null ? null : Math.max(asked, at);
  letGo(item, "parked", earliest(availableAt, item.wantedAt), at);
  item.reason = reason ?? null;
  return { result: null, events: [event(item, "parked", { availableAt, ...why(reason) })] };
}

function release(item: ModelItem, reason: string | undefined, at: number): ModelAnswer {
  letGo(item, "released", null, at);
  Object.assign(item, { reason: reason ?? null, parent: null, affinity: null, hasInput: false });
  return { result: null, events: [event(item, "released", why(reason))] };
}

function giveBack(item: ModelItem, { availableAt: asked = 0, reason, failuresMax }: GiveBack, at: number): ModelAnswer {
  const isLast = failuresMax !== undefined && item.failures >= failuresMax;
  const availableAt = Math.max(asked, at);
  const lands = isLast ? null : earliest(availableAt, item.wantedAt);
  letGo(item, isLast ? "dead" : "queued", lands, at);
  item.failures++;
  item.reason = reason ?? null;
  const said = isLast
    ? event(item, "died", { cause: "failures", ...why(reason) })
    : event(item, "requeued", { availableAt, ...why(reason) });
  return { result: { status: item.status, availableAt: lands }, events: [said] };
}

function want({ runId, availableAt: asked = 0, reason }: GiveBack, { items, at }: Moment): ModelAnswer {
  const item = items.get(runId);
  if (item === undefined || item.status === "released") return { code: "NOT_FOUND", details: { runId } };
  const { status } = item;
  if (status === "done") return { code: "ILLEGAL_TRANSITION", details: { runId, status } };
  const availableAt = Math.max(asked, at);
  const standing = status === "claimed" ? item.wantedAt : item.availableAt;
  if (standing !== null && standing <= availableAt) return { result: { status, availableAt: standing }, events: [] };
  item.updatedAt = at;
  if (status === "claimed") item.wantedAt = availableAt;
  else item.availableAt = availableAt;
  if (status === "dead") Object.assign(item, { status: "queued", reclaims: 0, failures: 0, cancel: null });
  if (reason !== undefined) item.reason = reason;
  const said = event(item, "wanted", { availableAt, ...why(reason) });
  return { result: { status: item.status, availableAt }, events: [said] };
}

function requestCancel(runId: string, reason: string, { items, at }: Moment): ModelAnswer {
  const item = items.get(runId);
  if (item === undefined || item.status === "released") return { code: "NOT_FOUND", details: { runId } };
  const isLive = item.claim !== null && item.claim.expiresAt > at;
  if (item.status === "done" || (isLive && item.cancel !== null))
    return { result: { status: item.status }, events: [] };
  if (!isLive) letGo(item, "done", null, at);
  item.cancel = { at, reason };
  item.updatedAt = at;
  return { result: { status: item.status }, events: [event(item, "cancelRequested", { reason })] };
}

type Park = Wish & { readonly type: "park" };
type GiveBack = Wish & { readonly type: "requeue" };

/** The fence was found good before: is it that of this item? */
function asHolder(runId: string, { items, fence }: Moment, act: (item: ModelItem) => ModelAnswer): ModelAnswer {
  const item = items.get(runId);
  if (item === undefined) return { code: "NOT_FOUND", details: { runId } };
  if (fence === null) return fenced(item, "missing", item.generation);
  if (fence.key !== claimKey(runId)) return fenced(item, "key", fence.generation);
  return act(item);
}

function take(item: ModelItem, { holder, leaseMs, token }: WishedClaim, at: number) {
  const superseded = item.claim?.generation ?? null;
  if (superseded !== null) item.reclaims++;
  item.generation++;
  const { generation } = item;
  const expiresAt = at + leaseMs;
  item.claim = { holder, generation, token, acquiredAt: at, expiresAt };
  // What was asked for by now is served by this claim; what is asked for later is kept.
  const wantedAt = item.wantedAt !== null && item.wantedAt > at ? item.wantedAt : null;
  Object.assign(item, { status: "claimed", updatedAt: at, wantedAt });
  const tokenHash = createHash("sha256").update(token).digest("hex");
  return { holder, generation, tokenHash, expiresAt, superseded };
}

function letGo(item: ModelItem, status: ModelItem["status"], availableAt: number | null, at: number): void {
  Object.assign(item, { status, availableAt, updatedAt: at, wantedAt: null, claim: null });
}

function fenced({ runId, generation }: ModelItem, reason: string, offered: number): ModelRefusal {
  return { code: "FENCED", details: { key: claimKey(runId), reason, held: generation, offered } };
}

/** Null is never. */
function earliest(one: number | null, other: number | null): number | null {
  const lower = Math.min(one ?? Infinity, other ?? Infinity);
  return lower === Infinity ? null : lower;
}

function why(reason: string | undefined): { reason?: string } {
  return reason === undefined ? {} : { reason };
}

function event({ runId }: ModelItem, verb: string, data: object): ModelEvent {
  return { stream: claimKey(runId), type: `queue.${verb}`, data: { ...data } };
}
