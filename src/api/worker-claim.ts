/** One claim in a worker's hand: renewed while the work goes on, then settled once.
 *  Invariants: it is over when its lease has run by the monotonic clock without a renewal, whether or not the store says so;
 *  what is settled is not renewed any more; a settlement that got no answer is looked up in the journal, where its event
 *  stands under the fence of the claim, and is neither lost nor made twice.
 *    c1 renew✓ renew✓ complete? complete✗(released) → queue.completed stands under this fence: it was done
 *  Source: decision 0023. */
import { fencedError } from "../kernel/claim.js";
import type { Fence } from "../kernel/claim.js";
import { pause } from "../kernel/clock.js";
import type { Clock, Scheduled } from "../kernel/clock.js";
import type { LedgerError } from "../kernel/errors.js";
import { endsUnderFence } from "../journal/claim-facts.js";
import type { Renewed } from "../commands/queue.js";
import type { Engine } from "../engine/engine.js";
import type { Queue } from "./queue.js";
import type { Reports, WorkerActivity } from "./worker-reports.js";
import { backoffMs, isFenced, isFinal, isInDoubt, isRefusedArgument } from "./worker-retry.js";

/** What claims of one worker share. */
export interface ClaimSource {
  readonly engine: Engine;
  readonly queue: Queue;
  readonly clock: Required<Clock>;
  readonly reports: Reports;
  readonly leaseMs: number;
  /** From 0 to below 1. */
  readonly chance: () => number;
}

/** Who works under it. */
export interface ClaimHolder {
  /** It is no longer owned. */
  lost(error: LedgerError): void;
  cancelled(cancel: NonNullable<Renewed["cancel"]>): void;
}

export class WorkerClaim {
  readonly runId: string;
  readonly fence: Fence;
  private readonly source: ClaimSource;
  private readonly holder: ClaimHolder;
  /** On the monotonic clock: it was asked for when the lease began or earlier, so it is not over later than this. */
  private deadline: number;
  private renewal: Scheduled | null = null;
  private expiry: Scheduled | null = null;
  private ended = true;

  /** `since`: when it was asked for, by the monotonic clock. */
  constructor(
    source: ClaimSource,
    { runId, fence, since }: { readonly runId: string; readonly fence: Fence; readonly since: number },
    holder: ClaimHolder,
  ) {
    this.source = source;
    this.runId = runId;
    this.fence = fence;
    this.holder = holder;
    this.deadline = since + source.leaseMs;
  }

  /** Renews it from now on. */
  keep(): void {
    const { clock, leaseMs } = this.source;
    this.ended = false;
    this.renewAfter(leaseMs / 2);
    this.expiry?.cancel();
    this.expiry = clock.schedule(Math.max(0, this.deadline - clock.monotonic()), () => {
      const { key, generation } = this.fence;
      const error = fencedError(key, { type: "fenced", reason: "expired", held: generation, offered: generation });
      this.lose(error, "renew");
    });
  }

  /** Ends it by a write, again and again while the store fails and the lease lasts. What it throws at last was reported, but for
   *  arguments that are refused, after which the claim goes on. */
  async settle(doing: WorkerActivity, write: () => Promise<unknown>): Promise<void> {
    const { clock, reports, leaseMs, chance } = this.source;
    const isLive = !this.ended;
    this.end();
    let inDoubt = false;
    for (let failures = 0; ; failures++) {
      try {
        await write();
        return;
      } catch (error) {
        if (isRefusedArgument(error)) {
          if (isLive) this.keep();
          throw error;
        }
        const found = isFenced(error) && (inDoubt || isEnded(error)) ? await this.wasSettled(doing) : false;
        if (found === true) return;
        if (found === false) {
          reports.tell(error, doing, this.runId);
          if (isFenced(error)) this.holder.lost(error);
        }
        inDoubt ||= isInDoubt(error);
        if ((found === false && isFinal(error)) || clock.monotonic() >= this.deadline) throw error;
        await pause(clock, backoffMs({ baseMs: 50, maxMs: Math.max(50, leaseMs / 8) }, failures, chance()));
      }
    }
  }

  /** Nothing follows from it any more: what was written under it was refused. False: it had ended before. */
  lose(error: LedgerError, doing: WorkerActivity): boolean {
    if (this.ended) return false;
    this.end();
    this.source.reports.tell(error, doing, this.runId);
    this.holder.lost(error);
    return true;
  }

  private end(): void {
    this.ended = true;
    this.renewal?.cancel();
    this.expiry?.cancel();
  }

  private renewAfter(ms: number): void {
    this.renewal?.cancel();
    this.renewal = this.source.clock.schedule(ms, () => void this.renew());
  }

  private async renew(): Promise<void> {
    const { clock, queue, reports, leaseMs } = this.source;
    const since = clock.monotonic();
    try {
      const { cancel } = await queue.renew(this.fence, leaseMs);
      if (this.ended) return;
      this.deadline = since + leaseMs;
      this.keep();
      if (cancel !== null) this.holder.cancelled(cancel);
    } catch (error) {
      if (isFenced(error)) {
        // Whoever ends a run under its claim has settled it; what the handler still does is not broken off.
        if (isEnded(error) && (await this.wasSettled("renew")) === true) this.end();
        else this.lose(error, "renew");
        return;
      }
      reports.tell(error, "renew", this.runId);
      // The store does not answer: asked again in time, as long as there is some.
      if (!this.ended) this.renewAfter(leaseMs / 8);
    }
  }

  /** Does an event that ends the claim stand under its fence? Null: that cannot be read just now. */
  private async wasSettled(doing: WorkerActivity): Promise<boolean | null> {
    const { key, incarnation, generation } = this.fence;
    try {
      for await (const { type, fence } of this.source.engine.readStream(key, { direction: "backward" })) {
        if (fence?.[1] !== incarnation || fence[2] > generation) continue;
        if (fence[2] < generation) break;
        if (endsUnderFence(type)) return true;
      }
      return false;
    } catch (error) {
      this.source.reports.tell(error, doing, this.runId);
      return null;
    }
  }
}

/** Did somebody who had the claim end it? */
function isEnded({ details }: LedgerError): boolean {
  return details["reason"] === "released";
}
