/** The subscriptions of one ledger: what they share, and how they end with it. */
import type { Clock } from "../kernel/clock.js";
import { LedgerError } from "../kernel/errors.js";
import { parseName } from "../kernel/names.js";
import { AbortWatch } from "./abort-watch.js";
import type { Areas } from "./areas.js";
import { readWithin } from "./begin.js";
import { closed } from "./closed.js";
import { Consumer, forgetConsumer } from "./consumer.js";
import type { ConsumerSource } from "./consumer.js";
import { HeadWatch } from "./head-watch.js";
import { LeaseTime } from "./lease-time.js";
import { PulledSubscription } from "./subscription.js";
import { parseSubscription } from "./subscription-options.js";
import type { SubscribeOptions, Subscription } from "./types.js";

export interface SubscriptionsOptions extends Omit<ConsumerSource, "time"> {
  readonly areas: Areas;
  readonly clock: Clock;
}

export class Subscriptions {
  private readonly options: SubscriptionsOptions;
  private readonly heads: HeadWatch;
  private readonly time: LeaseTime;
  /** Those that wait for something, or hold something. */
  private readonly entered = new Set<PulledSubscription>();
  private readonly aborts = new AbortWatch<PulledSubscription>((subscription, signal) =>
    subscription.end(aborted(signal)),
  );
  private closed = false;

  constructor(options: SubscriptionsOptions) {
    this.options = options;
    this.time = new LeaseTime(options.clock);
    this.heads = new HeadWatch(
      () => readHeadPosition(options),
      (hint) => options.store.listen(hint),
    );
  }

  open(options: SubscribeOptions): Subscription {
    const consumers = { ...this.options, time: this.time };
    const plan = parseSubscription(options);
    if (plan.consumer !== null) this.requireWritable();
    return new PulledSubscription(
      {
        ...this.options,
        heads: this.heads,
        enter: (subscription, signal) => this.enter(subscription, signal),
        consumer: (consumer, lost) => new Consumer(consumers, consumer, lost),
        leave: (subscription, signal) => this.leave(subscription, signal),
      },
      plan,
    );
  }

  /** Forgets a durable consumer that nobody owns. */
  async forget(consumer: string): Promise<void> {
    const name = parseName(consumer, "consumer");
    this.requireWritable();
    await forgetConsumer({ ...this.options, time: this.time }, name);
  }

  /** This process committed up to this position. */
  committed(position: number): void {
    this.heads.hint(position);
  }

  /** Ends all of them, and waits until nothing is left of them. */
  async close(): Promise<void> {
    this.closed = true;
    const open = [...this.entered];
    for (const subscription of open) subscription.end(closed());
    await Promise.all(open.map((subscription) => subscription.settled()));
  }

  private requireWritable(): void {
    if (this.options.store.readOnly)
      throw new LedgerError(
        "READ_ONLY",
        "a ledger must be open for writing to keep a consumer, found it open read-only",
      );
  }

  private enter(subscription: PulledSubscription, signal: AbortSignal | undefined): void {
    if (this.closed) throw closed();
    if (signal?.aborted === true) throw aborted(signal);
    this.entered.add(subscription);
    if (signal !== undefined) this.aborts.add(subscription, signal);
  }

  private leave(subscription: PulledSubscription, signal: AbortSignal | undefined): void {
    this.entered.delete(subscription);
    if (signal !== undefined) this.aborts.delete(subscription, signal);
  }
}

/** The position of the last entry. */
export function readHeadPosition({
  store,
  busyTimeoutMs,
}: Pick<SubscriptionsOptions, "store" | "busyTimeoutMs">): Promise<number> {
  return readWithin(store, busyTimeoutMs, async (snapshot) => (await snapshot.head())?.seq ?? -1);
}

function aborted(signal: AbortSignal): LedgerError {
  return new LedgerError("ABORTED", "the subscription was given up", { cause: signal.reason });
}
