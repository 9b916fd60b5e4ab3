/** One item in a worker's hand, from its claim to its end.
 *  Invariants: it is settled once; what it ends in follows from how its handler ended and from why its signal was aborted, and
 *  from nothing else; after the claim was lost nothing is written. */
import type { Fence } from "../kernel/claim.js";
import { LedgerError } from "../kernel/errors.js";
import type { Content } from "../journal/content.js";
import type { ClaimedItem } from "../commands/queue.js";
import type { Told } from "../engine/execution.js";
import { settlementOf } from "./job.js";
import type { Abort, Ended, HandleJob, Job } from "./job.js";
import type { LetGoOptions, RequeueOptions } from "./queue.js";
import type { WorkerActivity } from "./worker-reports.js";
import { WorkerClaim } from "./worker-claim.js";
import type { ClaimHolder, ClaimSource } from "./worker-claim.js";
import { backoffMs, isError, isFenced, isRefusedArgument, reasonOf } from "./worker-retry.js";
import type { RetryPlan } from "./worker-retry.js";

/** What was claimed. */
export interface Claimed {
  readonly item: Told<ClaimedItem>;
  readonly fence: Fence;
  /** When it was asked for, by the monotonic clock. */
  readonly since: number;
}

/** What the jobs of one worker share. */
export interface JobSource extends ClaimSource {
  readonly retry: RetryPlan;
  readonly handle: HandleJob;
}

export class RunningJob implements Job, ClaimHolder {
  readonly item: Told<ClaimedItem>;
  readonly fence: Fence;
  private readonly source: JobSource;
  private readonly claim: WorkerClaim;
  private readonly controller = new AbortController();
  private abortedFor: Abort | null = null;
  private cancel: Job["cancelRequested"];
  private settling: { readonly verb: string; readonly settled: Promise<void> } | null = null;
  /** What settlements failed with, which was reported. */
  private readonly reported = new Set<unknown>();
  private leave = (): void => {};
  private readonly left = new Promise<Ended>((resolve) => {
    this.leave = () => resolve({ type: "left" });
  });

  constructor(source: JobSource, claimed: Claimed) {
    this.source = source;
    this.item = claimed.item;
    this.fence = claimed.fence;
    this.cancel = claimed.item.cancel;
    this.claim = new WorkerClaim(source, { runId: this.runId, ...claimed }, this);
  }

