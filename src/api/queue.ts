/** The run queue of a ledger: who works on which run, proven by fences. */
import { types } from "node:util";
import { parseTime } from "../kernel/clock.js";
import { checkFence, hashToken, mintToken, parseFence, parseToken } from "../kernel/claim.js";
import type { Claim, Fence } from "../kernel/claim.js";
import { invalid } from "../kernel/errors.js";
import { checkMembers, checkObject } from "../kernel/members.js";
import { kindOf, parseRunId } from "../kernel/names.js";
import { queueKind, queueStream, runIdOf } from "../journal/events/queue.js";
import { claimNext, complete, enqueue, park, release, renew, requestCancel, requeue } from "../commands/queue.js";
import type { CancelRequested, ClaimedItem, EnqueuedClaim, Renewed, Requeued } from "../commands/queue.js";
import { enqueueNames } from "../commands/queue-input.js";
import type { EnqueueInput } from "../commands/queue-input.js";
import type { Command } from "../commands/define-command.js";
import type { Engine } from "../engine/engine.js";
import type { Executed, ExecuteOptions, Told } from "../engine/execution.js";
import { queue } from "../../projections/queue.js";
import type { QueueItem, QueueStatus } from "../../projections/queue.js";

/** A claim as it is listed: whoever reads it cannot act as its holder. @public */
export type ListedClaim = Omit<Claim, "tokenHash">;

/** An item of the queue as it is listed. Times are engine time, ms since the epoch. @public */
export interface QueueEntry extends Readonly<Omit<QueueItem, "claim" | "refused" | "status">> {
  readonly status: Exclude<QueueStatus, "released">;
  readonly claim: ListedClaim | null;
}

/** A time: a `Date`, or ms since the epoch. @public */
export type Time = Date | number;

/** Who claims, and for how long. @public */
export interface ClaimOptions {
  /** A label of 1 to 128 units. */
  readonly holder: string;
  /** 1 ms to 24 h. Default 30 s. */
  readonly leaseMs?: number;
  /** The caller's own token, at least 16 units; whoever has it can act as the holder. Default: a new one. A claim with an `id`
   *  needs it, for a token is never kept. */
  readonly token?: string;
}

/** A run for the queue. @public */
export interface NewQueueItem extends Omit<EnqueueInput, "availableAt" | "claim"> {
  /** Nobody gets it before. Default: now. */
  readonly availableAt?: Time;
  /** The caller owns it from birth. */
  readonly claim?: ClaimOptions;
}

/** Whom to claim for. @public */
export interface ClaimNextOptions extends ClaimOptions {
  /** Runs that are left out, at most 1,000. */
  readonly exclude?: readonly string[];
  /** This run alone, for whoever comes back for it: whatever its place in the order, when nobody owns it and its time has come. */
  readonly runId?: string;
}

/** What `park` is told. @public */
export interface LetGoOptions {
  readonly availableAt?: Time | null;
  /** Why, 1 to 200 units: a fact, and not erasable. */
  readonly reason?: string;
}

/** What `requeue` is told. @public */
export interface RequeueOptions {
  readonly availableAt?: Time;
  readonly reason?: string;
  readonly failuresMax?: number;
}

/** What `claimNext` got, and the fence that proves it. @public */
export interface ClaimedWork extends Executed {
  readonly item: Told<ClaimedItem>;
  readonly fence: Fence;
}

/** Which items to list. @public */
export interface QueueListOptions {
  readonly status?: QueueEntry["status"] | undefined;
  /** Go on behind the page that ended with this `next`. */
  readonly after?: string;
  /** 1 to 10,000. Default 100. */
  readonly limit?: number;
}

const leaseMsDefault = 30_000;
/** Of what is listed. */
export const queueStatuses: readonly QueueEntry["status"][] = ["queued", "claimed", "parked", "done", "dead"];

/** The run queue, as `ledger.queue`. What is refused is thrown as a `LedgerError`, and what a claim's holder writes is refused
 *  with `FENCED` once it has lost it. @public */
export class Queue {
  private readonly engine: Engine;

