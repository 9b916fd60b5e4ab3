/** Cases of reducers, documents and receipts from the field, on ledgers on every store: what `test/projections` shows of each
 *  driver alone holds for what is stored, for what was then, for a replay and for a first build. */
import { afterEach, expect, test, vi } from "vitest";
import { defineProjection, replay } from "../../projections/index.js";
import type { AnyProjection, EventHandler, Projection } from "../../projections/index.js";
import type { Ledger, LedgerError, NewEvent, Store } from "../../src/index.js";
import { writeOperational } from "../../src/engine/operational.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { describeStores, open } from "./fixture.js";
import { place, withOrders } from "./orders.js";
import { appendRaw } from "./raw-append.js";
import { accounts, append, expectTables, moved, opened, storedTable } from "./tables.js";

type Any = Record<string, unknown>;

const happened = (data: object): NewEvent => ({ type: "thing.happened", data });
const happen = (ledger: Ledger, data: object): Promise<unknown> => ledger.append("thing/1", [happened(data)]);

/** One document a stream. */
function things(apply: EventHandler<Any>["apply"], version = 1): Projection<Any> {
  return defineProjection<Any>()({
    name: "thing",
    version,
    on: { "thing.happened": { key: ({ stream }) => stream, apply } },
  });
}

afterEach(() => void vi.restoreAllMocks());

