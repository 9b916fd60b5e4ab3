/** Subscriptions without a consumer: what a reader is handed, when, and how it ends. */
import { describe, expect, test, vi } from "vitest";
import { content, defineEvents, openLedger } from "../../src/index.js";
import type { SubscribeOptions, Subscription } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { describeStores, freshPlace, onCleanup, open, sharedStoreNames } from "./fixture.js";
import { fill, positions, subscribe, take } from "./following.js";
import { appendRaw } from "./raw-append.js";

describeStores("a subscription", (openOne, openStoreOf) => {
  test("hands out what is there in batches, says when it has caught up, and goes on with what comes", async () => {
    const ledger = await openOne();
    await fill(ledger, 5);
    const subscription = subscribe(ledger, { batch: 2 });

    expect(await take(subscription)).toMatchObject({ position: 2, caughtUp: false });
    expect(await take(subscription)).toMatchObject({ position: 4, caughtUp: false });
    const last = await take(subscription);
    const next = subscription.next();
    await fill(ledger, 1, "thing/2");

    expect([positions(last), last.position, last.caughtUp]).toEqual([[5], 5, true]);
    expect((await next).value).toMatchObject({
      entries: [{ position: 6, stream: "thing/2" }],
      position: 6,
      caughtUp: true,
    });
  });

  test("from the head says at once that it is live, and hands out only what comes afterwards", async () => {
    const ledger = await openOne();
    await fill(ledger, 3);
    const subscription = subscribe(ledger, { from: "head" });

    expect(await take(subscription)).toEqual({ entries: [], position: 3, caughtUp: true });
    const next = take(subscription);
    await fill(ledger, 1);

    expect(positions(await next)).toEqual([4]);
  });

  test("from a position begins with it; the next one to be written is the last that it may be", async () => {
    const ledger = await openOne();
    await fill(ledger, 3);

    expect(positions(await take(subscribe(ledger, { from: 2 })))).toEqual([2, 3]);
    expect(await take(subscribe(ledger, { from: 4 }))).toEqual({ entries: [], position: 3, caughtUp: true });
    await expect(subscribe(ledger, { from: 5 }).next()).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: "options.from must be at most 4, the next position to be written, found 5",
    });
  });

  test("moves over what its filter leaves out without handing out empty batches", async () => {
    const ledger = await openOne();
    const subscription = subscribe(ledger, { streams: ["thing/2"] });

    expect(await take(subscription)).toEqual({ entries: [], position: 0, caughtUp: true });
    const next = take(subscription);
    await fill(ledger, 3);
    await fill(ledger, 1, "thing/2");
    await fill(ledger, 3);

    const batch = await next;
    expect(positions(batch)).toEqual([4]);
    expect(batch.position).toBeGreaterThanOrEqual(4);
  });

  test("leaves the journal's own events out unless a filter asks for them", async () => {
    const ledger = await openOne();
    await fill(ledger, 1);

    expect(positions(await take(subscribe(ledger)))).toEqual([1]);
    expect(positions(await take(subscribe(ledger, { kinds: ["journal"] })))).toEqual([0]);
    expect(positions(await take(subscribe(ledger, { streams: ["journal/main"] })))).toEqual([0]);
    expect(positions(await take(subscribe(ledger, { types: ["journal.opened"] })))).toEqual([0]);
    expect(
      positions(await take(subscribe(ledger, { kinds: ["thing", "journal"], types: ["thing.happened"] }))),
    ).toEqual([1]);
  });

  test("leaves receipts and refusals out unless a filter asks for them", async () => {
    const store = await openStoreOf();
    const ledger = await open(store);
    await appendRaw(store, "client/default", "receipt.recorded", {});
    await appendRaw(store, "fence/queue", "fence.refused", {});
    await fill(ledger, 1);

    expect(positions(await take(subscribe(ledger)))).toEqual([3]);
    expect(positions(await take(subscribe(ledger, { kinds: ["client"] })))).toEqual([1]);
    expect(positions(await take(subscribe(ledger, { types: ["fence.refused"] })))).toEqual([2]);
  });

  test("shows events as they are read today, and those that nobody defined as it is told", async () => {
    const events = [
      defineEvents(
        "order",
        { open: true },
        { "order.placed": { version: 2, upcast: { 1: (data) => ({ ...data, old: true }) } } },
      ),
    ];
    const store = await openStoreOf();
    const writer = await open(store);
    await writer.append("order/1", [{ type: "order.placed", data: { total: 1 } }]);
    await writer.append("thing/1", [{ type: "thing.happened" }]);
    const reader = await open(store, { events });

    expect((await take(subscribe(reader, { unknown: "ignore" }))).entries).toMatchObject([
      { type: "order.placed", version: 2, data: { total: 1, old: true } },
    ]);
    const strict = subscribe(reader, { unknown: "error" });
    expect((await take(strict)).entries).toMatchObject([{ type: "order.placed", version: 2 }]);
    await expect(strict.next()).rejects.toMatchObject({ code: "SCHEMA_UNKNOWN", details: { type: "thing.happened" } });
    expect(await strict.next()).toEqual({ done: true, value: undefined });
  });

  test("goes on beside others, each at its own pace, and each sees every event once and in order", async () => {
    const ledger = await openOne();
    const seen: number[][] = [[], [], []];
    const readers = seen.map(async (list, index) => {
      for await (const batch of ledger.subscribe({ batch: index + 1 })) {
        list.push(...positions(batch));
        if (list.length === 60) break;
      }
    });
    for (let n = 0; n < 20; n++) await fill(ledger, 3);
    await Promise.all(readers);

    for (const list of seen) expect(list).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
  });

  test("reads nothing ahead: what was not asked for is read when it is", async () => {
    const ledger = await openOne();
    await fill(ledger, 1);
    const subscription = subscribe(ledger);
    await take(subscription);
    await fill(ledger, 2);
    await fill(ledger, 2);

    const batch = await take(subscription);

    expect(positions(batch)).toEqual([2, 3, 4, 5]);
    expect(batch.caughtUp).toBe(true);
  });

  test("answers calls of next in the order in which they came", async () => {
    const ledger = await openOne();
    await fill(ledger, 4);
    const subscription = subscribe(ledger, { batch: 1 });

    const batches = await Promise.all([1, 2, 3, 4].map(() => take(subscription)));

    expect(batches.map((batch) => batch.position)).toEqual([1, 2, 3, 4]);
  });

  test("ends while it waits when it is returned, and the call that waited is done", async () => {
    const ledger = await openOne();
    const subscription = subscribe(ledger);
    await take(subscription);
    const waiting = [subscription.next(), subscription.next()];

    expect(await subscription.return()).toEqual({ done: true, value: undefined });

    for (const each of [...waiting, subscription.next()]) expect(await each).toEqual({ done: true, value: undefined });
  });

  test("ends at the end of an await using block", async () => {
    const ledger = await openOne();
    const subscription = subscribe(ledger);
    await take(subscription);
    const waiting = subscription.next();

    await subscription[Symbol.asyncDispose]();

    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  test("throws ABORTED with the reason when its signal is aborted: while it waits, in between, or before it began", async () => {
    const ledger = await openOne();
    const moments = [
      async (subscription: Subscription, controller: AbortController) => {
        await take(subscription);
        const waiting = subscription.next();
        setTimeout(() => controller.abort("enough"), 5);
        return waiting;
      },
      async (subscription: Subscription, controller: AbortController) => {
        await take(subscription);
        controller.abort("enough");
        return subscription.next();
      },
      async (subscription: Subscription, controller: AbortController) => {
        controller.abort("enough");
        return subscription.next();
      },
    ];
    for (const moment of moments) {
      const controller = new AbortController();
      const subscription = subscribe(ledger, { signal: controller.signal });

      await expect(moment(subscription, controller)).rejects.toMatchObject({ code: "ABORTED", cause: "enough" });
      expect(await subscription.next()).toEqual({ done: true, value: undefined });
    }
  });

  test("that was aborted and then returned is done", async () => {
    const ledger = await openOne();
    const controller = new AbortController();
    const subscription = subscribe(ledger, { signal: controller.signal });
    await take(subscription);
    const waiting = subscription.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    controller.abort();
    await subscription.return();

    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await subscription.next()).toEqual({ done: true, value: undefined });
  });

  test("ends with CLOSED when the ledger is closed: while it waits, in between, or before it began", async () => {
    const ledger = await openOne();
    const [waits, between, later] = [subscribe(ledger), subscribe(ledger), subscribe(ledger)];
    await Promise.all([take(waits), take(between)]);
    const waiting = waits.next();
    waiting.catch(() => {});

    await ledger.close();

    await expect(waiting).rejects.toMatchObject({ code: "CLOSED" });
    for (const subscription of [between, later])
      await expect(subscription.next()).rejects.toMatchObject({ code: "CLOSED" });
    expect(await waits.next()).toEqual({ done: true, value: undefined });
    expect(() => ledger.subscribe()).toThrow(expect.objectContaining({ code: "CLOSED" }));
  });

  test("may close its ledger from inside its loop", async () => {
    const ledger = await openOne();
    await fill(ledger, 3);
    const seen: number[] = [];

    const reading = (async () => {
      for await (const batch of ledger.subscribe({ batch: 1 })) {
        seen.push(...positions(batch));
        if (batch.position === 2) await ledger.close();
      }
    })();

    await expect(reading).rejects.toMatchObject({ code: "CLOSED" });
    expect(seen).toEqual([1, 2]);
  });

  test("lets the event loop breathe when its reader never waits for anything else", async () => {
    const ledger = await openOne();
    await fill(ledger, 300);
    let [turns, reading] = [0, true];
    const turn = (): void => {
      turns++;
      if (reading) setImmediate(turn);
    };
    setImmediate(turn);

    for await (const batch of ledger.subscribe({ batch: 1 })) if (batch.caughtUp) break;
    reading = false;

    expect(turns).toBeGreaterThanOrEqual(300);
  });

  test.each([
    ["from: -1", { from: -1 }, "options.from"],
    ["from: 1.5", { from: 1.5 }, "options.from"],
    ['from: "end"', { from: "end" }, "options.from"],
    ["from: null", { from: null }, "options.from"],
    ["batch: 0", { batch: 0 }, "options.batch"],
    ["batch: 10,001", { batch: 10_001 }, "options.batch"],
    ["streams: text", { streams: "thing/1" }, "options.streams"],
    ["a stream without a kind", { streams: ["thing"] }, "options.streams[0]"],
    ["kinds: a bad one", { kinds: ["Thing"] }, "options.kinds[0]"],
    ["types: a bad one", { types: ["thing"] }, "options.types[0]"],
    ["unknown: 7", { unknown: 7 }, "options.unknown"],
    ["a signal that is none", { signal: {} }, "options.signal"],
    ["a misspelt member", { form: 3 }, "options"],
    ["no object", 7, "options"],
  ])("refuses %s where it is called", async (_, options, path) => {
    const ledger = await openOne();

    expect(() => ledger.subscribe(options as SubscribeOptions)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT", details: expect.objectContaining({ path }) as unknown }),
    );
  });
});

