/** A subscription: the loop that reads on from its place each time its reader asks.
 *  Invariants: one step at a time, in the order of asking; nothing is read that was not asked for; whatever ends it first
 *  is what the reader is told, once; when it has ended nothing of it is left behind: no timer, no listener, no claim. */
import { LedgerError } from "../kernel/errors.js";
import { readWithin } from "./begin.js";
import type { Consumer, ConsumerPlan } from "./consumer.js";
import type { HeadWatch } from "./head-watch.js";
import { breathe, readBatch } from "./subscription-batch.js";
import type { BatchSource, Place, ReadBatch } from "./subscription-batch.js";
import { placeBefore } from "./subscription-options.js";
import type { SubscriptionPlan } from "./subscription-options.js";
import type { Subscription, SubscriptionBatch } from "./types.js";

/** What a subscription needs of the engine. */
export interface SubscriptionSource extends Pick<BatchSource, "store" | "areas" | "busyTimeoutMs"> {
  readonly heads: HeadWatch;
  /** From here on the subscription hears of its signal and of the end of the ledger; throws when that has come. */
  readonly enter: (subscription: PulledSubscription, signal: AbortSignal | undefined) => void;
  /** Makes a consumer; the function hears when its claim is lost. */
  readonly consumer: (plan: ConsumerPlan, lost: (error: LedgerError) => void) => Consumer;
  /** It no longer does. */
  readonly leave: (subscription: PulledSubscription, signal: AbortSignal | undefined) => void;
}

type Step = IteratorResult<SubscriptionBatch, undefined>;
const done: Step = { done: true, value: undefined };

export class PulledSubscription implements Subscription {
  private readonly source: SubscriptionSource;
  private readonly plan: SubscriptionPlan;
  /** The last step that was asked for; settles whether it succeeds or not. */
  private last: Promise<unknown> = Promise.resolve();
  private place: Place | null = null;
  private consumer: Consumer | null = null;
  /** What the reader has in hand. */
  private handedOut: ReadBatch | null = null;
  /** Was a batch handed out that had caught up? */
  private live = false;
  private ended = false;
  /** What the reader must still be told. */
  private error: LedgerError | null = null;
  /** Ends the wait for more, when there is one. */
  private wake: (() => void) | null = null;

  constructor(source: SubscriptionSource, plan: SubscriptionPlan) {
    this.source = source;
    this.plan = plan;
  }

  next(): Promise<Step> {
    const step = this.last.then(() => this.step());
    this.last = step.catch(() => {});
    return step;
  }

  async return(): Promise<Step> {
    this.end(null);
    this.error = null;
    await this.settled();
    return done;
  }

  /** Waits until nothing is left of what has ended. */
  async settled(): Promise<void> {
    await this.last;
    await this.letGo();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** Ends it for a reason that the reader is told at its next step, or for none. */
  end(error: LedgerError | null): void {
    if (this.ended) return;
    this.ended = true;
    this.error = error;
    this.consumer?.stop();
    this.wake?.();
  }

  private async letGo(): Promise<void> {
    const { consumer } = this;
    this.consumer = null;
    await consumer?.release();
    this.source.leave(this, this.plan.signal);
  }

  private async step(): Promise<Step> {
    try {
      if (!this.ended) this.source.enter(this, this.plan.signal);
      while (!this.ended) {
        const batch = await this.read();
        if (batch !== null && !this.ended) return { done: false, value: batch };
      }
    } catch (error) {
      // What ended it before is what the reader is told.
      if (!this.ended) {
        this.end(null);
        throw error;
      }
    } finally {
      if (this.ended) await this.letGo();
      // Between its steps only one with a claim has something to let go of.
      else if (this.consumer === null) this.source.leave(this, this.plan.signal);
    }
    const error = this.error;
    this.error = null;
    if (error === null) return done;
    throw error;
  }

  /** Reads on; null when the reader is not to be told of what was found. */
  private async read(): Promise<SubscriptionBatch | null> {
    const { store, areas, busyTimeoutMs } = this.source;
    await breathe();
    if (this.ended) return null;
    await this.acknowledge();
    this.place ??= await this.start();
    const read = await readBatch({ store, areas, busyTimeoutMs, ...this.plan }, this.place);
    const { batch, place } = read;
    this.place = place;
    const isNews = batch.entries.length > 0 || (batch.caughtUp && !this.live);
    this.live ||= batch.caughtUp;
    if (isNews) {
      this.handedOut = read;
      return batch;
    }
    this.consumer?.moveTo(place);
    if (batch.caughtUp) await this.waitBehind(place.position);
    return null;
  }

  private async start(): Promise<Place> {
    const { from, consumer } = this.plan;
    if (consumer !== null) {
      this.consumer = this.source.consumer(consumer, (error) => this.end(error));
      return this.consumer.claim((reads) => placeBefore(from, reads));
    }
    return readWithin(this.source.store, this.source.busyTimeoutMs, async (snapshot) => {
      const place = await placeBefore(from, snapshot);
      if (place instanceof LedgerError) throw place;
      return place;
    });
  }

  /** Asking for more says that what was handed out is done with. What was empty is kept with what is read next. */
  private async acknowledge(): Promise<void> {
    const { handedOut } = this;
    this.handedOut = null;
    if (handedOut !== null && handedOut.batch.entries.length > 0) await this.consumer?.acknowledge(handedOut.place);
  }

  private async waitBehind(position: number): Promise<void> {
    if (this.ended) return;
    let stop = (): void => {};
    try {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
        stop = this.source.heads.wait(position, resolve);
      });
    } finally {
      this.wake = null;
      stop();
    }
  }
}
