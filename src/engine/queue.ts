/** What waits for the write lock, bounded in number and bytes.
 *  Invariants: first come, first served; what is aborted while it waits leaves the queue, and nothing else leaves it but by
 *  being taken; what runs alone is a batch by itself. */
import { systemClock } from "../kernel/clock.js";
import { LedgerError } from "../kernel/errors.js";
import { batchBytesMax, batchMsMax, commandsPerBatchMax, queueBytesMax, queueCommandsMax } from "../kernel/limits.js";
import type { StoreReads } from "../journal/store.js";
import { AbortWatch } from "./abort-watch.js";
import type { Batch } from "./batch.js";
import type { Foreseen } from "./foreseen.js";

/** How a caller is told. */
export interface Settle<Result> {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** What was staged, and how its caller is told once it is durable. */
export interface Staged {
  /** How many entries; 0 for an answer that writes nothing. */
  readonly count: number;
  answer(): void;
}

/** What became of one of a batch: staged, or why it is refused. */
export type Decided = { readonly staged: Staged } | { readonly error: unknown };

/** One thing that waits. */
export interface Queued {
  /** In bytes or more. */
  readonly weight: number;
  /** The streams whose heads it needs. */
  readonly touched: readonly string[];
  /** Does it run alone in its transaction? */
  readonly alone: boolean;
  readonly signal: AbortSignal | undefined;
  readonly submittedAt: number;
  /** Says what deciding it will read, as far as that can be told before; never throws. */
  foresee(foreseen: Foreseen): void;
  /** Reads what it must know, under the lock, and stages what is to be written, or says what refuses it and stages nothing.
   *  What this throws or rejects with is a failure of the store. Asked again when all is decided again. */
  decide(batch: Batch, reads: StoreReads): Promise<Decided> | Decided;
  reject(error: unknown): void;
}

export class Queue {
  private readonly waiting: Queued[] = [];
  private readonly aborts = new AbortWatch<Queued>((queued, signal) => this.abort(queued, signal));
  private weight = 0;

  get size(): number {
    return this.waiting.length;
  }

  get bytes(): number {
    return this.weight;
  }

  /** Queues it, or throws why not. */
  add(queued: Queued): void {
    const { signal } = queued;
    if (this.size >= queueCommandsMax || (this.size > 0 && this.weight + queued.weight > queueBytesMax)) {
      throw new LedgerError(
        "OVERLOADED",
        `the queue may hold ${queueCommandsMax} commands or ${queueBytesMax} bytes, found ${this.size} commands of ${this.weight} bytes`,
        {
          details: { commands: this.size, bytes: this.weight },
          hint: "wait for earlier ones before you send more",
        },
      );
    }
    if (signal?.aborted === true) throw aborted(signal);
    if (signal !== undefined) this.aborts.add(queued, signal);
    this.waiting.push(queued);
    this.weight += queued.weight;
  }

  /** Hands out a batch until it is full: by number, by weight, by time. One larger append goes alone. */
  *takeBatch(countMax: number = commandsPerBatchMax): Generator<Queued> {
    const started = systemClock.monotonic();
    let weight = 0;
    for (let count = 0; count < Math.min(countMax, commandsPerBatchMax); count++) {
      const [next] = this.waiting;
      if (next === undefined) return;
      weight += next.weight;
      if (count > 0 && (next.alone || weight > batchBytesMax || systemClock.monotonic() - started > batchMsMax)) return;
      this.waiting.shift();
      this.weight -= next.weight;
      if (next.signal !== undefined) this.aborts.delete(next, next.signal);
      yield next;
      if (next.alone) return;
    }
  }

  /** What the next batch can hold at most. */
  upcoming(): readonly Queued[] {
    return this.waiting.slice(0, commandsPerBatchMax);
  }

  private abort(queued: Queued, signal: AbortSignal): void {
    const index = this.waiting.indexOf(queued);
    if (index < 0) return;
    this.waiting.splice(index, 1);
    this.weight -= queued.weight;
    queued.reject(aborted(signal));
  }
}

function aborted(signal: AbortSignal): LedgerError {
  return new LedgerError("ABORTED", "the command was given up while it waited", { cause: signal.reason });
}
