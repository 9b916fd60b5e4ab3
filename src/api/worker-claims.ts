/** How a worker gets its items. Invariant: a claim whose answer was lost is found by its token and given back, so that nobody
 *  waits for its lease. */
import { hashToken, mintToken } from "../kernel/claim.js";
import { pause } from "../kernel/clock.js";
import { queueStream } from "../journal/events/queue.js";
import { claimNext } from "../commands/queue.js";
import type { ClaimedItem } from "../commands/queue.js";
import type { Told } from "../engine/execution.js";
import { queue } from "../../projections/queue.js";
import type { QueueItem } from "../../projections/queue.js";
import type { Claimed } from "./running-job.js";
import type { Vain } from "./work-watch.js";
import { WorkerClaim } from "./worker-claim.js";
import type { ClaimSource } from "./worker-claim.js";
import { backoffMs, isInDoubt } from "./worker-retry.js";

/** What a claim found: an item, or when there was none. */
export type Found = { readonly claimed: Claimed } | { readonly claimed: null; readonly vain: Vain };

const retry = { baseMs: 100, maxMs: 30_000 };

export class Claims {
  private readonly source: ClaimSource & { readonly holder: string };
  /** How often it failed since it last went well. */
  private failures = 0;

  constructor(source: ClaimSource & { readonly holder: string }) {
    this.source = source;
  }

  /** Claims what comes first, but for these runs. Null: it failed, which was reported. */
  async next(exclude: readonly string[]): Promise<Found | null> {
    const { engine, clock, reports, leaseMs, holder } = this.source;
    const token = mintToken(engine.options.randomBytes(32));
    const wish = { holder, leaseMs, tokenHash: hashToken(token), exclude };
    const since = clock.monotonic();
    try {
      const { results, position, at } = await engine.execute(claimNext(wish), {});
      this.failures = 0;
      const item = results[0] as Told<ClaimedItem> | null; // as the command answers
      if (item === null) return { claimed: null, vain: { position, at } };
      const { incarnation, generation } = item;
      // The handler has it too, and what it does to it must not be done to the claim.
      const fence = Object.freeze({ key: queueStream(item.runId), incarnation, generation, token });
      return { claimed: { item: Object.freeze(item), fence, since } };
    } catch (error) {
      reports.tell(error, "claim");
      if (isInDoubt(error)) await this.giveBack(token, since);
      return null;
    }
  }

  /** How long to wait behind one that failed. */
  backoffMs(): number {
    return backoffMs(retry, this.failures++, this.source.chance());
  }

  /** Gives back what was claimed by this token, if anything was. */
  private async giveBack(token: string, since: number): Promise<void> {
    const { clock, reports, leaseMs } = this.source;
    for (let failures = 0; clock.monotonic() < since + leaseMs; failures++) {
      try {
        const fence = await this.fenceOf(token);
        if (fence === null) return;
        const claim = new WorkerClaim(this.source, { ...fence, since }, { lost() {}, cancelled() {} });
        // What fails of it was reported, and the lease runs out.
        return await claim.settle("park", () => this.source.queue.park(fence.fence)).catch(() => {});
      } catch (error) {
        reports.tell(error, "look");
        await pause(clock, backoffMs(retry, failures, this.source.chance()));
      }
    }
  }

  private async fenceOf(token: string): Promise<Pick<WorkerClaim, "runId" | "fence"> | null> {
    const { engine } = this.source;
    const { incarnation } = await engine.moment();
    const tokenHash = hashToken(token);
    let after: string | null = null;
    do {
      const page: { documents: readonly { document: QueueItem }[]; next: string | null } = await engine
        .projection(queue)
        .find({ index: "expiring", order: "desc", limit: 1_000, ...(after !== null && { after }) });
      for (const { document } of page.documents) {
        const { runId, claim } = document;
        if (claim?.tokenHash !== tokenHash) continue;
        const { generation } = claim;
        return { runId, fence: { key: queueStream(runId), incarnation, generation, token } };
      }
      after = page.next;
    } while (after !== null);
    return null;
  }
}
