import { systemClock } from "../kernel/clock.js";
import type { Store, StoreReads } from "../journal/store.js";
import type { Batch } from "./batch.js";
import type { Erasing } from "./erase.js";
import type { Queued, Settle, Staged } from "./queue.js";
import type { Erasure } from "./types.js";

/** An erasure that waits for the write lock. It runs alone: what is appended behind it sees the contents erased. */
export class QueuedErasure implements Queued {
  readonly alone = true;
  readonly touched: readonly string[] = [];
  readonly submittedAt: number = systemClock.monotonic();
  private readonly erasing: Erasing;
  private readonly store: Store;
  private readonly settle: Settle<Erasure>;

  constructor(erasing: Erasing, store: Store, settle: Settle<Erasure>) {
    this.erasing = erasing;
    this.store = store;
    this.settle = settle;
  }

  get signal(): AbortSignal | undefined {
    return this.erasing.wish.signal;
  }

  get weight(): number {
    return 400 + this.erasing.wish.digests.length * 70;
  }

  load(_batch: Batch, reads: StoreReads): Promise<void> {
    return this.erasing.look((read) => read(reads));
  }

  stage(batch: Batch): Staged {
    const { digests, reason, actor } = this.erasing.wish;
    const plan = this.erasing.decide();
    const { seq: position, id, at } = batch.stageOwn("content.erased", { digests, reason }, { actor });
    batch.erasure = { numbers: plan.contents.map(({ n }) => n), position };
    const answer = async (): Promise<void> =>
      this.settle.resolve({ ...plan, position, id, at, scrubbed: await this.store.scrub() });
    return { count: 1, position, answer };
  }

  reject(error: unknown): void {
    this.settle.reject(error);
  }
}
