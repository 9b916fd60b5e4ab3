import { systemClock } from "../kernel/clock.js";
import type { Decided, Queued, Settle } from "./queue.js";

/** A wish that waits for the write lock without anything to append: what a batch does at its start, and commits when there is
 *  something to commit, is all that it is about. */
export class QueuedBringUp implements Queued {
  readonly weight = 0;
  readonly touched: readonly string[] = [];
  readonly alone = false;
  readonly signal: undefined = undefined;
  readonly submittedAt: number = systemClock.monotonic();
  private readonly settle: Settle<void>;

  constructor(settle: Settle<void>) {
    this.settle = settle;
  }

  foresee(): void {}

  decide(): Decided {
    return { staged: { count: 0, answer: () => this.settle.resolve() } };
  }

  reject(error: unknown): void {
    this.settle.reject(error);
  }
}
