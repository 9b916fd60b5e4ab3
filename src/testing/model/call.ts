/** What callers ask of the run queue, as the model and the simulation say it. Tokens are the caller's own, so that a model knows
 *  them before anybody is answered. */
import type { Fence } from "../../kernel/claim.js";

/** A claim that is wished for. @public */
export interface WishedClaim {
  readonly holder: string;
  readonly leaseMs: number;
  readonly token: string;
}

/** One thing that is asked for. Times are engine time, ms since the epoch. @public */
export type Wish =
  | {
      readonly type: "enqueue";
      readonly runId: string;
      readonly availableAt?: number;
      readonly priority?: number;
      readonly affinity?: string;
      readonly parent?: string;
      readonly reclaimsMax?: number;
      readonly input?: string;
      readonly claim?: WishedClaim;
    }
  | ({ readonly type: "claimNext"; readonly exclude: readonly string[] } & WishedClaim)
  | { readonly type: "renew"; readonly runId: string; readonly leaseMs: number }
  | {
      readonly type: "park";
      readonly runId: string;
      readonly availableAt?: number | null;
      readonly reason?: string;
    }
  | { readonly type: "complete"; readonly runId: string }
  | { readonly type: "release"; readonly runId: string; readonly reason?: string }
  | {
      readonly type: "requeue";
      readonly runId: string;
      readonly availableAt?: number;
      readonly reason?: string;
      readonly failuresMax?: number;
    }
  | { readonly type: "requestCancel"; readonly runId: string; readonly reason: string }
  /** An event of a host's own, on a stream of an open area. */
  | { readonly type: "append"; readonly stream: string; readonly says: number };

/** One call: a wish, or a list of them as one; what a host appends is alone. @public */
export interface Call {
  readonly wishes: readonly Wish[];
  readonly isList: boolean;
  readonly fence: Fence | null;
  readonly id: string | null;
}

/** The claim key of a run. */
export function claimKey(runId: string): string {
  return `queue/${runId}`;
}

/** The name by which receipts and refusals know a wish. */
export function commandName({ type }: Wish): string {
  return type === "append" ? "append" : `queue.${type}`;
}
