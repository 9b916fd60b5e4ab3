import { describe, expect, test } from "vitest";
import { content, LedgerError } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { describeStores, open, openStore, sharedStoreNames } from "./fixture.js";

async function refusal(promise: Promise<unknown>): Promise<LedgerError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof LedgerError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

async function texts(ledger: Ledger): Promise<unknown[]> {
  return (await ledger.read().toArray()).map((event) => event.data);
}

describeStores("append", (openOne) => {
  test("gives each event the next position and the next revision of its stream", async () => {
    const ledger = await openOne();

    const first = await ledger.append("order/1", [{ type: "order.placed", data: { n: 1 } }, { type: "order.paid" }]);
    const second = await ledger.append("order/2", [{ type: "order.placed", data: { n: 2 } }]);
    const third = await ledger.append("order/1", [{ type: "order.sent" }]);

    expect([first.first, first.position, first.count, first.revision]).toEqual([1, 2, 2, 2]);
    expect([second.position, second.revision]).toEqual([3, 1]);
    expect([third.position, third.revision]).toEqual([4, 3]);
    const events = await ledger.read().toArray();
    expect(events.map((event) => [event.position, event.stream, event.revision, event.type])).toEqual([
      [0, "journal/main", 1, "journal.opened"],
      [1, "order/1", 1, "order.placed"],
      [2, "order/1", 2, "order.paid"],
      [3, "order/2", 1, "order.placed"],
      [4, "order/1", 3, "order.sent"],
    ]);
    expect(events[1]!.id).toBe(first.ids[0]);
    expect(events[1]!.tx).toEqual({ first: 1, count: 2 });
    expect(events[4]!.at).toBe(third.at);
  });

  test("keeps actor, cause, correlation and meta", async () => {
    const ledger = await openOne();
    const cause = await ledger.append("order/1", [{ type: "order.placed" }]);

    await ledger.append("order/1", [{ type: "order.paid" }], {
      actor: "clerk",
      cause: { position: cause.position, id: cause.ids[0]! },
      correlation: "basket 7",
      meta: { traceparent: "00-1", tenant: "a" },
    });

    const [paid] = await ledger.readStream("order/1", { from: 2 }).toArray();
    expect(paid).toMatchObject({
      actor: "clerk",
      cause: cause.ids[0],
      correlation: "basket 7",
      meta: { traceparent: "00-1", tenant: "a" },
    });
  });

  test("refuses a cause that is not an event of an earlier append", async () => {
    const ledger = await openOne();
    const placed = await ledger.append("order/1", [{ type: "order.placed" }]);

    const error = await refusal(
      ledger.append("order/1", [{ type: "order.paid" }], { cause: { position: placed.position, id: "0".repeat(64) } }),
    );
    const beyond = await refusal(
      ledger.append("order/1", [{ type: "order.paid" }], { cause: { position: 99, id: placed.ids[0]! } }),
    );

    expect([error.code, beyond.code]).toEqual(["NOT_FOUND", "NOT_FOUND"]);
    expect((await ledger.status()).size).toBe(2);
  });

  test("F04 a conflict names the caller's own expectation and the actual revision", async () => {
    const ledger = await openOne();
    const first = await ledger.append("order/1", [{ type: "order.placed" }]);
    await ledger.append(
      "order/2",
      Array.from({ length: 7 }, () => ({ type: "order.placed" })),
    );

    const none = await refusal(ledger.append("order/1", [{ type: "order.paid" }], { expected: "none" }));
    const five = await refusal(ledger.append("order/2", [{ type: "order.paid" }], { expected: 5 }));
    const exists = await refusal(ledger.append("order/3", [{ type: "order.paid" }], { expected: "exists" }));
    const byId = await refusal(ledger.append("order/2", [{ type: "order.paid" }], { expected: first.ids[0]! }));

    expect(none).toMatchObject({
      code: "REVISION_CONFLICT",
      details: { stream: "order/1", expected: "none", actual: 1 },
    });
    expect(five).toMatchObject({ code: "REVISION_CONFLICT", details: { stream: "order/2", expected: 5, actual: 7 } });
    expect(five.message).toContain("revision 5");
    expect(five.message).toContain("revision 7");
    expect(exists).toMatchObject({ code: "REVISION_CONFLICT", details: { expected: "exists", actual: 0 } });
    expect(byId).toMatchObject({ code: "REVISION_CONFLICT", details: { expected: first.ids[0], actual: 7 } });
    expect((await ledger.status()).size).toBe(9);
  });

  test("accepts every form of expectation that holds", async () => {
    const ledger = await openOne();

    const first = await ledger.append("order/1", [{ type: "order.placed" }], { expected: "none" });
    await ledger.append("order/1", [{ type: "order.paid" }], { expected: first.ids[0]! });
    await ledger.append("order/1", [{ type: "order.sent" }], { expected: 2 });
    await ledger.append("order/1", [{ type: "order.sent" }], { expected: "exists" });
    await ledger.append("order/2", [{ type: "order.placed" }], {
      expected: 0,
      require: [{ stream: "order/1", expected: 4 }],
    });
    await ledger.append("order/1", [{ type: "order.sent" }], { expected: "any" });

    expect((await ledger.status()).size).toBe(7);
  });

  test("accepts 1,000 requirements in one append and refuses 1,001", async () => {
    const ledger = await openOne();
    const require = Array.from({ length: 1_000 }, (_, n) => ({ stream: `order/${n}`, expected: "none" as const }));

    await ledger.append("done/1", [{ type: "done.noted" }], { require });
    const error = await refusal(
      ledger.append("done/1", [{ type: "done.noted" }], {
        require: [...require, { stream: "order/x", expected: "none" }],
      }),
    );

    expect(error).toMatchObject({
      code: "LIMIT_EXCEEDED",
      details: { path: "options.require", max: 1_000, found: 1_001 },
    });
  });

  test("refuses when a required stream is not as said, and writes nothing", async () => {
    const ledger = await openOne();
    await ledger.append("order/1", [{ type: "order.placed" }]);

    const error = await refusal(
      ledger.append("order/2", [{ type: "order.placed" }], { require: [{ stream: "order/1", expected: 2 }] }),
    );

    expect(error).toMatchObject({ code: "REVISION_CONFLICT", details: { stream: "order/1", expected: 2, actual: 1 } });
    expect(await ledger.readStream("order/2").toArray()).toEqual([]);
  });

  test("G-18 an append over several streams happens in whole or not at all", async () => {
    const ledger = await openOne();

    const done = await ledger.append([
      { stream: "order/1", events: [{ type: "order.placed" }], expected: "none" },
      { stream: "stock/7", events: [{ type: "stock.taken" }, { type: "stock.counted" }] },
    ]);
    const error = await refusal(
      ledger.append([
        { stream: "stock/7", events: [{ type: "stock.taken" }] },
        { stream: "order/1", events: [{ type: "order.placed" }], expected: "none" },
      ]),
    );

    expect(done.streams).toEqual([
      { stream: "order/1", revision: 1 },
      { stream: "stock/7", revision: 2 },
    ]);
    expect(error).toMatchObject({
      code: "REVISION_CONFLICT",
      details: { stream: "order/1", expected: "none", actual: 1 },
    });
    expect((await ledger.status()).size).toBe(4);
    const events = await ledger.read({ from: 1 }).toArray();
    expect(events.every((event) => event.tx.first === 1 && event.tx.count === 3)).toBe(true);
  });

  test("G-19 what belongs together is one append: a refusal in the last part takes the first parts with it", async () => {
    const ledger = await openOne();
    const before = await ledger.status();

    const error = await refusal(
      ledger.append([
        { stream: "order/1", events: [{ type: "order.placed", data: { note: content("x".repeat(2_000)) } }] },
        {
          stream: "order/2",
          events: [{ type: "order.placed", data: { ref: { $content: "0".repeat(64), bytes: 1, n: 9 } } }],
        },
      ]),
    );

    expect(error.code).toBe("CONTENT_MISSING");
    expect(await ledger.status()).toMatchObject({ size: before.size, contents: 0, head: before.head });
  });

  test("F03 an event id cannot be given: a command with two equal ids is refused in whole", async () => {
    const ledger = await openOne();

    const error = await refusal(
      ledger.append("order/1", [
        { type: "order.placed", id: "e1" },
        { type: "order.placed", id: "e1" },
      ] as never),
    );

    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", details: { path: "events[0]" } });
    expect(await ledger.readStream("order/1").toArray()).toEqual([]);
  });

  test("two equal events in one append are two events with two ids", async () => {
    const ledger = await openOne();
    const { ids } = await ledger.append("order/1", [{ type: "order.placed" }, { type: "order.placed" }]);
    expect(new Set(ids).size).toBe(2);
  });

  test("does not see what the caller does to its objects after the call", async () => {
    const ledger = await openOne();
    const data = { completed: 1, list: ["a"] };

    const appending = ledger.append("order/1", [{ type: "order.placed", data }]);
    data.completed = 2;
    data.list.push("b");
    await appending;

    expect((await texts(ledger))[1]).toEqual({ completed: 1, list: ["a"] });
  });

  test("A16 positions, revisions and numbers are exact up to 2^53−1 and refused beyond", async () => {
    const ledger = await openOne();

    await ledger.append("order/1", [{ type: "order.placed", data: { fence: Number.MAX_SAFE_INTEGER } }]);
    const data = await refusal(ledger.append("order/1", [{ type: "order.placed", data: { fence: 2 ** 53 } }]));
    const revision = await refusal(ledger.append("order/1", [{ type: "order.placed" }], { expected: 2 ** 53 }));
    const position = await refusal((async () => ledger.read({ from: 2 ** 53 }).toArray())());

    expect((await texts(ledger))[1]).toEqual({ fence: 9007199254740991 });
    expect([data.code, revision.code, position.code]).toEqual([
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
      "INVALID_ARGUMENT",
    ]);
    expect(
      await refusal(ledger.append("order/1", [{ type: "order.placed" }], { expected: Number.MAX_SAFE_INTEGER })),
    ).toMatchObject({
      code: "REVISION_CONFLICT",
      details: { expected: Number.MAX_SAFE_INTEGER, actual: 1 },
    });
  });

  test("C14 two Unicode forms of one visible name are two streams, and neither is rewritten", async () => {
    const ledger = await openOne();
    const composed = "caf/\u00e9";
    const decomposed = "caf/e\u0301";

    await ledger.append(composed, [{ type: "cup.filled", data: { n: 1 } }]);
    await ledger.append(decomposed, [{ type: "cup.filled", data: { n: 2 } }]);

    expect((await ledger.readStream(composed).toArray()).map((event) => [event.stream, event.data])).toEqual([
      [composed, { n: 1 }],
    ]);
    expect((await ledger.readStream(decomposed).toArray()).map((event) => [event.stream, event.data])).toEqual([
      [decomposed, { n: 2 }],
    ]);
  });

  test("refuses an entry over 65,535 bytes, counted in bytes, and accepts one just within", async () => {
    const ledger = await openOne();
    const room = 65_535 - 400;

    const error = await refusal(
      ledger.append("order/1", [{ type: "order.placed", data: { text: "é".repeat(room / 2 + 300) } }]),
    );
    await ledger.append("order/1", [{ type: "order.placed", data: { text: "é".repeat(Math.floor(room / 2)) } }]);

    expect(error).toMatchObject({ code: "LIMIT_EXCEEDED", details: { path: "events[0]", max: 65_535 } });
    expect((await ledger.status()).size).toBe(2);
  });

  test("accepts 10,000 events in one append and refuses 10,001", async () => {
    const ledger = await openOne();
    const events = Array.from({ length: 10_000 }, () => ({ type: "order.placed" }));

    expect((await ledger.append("order/1", events)).count).toBe(10_000);
    expect(await refusal(ledger.append("order/1", [...events, { type: "order.placed" }]))).toMatchObject({
      code: "LIMIT_EXCEEDED",
      details: { max: 10_000 },
    });
  });

  test.each([
    ["a stream without a slash", (l: Ledger) => l.append("order", [{ type: "order.placed" }]), "stream"],
    [
      "a stream with a control character",
      (l: Ledger) => l.append("order/\u0007", [{ type: "order.placed" }]),
      "stream name",
    ],
    [
      "a stream of the journal",
      (l: Ledger) => l.append("journal/main", [{ type: "order.placed" }]),
      "events[0] stream",
    ],
    ["a type of the journal", (l: Ledger) => l.append("order/1", [{ type: "journal.opened" }]), "events[0].type"],
    ["a type that is no type", (l: Ledger) => l.append("order/1", [{ type: "Order placed" }]), "type"],
    ["no events", (l: Ledger) => l.append("order/1", []), "events"],
    ["data that is a list", (l: Ledger) => l.append("order/1", [{ type: "order.placed", data: [] }]), "events[0].data"],
    [
      "data with a Date",
      (l: Ledger) => l.append("order/1", [{ type: "order.placed", data: { at: new Date(NaN) } }]),
      "events[0].data.at",
    ],
    [
      "an unknown option",
      (l: Ledger) => l.append("order/1", [{ type: "order.placed" }], { expcted: 1 } as never),
      "options",
    ],
    [
      "an expectation that is none",
      (l: Ledger) => l.append("order/1", [{ type: "order.placed" }], { expected: "soon" }),
      "expected",
    ],
    [
      "an actor with a line break",
      (l: Ledger) => l.append("order/1", [{ type: "order.placed" }], { actor: "a\nb" }),
      "options.actor",
    ],
    [
      "meta that is not text",
      (l: Ledger) => l.append("order/1", [{ type: "order.placed" }], { meta: { a: 1 } as never }),
      "options.meta.a",
    ],
    [
      "one stream named twice",
      (l: Ledger) =>
        l.append([
          { stream: "a/1", events: [{ type: "a.b" }] },
          { stream: "a/1", events: [{ type: "a.b" }] },
        ]),
      "appends[1].stream",
    ],
    ["nothing at all", (l: Ledger) => l.append(undefined as never, undefined as never), "append"],
  ])("refuses %s, names it, and writes nothing", async (_, append, path) => {
    const ledger = await openOne();

    const error = await refusal(append(ledger));

    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(`${String(error.details["path"])} ${error.message}`).toContain(path);
    expect((await ledger.status()).size).toBe(1);
  });

  test.each([
    ["an actor of 129 units", { actor: "a".repeat(129) }],
    ["a correlation key of 513 units", { correlation: "a".repeat(513) }],
    ["meta of 17 members", { meta: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, "v"])) }],
    ["meta of more than 2 KiB", { meta: { k: "v".repeat(2_048) } }],
  ])("refuses %s", async (_, options) => {
    const ledger = await openOne();
    const error = await refusal(ledger.append("order/1", [{ type: "order.placed" }], options));
    expect(["LIMIT_EXCEEDED", "INVALID_ARGUMENT"]).toContain(error.code);
    expect((await ledger.status()).size).toBe(1);
  });

  test("refuses everything once it is closed", async () => {
    const ledger = await openOne();
    await ledger.close();
    await ledger.close();

    expect((await refusal(ledger.append("order/1", [{ type: "order.placed" }]))).code).toBe("CLOSED");
    expect((await refusal(ledger.status())).code).toBe("CLOSED");
    expect(() => ledger.read()).toThrow(expect.objectContaining({ code: "CLOSED" }));
    expect((await refusal(ledger.content({ $content: "0".repeat(64), bytes: 0, n: 1 }))).code).toBe("CLOSED");
    expect((await refusal(ledger.verify())).code).toBe("CLOSED");
  });

  test("finishes what is queued before it closes", async () => {
    const ledger = await openOne();
    const appends = Array.from({ length: 50 }, (_, n) =>
      ledger.append("order/1", [{ type: "order.placed", data: { n } }]),
    );

    await ledger.close();

    expect((await Promise.all(appends)).map((result) => result.revision)).toEqual(
      Array.from({ length: 50 }, (_, n) => n + 1),
    );
  });

  test("gives up an append that still waits when its signal says so", async () => {
    const ledger = await openOne();
    const controller = new AbortController();
    const appending = ledger.append("order/1", [{ type: "order.placed" }], { signal: controller.signal });
    controller.abort(new Error("no longer wanted"));

    expect((await refusal(appending)).code).toBe("ABORTED");
    expect(
      (await refusal(ledger.append("order/1", [{ type: "order.placed" }], { signal: controller.signal }))).code,
    ).toBe("ABORTED");
    await ledger.append("order/2", [{ type: "order.placed" }]);
    expect((await ledger.status()).size).toBe(2);
  });

  test("refuses the 10,001st append that waits, and takes appends again afterwards", async () => {
    const ledger = await openOne();
    const appends = Array.from({ length: 10_000 }, () => ledger.append("order/1", [{ type: "order.placed" }]));

    expect((await refusal(ledger.append("order/1", [{ type: "order.placed" }]))).code).toBe("OVERLOADED");
    await Promise.all(appends);

    expect((await ledger.append("order/1", [{ type: "order.placed" }])).revision).toBe(10_001);
  });
});

describe("a store that was handed in", () => {
  test.each(sharedStoreNames)(
    "G-25 stays open when the ledger is closed, and closing twice is a no-op, on %s",
    async (name) => {
      const store = await openStore(name);
      const first = await open(store);
      await first.append("order/1", [{ type: "order.placed" }]);
      await first.close();
      await first.close();

      const second = await open(store);

      expect((await second.append("order/1", [{ type: "order.paid" }])).revision).toBe(2);
    },
  );
});
