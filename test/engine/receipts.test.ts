import { describe, expect, test } from "vitest";
import { content, LedgerError, openLedger } from "../../src/index.js";
import type { ExecuteOptions, Ledger, LedgerEvent } from "../../src/index.js";
import { describeStores, freshPlace, onCleanup, open, sharedStoreNames } from "./fixture.js";
import { echo, fail, keep, note, orders, place, withOrders } from "./orders.js";

const c1: ExecuteOptions = { id: "c1" };

async function refusal(promise: Promise<unknown>): Promise<LedgerError> {
  const error = await promise.then(
    (answer) => ({ accepted: answer }),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(LedgerError);
  return error as LedgerError;
}

async function eventsOf(ledger: Ledger, type?: string): Promise<LedgerEvent[]> {
  return ledger.read(type === undefined ? {} : { types: [type] }).toArray();
}

describeStores("receipts", (openOne, openStoreOf) => {
  test("F01 a command id that is sent twice with any revision gives one set of events and the first answer", async () => {
    const ledger = await openOne(withOrders);

    const first = await ledger.execute(place({ order: "7", total: 42 }), c1);
    const second = await ledger.execute(place({ order: "7", total: 42 }), c1);
    const third = await ledger.execute(place({ order: "7", total: 42 }), {
      ...c1,
      require: [{ stream: "order/7", expected: "none" }],
    });

    expect(first.adopted).toBe(false);
    expect(first.ids.length).toBe(1);
    for (const again of [second, third]) expect(again).toEqual({ ...first, adopted: true });
    const events = await eventsOf(ledger);
    expect(events.map(({ type }) => type)).toEqual([
      "journal.opened",
      "area.defined",
      "order.placed",
      "receipt.recorded",
    ]);
    expect(events.at(-1)).toMatchObject({ stream: "client/default", command: "c1", position: first.position });
    expect(events.at(-2)).toMatchObject({ command: "c1", id: first.ids[0] });
    expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });
  });

  test("F05 the id with another payload is refused and writes nothing; with the members in another order it adopts", async () => {
    const ledger = await openOne(withOrders);
    const lines = { 10: "tea", 9: "milk", b: { y: 1, x: 2 } };
    const first = await ledger.execute(place({ order: "7", total: 42, lines }), c1);
    const { size } = await ledger.status();

    const other = await refusal(ledger.execute(place({ order: "7", total: 43, lines }), c1));
    const absent = await refusal(ledger.execute(place({ order: "7", total: 42 }), c1));
    const reordered = { lines: { b: { x: 2, y: 1 }, 9: "milk", 10: "tea" }, total: 42, order: "7", note: undefined };
    const again = await ledger.execute(place(reordered), c1);

    expect(other).toMatchObject({
      code: "IDEMPOTENCY_CONFLICT",
      adopted: false,
      details: { client: "default", id: "c1", first: "order.place", found: "order.place", position: first.position },
    });
    expect(other.message).toContain("another input");
    expect(absent.code).toBe("IDEMPOTENCY_CONFLICT");
    expect(again).toEqual({ ...first, adopted: true });
    expect((await ledger.status()).size).toBe(size);
  });

  test("T31 the id of one command is refused for another one, and both are named", async () => {
    const ledger = await openOne(withOrders);
    await ledger.execute(place({ order: "7", total: 42 }), c1);

    const one = await refusal(ledger.execute(note({ order: "7", text: "x" }), c1));
    const list = await refusal(ledger.execute([place({ order: "7", total: 42 })], c1));

    expect(one).toMatchObject({ code: "IDEMPOTENCY_CONFLICT", details: { first: "order.place", found: "order.note" } });
    expect(one.message).toContain("order.place");
    expect(one.message).toContain("order.note");
    expect(list).toMatchObject({ code: "IDEMPOTENCY_CONFLICT", details: { found: ["order.place"] } });
    expect((await eventsOf(ledger, "order.noted")).length).toBe(0);

    // Of the same input, too: the name alone makes it another command.
    await ledger.execute(note({ order: "8", text: "x" }), { id: "c2" });
    expect(await refusal(ledger.execute(keep({ order: "8", text: "x" }), { id: "c2" }))).toMatchObject({
      code: "IDEMPOTENCY_CONFLICT",
      details: { first: "order.note", found: "order.keep" },
    });
    expect((await eventsOf(ledger, "order.placed")).length).toBe(1);
  });

  test("D-68 no member of an input is lost on the way to its fingerprint", async () => {
    const ledger = await openOne(withOrders);
    const lines = JSON.parse('{"__proto__":{"price":1}}') as object;

    const error = await refusal(ledger.execute(place({ order: "7", total: 42, lines }), c1));

    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(await ledger.receipt("c1")).toBeNull();
  });

  test("what is in flight in one batch is adopted too, and each caller gets the one answer", async () => {
    const ledger = await openOne(withOrders);

    const answers = await Promise.all(
      Array.from({ length: 20 }, () => ledger.execute(place({ order: "7", total: 42 }), c1)),
    );

    expect(answers.filter(({ adopted }) => !adopted).length).toBe(1);
    for (const answer of answers) expect({ ...answer, adopted: false }).toEqual({ ...answers[0], adopted: false });
    expect((await eventsOf(ledger, "order.placed")).length).toBe(1);
    expect((await eventsOf(ledger, "receipt.recorded")).length).toBe(1);
    expect(answers.at(-1)?.position).toBe((await ledger.status()).head.position);
  });

  test("a conflict with what is in flight is refused, and the first is not touched by it", async () => {
    const ledger = await openOne(withOrders);

    const [first, conflict, other] = await Promise.allSettled([
      ledger.execute(place({ order: "7", total: 42 }), c1),
      ledger.execute(place({ order: "8", total: 42 }), c1),
      ledger.execute(place({ order: "9", total: 42 }), { id: "c2" }),
    ]);

    expect([first.status, other.status]).toEqual(["fulfilled", "fulfilled"]);
    expect(conflict).toMatchObject({ status: "rejected", reason: { code: "IDEMPOTENCY_CONFLICT" } });
    expect((await eventsOf(ledger, "order.placed")).map(({ stream }) => stream)).toEqual(["order/7", "order/9"]);
  });

  test("two ledgers on one store that send the same ids at once agree on every answer", async () => {
    const store = await openStoreOf();
    const [one, two] = [await open(store, withOrders), await open(store, withOrders)];
    const ids = Array.from({ length: 10 }, (_, index) => `c${index}`);

    const answers = await Promise.all(
      ids.map((id) => Promise.all([one, two].map((ledger) => ledger.execute(place({ order: id, total: 1 }), { id })))),
    );

    for (const [left, right] of answers) {
      expect(left!.adopted).toBe(!right!.adopted);
      expect({ ...left, adopted: true }).toEqual({ ...right, adopted: true });
    }
    expect((await eventsOf(one, "receipt.recorded")).length).toBe(ids.length);
  });

  test("a refusal is adopted with its code, details and message, and tells that it is", async () => {
    const ledger = await openOne(withOrders);
    await ledger.execute(place({ order: "7", total: 42 }));
    const before = await ledger.status();

    const [refused, next] = await Promise.allSettled([
      ledger.execute(place({ order: "7", total: 1 }), c1),
      ledger.execute(place({ order: "8", total: 1 })),
    ]);
    const again = await refusal(ledger.execute(place({ order: "7", total: 1 }), c1));

    const first = (refused as PromiseRejectedResult).reason as LedgerError;
    expect(first).toMatchObject({ code: "ALREADY_PLACED", adopted: false, details: { order: "7", total: 42 } });
    expect(again).toMatchObject({ code: first.code, message: first.message, details: first.details, adopted: true });
    expect(again.details).toEqual(first.details);
    const events = await ledger.read({ from: before.size }).toArray();
    expect(events.map(({ type, tx }) => [type, tx.count])).toEqual([
      ["receipt.recorded", 1],
      ["order.placed", 1],
    ]);
    expect(next).toMatchObject({ status: "fulfilled", value: { revision: 1 } });
    expect(await refusal(ledger.execute(place({ order: "7", total: 2 }), c1))).toMatchObject({
      code: "IDEMPOTENCY_CONFLICT",
    });
  });

  test.each(["busy", "moment", "throw"] as const)(
    "what ends with %s leaves no receipt: the same id tries again",
    async (how) => {
      const ledger = await openOne(withOrders);
      await ledger.execute(place({ order: "1", total: 1 }));
      const before = await ledger.status();

      await expect(ledger.execute(fail({ how }), c1)).rejects.toThrow();
      await expect(ledger.execute([place({ order: "2", total: 1 }), fail({ how })], c1)).rejects.toThrow();
      expect((await ledger.status()).size).toBe(before.size);
      const accepted = await ledger.execute(place({ order: "7", total: 42 }), c1);

      expect(accepted.adopted).toBe(false);
      expect(await ledger.receipt("c1")).toMatchObject({ outcome: "accepted", name: "order.place" });
    },
  );

  test("a refusal of the engine leaves no receipt", async () => {
    const ledger = await openOne(withOrders);
    const options: ExecuteOptions = { ...c1, require: [{ stream: "order/1", expected: "exists" }] };

    expect((await refusal(ledger.execute(place({ order: "7", total: 42 }), options))).code).toBe("REVISION_CONFLICT");
    expect((await refusal(ledger.execute(echo({ answer: "x".repeat(20_000) }), c1))).code).toBe("LIMIT_EXCEEDED");
    const aborted = AbortSignal.abort();
    expect((await refusal(ledger.execute(echo({}), { ...c1, signal: aborted }))).code).toBe("ABORTED");

    expect(await ledger.receipt("c1")).toBeNull();
    expect((await ledger.execute(place({ order: "7", total: 42 }), c1)).adopted).toBe(false);
  });

  test("a list has one receipt, and what its commands answered comes back as it was", async () => {
    const ledger = await openOne(withOrders);
    const list = [
      place({ order: "7", total: 42 }),
      note({ order: "7", text: "x" }),
      echo({ answer: null }),
      echo({}),
    ] as const;

    const first = await ledger.execute(list, c1);
    const again = await ledger.execute(list, c1);

    expect(first.results.slice(1)).toEqual([undefined, null, undefined]);
    expect(again).toEqual({ ...first, adopted: true });
    expect(again.ids.length).toBe(3);
    expect((await eventsOf(ledger, "receipt.recorded")).length).toBe(1);
    const swapped = [list[0], list[1], list[3], list[2]];
    expect((await refusal(ledger.execute(swapped, c1))).code).toBe("IDEMPOTENCY_CONFLICT");
    expect(await ledger.receipt("c1")).toMatchObject({
      name: ["order.place", "order.note", "order.echo"],
      results: [first.results[0], undefined, null, undefined],
      first: first.first,
      count: first.count,
    });
  });

  test("the refusal of a list says which command it was, and none of the list is left", async () => {
    const ledger = await openOne(withOrders);
    const list = [place({ order: "7", total: 42 }), place({ order: "7", total: 42 }), place({ order: "8", total: 1 })];

    const first = await refusal(ledger.execute(list, c1));
    const again = await refusal(ledger.execute(list, c1));

    expect(first).toMatchObject({ code: "ALREADY_PLACED", adopted: false, details: { order: "7", index: 1 } });
    expect(again).toMatchObject({ code: "ALREADY_PLACED", adopted: true, message: first.message });
    expect(again.details).toEqual(first.details);
    expect((await eventsOf(ledger, "order.placed")).length).toBe(0);
    expect(await ledger.receipt("c1")).toMatchObject({
      outcome: "refused",
      results: [],
      refusal: { code: "ALREADY_PLACED", index: 1, details: { order: "7", total: 42 } },
      count: 1,
    });
  });

  test("a command without events has a receipt alone, and adopts", async () => {
    const ledger = await openOne(withOrders);

    const first = await ledger.execute(echo({ answer: { a: [1, "é😀"] } }), c1);
    const again = await ledger.execute(echo({ answer: { a: [1, "é😀"] } }), c1);

    expect(first).toMatchObject({
      count: 1,
      ids: [],
      streams: [],
      revision: 0,
      adopted: false,
      result: { a: [1, "é😀"] },
    });
    expect(again).toEqual({ ...first, adopted: true });
  });

  test("a result has at most 16 KiB of canonical JSON", async () => {
    const ledger = await openOne(withOrders);
    const largest = "é".repeat((16 * 1024 - 2) / 2);

    const first = await ledger.execute(echo({ answer: largest }), c1);
    const over = await refusal(ledger.execute(echo({ answer: `${largest}x` }), { id: "c2" }));

    expect(await ledger.execute(echo({ answer: largest }), c1)).toEqual({ ...first, adopted: true });
    expect(over).toMatchObject({ code: "LIMIT_EXCEEDED", details: { max: 16_384, found: 16_385 } });
    expect(await ledger.receipt("c2")).toBeNull();
    const halves = [echo({ answer: "x".repeat(8_190) }), echo({ answer: "y".repeat(8_190) })];
    await ledger.execute(halves, { id: "c3" });
    expect((await ledger.execute(halves, { id: "c3" })).adopted).toBe(true);
  });

  test("clients do not see each other's ids, and ids are compared as they are", async () => {
    const ledger = await openOne(withOrders);
    const ids = ["c1", "C1", "x".repeat(200), "a/b", "é", "e\u0301", " "];

    for (const client of [undefined, "web", "Web", `w${"1".repeat(127)}`])
      for (const id of ids) {
        const options = client === undefined ? { id } : { id, client };
        expect((await ledger.execute(echo({ answer: id }), options)).adopted).toBe(false);
        expect((await ledger.execute(echo({ answer: id }), options)).adopted).toBe(true);
      }

    expect((await eventsOf(ledger, "receipt.recorded")).length).toBe(4 * ids.length);
    expect((await ledger.receipt("a/b", "web"))?.client).toBe("web");
    expect((await ledger.execute(echo({ answer: "c1" }), { id: "c1", client: "default" })).adopted).toBe(true);
  });

  test.each([
    [{ id: "" }, "options.id"],
    [{ id: "x".repeat(201) }, "options.id"],
    [{ id: "a\u0000" }, "options.id"],
    [{ id: "\ud800" }, "options.id"],
    [{ id: 7 }, "options.id"],
    [{ id: null }, "options.id"],
    [{ id: "c", client: "a/b" }, "options.client"],
    [{ id: "c", client: "1" }, "options.client"],
    [{ id: "c", client: `w${"1".repeat(128)}` }, "options.client"],
    [{ client: "" }, "options.client"],
  ])("%j is refused and nothing is written", async (options, path) => {
    const ledger = await openOne(withOrders);

    const error = await refusal(ledger.execute(echo({}), options as unknown as ExecuteOptions));

    expect(error.details).toMatchObject({ path });
    expect((await ledger.status()).size).toBe(1);
  });

  test("contents in an input count by what they hold; a content in a result comes back as the same reference", async () => {
    const ledger = await openOne(withOrders);
    const given = (text: string): Parameters<typeof place>[0] => ({ order: "7", total: 42, note: content(text) });
    const long = "ring twice ".repeat(200);
    await ledger.execute(place({ order: "1", total: 1, note: content(long) }));

    const first = await ledger.execute(place(given(long)), c1);
    expect(await ledger.execute(place(given(long)), c1)).toEqual({ ...first, adopted: true });
    expect((await refusal(ledger.execute(place(given("ring once")), c1))).code).toBe("IDEMPOTENCY_CONFLICT");
    const plain = place({ order: "7", total: 42, note: long });
    expect((await refusal(ledger.execute(plain, c1))).code).toBe("IDEMPOTENCY_CONFLICT");

    const kept = await ledger.execute(keep({ order: "9", text: "kept" }), { id: "c2" });
    const again = await ledger.execute(keep({ order: "9", text: "kept" }), { id: "c2" });
    expect(again).toEqual({ ...kept, adopted: true });
    expect((await ledger.content(again.result.kept)).text()).toBe("kept");
    expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });
  });

  test("redacted inputs are compared as they were recorded", async () => {
    const redact = (value: unknown): unknown =>
      JSON.parse(JSON.stringify(value).replaceAll(/sk-\w+/g, "[token]")) as unknown;
    const ledger = await openOne({ ...withOrders, redact });

    const first = await ledger.execute(place({ order: "7", total: 42, note: "sk-one" }), c1);

    expect(await ledger.execute(place({ order: "7", total: 42, note: "sk-two" }), c1)).toEqual({
      ...first,
      adopted: true,
    });
  });

  test("a receipt is left out of subscriptions unless it is asked for", async () => {
    const ledger = await openOne(withOrders);
    await ledger.execute(place({ order: "7", total: 42 }), c1);
    await ledger.execute(fail({ how: "good" }), { id: "c2" }).catch(() => {});

    const first = await ledger.subscribe().next();
    const asked = await ledger.subscribe({ kinds: ["client"] }).next();

    expect(first.value?.entries.map(({ type }) => type)).toEqual(["order.placed"]);
    expect(asked.value?.entries.length).toBe(2);
  });

  test("a receipt is read by id and client, also where nothing can be written", async () => {
    const ledger = await openOne(withOrders);
    const { result, position, first, count, at } = await ledger.execute(place({ order: "7", total: 42 }), c1);

    expect(await ledger.receipt("c1")).toEqual({
      client: "default",
      id: "c1",
      name: "order.place",
      outcome: "accepted",
      results: [result],
      refusal: null,
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      salt: { $content: expect.stringMatching(/^[0-9a-f]{64}$/) as string, bytes: 32, n: 1 },
      position,
      first,
      count,
      at,
    });
    expect(await ledger.receipt("c1", "web")).toBeNull();
    expect(await ledger.receipt("c2")).toBeNull();
    expect((await refusal(ledger.receipt(""))).details).toMatchObject({ path: "id" });
    expect((await refusal(ledger.receipt("c1", "a/b"))).details).toMatchObject({ path: "client" });
  });

  test("nobody but the engine writes where receipts stand", async () => {
    const ledger = await openOne(withOrders);

    for (const [stream, type] of [
      ["client/default", "thing.happened"],
      ["client/default", "receipt.recorded"],
      ["thing/1", "receipt.recorded"],
    ] as const)
      expect((await refusal(ledger.append(stream, [{ type }]))).code).toBe("INVALID_ARGUMENT");
  });

  describe("erasing", () => {
    const because = { reason: "asked for by the customer" };

    test("a content takes the salts of the receipts whose tx name it along, and then the id alone adopts", async () => {
      const ledger = await openOne(withOrders);
      const long = "ring twice ".repeat(200);
      const given = { order: "7", total: 42, note: content(long) };
      const first = await ledger.execute(place(given), c1);
      await ledger.execute(place({ ...given, order: "8" }), { id: "c2" });
      await ledger.execute(place({ order: "9", total: 1 }), { id: "c3" });
      const [c1Receipt, c2Receipt] = [(await ledger.receipt("c1"))!, (await ledger.receipt("c2"))!];
      const [event] = await ledger.readStream("order/7").toArray();
      const digest = (event!.data["note"] as unknown as { readonly $content: string }).$content;
      const { digest: before } = await ledger.projection(orders).digest();

      const plan = await ledger.erase([digest], { ...because, shared: true, dryRun: true });
      const erasure = await ledger.erase([digest], { ...because, shared: true });

      const salts = [c1Receipt, c2Receipt].map(({ salt, position }) => ({
        digest: salt.$content,
        n: salt.n,
        media: "application/octet-stream",
        bytes: 32,
        entries: [expect.objectContaining({ position, type: "receipt.recorded", stream: "client/default" })],
      }));
      expect(plan.salts).toEqual(salts);
      expect(erasure.salts).toEqual(salts);
      const erased = [digest, c1Receipt.salt.$content, c2Receipt.salt.$content];
      expect((await eventsOf(ledger, "content.erased")).map(({ data }) => data["digests"])).toEqual([erased]);
      expect((await refusal(ledger.content(c1Receipt.salt))).code).toBe("CONTENT_ERASED");
      const again = await ledger.execute(place({ order: "another", total: 0 }), c1);
      expect(again).toEqual({ ...first, adopted: true, fingerprint: "erased" });
      expect(await ledger.receipt("c1")).toMatchObject({ fingerprint: "erased" });
      expect((await refusal(ledger.execute(place({ order: "another", total: 0 }), { id: "c3" }))).code).toBe(
        "IDEMPOTENCY_CONFLICT",
      );
      expect((await ledger.projection(orders).digest()).digest).toBe(before);
      expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });
    });

    test("a content that its command answered is no shared one, and the receipt keeps its reference", async () => {
      const ledger = await openOne(withOrders);
      const { result } = await ledger.execute(keep({ order: "9", text: "kept" }), c1);

      const erasure = await ledger.erase([result.kept.$content], because);

      expect(erasure.contents[0]?.entries.map(({ type }) => type)).toEqual(["order.placed", "receipt.recorded"]);
      expect(erasure.salts.length).toBe(1);
      const again = await ledger.execute(keep({ order: "9", text: "other" }), c1);
      expect(again.result).toEqual(result);
      expect((await refusal(ledger.content(again.result.kept))).code).toBe("CONTENT_ERASED");
    });

    test("the salt of a refusal can be erased by itself", async () => {
      const ledger = await openOne(withOrders);
      const first = await refusal(ledger.execute(fail({ how: "good", secret: "guess me" }), c1));
      const { salt } = (await ledger.receipt("c1"))!;

      const erasure = await ledger.erase([salt.$content], because);

      expect([erasure.contents.length, erasure.salts]).toEqual([1, []]);
      const again = await refusal(ledger.execute(fail({ how: "good", secret: "a guess" }), c1));
      expect(again).toMatchObject({ code: "NEVER", message: first.message, details: first.details, adopted: true });
    });

    test("more salts than one event has room for are named by several, in one commit", async () => {
      const ledger = await openOne(withOrders);
      const text = "the same for all ".repeat(100);
      for (let from = 0; from < 620; from += 155)
        await Promise.all(
          Array.from({ length: 155 }, (_, index) =>
            ledger.execute(place({ order: `o${from + index}`, total: 1, note: content(text) }), {
              id: `c${from + index}`,
            }),
          ),
        );
      const [event] = await ledger.readStream("order/o0").toArray();
      const digest = (event!.data["note"] as unknown as { readonly $content: string }).$content;

      const erasure = await ledger.erase([digest], { ...because, shared: true });

      expect(erasure.salts.length).toBe(620);
      const events = await eventsOf(ledger, "content.erased");
      expect(events.map(({ data, tx }) => [(data["digests"] as unknown[]).length, tx.count])).toEqual([
        [500, 2],
        [121, 2],
      ]);
      expect(erasure.position).toBe(events[0]!.position);
      expect((await ledger.execute(place({ order: "x", total: 0 }), { id: "c619" })).adopted).toBe(true);
      expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });
    });
  });
});

test.each(sharedStoreNames)(
  "a receipt is adopted after the ledger was closed and opened again, and read where nothing can be written, on %s",
  async (name) => {
    const path = freshPlace(name);
    const ledger = await openLedger(path, withOrders);
    const first = await ledger.execute(place({ order: "7", total: 42 }), c1);
    const refused = await refusal(ledger.execute(place({ order: "7", total: 42 }), { id: "c2" }));
    await ledger.close();

    const reader = await openLedger(path, { ...withOrders, readOnly: true });
    onCleanup(() => reader.close());
    expect(await reader.receipt("c1")).toMatchObject({ results: [first.result] });
    expect((await refusal(reader.execute(place({ order: "7", total: 42 }), c1))).code).toBe("READ_ONLY");
    await reader.close();

    const again = await open(path, withOrders);
    expect(await again.execute(place({ order: "7", total: 42 }), c1)).toEqual({ ...first, adopted: true });
    expect(await refusal(again.execute(place({ order: "7", total: 42 }), { id: "c2" }))).toMatchObject({
      code: refused.code,
      details: refused.details,
      adopted: true,
    });
  },
);
