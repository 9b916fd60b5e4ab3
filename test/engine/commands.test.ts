/** Executing commands: what is read, what is written, and what is told. */
import { expect, expectTypeOf, test } from "vitest";
import { accept, content, defineCommand } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { accounts, ask, bank, deposit, openAccount, refusal, transfer } from "./bank.js";
import { describeStores, open } from "./fixture.js";
import { storedTable } from "./tables.js";

const written = async (ledger: Ledger): Promise<readonly unknown[]> =>
  (await ledger.read({ from: 1 }).toArray()).map((event) => [event.type, event.data]);

describeStores("execute", (openOne, openStoreOf) => {
  test("writes the events of a command and tells what became of them", async () => {
    const ledger = await openOne(bank);

    const opened = await ledger.execute(openAccount({ account: "a", owner: "ada" }), {
      actor: "clerk",
      correlation: "visit 7",
      meta: { tenant: "x" },
    });

    expectTypeOf(opened.result).toEqualTypeOf<{ readonly id: string; readonly at: number }>();
    const [defined, event] = await ledger.read({ from: 1 }).toArray();
    expect(defined).toMatchObject({ type: "area.defined", data: { area: "bank", open: false, kinds: ["account"] } });
    expect(event).toMatchObject({
      stream: "account/a",
      revision: 1,
      type: "bank.opened",
      data: { account: "a", owner: "ada", id: opened.result.id },
      actor: "clerk",
      correlation: "visit 7",
      meta: { tenant: "x" },
      tx: { first: 1, count: 2 },
    });
    expect(opened).toEqual({
      result: { id: expect.stringMatching(/^[a-z2-7]{26}$/) as string, at: event!.at },
      first: 1,
      position: 2,
      count: 2,
      at: event!.at,
      ids: [event!.id],
      revision: 1,
      streams: [{ stream: "account/a", revision: 1 }],
      adopted: false,
    });
  });

  test("decides on the documents as the commands before it left them, and keeps them in the same commit", async () => {
    const store = await openStoreOf();
    const ledger = await open(store, bank);

    const done = await Promise.all([
      ledger.execute(openAccount({ account: "a", owner: "ada" })),
      ledger.execute(openAccount({ account: "b", owner: "bob" })),
      ledger.execute(deposit({ account: "a", cents: 50 })),
      ledger.execute(transfer({ from: "a", to: "b", cents: 20 })),
      ledger.execute(ask({ owner: "bob" })),
    ]);

    expect(done[2].result).toEqual({ balance: 50, same: false, note: null });
    expect(done[3]).toMatchObject({ count: 2, streams: [{ stream: "account/a" }, { stream: "account/b" }] });
    expect(done[4].result).toEqual(["b: 20"]);
    expect((await storedTable(store, accounts)).documents).toEqual({
      a: { owner: "ada", balance: 30, note: null },
      b: { owner: "bob", balance: 20, note: null },
    });
  });

  test("sees what append wrote in the same batch, and append sees its streams", async () => {
    const ledger = await openOne(bank);

    const [, second] = await Promise.all([
      ledger.append("log/1", [{ type: "log.written" }]),
      ledger.execute(openAccount({ account: "a", owner: "ada" }), { require: [{ stream: "log/1", expected: 1 }] }),
      ledger.append("log/1", [{ type: "log.written" }], { require: [{ stream: "account/a", expected: 1 }] }),
    ]);

    expect(second.first).toBe(3);
    expect((await ledger.status()).size).toBe(6);
  });

  test("throws what a command refuses with code, details and message, and nothing of it is written", async () => {
    const ledger = await openOne(bank);
    await ledger.execute(openAccount({ account: "a", owner: "ada" }));

    const exists = await refusal(ledger.execute(openAccount({ account: "a", owner: "bob" })));
    const poor = await refusal(ledger.execute(transfer({ from: "a", to: "a", cents: 1 })));

    expect(exists).toMatchObject({
      code: "ACCOUNT_EXISTS",
      details: { account: "a", owner: "ada" },
      message: "bank.open was refused with ACCOUNT_EXISTS",
    });
    expect(poor).toMatchObject({ code: "POOR", message: "a transfer needs its money" });
    expect((await ledger.status()).size).toBe(3);
  });

  test("a command that accepts without events is a success that writes nothing", async () => {
    const ledger = await openOne(bank);

    const answer = await ledger.execute(ask({ owner: "nobody" }));

    expect(answer).toMatchObject({ result: [], first: 1, position: 0, count: 0, ids: [], revision: 0, streams: [] });
    expect((await ledger.status()).size).toBe(1);
  });

  test("a list is one tx; its later commands see what the earlier ones did, by key and by query", async () => {
    const store = await openStoreOf();
    const ledger = await open(store, bank);

    const done = await ledger.execute([
      openAccount({ account: "a", owner: "ada" }),
      deposit({ account: "a", cents: 50 }),
      ask({ owner: "ada" }),
      deposit({ account: "a", cents: 1 }),
      ask({ owner: "ada" }),
    ]);

    expectTypeOf(done.results[0].id).toEqualTypeOf<string>();
    expect(done.results.slice(1)).toEqual([
      { balance: 50, same: false, note: null },
      ["a: 50"],
      { balance: 51, same: false, note: null },
      ["a: 51"],
    ]);
    expect(done).toMatchObject({ first: 1, count: 4, position: 4, revision: 3 });
    expect((await ledger.read({ from: 1 }).toArray()).map((event) => event.tx)).toEqual(
      Array.from({ length: 4 }, () => ({ first: 1, count: 4 })),
    );
    expect((await storedTable(store, accounts)).documents).toMatchObject({ a: { balance: 51 } });
  });

  test("a list is all or nothing, and says which of its commands refused", async () => {
    const store = await openStoreOf();
    const ledger = await open(store, bank);

    const [, refused, after] = await Promise.all([
      ledger.execute(openAccount({ account: "a", owner: "ada" })),
      refusal(
        ledger.execute([
          openAccount({ account: "b", owner: "bob" }),
          deposit({ account: "a", cents: 9 }),
          transfer({ from: "a", to: "b", cents: 10 }),
        ]),
      ),
      ledger.execute(ask({ owner: "bob" })),
    ]);

    expect(refused).toMatchObject({ code: "POOR", details: { account: "a", balance: 9, index: 2 } });
    expect(after.result).toEqual([]);
    expect((await ledger.status()).size).toBe(3);
    expect((await storedTable(store, accounts)).documents).toEqual({ a: { owner: "ada", balance: 0, note: null } });
  });

  test("contents of an input are stored beside the journal, and compared under their salt", async () => {
    const ledger = await openOne(bank);
    await ledger.execute(openAccount({ account: "a", owner: "ada" }));

    const first = await ledger.execute(deposit({ account: "a", cents: 1, note: content("for rent") }));
    const again = await ledger.execute(deposit({ account: "a", cents: 1, note: content("for rent") }));
    const other = await ledger.execute([
      deposit({ account: "a", cents: 1, note: content("for food") }),
      deposit({ account: "a", cents: 1, note: content("for food") }),
    ]);
    const [event] = await ledger.readStream("account/a", { from: 2 }).toArray();
    const { note } = event!.data as {
      readonly note: { readonly $content: string; readonly bytes: number; readonly n: number };
    };
    const [erased] = await ledger.readStream("account/a", { from: 4 }).toArray();
    await ledger.erase([(erased!.data as { readonly note: { readonly $content: string } }).note.$content], {
      reason: "asked for",
    });
    const afterwards = await ledger.execute(deposit({ account: "a", cents: 1, note: content("for food") }));

    expect([first.result.same, again.result.same]).toEqual([false, true]);
    expect(other.results.map(({ same }) => same)).toEqual([false, true]);
    expect((await ledger.content(note)).text()).toBe("for rent");
    expect(afterwards.result).toMatchObject({ same: false, note: "erased" });
    expect((await ledger.verify()).verdict).toBe("OK");
  });

  test("a content in a result is the reference that an event of the tx names", async () => {
    const keep = defineCommand("bank.keep", {
      decide: (_found, input: { readonly text: unknown }, context) => {
        const own = context.content({ made: context.newId() });
        return accept(
          [{ stream: "account/a", type: "bank.deposited", data: { account: "a", cents: 0, note: input.text, own } }],
          { own, given: input.text, list: [own] },
        );
      },
    });
    const ledger = await openOne({ ...bank, commands: [keep] });

    const { result } = await ledger.execute(keep({ text: content("x") }));

    const [event] = await ledger.readStream("account/a").toArray();
    const { own, note } = event!.data as Record<string, unknown>;
    expect(result).toEqual({ own, given: note, list: [own] });
    const stored = await ledger.content(result.own);
    expect(stored.json()).toEqual({ made: expect.stringMatching(/^[a-z2-7]{26}$/) as string });
  });

  test("the input is copied, frozen and ordered at the call, and is what the redact hook left of it", async () => {
    const shown: unknown[] = [];
    const note = defineCommand("bank.note", {
      decide: (_found, input: { readonly b: { readonly name: string }; readonly a: number; readonly c?: unknown }) => {
        shown.push([
          Object.keys(input),
          Object.isFrozen(input),
          Object.isFrozen(input.b),
          input.b.name,
          Object.is(input.a, 0),
        ]);
        return accept([{ stream: "account/a", type: "bank.closed", data: { account: input.b.name, c: input.c } }]);
      },
    });
    const places: unknown[] = [];
    const ledger = await openOne({
      ...bank,
      commands: [note],
      redact: (value, place) => {
        places.push([place.kind, place.path, "command" in place ? place.command : null]);
        return place.kind === "inputContent" ? "****" : value;
      },
    });
    const input = { c: content("secret"), b: { name: "ada" }, a: -0, d: undefined };

    const done = ledger.execute(note(input));
    input.b.name = "eve";
    await done;

    // Twice where the store had it decided again.
    expect(shown.at(-1)).toEqual([["a", "b", "c"], true, true, "ada", true]);
    expect(places).toEqual([
      ["input", "command input", "bank.note"],
      ["inputContent", "command input.c", "bank.note"],
    ]);
    const [event] = await ledger.readStream("account/a").toArray();
    const { account, c } = event!.data as {
      readonly account: string;
      readonly c: { readonly $content: string; readonly bytes: number; readonly n: number };
    };
    expect([account, (await ledger.content(c)).text()]).toEqual(["ada", "****"]);
  });

  test("C07 a -0 is 0 in the event, in the document and in its replay, by append and by a command", async () => {
    const store = await openStoreOf();
    const ledger = await open(store, bank);

    await ledger.append("log/1", [{ type: "log.written", data: { x: -0, list: [-0, { y: -0 }] } }]);
    await ledger.execute([openAccount({ account: "a", owner: "ada" }), deposit({ account: "a", cents: -0 })]);

    const events = await ledger.read({ from: 2 }).toArray();
    const [logged] = events;
    expect(Object.is((logged!.data as { readonly x: number }).x, 0)).toBe(true);
    expect(logged!.data).toEqual({ x: 0, list: [0, { y: 0 }] });
    const { documents } = await storedTable(store, accounts);
    expect(Object.is((documents["a"] as { readonly balance: number }).balance, 0)).toBe(true);
    expect(await written(ledger)).toContainEqual(["bank.deposited", { account: "a", cents: 0 }]);
  });
});
