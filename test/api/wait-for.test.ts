/** Waiting for documents: what resolves it, what gives it up, and that nothing is left of it. */
import { describe, expect, test } from "vitest";
import { queue } from "../../projections/queue.js";
import { openLedger, defineProjection } from "../../src/index.js";
import { manualClock } from "../../src/testing/index.js";
import { describeStores, freshPlace, onCleanup, open, sharedStoreNames } from "../engine/fixture.js";
import { settled, until } from "./working.js";

interface Order {
  readonly count: number;
}
interface Orders {
  "order.counted": { order: string };
}
const handlers = {
  "order.counted": {
    key: ({ data }: { data: { order: string } }) => data.order,
    apply: (order: Order | undefined) => ({ count: (order?.count ?? 0) + 1 }),
  },
};
const orders = defineProjection<Order, Orders>()({
  name: "order",
  version: 1,
  indexes: { count: ({ count }) => [count] },
  on: handlers,
});
const later = defineProjection<Order, Orders>()({ name: "later", version: 1, async: true, on: handlers });
const projections = [orders, later];
const counted = [{ type: "order.counted", data: { order: "7" } }];

describeStores("waitFor", (openOne) => {
  test("resolves at once with what is there", async () => {
    const ledger = await openOne({ projections });
    await ledger.append("order/7", counted);

    expect(await ledger.waitFor(orders.get("7"), (order) => order !== null)).toEqual({ count: 1 });
    expect(await ledger.waitFor(orders.get("8"), (order) => order === null)).toBeNull();
  });

  test("resolves with the first document that the predicate holds for, when it is written", async () => {
    const ledger = await openOne({ projections, clock: manualClock() });
    const seen: (number | null)[] = [];
    const waiting = ledger.waitFor(orders.get("7"), (order) => {
      seen.push(order?.count ?? null);
      return order !== null && order.count >= 3;
    });

    await until(() => seen.length > 0);
    for (let count = 0; count < 3; count++) {
      await settled();
      await ledger.append("order/7", counted);
    }

    expect(await waiting).toEqual({ count: 3 });
    expect(seen[0]).toBeNull();
    expect(seen.at(-1)).toBe(3);
  });

  test("resolves with what a query finds", async () => {
    const ledger = await openOne({ projections });
    const waiting = ledger.waitFor(
      orders.find({ index: "count", range: { gte: 2 } }),
      ({ documents }) => documents.length > 0,
    );
    await ledger.append("order/7", counted);
    await ledger.append("order/7", counted);

    expect((await waiting).documents).toEqual([{ key: "7", document: { count: 2 } }]);
  });

  test("waits for an item of the run queue", async () => {
    const ledger = await openOne();
    const waiting = ledger.waitFor(queue.get("r1"), (item) => item?.status === "done");
    const claim = { holder: "A" };
    const { fence } = await ledger.queue.enqueue({ runId: "r1", claim });
    await ledger.queue.complete(fence);

    expect(await waiting).toMatchObject({ status: "done" });
  });

  test("waits for the documents of a projection that follows behind the journal", async () => {
    const ledger = await openOne({ projections });
    const waiting = ledger.waitFor(later.get("7"), (order) => order?.count === 2);
    await ledger.append("order/7", counted);
    await ledger.append("order/7", counted);

    expect(await waiting).toEqual({ count: 2 });
  });

  test("is given up by its signal, and hears of it no more", async () => {
    const ledger = await openOne({ projections });
    const controller = new AbortController();
    const waiting = ledger.waitFor(orders.get("7"), (order) => order !== null, { signal: controller.signal });
    await settled();
    controller.abort(new Error("enough"));

    await expect(waiting).rejects.toMatchObject({ code: "ABORTED", cause: { message: "enough" } });
    await expect(ledger.waitFor(orders.get("7"), () => true, { signal: controller.signal })).rejects.toMatchObject({
      code: "ABORTED",
    });
  });

  test("is given up when its time is over, by the ledger's clock, and leaves no timer behind", async () => {
    const clock = manualClock();
    const ledger = await openOne({ projections, clock });
    const waiting = ledger.waitFor(orders.get("7"), (order) => order !== null, { timeoutMs: 5_000 });
    const outcome = waiting.catch((error: unknown) => error);
    await settled();
    clock.advance(4_999);
    await settled();
    clock.advance(1);
    expect(await outcome).toMatchObject({ code: "NOT_READY", details: { projection: "order", timeoutMs: 5_000 } });
    await settled();

    expect(clock.waiting).toBe(0);
  });

  test("is ended by the closing of the ledger", async () => {
    const ledger = await openOne({ projections });
    const waiting = ledger.waitFor(orders.get("7"), (order) => order !== null).catch((error: unknown) => error);
    await settled();
    await ledger.close();

    expect(await waiting).toMatchObject({ code: "CLOSED" });
    await expect(ledger.waitFor(orders.get("7"), () => true)).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("rejects with what the predicate throws", async () => {
    const ledger = await openOne({ projections });
    const error = new Error("the host's");
    const waiting = ledger.waitFor(orders.get("7"), (order) => {
      if (order !== null) throw error;
      return false;
    });
    await ledger.append("order/7", counted);

    await expect(waiting).rejects.toBe(error);
  });
});

describe("waitFor", () => {
  test.each(sharedStoreNames)(
    "hears of what another ledger of the same journal writes, on one that is open read-only too, on %s",
    async (name) => {
      const path = freshPlace(name);
      const writer = await open(path, { projections });
      const reader = await openLedger(path, { projections, readOnly: true });
      onCleanup(() => reader.close());
      const waiting = reader.waitFor(orders.get("7"), (order) => order?.count === 2);
      await settled();
      await writer.append("order/7", counted);
      await writer.append("order/7", counted);

      expect(await waiting).toEqual({ count: 2 });
    },
  );

  const refused: readonly (readonly [string, () => readonly unknown[]])[] = [
    ["no read", () => [undefined, () => true]],
    ["a projection", () => [orders, () => true]],
    ["a read without a key", () => [orders.get(null), () => true]],
    ["a key that is none", () => [orders.get(""), () => true]],
    ["a query that no index serves", () => [orders.find({ index: "name" }), () => true]],
    [
      "a projection that the ledger does not have",
      () => [{ ...orders.get("7"), projection: { name: "x" } }, () => true],
    ],
    ["no predicate", () => [orders.get("7"), undefined]],
    ["a predicate that is async", () => [orders.get("7"), () => Promise.reject(new Error("not now"))]],
    ["a predicate that answers with nothing", () => [orders.get("7"), () => undefined]],
    ["an unknown option", () => [orders.get("7"), () => true, { timeout: 5 }]],
    ["a signal that is none", () => [orders.get("7"), () => true, { signal: true }]],
    ["no time", () => [orders.get("7"), () => true, { timeoutMs: 0 }]],
  ];

  test.each(refused)("refuses %s", async (_, args) => {
    await using ledger = await openLedger("memory:", { projections });
    const waiting = ledger.waitFor(...(args() as unknown as Parameters<typeof ledger.waitFor>));
    await expect(waiting).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("says by its types what the predicate has found out", async () => {
    await using ledger = await openLedger("memory:", { projections });
    await ledger.append("order/7", counted);
    const order = await ledger.waitFor(orders.get("7"), (document) => document !== null);
    const { count }: Order = order;
    expect(count).toBe(1);
  });
});
