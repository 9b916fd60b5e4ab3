/** What the kernel refuses, refused where a host meets it: at `append`, with nothing written; and what it accepts, read
 *  back exactly. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { content, LedgerError } from "../../src/index.js";
import type { Ledger, NewEvent } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { acceptedValues, eventData, jsonStrings, keys, labels, metas } from "../../src/testing/arbitraries.js";
import { everyRefusedValue } from "../../src/testing/arbitraries-refused.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { seededBytes } from "../../src/testing/seeded.js";
import { describeStores, open, runsOn } from "../engine/fixture.js";
import { checkJournal } from "./second-implementation.js";
import type { Line } from "./second-implementation.js";

async function refused(ledger: Ledger, event: NewEvent, stream = "note/1"): Promise<LedgerError> {
  const { size } = await ledger.status();
  const outcome = await ledger.append(stream, [{ type: "note.added", data: {} }, event]).then(
    () => new Error("it was accepted"),
    (error: unknown) => error,
  );
  if (!(outcome instanceof LedgerError)) throw new Error("it must be refused with a code", { cause: outcome });
  expect((await ledger.status()).size).toBe(size);
  return outcome;
}

async function dataOf(ledger: Ledger, data: object): Promise<unknown> {
  const { position } = await ledger.append("note/1", [{ type: "note.added", data }]);
  for await (const event of ledger.read({ from: position })) return event.data;
  return undefined;
}

describeStores("what JSON cannot carry", (openOne) => {
  test("T44 is refused at append with a code and the path; nothing is written, and the next append is taken", async () => {
    const ledger = await openOne();

    for (const { value, path, fault } of everyRefusedValue()) {
      const inside = await refused(ledger, { type: "note.added", data: { list: [0, value] } });
      // Bytes in data are no JSON either: they must be marked with content().
      expect({ fault, code: inside.code, path: inside.details["path"] }).toEqual({
        fault,
        code: "INVALID_ARGUMENT",
        path: path.replace("$", "events[1].data.list[1]"),
      });
    }
    expect(await ledger.append("note/1", [{ type: "note.added" }])).toMatchObject({ position: 1, revision: 1 });
  });

  test("T44 is refused as content too", async () => {
    const ledger = await openOne();

    for (const value of [new Map(), NaN, { a: [undefined] }, new Proxy({}, {})])
      expect(() => content(value)).toThrow(LedgerError);
    expect(
      (await refused(ledger, { type: "note.added", data: { a: content("x"), b: new Date() } })).details,
    ).toMatchObject({ path: "events[1].data.b" });
  });

  test("T44 is refused when it is deep, wide or long, and the process lives", async () => {
    const ledger = await openOne();
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    let doubled: unknown = [];
    for (let level = 0; level < 100; level++) doubled = [doubled, doubled];
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, index]));

    for (const value of [deep, doubled, wide, "x".repeat(100_000_000), Array(1_000_000).fill(0)]) {
      expect((await refused(ledger, { type: "note.added", data: { value } })).code).toBe("LIMIT_EXCEEDED");
    }
  });

  test("T44 is refused when the event, its data or its labels are a Proxy or have getters, without calling them", async () => {
    const ledger = await openOne();
    const hostile = new Proxy(
      {},
      { get: () => expect.fail("a trap ran"), getPrototypeOf: () => expect.fail("a trap ran") },
    );
    const getter = Object.defineProperty({}, "a", { get: () => expect.fail("a getter ran"), enumerable: true });

    expect((await refused(ledger, { type: "note.added", data: hostile })).details).toMatchObject({
      path: "events[1].data",
    });
    expect((await refused(ledger, { type: "note.added", data: getter })).details).toMatchObject({
      path: "events[1].data.a",
    });
    for (const meta of [hostile, getter, null, { a: 1 }]) {
      const append = ledger.append("note/1", [{ type: "note.added" }], { meta: meta as Record<string, string> });
      await expect(append).rejects.toMatchObject({
        code: expect.stringMatching(/INVALID_ARGUMENT|LIMIT_EXCEEDED/) as string,
      });
    }
  });

  test("C01 a lone surrogate is refused in data, names and labels; nothing is half written", async () => {
    const ledger = await openOne();

    expect((await refused(ledger, { type: "note.added", data: { a: "\ud800" } })).details).toMatchObject({
      path: "events[1].data.a",
    });
    expect((await refused(ledger, { type: "note.added", data: { "\ud800": 1 } })).code).toBe("INVALID_ARGUMENT");
    await expect(ledger.append("note/\ud800", [{ type: "note.added" }])).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    for (const label of [
      { actor: "\ud800" },
      { correlation: "\ud800" },
      { meta: { a: "\ud800" } },
      { meta: { "\ud800": "a" } },
    ]) {
      await expect(ledger.append("note/1", [{ type: "note.added" }], label)).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    }
    expect((await ledger.status()).size).toBe(1);
    expect(await dataOf(ledger, { "😀": "\ufffd" })).toEqual({ "😀": "\ufffd" });
  });

  test("C03 a member named __proto__ is refused in both orders, and no prototype changes", async () => {
    const ledger = await openOne();

    for (const text of ['{"b":2,"__proto__":{"x":1}}', '{"__proto__":{"x":1},"b":2}']) {
      expect((await refused(ledger, { type: "note.added", data: JSON.parse(text) as object })).details).toMatchObject({
        path: "events[1].data.__proto__",
      });
    }
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  test("C09 a shared object is stored as two copies; a cycle is refused and nothing is stored", async () => {
    const ledger = await openOne();
    const shared = { a: 1 };
    const cycle: { again?: object } = {};
    cycle.again = cycle;

    expect((await refused(ledger, { type: "note.added", data: cycle })).message).toContain("free of cycles");
    expect(await dataOf(ledger, { x: shared, y: shared })).toEqual({ x: { a: 1 }, y: { a: 1 } });
  });

  test("C11 an invalid date is refused; null never takes its place", async () => {
    const ledger = await openOne();

    for (const date of [new Date(NaN), new Date(0)])
      expect((await refused(ledger, { type: "note.added", data: { date } })).details).toMatchObject({
        path: "events[1].data.date",
      });
  });
});

describeStores("what JSON can carry", (openOne, openStore, name) => {
  test("T46 U+0000, look-alikes, bidirectional and control characters are stored exactly", async () => {
    const ledger = await openOne();
    const strings = [
      "\u0000",
      "e\u0301",
      "\u00e9",
      "\u202e\u2066",
      "\u001b[2J",
      "\u0085\u2028",
      "\ufeff\ufffd",
      "\u{10ffff}",
    ];

    for (const text of strings) expect(await dataOf(ledger, { [text]: text })).toEqual({ [text]: text });
  });

  test("T45 numbers come back as they were, or are refused", async () => {
    const ledger = await openOne();

    expect(await dataOf(ledger, { x: [-0, 5e-324, 2 ** 53 - 1, 1e21, 0.1] })).toEqual({
      x: [0, 5e-324, 2 ** 53 - 1, 1e21, 0.1],
    });
    for (const x of [NaN, Infinity, 2 ** 53, 2 ** 53 + 2])
      expect((await refused(ledger, { type: "note.added", data: { x } })).details).toMatchObject({
        path: "events[1].data.x",
      });
  });

  test("G-10 members that are undefined are dropped before anything is hashed", async () => {
    const clock = manualClock();
    const options = { clock, origin: "same", testing: { randomBytes: seededBytes(1) } };
    const [with_, without] = [
      await openOne(options),
      await openOne({ ...options, testing: { randomBytes: seededBytes(1) } }),
    ];

    const [first] = (
      await with_.append("note/1", [{ type: "note.added", data: { a: undefined, b: { c: undefined, d: 1 } } }])
    ).ids;
    const [second] = (await without.append("note/1", [{ type: "note.added", data: { b: { d: 1 } } }])).ids;

    expect(first).toBe(second);
  });

  test("whatever is generated as accepted is accepted", async () => {
    const ledger = await openOne();

    await fc.assert(
      fc.asyncProperty(
        acceptedValues(),
        keys(),
        labels(),
        fc.option(metas(), { nil: undefined }),
        async (value, key, actor, meta) => {
          const appended = await ledger.append(`note/${key}`, [{ type: "note.added", data: { value } }], {
            actor,
            correlation: key,
            ...(meta === undefined ? {} : { meta }),
          });
          for await (const event of ledger.read({ from: appended.position }))
            expect(event).toMatchObject({ stream: `note/${key}`, actor, correlation: key });
        },
      ),
      { numRuns: runsOn(name, 30) },
    );
  });

  test("whatever a ledger writes is a valid journal to the second implementation", async () => {
    const event = fc.record({
      data: eventData(),
      note: fc.option(jsonStrings(), { nil: undefined }),
      long: fc.boolean(),
    });
    const append = fc.record({
      stream: fc.constantFrom("note/1", "note/2", "book/é"),
      events: fc.array(event, { minLength: 1, maxLength: 3 }),
      pauseMs: fc.nat(5_000),
    });

    await fc.assert(
      fc.asyncProperty(fc.array(append, { maxLength: 6 }), async (appends) => {
        const store = await openStore();
        const clock = manualClock();
        const ledger = await open(store, { clock });
        for (const { stream, events, pauseMs } of appends) {
          clock.advance(pauseMs);
          const area = stream.slice(0, stream.indexOf("/"));
          await ledger.append(
            stream,
            events.map(({ data, note, long }) => ({
              type: `${area}.added`,
              data: { data, note: note === undefined ? undefined : content(long ? note.padEnd(1_100, "·") : note) },
            })),
          );
        }

        const snapshot = await store.snapshot();
        const lines: Line[] = [];
        for (const { id, entry } of await snapshot.entries(0, 1_000))
          lines.push({ id, entry: typeof entry === "string" ? entry : Buffer.from(entry).toString() });
        const { contents } = await ledger.status();
        for (const row of await snapshot.contents(Array.from({ length: contents }, (_, index) => index + 1))) {
          if (row === null || "erased" in row) expect.fail("a content is missing");
          lines.push({
            n: row.n,
            media: row.media,
            salt: Buffer.from(row.salt).toString("base64"),
            bytes: Buffer.from(row.bytes).toString("base64"),
          });
        }
        await snapshot.release();
        await ledger.close();
        expect(checkJournal(lines)).toEqual([]);
      }),
      { numRuns: runsOn(name, process.env["RUNLEDGER_LONG"] === "1" ? 200 : 10) },
    );
  });
});

test("the same calls with the same clock and the same random bytes give the same bytes", async () => {
  const run = async (): Promise<string[]> => {
    const store = createMemoryStore();
    const clock = manualClock();
    const ledger = await open(store, { clock, testing: { randomBytes: seededBytes(7) } });
    await ledger.append("note/1", [{ type: "note.added", data: { note: content("x".repeat(2_000)) } }]);
    clock.advance(5);
    await ledger.append("note/1", [
      { type: "note.added", data: { note: content("x".repeat(2_000)) } },
      { type: "note.added", data: { note: content("y") } },
    ]);
    const snapshot = await store.snapshot();
    return (await snapshot.entries(0, 10)).map(({ entry }) => String(entry));
  };

  expect(await run()).toEqual(await run());
});
