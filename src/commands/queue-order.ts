/** Which item of the run queue is first for whom. Source: decisions 15.14, 15.17; rows N-05 to N-08. */
import { isLive } from "../kernel/claim.js";
import { affinityMs } from "../kernel/limits.js";
import type { FoundDocuments } from "../../projections/define-projection.js";
import { waits } from "../../projections/queue.js";
import type { QueueItem } from "../../projections/queue.js";

/** The items that queries found, those that were not asked left out. */
export function itemsOf(found: readonly (FoundDocuments<QueueItem> | null)[]): readonly QueueItem[] {
  return found.flatMap((each) => each?.documents.map(({ document }) => document) ?? []);
}

/** Would it be found by the indexes that a claim looks at? */
export function isClaimable({ claim, availableAt, ...item }: QueueItem, at: number): boolean {
  if (claim !== null) return !isLive(claim, at);
  return waits(item) && availableAt !== null && availableAt <= at;
}

/** Is the next takeover of it one too many? */
export function isSpent({ claim, reclaims, reclaimsMax }: QueueItem): boolean {
  return claim !== null && reclaims >= reclaimsMax;
}

/** Ordered by rank, an affine item as if it were older, then by run id. */
export function comesBefore(one: QueueItem, other: QueueItem, runner: string): boolean {
  const ranks = rankFor(one, runner) - rankFor(other, runner);
  return ranks === 0 ? one.runId < other.runId : ranks < 0;
}

function rankFor({ rank, affinity }: QueueItem, runner: string): number {
  return affinity === runner ? rank - affinityMs : rank;
}
