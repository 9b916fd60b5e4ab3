import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { describeStores, ledgerPath, open } from "./fixture.js";

async function fill(ledger: Ledger, count: number): Promise<void> {
  for (let first = 0; first < count; first += 1_000) {
    const events = Array.from({ length: Math.min(1_000, count - first) }, (_, n) => ({
      type: "order.placed",
      data: { n: first + n },
    }));
    await ledger.append("order/1", events);
    await ledger.append(`order/${first}-other`, [{ type: "order.counted" }]);
  }
}

describeStores("read", (openOne) => {
  test("pages through the whole journal, forward and backward, from any position", async () => {
    const ledger = await openOne();
    await fill(ledger, 2_300);
    const size = (await ledger.status()).size;

    const forward = (await ledger.read().toArray()).map((event) => event.position);
    const backward = (await ledger.read({ direction: "backward" }).toArray()).map((event) => event.position);

    expect(forward).toEqual(Array.from({ length: size }, (_, n) => n));
    expect(backward).toEqual([...forward].reverse());
    expect((await ledger.read({ from: 700, limit: 3 }).toArray()).map((event) => event.position)).toEqual([
      700, 701, 702,
    ]);
    expect(
      (await ledger.read({ from: 700, limit: 3, direction: "backward" }).toArray()).map((event) => event.position),
    ).toEqual([700, 699, 698]);
    expect(await ledger.read({ from: size }).toArray()).toEqual([]);
    expect(
      (await ledger.read({ from: size + 50, direction: "backward", limit: 1 }).toArray()).map(
        (event) => event.position,
      ),
    ).toEqual([size - 1]);
  });

  test("pages through one stream, forward and backward, across the edges of its pages", async () => {
    const ledger = await openOne();
    await fill(ledger, 1_300);

    const forward = (await ledger.readStream("order/1").toArray()).map((event) => event.revision);
    const backward = (await ledger.readStream("order/1", { direction: "backward" }).toArray()).map(
      (event) => event.revision,
    );

    expect(forward).toEqual(Array.from({ length: 1_300 }, (_, n) => n + 1));
    expect(backward).toEqual([...forward].reverse());
    for (const edge of [1, 255, 256, 257, 512, 513, 1_280, 1_281, 1_300]) {
      expect(
        (await ledger.readStream("order/1", { from: edge, limit: 2 }).toArray()).map((event) => event.revision),
      ).toEqual([edge, edge + 1].filter((rev) => rev <= 1_300));
      expect(
        (await ledger.readStream("order/1", { from: edge, limit: 2, direction: "backward" }).toArray()).map(
          (event) => event.revision,
        ),
      ).toEqual([edge, edge - 1].filter((rev) => rev > 0));
    }
    expect(await ledger.readStream("order/1", { from: 1_301 }).toArray()).toEqual([]);
    expect(await ledger.readStream("order/none").toArray()).toEqual([]);
  });

  test("filters by stream, kind and type, without losing the limit", async () => {
    const ledger = await openOne();
    await fill(ledger, 1_100);

    expect((await ledger.read({ types: ["order.counted"] }).toArray()).length).toBe(2);
    expect((await ledger.read({ streams: ["order/1000-other"] }).toArray()).map((event) => event.stream)).toEqual([
      "order/1000-other",
    ]);
    expect((await ledger.read({ kinds: ["journal"] }).toArray()).map((event) => event.type)).toEqual([
      "journal.opened",
    ]);
    expect((await ledger.read({ types: ["order.placed"], limit: 7 }).toArray()).length).toBe(7);
  });

  test("is fixed at the head that it started at", async () => {
    const ledger = await openOne();
    await fill(ledger, 600);
    const size = (await ledger.status()).size;

    let count = 0;
    for await (const event of ledger.read()) {
      count++;
      if (event.position % 100 === 0) await ledger.append("order/2", [{ type: "order.placed" }]);
    }

    expect(count).toBe(size);
  });

  test("A03 an open iterator does not hold up an append, and leaving it half-way does not hold up close", async () => {
    const ledger = await openOne();
    for (let n = 0; n < 10; n++)
      await ledger.append(
        "order/1",
        Array.from({ length: 1_000 }, () => ({ type: "order.placed" })),
      );

    let seen = 0;
    for await (const event of ledger.read()) {
      if (event.position === 3_000)
        expect((await ledger.append("order/2", [{ type: "order.placed" }])).position).toBe(10_001);
      if (++seen === 5_000) break;
    }
    const report = await ledger.verify();
    await ledger.close();

    expect([report.verdict, seen]).toEqual(["OK", 5_000]);
  });

  test.each([
    [{ from: -1 }, "options.from"],
    [{ from: 1.5 }, "options.from"],
    [{ limit: 0 }, "options.limit"],
    [{ limit: -1 }, "options.limit"],
    [{ direction: "up" }, "options.direction"],
    [{ streams: ["x"] }, "options.streams[0]"],
    [{ kinds: ["X"] }, "options.kinds[0]"],
    [{ types: "a.b" }, "options.types"],
    [{ types: ["a"] }, "options.types[0]"],
    [{ unknown: "skip" }, "options.unknown"],
    [{ form: 1 }, "options"],
  ])("refuses %j", async (options, path) => {
    const ledger = await openOne();
    expect(() => ledger.read(options as never)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    expect(() => ledger.read(options as never)).toThrow(path);
  });

  test.each([
    ["nothing", () => undefined],
    ["an event later", async () => null],
    ["something else", () => "event"],
  ])("refuses an `unknown` that answers with %s", async (_, unknown) => {
    const ledger = await openOne();
    await fill(ledger, 1);

    const reading = ledger.read({ unknown: unknown as never }).toArray();

    await expect(reading).rejects.toMatchObject({ code: "INVALID_ARGUMENT", details: { path: "options.unknown" } });
  });

  test("stops when its signal says so", async () => {
    const ledger = await openOne();
    await fill(ledger, 1_100);
    const controller = new AbortController();

    const reading = (async () => {
      for await (const event of ledger.read({ signal: controller.signal }))
        if (event.position === 10) controller.abort();
    })();

    await expect(reading).rejects.toMatchObject({ code: "ABORTED" });
  });
});

test("A03 a ledger file whose iterator was left half-way closes into one file, opens again and verifies", async () => {
  const path = ledgerPath();
  const ledger = await openLedger(path);
  await ledger.append(
    "order/1",
    Array.from({ length: 10_000 }, () => ({ type: "order.placed" })),
  );

  const left = ledger.read()[Symbol.asyncIterator](); // never told that nobody wants more
  expect((await left.next()).value).toMatchObject({ position: 0 });
  for await (const event of ledger.read()) if (event.position === 5_000) break;
  await ledger.append("order/2", [{ type: "order.placed" }]);
  await ledger.close();

  expect(readdirSync(dirname(path))).toEqual(["state.ledger"]);
  const again = await open(path);
  expect(await again.verify()).toMatchObject({ verdict: "OK", size: 10_002, findings: [] });
});
