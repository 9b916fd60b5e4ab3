/** Durable consumers in time: leases that run out, takeovers, renewals, and what a late owner is told. */
import { expect, test } from "vitest";
import type { Ledger, LedgerOptions, Store } from "../../src/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { describeStores, open } from "./fixture.js";
import { consumerOf, fill, follow, putConsumer, take, takePositions } from "./following.js";

describeStores("the owner of a consumer", (_, openStoreOf) => {
  async function openTwo(options: LedgerOptions = {}): Promise<{ store: Store; one: Ledger; two: Ledger }> {
    const store = await openStoreOf();
    return { store, one: await open(store, options), two: await open(store, options) };
  }

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

  test("that died in a journal ahead of the clock is taken over in time by a process that has just been started", async () => {
    const clock = manualClock();
    const { store, one } = await openTwo({ clock, acceptClockStep: true });
    const right = clock.now();
    clock.set(right + 10 * 365 * 86_400_000);
    await fill(one, 1);
    clock.set(right);
    await fill(one, 1, "thing/2");
    await take(follow(one, { leaseMs: 60_000 }));
    clock.advance(59_999);
    await expect(follow(await open(store, { clock })).next()).rejects.toMatchObject({ code: "OWNER_ACTIVE" });
    clock.advance(1);

    expect(await takePositions(follow(await open(store, { clock })))).toEqual([1, 2]);
  });

  test("may come to a journal that nobody wrote to for years", async () => {
    const clock = manualClock();
    const { one } = await openTwo({ clock });
    await fill(one, 1);
    clock.advance(3 * 366 * 86_400_000);

    expect(await takePositions(follow(one))).toEqual([1]);
    await expect(fill(one, 1)).rejects.toMatchObject({ code: "CLOCK_UNSURE" });
  });

  test("is renewed while its reader works, and while it waits", async () => {
    const clock = manualClock();
    const { store, one, two } = await openTwo({ clock });
    await fill(one, 1);
    const subscription = follow(one, { leaseMs: 100 });
    const expectRenewed = async (): Promise<void> => {
      for (let n = 0; n < 3; n++) {
        clock.advance(80);
        await expect.poll(async () => (await consumerOf(store))?.claim?.expiresAt).toBe(clock.now() + 100);
      }
      await expect(follow(two).next()).rejects.toMatchObject({ code: "OWNER_ACTIVE" });
    };
    await take(subscription);
    await expectRenewed();

    const waiting = subscription.next();
    await expectRenewed();
    await fill(two, 1);

    expect((await waiting).value?.entries).toMatchObject([{ position: 2 }]);
    expect(await consumerOf(store)).toMatchObject({ generation: 1, position: 1 });
  });

  test("is renewed no more when its signal was aborted, though its reader does not come back", async () => {
    const clock = manualClock();
    const { store, one, two } = await openTwo({ clock });
    await fill(one, 1);
    const controller = new AbortController();
    await take(follow(one, { leaseMs: 100, signal: controller.signal }));
    const expiresAt = clock.now() + 100;
    controller.abort();
    clock.advance(80);
    await new Promise((resolve) => setTimeout(resolve, 150));

    expect((await consumerOf(store))?.claim).toMatchObject({ expiresAt });
    clock.advance(20);
    expect(await takePositions(follow(two))).toEqual([1]);
  });

  test("that is lost while its reader waits tells it without waiting for an event", async () => {
    const { store, one } = await openTwo({ clock: manualClock() });
    const subscription = follow(one, { leaseMs: 100 });
    await take(subscription);
    const waiting = subscription.next();
    waiting.catch(() => {});
    await putConsumer(store, { ...(await consumerOf(store))!, generation: 2, claim: null });

    await expect(waiting).rejects.toMatchObject({ code: "FENCED", details: { reason: "generation" } });
  });
});
