/** Durable consumers: what is acknowledged, who owns a name, and what a late owner is told. */
import { describe, expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type {
  Ledger,
  LedgerOptions,
  Store,
  SubscribeOptions,
  Subscription,
  SubscriptionBatch,
} from "../../src/index.js";
import { journalStream } from "../../src/journal/events/journal.js";
import { writeOperational } from "../../src/engine/operational.js";
import type { ConsumerRow, DurableStep, StoreTransaction } from "../../src/journal/store.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { appendRaw } from "./raw-append.js";
import { describeStores, ledgerPath, onCleanup, open, seededBytes } from "./fixture.js";

async function fill(ledger: Ledger, count: number, stream = "thing/1"): Promise<void> {
  for (let n = 0; n < count; n++) await ledger.append(stream, [{ type: "thing.happened", data: { n } }]);
}

function follow(ledger: Ledger, options: SubscribeOptions = {}): Subscription {
  const subscription = ledger.subscribe({ consumer: "mailer", batch: 2, ...options });
  onCleanup(async () => void (await subscription.return()));
  return subscription;
}

async function take(subscription: Subscription): Promise<SubscriptionBatch> {
  const { value } = await subscription.next();
  if (value === undefined) throw new Error("the subscription must go on, found it ended");
  return value;
}

async function takePositions(subscription: Subscription): Promise<number[]> {
  return (await take(subscription)).entries.map((event) => event.position);
}

async function consumerOf(store: Store, name = "mailer"): Promise<ConsumerRow | null> {
  const snapshot = await store.snapshot();
  try {
    return await snapshot.consumer(name);
  } finally {
    await snapshot.release();
  }
}

async function putConsumer(store: Store, row: ConsumerRow): Promise<void> {
  await write(store, (transaction) => transaction.putConsumer(row));
}

/** Writes past every engine. */
function write(store: Store, change: (transaction: StoreTransaction) => Promise<void>): Promise<void> {
  return writeOperational(store, 5_000, change);
}

describeStores("a durable consumer", (openOne, openStoreOf) => {
  async function openTwo(options: LedgerOptions = {}): Promise<{ store: Store; one: Ledger; two: Ledger }> {
    const store = await openStoreOf();
    return { store, one: await open(store, options), two: await open(store, options) };
  }

  test("acknowledges a batch by asking for the next one, and is handed what it did not acknowledge again", async () => {
    const { one, two } = await openTwo();
    await fill(one, 5);
    const first = follow(one);
    expect(await takePositions(first)).toEqual([1, 2]);
    expect(await takePositions(first)).toEqual([3, 4]);
    await first.return();

    const second = follow(two);

    expect(await takePositions(second)).toEqual([3, 4]);
    expect(await takePositions(second)).toEqual([5]);
  });

  test("has its acknowledgement in the store before the next batch is read", async () => {
    const { store, one } = await openTwo();
    await fill(one, 4);
    const subscription = follow(one);
    await take(subscription);
    expect(await consumerOf(store)).toMatchObject({ position: -1, id: null, generation: 1, incarnation: 1 });

    await take(subscription);

    const [second] = await one.read({ from: 2, limit: 1 }).toArray();
    expect(await consumerOf(store)).toMatchObject({ position: 2, id: second!.id, generation: 1 });
  });

  test("begins at from when it is new, and from where it was when it is not", async () => {
    const { one, two } = await openTwo();
    await fill(one, 5);
    const first = follow(one, { from: 3 });
    expect(await takePositions(first)).toEqual([3, 4]);
    await first.return();
    expect((await one.status()).consumers).toMatchObject([{ name: "mailer", position: 2 }]);

    const second = follow(two, { from: 1 });

    expect(await takePositions(second)).toEqual([3, 4]);
  });

  test("from the head is handed what comes after its first use, also by another process", async () => {
    const { one, two } = await openTwo();
    await fill(one, 5);
    const first = follow(one, { from: "head" });
    expect(await take(first)).toEqual({ entries: [], position: 5, caughtUp: true });
    await first.return();
    await fill(one, 1);

    expect(await takePositions(follow(two, { from: "head" }))).toEqual([6]);
  });

  test("has one owner at a time: others are told who has it and until when, and never the token", async () => {
    const clock = manualClock();
    const { store, one, two } = await openTwo({ clock });
    await take(follow(one, { leaseMs: 60_000 }));

    const refused = (await follow(two)
      .next()
      .catch((error: unknown) => error)) as { details: Record<string, unknown> };

    const claim = (await consumerOf(store))!.claim!;
    expect(refused).toMatchObject({ code: "OWNER_ACTIVE" });
    expect(refused.details).toEqual({ consumer: "mailer", holder: claim.holder, expiresAt: clock.now() + 60_000 });
    expect(JSON.stringify(await one.status())).not.toContain(claim.tokenHash);
    expect((await two.status()).consumers).toEqual([
      { name: "mailer", position: -1, lag: 1, holder: claim.holder, expiresAt: claim.expiresAt },
    ]);
  });

  test("of another name is no hindrance", async () => {
    const { one, two } = await openTwo();
    await fill(one, 1);

    await take(follow(one));
    expect(await takePositions(follow(two, { consumer: "indexer" }))).toEqual([1]);
    expect((await one.status()).consumers.map((each) => each.name)).toEqual(["indexer", "mailer"]);
  });

  test("gives its name back when it is returned, and when its ledger is closed, without acknowledging what is in hand", async () => {
    const { store, one, two } = await openTwo();
    await fill(one, 2);
    const returned = follow(one);
    await take(returned);
    await returned.return();
    expect(await consumerOf(store)).toMatchObject({ position: -1, generation: 1, claim: null });

    const closed = follow(one);
    expect(await takePositions(closed)).toEqual([1, 2]);
    await one.close();
    expect(await consumerOf(store)).toMatchObject({ position: -1, generation: 2, claim: null });

    expect(await takePositions(follow(two))).toEqual([1, 2]);
    await expect(closed.next()).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("that is returned before it was handed anything has given its name back when that is done", async () => {
    const { store, one, two } = await openTwo();
    await fill(one, 2);
    const first = follow(one);
    const asked = first.next();

    await first.return();

    expect((await consumerOf(store))?.claim ?? null).toBeNull();
    expect(await asked).toEqual({ done: true, value: undefined });
    expect(await takePositions(follow(two))).toEqual([1, 2]);
  });

  test("gives its name back when its signal is aborted, by the time that its reader is told", async () => {
    const { store, one } = await openTwo();
    await fill(one, 2);
    for (const inHand of [true, false]) {
      const controller = new AbortController();
      const subscription = follow(one, { signal: controller.signal });
      await take(subscription);
      const next = inHand ? null : subscription.next();
      if (next !== null) await expect.poll(async () => (await consumerOf(store))?.position).toBe(2);
      controller.abort();

      await expect(next ?? subscription.next()).rejects.toMatchObject({ code: "ABORTED" });

      expect(await consumerOf(store)).toMatchObject({ position: inHand ? -1 : 2, claim: null });
    }
  });

  test("that died is taken over once its lease has expired, and is refused when it comes back: nothing moves", async () => {
    const clock = manualClock();
    const { store, one, two } = await openTwo({ clock });
    await fill(one, 6);
    const first = follow(one, { leaseMs: 60_000 });
    await take(first);
    await take(first);
    clock.advance(59_999);
    await expect(follow(two).next()).rejects.toMatchObject({ code: "OWNER_ACTIVE" });
    clock.advance(1);

    const second = follow(two, { leaseMs: 60_000 });
    expect(await takePositions(second)).toEqual([3, 4]);
    await expect(first.next()).rejects.toMatchObject({
      code: "FENCED",
      details: { key: "consumer/mailer", reason: "generation", held: 2, offered: 1 },
    });

    expect(await consumerOf(store)).toMatchObject({ position: 2, generation: 2 });
    expect(await first.next()).toEqual({ done: true, value: undefined });
    expect(await takePositions(second)).toEqual([5, 6]);
    expect(await consumerOf(store)).toMatchObject({ position: 4 });
  });

  test("whose lease has expired is refused though nobody reclaimed, and may be claimed again at once", async () => {
    const clock = manualClock();
    const { store, one } = await openTwo({ clock });
    await fill(one, 4);
    const late = follow(one, { leaseMs: 60_000 });
    await take(late);
    clock.advance(60_000);

    await expect(late.next()).rejects.toMatchObject({ code: "FENCED", details: { reason: "expired" } });

    expect(await consumerOf(store)).toMatchObject({ position: -1 });
    expect(await takePositions(follow(one))).toEqual([1, 2]);
  });

  test("that is returned late gives the name back and moves nothing", async () => {
    const clock = manualClock();
    const { store, one } = await openTwo({ clock });
    await fill(one, 3);
    const late = follow(one, { leaseMs: 60_000, streams: ["thing/2"] });
    await take(late);
    const waiting = late.next();
    await fill(one, 3);
    clock.advance(60_000);

    await late.return();

    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await consumerOf(store)).toMatchObject({ position: -1, claim: null });
  });

  test("keeps where it is in what its filter leaves out when it ends, though nothing was handed out", async () => {
    const { store, one, two } = await openTwo();
    await fill(one, 3);
    const subscription = follow(one, { streams: ["thing/2"] });
    await take(subscription);
    const waiting = subscription.next();
    await fill(one, 3);
    await expect.poll(async () => (await two.status()).size).toBe(7);
    await new Promise((resolve) => setTimeout(resolve, 50));

    await subscription.return();

    expect(await waiting).toEqual({ done: true, value: undefined });
    const [last] = await one.read({ from: 6 }).toArray();
    expect(await consumerOf(store)).toMatchObject({ position: 6, id: last!.id, claim: null });
  });

  test("counts what is behind it as its lag", async () => {
    const ledger = await openOne();
    await fill(ledger, 5);
    const subscription = follow(ledger);
    await take(subscription);
    await take(subscription);

    expect((await ledger.status()).consumers).toMatchObject([{ name: "mailer", position: 2, lag: 3 }]);
  });

  test("goes on counting generations, whoever claims", async () => {
    const { store, one, two } = await openTwo();
    for (const ledger of [one, two, one]) {
      const subscription = follow(ledger);
      await take(subscription);
      await subscription.return();
    }

    expect(await consumerOf(store)).toMatchObject({ generation: 3, claim: null });
  });

  test.each([
    ["is beyond the head", "position", { position: 9, id: "0".repeat(64) }],
    ["has another id", "id", { position: 1, id: "0".repeat(64) }],
    ["is before the first", "position", { position: -7, id: null }],
  ])("whose position %s is refused until it is reset, and then begins where it is told", async (_, reason, place) => {
    const { store, one } = await openTwo();
    await fill(one, 5);
    await putConsumer(store, { name: "mailer", ...place, incarnation: 1, generation: 4, claim: null });

    await expect(follow(one).next()).rejects.toMatchObject({ code: "FENCED", details: { consumer: "mailer", reason } });
    expect(await consumerOf(store)).toMatchObject({ ...place, generation: 4, claim: null });

    const again = follow(one, { from: 3, reset: true });
    expect(await takePositions(again)).toEqual([3, 4]);
    expect(await consumerOf(store)).toMatchObject({ position: 2, generation: 5 });
  });

  test("is refused behind what a restore kept, and goes on below it", async () => {
    const { store, one } = await openTwo();
    await fill(one, 4);
    const ids = (await one.read().toArray()).map((event) => event.id);
    await restored(store, { position: 4, id: ids[4]! });
    const size = 5;
    const row = { name: "mailer", incarnation: 1, generation: 1, claim: null };

    await putConsumer(store, { ...row, position: size - 1, id: ids[size - 1]! });
    const below = follow(one, { kinds: ["journal"] });
    expect(await takePositions(below)).toEqual([size]);
    await below.return();
    expect(await consumerOf(store)).toMatchObject({ position: size - 1, incarnation: 2 });

    const [event] = await one.read({ from: size }).toArray();
    await putConsumer(store, { ...row, position: size, id: event!.id });
    await expect(follow(one).next()).rejects.toMatchObject({ code: "FENCED", details: { reason: "incarnation" } });
  });

  test("loses its claim when the journal is restored under it", async () => {
    const { store, one } = await openTwo();
    await fill(one, 2);
    const subscription = follow(one);
    await take(subscription);
    await restored(store, (await one.status()).head);

    await expect(subscription.next()).rejects.toMatchObject({ code: "FENCED", details: { reason: "incarnation" } });
  });

  test("is not reset under its owner", async () => {
    const { one, two } = await openTwo();
    await take(follow(one));

    await expect(follow(two, { reset: true, from: "start" }).next()).rejects.toMatchObject({ code: "OWNER_ACTIVE" });
  });

  test("has no place beyond the next position to be written", async () => {
    const { store, one } = await openTwo();

    await expect(follow(one, { from: 2 }).next()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });

    expect(await consumerOf(store)).toBeNull();
  });

  test("that is gone from the store is lost to its owner", async () => {
    const { store, one } = await openTwo();
    await fill(one, 2);
    const subscription = follow(one);
    await take(subscription);
    await write(store, (transaction) => transaction.deleteConsumer("mailer"));

    await expect(subscription.next()).rejects.toMatchObject({ code: "FENCED" });
  });

  test("is owned in engine time: in a journal ahead of the clock its lease runs on though nobody writes", async () => {
    const clock = manualClock();
    const { one, two } = await openTwo({ clock, acceptClockStep: true });
    const right = clock.now();
    clock.set(right + 10 * 365 * 86_400_000);
    await fill(one, 1);
    clock.set(right);
    await take(follow(one, { leaseMs: 60_000 }));
    const { expiresAt } = (await one.status()).consumers[0]!;
    expect(expiresAt).toBe((await one.status()).head.at + 60_000);

    for (const ms of [0, 59_999]) {
      clock.advance(ms);
      await expect(follow(two).next()).rejects.toMatchObject({ code: "OWNER_ACTIVE" });
    }
    clock.advance(1);
    expect(await takePositions(follow(two))).toEqual([1]);
  });

  test("is renewed at half its lease while its reader works, and while it waits", async () => {
    const { store, one, two } = await openTwo();
    await fill(one, 1);
    const subscription = follow(one, { leaseMs: 400 });
    await take(subscription);
    const first = (await consumerOf(store))!.claim!.expiresAt;
    await new Promise((resolve) => setTimeout(resolve, 900));
    await expect(follow(two).next()).rejects.toMatchObject({ code: "OWNER_ACTIVE" });

    const waiting = subscription.next();
    await new Promise((resolve) => setTimeout(resolve, 900));
    await expect(follow(two).next()).rejects.toMatchObject({ code: "OWNER_ACTIVE" });
    await fill(two, 1);

    expect((await waiting).value?.entries).toMatchObject([{ position: 2 }]);
    expect(await consumerOf(store)).toMatchObject({ generation: 1, position: 1 });
    expect((await consumerOf(store))!.claim!.expiresAt).toBeGreaterThan(first + 1_500);
  });

  test("is renewed no more when its signal was aborted, though its reader does not come back", async () => {
    const { one, two } = await openTwo();
    await fill(one, 1);
    const controller = new AbortController();
    await take(follow(one, { leaseMs: 200, signal: controller.signal }));
    controller.abort();

    await new Promise((resolve) => setTimeout(resolve, 300));

    expect(await takePositions(follow(two))).toEqual([1]);
  });

  test("that is lost while its reader waits tells it without waiting for an event", async () => {
    const { store, one } = await openTwo();
    const subscription = follow(one, { leaseMs: 100 });
    await take(subscription);
    const waiting = subscription.next();
    waiting.catch(() => {});
    await putConsumer(store, { ...(await consumerOf(store))!, generation: 2, claim: null });

    await expect(waiting).rejects.toMatchObject({ code: "FENCED", details: { reason: "generation" } });
  });
});

/** Writes what a restore of the whole journal would. */
async function restored(store: Store, head: { readonly position: number; readonly id: string }): Promise<void> {
  const data = { incarnation: 2, size: head.position + 1, head: head.id, manifestDigest: "0".repeat(64) };
  await appendRaw(store, journalStream, "journal.restored", data);
}

describe("a consumer in a file", () => {
  test("goes on behind what it acknowledged when the file is opened again", async () => {
    const path = ledgerPath();
    for (const expected of [[1, 2], [3, 4], [5]]) {
      const ledger = await openLedger(path);
      if (expected[0] === 1) await fill(ledger, 5);
      const subscription = ledger.subscribe({ consumer: "mailer", batch: 2 });
      expect(await takePositions(subscription)).toEqual(expected);
      const asked = subscription.next();
      await expect.poll(async () => (await ledger.status()).consumers[0]?.position).toBe(expected.at(-1));
      await subscription.return();
      await asked;
      await ledger.close();
    }
  });

  test("needs one that is open for writing, and shows in one that is not", async () => {
    const path = ledgerPath();
    const writer = await open(path);
    await take(follow(writer));
    const reader = await open(path, { readOnly: true });

    expect(() => reader.subscribe({ consumer: "mailer" })).toThrow(expect.objectContaining({ code: "READ_ONLY" }));
    expect((await reader.status()).consumers).toMatchObject([{ name: "mailer", lag: 1 }]);
  });

  test("whose claim cannot be read is damage to its reader and none to who begins anew", async () => {
    const path = ledgerPath();
    const ledger = await open(path);
    await fill(ledger, 2);
    const first = follow(ledger);
    await take(first);
    await first.return();
    await ledger.close();
    const { default: Database } = await import("better-sqlite3");
    const database = new Database(path);
    database.prepare("UPDATE consumers SET claim = 'no claim'").run();
    database.close();
    const again = await open(path);

    await expect(follow(again).next()).rejects.toMatchObject({ code: "STORE_DAMAGED" });

    expect(await takePositions(follow(again, { reset: true, from: 2 }))).toEqual([2]);
  });

  test("is acknowledged once although commits fail or give no answer", async () => {
    const path = ledgerPath();
    let failing: "before" | "after" | null = null;
    const faults = (step: DurableStep, moment: "before" | "after"): void => {
      if (step !== "commit" || moment !== failing) return;
      failing = null;
      throw Object.assign(new Error("disk I/O error"), { code: "SQLITE_BUSY" });
    };
    const store = await openSqliteStore(path, { faults });
    onCleanup(() => store.close());
    const ledger = await open(store);
    await fill(ledger, 4);
    for (const moment of ["before", "after"] as const) {
      failing = moment;
      const subscription = follow(ledger, { reset: true, from: "start" });
      expect(await takePositions(subscription)).toEqual([1, 2]);
      failing = moment;
      expect(await takePositions(subscription)).toEqual([3, 4]);
      failing = moment;
      await subscription.return();

      expect(await consumerOf(store)).toMatchObject({
        position: 2,
        generation: moment === "before" ? 1 : 2,
        claim: null,
      });
    }
  });

  test("is handed a failure of the store, and its batch again afterwards", async () => {
    const path = ledgerPath();
    let failing = false;
    const faults = (step: DurableStep): void => {
      if (failing && step === "operational") throw Object.assign(new Error("full"), { code: "SQLITE_FULL" });
    };
    const store = await openSqliteStore(path, { faults });
    onCleanup(() => store.close());
    const ledger = await open(store);
    await fill(ledger, 4);
    const subscription = follow(ledger);
    await take(subscription);
    failing = true;
    await expect(subscription.next()).rejects.toMatchObject({ code: "STORE_FULL" });
    failing = false;
    // The release failed with it, so that the name is free when the lease is over.
    expect((await ledger.status()).consumers).toMatchObject([{ position: -1 }]);
  });

  test("writes nothing while nothing happens", async () => {
    let writes = 0;
    const store = createMemoryStore({ faults: (step) => void (step === "operational" && writes++) });
    const ledger = await open(store);
    const subscription = follow(ledger, { streams: ["thing/2"] });
    await take(subscription);
    const waiting = subscription.next();
    for (let n = 0; n < 5; n++) {
      await fill(ledger, 1);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    const before = writes;
    await subscription.return();
    await waiting;

    expect([before, writes]).toEqual([2, 4]);
  });

  test("lets the store clean up behind its writes, for nobody else may ever write", async () => {
    const memory = createMemoryStore();
    let [maintained, writes] = [0, 0];
    const store = Object.assign(Object.create(memory) as Store, {
      maintain: async () => void maintained++,
      begin: async () => {
        writes++;
        return memory.begin();
      },
    });
    await fill(await open(memory), 4);
    const subscription = follow(await open(store));
    for (let n = 0; n < 2; n++) await take(subscription);

    expect([maintained, writes]).toEqual([2, 2]);
  });

  test("mints its token with the randomness that was injected", async () => {
    const tokens = new Set<string>();
    for (let n = 0; n < 2; n++) {
      const store = createMemoryStore();
      const ledger = await open(store, { testing: { randomBytes: seededBytes() } });
      await take(follow(ledger));
      tokens.add((await consumerOf(store))!.claim!.tokenHash);
    }

    expect(tokens.size).toBe(1);
  });

  test.each([
    ["a consumer that is no name", { consumer: "1st" }, "options.consumer"],
    ["a consumer of 129 units", { consumer: "x".repeat(129) }, "options.consumer"],
    ["leaseMs: 0", { consumer: "mailer", leaseMs: 0 }, "options.leaseMs"],
    ["leaseMs: more than a day", { consumer: "mailer", leaseMs: 86_400_001 }, "options.leaseMs"],
    ["leaseMs without a consumer", { leaseMs: 1_000 }, "options.leaseMs"],
    ["reset without a consumer", { reset: true, from: "start" }, "options.reset"],
    ["reset without from", { consumer: "mailer", reset: true }, "options.from"],
    ["reset: 1", { consumer: "mailer", reset: 1, from: "start" }, "options.reset"],
    ["consumer: null", { consumer: null }, "options.consumer"],
  ])("refuses %s", async (_, options, path) => {
    const ledger = await open("memory:");

    expect(() => ledger.subscribe(options as SubscribeOptions)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ path }) as unknown }),
    );
  });
});
