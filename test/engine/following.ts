/** Small tools of the tests of subscriptions: events to follow, followers, and what they left in the store. */
import type { Ledger, Store, SubscribeOptions, Subscription, SubscriptionBatch } from "../../src/index.js";
import { writeOperational } from "../../src/engine/operational.js";
import type { ConsumerRow, StoreTransaction } from "../../src/journal/store.js";
import { onCleanup } from "./fixture.js";

/** Appends so many events to a stream, one append each. */
export async function fill(ledger: Ledger, count: number, stream = "thing/1"): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, n) => ledger.append(stream, [{ type: "thing.happened", data: { n } }])),
  );
}

export function subscribe(ledger: Ledger, options?: SubscribeOptions): Subscription {
  const subscription = ledger.subscribe(options);
  onCleanup(async () => void (await subscription.return()));
  return subscription;
}

/** Subscribes as the consumer "mailer", two events at once. */
export function follow(ledger: Ledger, options: SubscribeOptions = {}): Subscription {
  return subscribe(ledger, { consumer: "mailer", batch: 2, ...options });
}

export async function take(subscription: Subscription): Promise<SubscriptionBatch> {
  const { value } = await subscription.next();
  if (value === undefined) throw new Error("the subscription must go on, found it ended");
  return value;
}

export const positions = (batch: SubscriptionBatch): number[] => batch.entries.map((event) => event.position);

export async function takePositions(subscription: Subscription): Promise<number[]> {
  return positions(await take(subscription));
}

export async function consumerOf(store: Store, name = "mailer"): Promise<ConsumerRow | null> {
  const snapshot = await store.snapshot();
  try {
    return await snapshot.consumer(name);
  } finally {
    await snapshot.release();
  }
}

/** Writes past every engine. */
export function write(store: Store, change: (transaction: StoreTransaction) => Promise<void>): Promise<void> {
  return writeOperational(store, 5_000, change);
}

export async function putConsumer(store: Store, row: ConsumerRow): Promise<void> {
  await write(store, (transaction) => transaction.putConsumer(row));
}