  /** @internal */
  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Puts a run on the queue; with `claim` it is the caller's from birth, and the answer has its fence. `ALREADY_EXISTS`: the
   *  run is on it; `SLOT_TAKEN`: its parent has its continuation. */
  async enqueue<Item extends NewQueueItem>(
    item: Item,
    options: ExecuteOptions = {},
  ): Promise<Executed & { readonly fence: Item extends { readonly claim: ClaimOptions } ? Fence : null }> {
    checkMembers(item, "item", enqueueNames);
    const { claim, availableAt, ...said } = item;
    const wish = claim === undefined ? undefined : this.wish(claim, "item.claim", options);
    const wished = { ...said, availableAt: timeOf(availableAt, "item.availableAt"), claim: wish?.claim };
    const { result, ...executed } = await this.execute(enqueue(wished), options);
    // With a claim there is a fence, and without one there is none, also behind an id of which only the id is left to compare.
    const fence = result === null || wish === undefined ? null : fenceOf(result, wish.token);
    return { ...executed, fence } as never;
  }

  /** Claims the item that comes first for a holder: by rank, one that is affine to it as if it were ten minutes older; with
   *  `runId` that one. Null when there is none now. An item that was taken over too often dies on the way. */
  async claimNext(options: ClaimNextOptions, execution: ExecuteOptions = {}): Promise<ClaimedWork | null> {
    checkMembers(options, "options", ["holder", "leaseMs", "token", "exclude", "runId"]);
    const { exclude, runId, ...claim } = options;
    const wish = this.wish(claim, "options", execution);
    const { result: item, ...executed } = await this.execute(claimNext({ ...wish.claim, exclude, runId }), execution);
    return item === null ? null : { ...executed, item, fence: fenceOf(item, wish.token) };
  }

  /** More time for the holder, never less; says, too, whether somebody asks that the work be ended. */
  async renew(
    fence: Fence,
    leaseMs: number = leaseMsDefault,
    options: ExecuteOptions = {},
  ): Promise<Executed & Told<Renewed>> {
    return this.answer(renew({ runId: runOf(fence), leaseMs }), { ...options, fence });
  }

  /** Is a fence good at this moment? Nothing follows from it for the next one: what a holder writes presents its fence, and is
   *  refused in the same commit. */
  async verify(fence: Fence): Promise<boolean> {
    const proof = parseFence(fence, "fence");
    const runId = runOf(fence);
    // The time first: what is read behind it and is good at it was good at some moment between.
    const { at, incarnation } = await this.engine.moment();
    const item = await this.engine.projection(queue).get(runId);
    if (item === null) return false;
    const owned = { key: proof.key, incarnation, generation: item.generation, claim: item.claim };
    return checkFence(owned, proof, at) === null;
  }

  /** Lets go of an item, which others may claim from `availableAt` on: by default at once, null for not before somebody asks
   *  for it with `requeue`; what somebody asks to be ended is claimable at once in any case, so that its next holder ends it.
   *  The last holder may do so after its claim has expired, until somebody reclaims. */
  async park(fence: Fence, wish: LetGoOptions = {}, options: ExecuteOptions = {}): Promise<Executed> {
    checkMembers(wish, "options", ["availableAt", "reason"]);
    const { availableAt: at, reason } = wish;
    const availableAt = at === null ? null : timeOf(at, "options.availableAt");
    return this.under(fence, park({ runId: runOf(fence), availableAt, reason }), options);
  }

  /** The work is done, for good. */
  async complete(fence: Fence, options: ExecuteOptions = {}): Promise<Executed> {
    return this.under(fence, complete({ runId: runOf(fence) }), options);
  }

  /** Takes an item off the queue as if it had never been there, and frees the slot of its parent. The last holder may do so
   *  late. */
  async release(fence: Fence, reason?: string, options: ExecuteOptions = {}): Promise<Executed> {
    return this.under(fence, release({ runId: runOf(fence), reason }), options);
  }

  /** With a fence: the holder failed, and gives the item back for another try from `availableAt` on; behind `failuresMax` of
   *  them it is dead. With a run id: somebody wants the item by then; what is dead begins again, and its counters with it. */
  async requeue(
    target: Fence | string,
    wish: RequeueOptions = {},
    options: ExecuteOptions = {},
  ): Promise<Executed & Told<Requeued>> {
    checkMembers(wish, "options", ["availableAt", "reason", "failuresMax"]);
    const { failuresMax, reason } = wish;
    if (typeof target === "string" && failuresMax !== undefined)
      throw invalid("options.failuresMax", "absent beside a run id: only a holder can fail", failuresMax);
    const availableAt = timeOf(wish.availableAt, "options.availableAt");
    if (typeof target === "string") return this.answer(requeue({ runId: target, availableAt, reason }), options);
    const runId = runOf(target);
    return this.answer(requeue({ runId, availableAt, reason, failuresMax }), { ...options, fence: target });
  }

