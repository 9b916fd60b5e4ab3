import { invariant } from "../kernel/errors.js";
import { systemClock } from "../kernel/clock.js";
import type { Batch } from "./batch.js";
import type { PreparedAppend } from "./prepare.js";
import { isDamagedDocument } from "./projector/stored-document.js";
import type { Decided, Queued, Settle } from "./queue.js";
import type { Tx, Written } from "./tx.js";
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
  decide(batch: Batch): Promise<Decided> | Decided {
    const loading = batch.known.load(this.append);
    return loading === undefined ? this.stage(batch) : loading.then(() => this.stage(batch));
  }

  reject(error: unknown): void {
    this.settle.reject(error);
  }

  private stage(batch: Batch): Promise<Decided> | Decided {
    const tx = batch.open();
    let folding: Promise<void> | undefined;
    try {
      batch.require(this.append.requirements, this.append.cause);
      folding = tx.add(this.append.events);
    } catch (error) {
      return { error };
    }
    return folding === undefined ? this.seal(tx) : folding.then(() => this.seal(tx), refusedByDamage);
  }

  private seal(tx: Tx): Decided {
    try {
      const result = appended(this.append, tx.seal());
      return { staged: { count: result.count, answer: () => this.settle.resolve(result) } };
    } catch (error) {
      return { error };
    }
  }
}

/** A document that is damaged refuses who would change it, and nobody else; anything else is a failure of the store. */
function refusedByDamage(error: unknown): Decided {
  if (isDamagedDocument(error)) return { error };
  throw error;
}

function appended(append: PreparedAppend, { rows, asked, revisionOf }: Written): AppendResult {
  const streams = append.streams.map((stream) => ({ stream, revision: revisionOf(stream) }));
  const [first] = rows;
  const [named] = streams;
  invariant(first !== undefined && named !== undefined, "an append has a stream and an event");
  return {
    first: first.seq,
    position: first.seq + rows.length - 1,
    count: rows.length,
    at: first.at,
    ids: asked.map((row) => row.id),
    revision: named.revision,
    streams,
  };
}
