import { systemClock } from "../kernel/clock.js";
import type { Batch } from "./batch.js";
import type { PreparedAppend } from "./prepare.js";
import type { Queued, Settle, Staged } from "./queue.js";
import type { AppendResult } from "./types.js";

/** An append that waits for the write lock. */
export class QueuedAppend implements Queued {
  readonly alone = false;
  readonly submittedAt: number = systemClock.monotonic();
  readonly signal: AbortSignal | undefined;
  private readonly append: PreparedAppend;
  private readonly settle: Settle<AppendResult>;

  constructor(append: PreparedAppend, signal: AbortSignal | undefined, settle: Settle<AppendResult>) {
    this.append = append;
    this.signal = signal;
    this.settle = settle;
  }

  get weight(): number {
    return this.append.weight;
  }

  get touched(): readonly string[] {
    return this.append.touched;
  }

  /** Most appends need no read, and then nothing waits between one decision and the next. */
  load(batch: Batch): Promise<void> | undefined {
    return batch.known.load(this.append);
  }

  stage(batch: Batch): Staged {
    const result = batch.stage(this.append);
    const { count, position } = result;
    return { count, position, answer: () => this.settle.resolve(result) };
  }

  reject(error: unknown): void {
    this.settle.reject(error);
  }
}