describeStores("cases from the field", (_, openStore) => {
  /** The document of `thing/1`, which is the same live, stored, as it was, in a replay and built anew. */
  async function documentOf(store: Store, ledger: Ledger, projection: Projection<Any>): Promise<Any | null> {
    const live = await ledger.projection(projection).get("thing/1");
    const { head } = await ledger.status();
    const replayed = (await replay([projection], ledger.read())).projection(projection);
    const built = things(projection.on.get("thing.happened")!.apply, 2);
    const builder = await open(store, { projections: [built] });
    expect((await storedTable(store, projection)).documents).toEqual({ "thing/1": live });
    expect(await (await ledger.at(head.position)).projection(projection).get("thing/1")).toEqual(live);
    expect(replayed.get("thing/1")).toEqual(live);
    expect(await ledger.projection(projection).digest()).toEqual(replayed.digest());
    expect(await builder.projection(built).get("thing/1")).toEqual(live);
    expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", failures: 0 });
    await expectTables(store, [projection, built]);
    return live;
  }

  test("D01 of two records the one is edited, then the other is read and edited, and no third one changes", async () => {
    const projection = things((thing) => {
      if (thing === undefined) return { one: { n: 1 }, two: { n: 1 }, three: { n: 1 }, list: [{ n: 1 }, { n: 1 }] };
      const { one, two, list } = thing as { one: { n: number }; two: { n: number }; list: { n: number }[] };
      one.n += 1;
      two.n = one.n + two.n;
      for (const each of list.slice(0, 1)) each.n += list[1]!.n + two.n;
      return undefined;
    });
    const store = await openStore();
    const ledger = await open(store, { projections: [projection] });
    for (let n = 0; n < 3; n++) await happen(ledger, {});

    expect(await documentOf(store, ledger, projection)).toEqual({
      one: { n: 3 },
      two: { n: 6 },
      three: { n: 1 },
      list: [{ n: 12 }, { n: 1 }],
    });
  });

  test("D03 a class instance in a document is refused by name, and the state before it stays as it was", async () => {
    class Money {
      amount = 1;
    }
    const projection = things((thing, { data }) => {
      const document = thing ?? { kept: { n: 1 } };
      const money = data["money"] === true ? new Money() : { amount: 0 };
      money.amount = 2;
      document["money"] = money;
      return document;
    });
    const store = await openStore();
    const ledger = await open(store, { projections: [projection] });
    await happen(ledger, {});
    const before = await ledger.projection(projection).digest();
    const { documents } = await storedTable(store, projection);

    await happen(ledger, { money: true });

    const error = (await ledger
      .projection(projection)
      .get("thing/1")
      .catch((cause: unknown) => cause)) as LedgerError;
    expect(error).toMatchObject({ code: "PROJECTION_FAILED", details: { key: "thing/1", position: 2 } });
    expect(error.message).toContain("document.money");
    expect(error.message).toContain("an instance of");
    expect((await storedTable(store, projection)).documents).toEqual(documents);
    expect(await (await ledger.at(1)).projection(projection).digest()).toEqual(before);
    await expectTables(store, [projection]);
  });

  test("D05 what strangers call constructor and prototype is data: in the event, in the document, for nobody else", async () => {
    const merge = (into: Any, from: object): void => {
      for (const [name, value] of Object.entries(from) as [string, unknown][]) {
        if (typeof value !== "object" || value === null) into[name] = value;
        else merge((Object.hasOwn(into, name) ? into[name] : (into[name] = {})) as Any, value);
      }
    };
    const projection = things((thing, { data }) => {
      const document = thing ?? {};
      merge(document, data);
      return document;
    });
    const attack = { constructor: { prototype: { admin: true } }, prototype: { admin: true } };
    const store = await openStore();
    const ledger = await open(store, { projections: [projection] });
    await happen(ledger, attack);
    await happen(ledger, { constructor: { prototype: { admin: true, twice: 1 } } });
    const proto = await ledger
      .append("thing/1", [happened(JSON.parse('{"__proto__":{"admin":true}}') as object)])
      .catch((cause: unknown) => cause);

    expect(proto).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect((await ledger.readStream("thing/1").toArray())[0]!.data).toEqual(attack);
    expect(await documentOf(store, ledger, projection)).toEqual({
      constructor: { prototype: { admin: true, twice: 1 } },
      prototype: { admin: true },
    });
    expect(({} as Any)["admin"]).toBeUndefined();
    expect(Object.hasOwn(Object.prototype, "admin")).toBe(false);
  });

  test("D07 a draft that a reducer let out throws at every access once the append is done", async () => {
    const leaked: Any[] = [];
    const projection = things((thing) => {
      if (thing === undefined) return { inner: { n: 1 }, list: [1] };
      leaked.push(thing, thing["inner"] as Any, thing["list"] as Any);
      thing["seen"] = true;
      return undefined;
    });
    const ledger = await open(await openStore(), { projections: [projection] });
    await happen(ledger, {});
    await happen(ledger, {});

    expect(leaked.length).toBeGreaterThanOrEqual(3); // more where the batch was decided again
    for (const draft of leaked) {
      expect(() => draft["n"]).toThrow();
      expect(() => "n" in draft).toThrow();
      expect(() => Object.keys(draft)).toThrow();
      expect(() => (draft["n"] = 2)).toThrow();
    }
    expect(await ledger.projection(projection).get("thing/1")).toEqual({ inner: { n: 1 }, list: [1], seen: true });
  });

  test("D09 an event reads and writes as many rows beside two thousand documents as beside twenty", async () => {
    const [small, large, events, budget] = [20, 2_000, 100, 1.5];
    const projection = defineProjection<{ n: number }>()({
      name: "trip",
      version: 1,
      indexes: { n: ({ n }) => [n] },
      on: {
        "trip.moved": { key: ({ data }) => String(data["run"]), apply: (run) => ({ n: (run?.n ?? 0) + 1 }) },
      },
    });
    const moving = (run: number): NewEvent => ({ type: "trip.moved", data: { run } });
    const rowsOf = async (documents: number): Promise<number> => {
      const counted = counting(await openStore());
      const ledger = await open(counted.store, { projections: [projection], cacheDocuments: 0 });
      await ledger.append(
        "trip/1",
        Array.from({ length: documents }, (_each, run) => moving(run)),
      );
      counted.reset();
      for (let n = 0; n < events; n++) await ledger.append("trip/1", [moving((n * 7) % documents)]);
      const rows = counted.rows();
      expect((await ledger.projection(projection).get("7"))!.n).toBeGreaterThan(1);
      return rows;
    };

    const [few, many] = [await rowsOf(small), await rowsOf(large)];

    expect(few).toBeGreaterThanOrEqual(2 * events);
    // Some commits are tried again on a store that conflicts.
    expect(many).toBeLessThanOrEqual(budget * few);
  });

  test("D14 rebuilt a day later, without a clock and without chance, a lease at its end is what it was", async () => {
    const lease = (version: number): Projection<Any> =>
      things((thing, { at, data }) => {
        if (thing === undefined) return { expiresAt: at + (data["leaseMs"] as number), live: [] };
        (thing["live"] as boolean[]).push((thing["expiresAt"] as number) > at);
        return undefined;
      }, version);
    const live = lease(1);
    const store = await openStore();
    const clock = manualClock(1_000_000);
    const ledger = await open(store, { projections: [live], clock });
    await happen(ledger, { leaseMs: 1_000 });
    for (const ms of [998, 1, 1, 1]) {
      clock.advance(ms);
      await happen(ledger, {});
    }
    const expected = await ledger.projection(live).get("thing/1");
    const digest = await ledger.projection(live).digest();
    expect((expected!["live"] as boolean[]).includes(true)).toBe(true);
    expect((expected!["live"] as boolean[]).at(-1)).toBe(false);

    const built = lease(2);
    const builder = await open(store, { projections: [built], clock: manualClock(1_000_000 + 86_400_000) });
    const refuse = (): never => {
      throw new Error("a reducer must not ask for this");
    };
    vi.spyOn(Math, "random").mockImplementation(refuse);
    vi.spyOn(Date, "now").mockImplementation(refuse);
    const again = await builder.projection(built).get("thing/1");
    const past = await (await ledger.at(digest.position)).projection(live).digest();
    vi.restoreAllMocks();

    expect(again).toEqual(expected);
    expect(past).toEqual(digest);
    expect((await replay([live], ledger.read())).projection(live).digest()).toEqual(digest);
  });

  test("T23 a document that was edited, removed or added past the engine is named by table, key, path and event", async () => {
    const account = accounts();
    const store = await openStore();
    const ledger = await open(store, { projections: [account] });
    for (const name of ["a", "b", "c"]) await append(ledger, name, opened(name), moved(name, 7));
    const { row } = await storedTable(store, account);
    const write = (key: string, document: object | null): Promise<unknown> =>
      writeOperational(store, 5_000, (transaction) =>
        transaction.putDocuments(row!.id, [
          { key, seq: 2, text: document === null ? null : JSON.stringify(document), indexes: [undefined, undefined] },
        ]),
      );

    await write("a", { owner: "ann", balance: 7_000, moves: 1 });
    const edited = await ledger.verify({ level: "deep" });
    expect(edited).toMatchObject({ verdict: "DERIVED", exitCode: 1, firstBad: null, failures: 1 });
    expect(edited.findings).toMatchObject([
      {
        code: "E_PROJECTION",
        position: 2,
        stream: "account/a",
        have: "7000",
        document: { fault: "changed", projection: "account", version: 1, table: row!.id, key: "a", path: "/balance" },
      },
    ]);

    await write("a", { owner: "ann", balance: 7, moves: 1 });
    expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });

    await write("b", null);
    expect((await ledger.verify({ level: "deep" })).findings).toMatchObject([
      { code: "E_PROJECTION", document: { fault: "missing", projection: "account", key: "b" } },
    ]);
  });

  test("T26 the place of a receipt that was edited past the engine is E_RECEIPT", async () => {
    const store = await openStore();
    const ledger = await open(store, withOrders);
    await ledger.execute(place({ order: "7", total: 42 }), { id: "c1" });
    const receipts = { name: "receipt", version: 1 } as AnyProjection;
    const { row, documents } = await storedTable(store, receipts);
    expect(Object.keys(documents)).toEqual(["default/c1"]);
    await writeOperational(store, 5_000, (transaction) =>
      transaction.putDocuments(row!.id, [
        { key: "default/c1", seq: 3, text: '{"position":2}', indexes: row!.indexes.map(() => undefined) },
      ]),
    );

    const report = await ledger.verify({ level: "deep" });

    expect(report).toMatchObject({ verdict: "DERIVED", exitCode: 1, failures: 1 });
    expect(report.findings).toMatchObject([{ code: "E_RECEIPT", document: { fault: "changed", key: "default/c1" } }]);
  });

  test("T31 a second receipt of one id, written past the engine, is E_COMMAND_CONFLICT and names the first", async () => {
    const store = await openStore();
    const ledger = await open(store, withOrders);
    const { position } = await ledger.execute(place({ order: "7", total: 42 }), { id: "c1" });
    const [receipt] = await ledger.read({ types: ["receipt.recorded"] }).toArray();
    const forged = await appendRaw(
      store,
      "client/default",
      "receipt.recorded",
      {
        ...receipt!.data,
        fingerprint: "ab".repeat(32),
      },
      { command: "c1" },
    );

    const { findings, verdict } = await ledger.verify({ level: "deep" });

    expect(verdict).toBe("TAMPERED");
    const finding = findings.find(({ code }) => code === "E_COMMAND_CONFLICT");
    expect(finding).toMatchObject({ position: forged });
    expect(finding!.message).toContain(`#${position}`);
  });

  test.each([
    ["the clock", () => performance.now()],
    ["chance", () => Math.random()],
  ] as const)("T52 a reducer that looks at %s is E_NONDETERMINISM with event and path", async (_title, value) => {
    const projection = things(() => ({ seen: { value: value() } }));
    const ledger = await open(await openStore(), { projections: [projection] });
    await happen(ledger, {});

    const { findings, verdict } = await ledger.verify({ level: "deep" });

    expect(verdict).toBe("DERIVED");
    expect(findings).toMatchObject([
      {
        code: "E_NONDETERMINISM",
        position: 1,
        stream: "thing/1",
        document: { projection: "thing", key: "thing/1", path: "/seen/value" },
      },
    ]);
  });

  test("T52 a reducer that changed under its version is seen in the first document that it makes otherwise", async () => {
    const store = await openStore();
    const before = await open(store, { projections: [things(() => ({ n: 1 }))] });
    await happen(before, {});
    await before.close();
    const after = await open(store, { projections: [things(() => ({ n: 2 }))] });

    expect((await after.verify({ level: "deep" })).findings).toMatchObject([
      { code: "E_PROJECTION", document: { fault: "changed", key: "thing/1", path: "/n" } },
    ]);
  });
});

/** A store that counts the rows of documents that its transactions read and write. */
function counting(inner: Store): { readonly store: Store; reset(): void; rows(): number } {
  let rows = 0;
  const store = new Proxy(inner, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown;
      if (name === "assume") return () => null; // so that each transaction is counted
      if (name !== "begin") return typeof member === "function" ? (member.bind(target) as unknown) : member;
      return async () => {
        const transaction = await target.begin();
        return new Proxy(transaction, {
          get(port, call) {
            const value = Reflect.get(port, call) as unknown;
            if (typeof value !== "function") return value;
            return async (...args: unknown[]) => {
              const answer = (await (value.bind(port) as (...given: unknown[]) => Promise<unknown>)(
                ...args,
              )) as unknown[];
              if (call === "documents" || call === "documentsByKey" || call === "documentsByIndex")
                rows += answer.length;
              if (call === "putDocuments") rows += (args[1] as unknown[]).length;
              return answer;
            };
          },
        });
      };
    },
  });
  return { store, reset: () => (rows = 0), rows: () => rows };
}