  get runId(): string {
    return this.item.runId;
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get cancelRequested(): Job["cancelRequested"] {
    return this.cancel;
  }

  /** Works on it until it is let go of. Never rejects: what fails is reported. */
  async run(): Promise<void> {
    // Somebody asked that it be ended while nobody had it: no work is begun.
    if (this.cancel !== null) return this.end("complete");
    this.claim.keep();
    const handled = this.call();
    const ended = await Promise.race([handled, this.left]);
    if (ended.type === "left") void handled.then((later) => this.report(later));
    this.report(ended);
    if (this.settling !== null) await this.settling.settled.catch(() => {});
    // Arguments that were refused have settled nothing.
    if (this.settling !== null) return;
    const settlement = settlementOf(ended.type, this.abortedFor);
    if (settlement !== null) await this.end(settlement, ended);
  }

  /** Gives it back without beginning. */
  giveBack(): Promise<void> {
    return this.end("park");
  }

  /** The worker stops: the handler is told. */
  drain(): void {
    this.abort("drained", abortError("drained", `${this.runId} must be given back, for its worker stops`, this.runId));
  }

  /** The worker waits for the handler no longer. */
  abandon(): void {
    this.leave();
  }

  lost(error: LedgerError): void {
    this.abort("lost", error);
  }

  cancelled(cancel: NonNullable<Job["cancelRequested"]>): void {
    this.cancel = cancel;
    const details = { reason: cancel.reason, at: cancel.at };
    this.abort(
      "cancelled",
      abortError("cancelled", `${this.runId} must be ended: ${cancel.reason}`, this.runId, details),
    );
  }

  async input(): Promise<Content | null> {
    const { input } = this.item;
    return input === null ? null : this.source.engine.content(input);
  }

  complete(): Promise<void> {
    return this.settle("complete", () => this.source.queue.complete(this.fence));
  }

  park(options: LetGoOptions = {}): Promise<void> {
    return this.settle("park", () => this.source.queue.park(this.fence, options));
  }

  release(reason?: string): Promise<void> {
    return this.settle("release", () => this.source.queue.release(this.fence, reason));
  }

  requeue(options: RequeueOptions = {}): Promise<void> {
    return this.settle("requeue", () => this.source.queue.requeue(this.fence, options));
  }

  private async call(): Promise<Ended> {
    try {
      await this.source.handle(this, this.signal);
      // One that it does not wait for may be refused for its arguments, and the item is not completed in its place.
      await this.settling?.settled.catch((error: unknown) => {
        if (isRefusedArgument(error)) throw error;
      });
      return { type: "returned" };
    } catch (error) {
      return { type: "threw", error };
    }
  }

  /** What the handler threw is reported, unless it says no more than that it was aborted. */
  private report(how: Ended): void {
    if (how.type !== "threw") return;
    const { error } = how;
    if (this.reported.has(error) || this.isAbort(error)) return;
    // A write of its own was the first to hear of it.
    if (this.isRefused(error) && this.claim.lose(error, "handle")) return;
    this.source.reports.tell(error, "handle", this.runId);
  }

  /** Was a write under its claim refused? */
  private isRefused(error: unknown): error is LedgerError {
    return isFenced(error) && holdsOf(error, ({ details }) => details["key"] === this.fence.key);
  }

  private isAbort(error: unknown): boolean {
    if (!this.signal.aborted) return false;
    const { reason } = this.signal as { readonly reason: unknown };
    if (error === reason || (this.abortedFor === "lost" && this.isRefused(error))) return true;
    return isError(error) && holdsOf(error, ({ name, cause }) => name === "AbortError" || cause === reason);
  }

  private abort(why: Abort, error: LedgerError): void {
    // Whatever it was to be ended for: what is lost cannot be settled.
    if (this.abortedFor === null || why === "lost") this.abortedFor = why;
    this.controller.abort(error);
  }

  private async end(verb: "complete" | "park" | "requeue", how?: Ended): Promise<void> {
    const settled =
      verb === "requeue" && how?.type === "threw"
        ? this.tryAgain(how.error)
        : verb === "park"
          ? this.park()
          : this.complete();
    // It was reported.
    await settled.catch(() => {});
  }

  private tryAgain(error: unknown): Promise<void> {
    const { engine, queue, retry, chance } = this.source;
    const waitMs = backoffMs(retry, this.item.failures, chance());
    const { failuresMax } = retry;
    return this.settle("requeue", async () => {
      const { at } = await engine.moment();
      return queue.requeue(this.fence, { availableAt: at + waitMs, reason: reasonOf(error), failuresMax });
    });
  }

  private settle(verb: "complete" | "park" | "release" | "requeue", write: () => Promise<unknown>): Promise<void> {
    if (this.settling !== null) return this.refuse(settledBefore(this.runId, this.settling.verb, verb), verb);
    const settled = this.claim.settle(verb, write);
    this.settling = { verb, settled };
    // Whoever does not wait for it has heard of it by the hook.
    void settled.catch((error: unknown) => {
      if (isRefusedArgument(error)) this.settling = null;
      else this.reported.add(error);
    });
    return settled;
  }

  /** Nobody may wait for it. */
  private refuse(refusal: LedgerError, verb: WorkerActivity): Promise<never> {
    this.reported.add(refusal);
    this.source.reports.tell(refusal, verb, this.runId);
    const refused = Promise.reject(refusal);
    void refused.catch(() => {});
    return refused;
  }
}

/** False where it cannot be said: what a handler throws may run code when it is looked at. */
function holdsOf<Thrown extends Error>(error: Thrown, question: (error: Thrown) => boolean): boolean {
  try {
    return question(error);
  } catch {
    return false;
  }
}

function abortError(
  why: Exclude<Abort, "lost">,
  message: string,
  runId: string,
  details: Readonly<Record<string, unknown>> = {},
): LedgerError {
  return new LedgerError("ABORTED", message, { details: { why, runId, ...details } });
}

function settledBefore(runId: string, before: string, verb: string): LedgerError {
  return new LedgerError("ILLEGAL_TRANSITION", `${runId} must be settled once, found ${verb} behind ${before}`, {
    details: { runId, settled: before, asked: verb },
  });
}