  /** Asks that an item be ended: its holder hears of it when it renews; one that nobody owns is done. */
  async requestCancel(
    runId: string,
    reason: string,
    options: ExecuteOptions = {},
  ): Promise<Executed & Told<CancelRequested>> {
    return this.answer(requestCancel({ runId, reason }), options);
  }

  /** One item; null when the run is not on the queue. */
  async get(runId: string): Promise<QueueEntry | null> {
    const item = await this.engine.projection(queue).get(parseRunId(runId, "runId"));
    return item === null ? null : viewItem(item);
  }

  /** All items, or those of one status, the oldest first. */
  async list(options: QueueListOptions = {}): Promise<{
    readonly items: readonly QueueEntry[];
    readonly next: string | null;
  }> {
    checkMembers(options, "options", ["status", "after", "limit"]);
    const { status, after, limit } = options;
    if (status !== undefined && !queueStatuses.includes(status))
      throw invalid("options.status", `one of ${queueStatuses.join(", ")}`, status);
    const { documents, next } = await this.engine.projection(queue).find({
      ...(status === undefined ? { index: "created" } : { index: "status", prefix: [status] }),
      ...(after !== undefined && { after }),
      ...(limit !== undefined && { limit }),
    });
    return { items: documents.flatMap(({ document }) => viewItem(document) ?? []), next };
  }

  private async under(fence: Fence, command: Command, options: ExecuteOptions): Promise<Executed> {
    const { result: _, ...executed } = await this.execute(command, { ...options, fence });
    return executed;
  }

  private async answer<Result extends object>(
    command: Command<Result>,
    options: ExecuteOptions,
  ): Promise<Executed & Told<Result>> {
    const { result, ...executed } = await this.execute(command, options);
    return { ...executed, ...result };
  }

  private async execute<Result>(
    command: Command<Result>,
    options: ExecuteOptions,
  ): Promise<Executed & { readonly result: Told<Result> }> {
    const { results, ...executed } = await this.engine.execute(command, options);
    return { ...executed, result: results[0] as Told<Result> }; // as the command answered
  }

  private wish(claim: ClaimOptions, path: string, options: ExecuteOptions) {
    checkMembers(claim, path, ["holder", "leaseMs", "token"]);
    checkObject(options, "options", "an object");
    const { id } = options;
    const { holder, leaseMs = leaseMsDefault } = claim;
    if (id !== undefined && claim.token === undefined)
      throw invalid(`${path}.token`, "the caller's own token beside an id, for a token is never kept", undefined);
    const token =
      claim.token === undefined
        ? mintToken(this.engine.options.randomBytes(32))
        : parseToken(claim.token, `${path}.token`);
    return { token, claim: { holder, leaseMs, tokenHash: hashToken(token) } };
  }
}

function runOf(fence: Fence): string {
  const { key } = parseFence(fence, "fence");
  if (kindOf(key) !== queueKind) throw invalid("fence.key", "the claim key of a queue item: queue/<run id>", key);
  return parseRunId(runIdOf(key), "fence.key");
}

/** Of what was claimed as it is kept: a `redact` hook may have renamed the run. */
function fenceOf({ runId, incarnation, generation }: EnqueuedClaim | Told<ClaimedItem>, token: string): Fence {
  return { key: queueStream(runId), incarnation, generation, token };
}

/** The hash of a token is not listed: whoever can guess the token could check the guess. */
function viewItem({ claim, refused: _, status, ...item }: QueueItem): QueueEntry | null {
  if (status === "released") return null;
  if (claim === null) return { ...item, status, claim };
  const { tokenHash: __, ...listed } = claim;
  return { ...item, status, claim: listed };
}

function timeOf(time: Time | undefined, path: string): number | undefined {
  return types.isDate(time) ? parseTime(time, path) : time;
}
