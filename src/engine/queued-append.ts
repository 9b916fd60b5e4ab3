import { invariant } from "../kernel/errors.js";
import type { FenceProof } from "../kernel/claim.js";
import { systemClock } from "../kernel/clock.js";
import type { AnyProjection } from "../../projections/define-projection.js";
import type { Batch } from "./batch.js";
import type { PreparedAppend } from "./prepare.js";
import { foreseeFence, recordRefusal, refusalOfFence } from "./fences.js";
import type { Foreseen } from "./foreseen.js";
import { StoreFailure } from "./store-failure.js";
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
  private readonly unready: AnyProjection[];
  private readonly settle: Settle<AppendResult>;

  /** `unready` is given the projection that its fence needs, when its table is behind. */
  constructor(
    append: PreparedAppend,
    signal: AbortSignal | undefined,
    unready: AnyProjection[],
    settle: Settle<AppendResult>,
  ) {
    this.append = append;
    this.signal = signal;
    this.unready = unready;
    this.settle = settle;
  }

  get weight(): number {
    return this.append.weight;
  }

  get touched(): readonly string[] {
    return this.append.touched;
  }

  foresee(foreseen: Foreseen): void {
    foreseen.need(this.append);
    foreseen.events.push(...this.append.events);
    if (this.append.fence !== null) foreseeFence(this.append.fence, foreseen);
  }

  /** Most appends need no read, and then nothing waits between one decision and the next. */
  decide(batch: Batch): Promise<Decided> | Decided {
    const loading = batch.known.load(this.append);
    const { fence } = this.append;
    if (fence !== null) return this.decideFenced(fence, loading, batch);
    return loading === undefined ? this.stage(batch) : loading.then(() => this.stage(batch));
  }

  reject(error: unknown): void {
    this.settle.reject(error);
  }

  private async decideFenced(fence: FenceProof, loading: Promise<void> | undefined, batch: Batch): Promise<Decided> {
    await loading;
    // The time at which the claim is live is that of the events.
    const tx = batch.open();
    const refused = await this.refuse(fence, batch, tx);
    return refused ?? this.stage(batch, tx);
  }

  /** What its fence refuses, with the record of it; null when the fence is good. */
  private async refuse(fence: FenceProof, batch: Batch, seen: Tx): Promise<Decided | null> {
    const { unready } = this;
    try {
      const refused = await refusalOfFence(fence, false, { batch, tx: seen, unready });
      if (refused === null) return null;
      const { error, reason } = refused;
      if (reason === null) return { error };
      const tx = batch.open();
      await recordRefusal(fence, { command: "append", reason }, { batch, tx, unready });
      if (tx.count === 0) return { error };
      return { staged: { count: tx.seal().rows.length, answer: () => this.settle.reject(error) } };
    } catch (error) {
      if (error instanceof StoreFailure) throw error.cause;
      return { error };
    }
  }

  private stage(batch: Batch, tx: Tx = batch.open()): Promise<Decided> | Decided {
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
