/** Durable consumers: what is acknowledged, what comes again, and who has a name. */
import { expect, test } from "vitest";
import type { Ledger, LedgerOptions, Store } from "../../src/index.js";
import { journalStream } from "../../src/journal/events/journal.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { describeStores, open } from "./fixture.js";
import { consumerOf, fill, follow, putConsumer, take, takePositions, write } from "./following.js";
import { appendRaw } from "./raw-append.js";

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

  test("is forgotten when nobody owns it, and then its name is new", async () => {
    const { one, two } = await openTwo();
    await fill(one, 5);
    const first = follow(one);
    await takePositions(first);
    await takePositions(first);
    await expect(two.forgetConsumer("mailer")).rejects.toMatchObject({
      code: "OWNER_ACTIVE",
      details: { consumer: "mailer" },
    });
    await first.return();

    await two.forgetConsumer("mailer");

    expect((await one.status()).consumers).toEqual([]);
    await expect(two.forgetConsumer("mailer")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(two.forgetConsumer("1")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await takePositions(follow(one))).toEqual([1, 2]);
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
    let answer: unknown;
    void first.next().then((step) => (answer = step));
    await expect.poll(async () => (await consumerOf(store))?.generation, { interval: 0 }).toBe(1);

    await first.return();

    expect(answer).toBeDefined();
    expect(await consumerOf(store)).toMatchObject({ claim: null });
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
});

/** Writes what a restore of the whole journal would. */
async function restored(store: Store, head: { readonly position: number; readonly id: string }): Promise<void> {
  const data = { incarnation: 2, size: head.position + 1, head: head.id, manifestDigest: "0".repeat(64) };
  await appendRaw(store, journalStream, "journal.restored", data);
}