test("a subscription hears of its own ledger's appends without asking for the head", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onCleanup(() => void vi.useRealTimers());
  const ledger = await open("memory:");
  const subscription = ledger.subscribe();
  await take(subscription);
  const next = take(subscription);

  await fill(ledger, 1);

  expect(positions(await next)).toEqual([1]);
});

describe("a subscription over another ledger's commits", () => {
  test("hears of what another ledger on the same store writes", async () => {
    const store = createMemoryStore();
    const [reader, writer] = [await open(store), await open(store)];
    const subscription = subscribe(reader);
    await take(subscription);
    const next = take(subscription);

    await fill(writer, 1);

    expect(positions(await next)).toEqual([1]);
  });

  test.each(sharedStoreNames)(
    "follows a journal on %s from a ledger that is open for reading only, before, while and after a writer has it open",
    async (name) => {
      const path = freshPlace(name);
      await (await openLedger(path)).close();
      const reader = await open(path, { readOnly: true });
      const subscription = subscribe(reader);
      expect(await take(subscription)).toEqual({ entries: [], position: 0, caughtUp: true });

      for (let n = 1; n <= 3; n++) {
        const next = take(subscription);
        const writer = await openLedger(path);
        await fill(writer, 1);
        expect(positions(await next)).toEqual([n]);
        await writer.close();
      }
    },
  );
});

describe("what a subscription holds", () => {
  test("is bounded in bytes, whatever its batch asks for", async () => {
    const ledger = await openLedger("memory:");
    onCleanup(() => ledger.close());
    const text = "x".repeat(60_000);
    for (let n = 0; n < 20; n++)
      await ledger.append(
        "thing/1",
        Array.from({ length: 10 }, () => ({ type: "thing.happened", data: { text } })),
      );

    const sizes: number[] = [];
    for await (const { entries, caughtUp } of ledger.subscribe({ batch: 10_000 })) {
      sizes.push(entries.length);
      if (caughtUp) break;
    }

    expect(sizes).toEqual([70, 70, 60]);
  });

  test("shows contents as references, as every read does", async () => {
    const ledger = await openLedger("memory:");
    onCleanup(() => ledger.close());
    await ledger.append("thing/1", [{ type: "thing.happened", data: { note: content("hello") } }]);

    const { entries } = await take(subscribe(ledger));

    expect((await ledger.content(entries[0]!.data["note"] as never)).text()).toBe("hello");
  });
});
