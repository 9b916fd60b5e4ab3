/** What a handler has in hand, and what becomes of it. */
import type { Fence } from "../kernel/claim.js";
import type { Content } from "../journal/content.js";
import type { ClaimedItem } from "../commands/queue.js";
import type { Told } from "../engine/execution.js";
import type { LetGoOptions, RequeueOptions } from "./queue.js";

/** An item that a worker works on. It is settled by the worker when the handler ends, or by the handler before: once, further
 *  calls are refused with `ILLEGAL_TRANSITION`, of which `onError` hears too. A handler that ends the run under `fence`
 *  (`ledger.runs.finish`) has settled it. A handler that returns without waiting for one whose
 *  arguments are refused has failed. They try again while the store fails and the lease lasts, and are refused with
 *  `FENCED` when the claim was lost. @public */
export interface Job {
  readonly runId: string;
  /** What was claimed: priority, affinity, how often it was taken over and how often it failed. */
  readonly item: Told<ClaimedItem>;
  /** For `append` and `execute`: what is written with it is refused (`FENCED`) once the claim is lost. Whoever has it can act
   *  as the worker. */
  readonly fence: Fence;
  /** Aborted when the work is to be ended; its reason says why. */
  readonly signal: AbortSignal;
  /** Somebody asks that the work be ended; heard of with renewals, so at the latest after half a lease. */
  readonly cancelRequested: { readonly at: number; readonly reason: string } | null;
  /** What it was enqueued with; null when there is none. */
  input(): Promise<Content | null>;
  /** The work is done, for good. */
  complete(): Promise<void>;
  /** Gives it back: claimable at once, from a time on, or (null) when somebody asks for it. No failure is counted. */
  park(options?: LetGoOptions): Promise<void>;
  /** Takes it off the queue as if it had never been there. */
  release(reason?: string): Promise<void>;
  /** Gives it back for another try, as a failure; behind `failuresMax` of them it is dead. */
  requeue(options?: RequeueOptions): Promise<void>;
}

/** Does the work of a job. @public */
export type HandleJob = (job: Job, signal: AbortSignal) => unknown;

/** Why the work is to be ended. */
export type Abort = "lost" | "cancelled" | "drained";

/** How the handler ended. `left`: it has not, and nobody waits for it any more. */
export type Ended = { readonly type: "returned" | "left" } | { readonly type: "threw"; readonly error: unknown };

/** What the item becomes when its handler did not settle it; null: nothing. */
export function settlementOf(ended: Ended["type"], abort: Abort | null): "complete" | "park" | "requeue" | null {
  switch (abort) {
    case "lost":
      return null;
    case "cancelled":
      return "complete";
    // Whether it did its work or broke it off nobody knows: it is as if the process had been killed.
    case "drained":
      return "park";
    case null:
      return ended === "threw" ? "requeue" : "complete";
  }
}
