/** Projections that cannot go on: what is a fact stays one, the table stops with its error, and the others go on. */
import { expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import type { EventHandler } from "../../projections/define-projection.js";
import { accept, defineCommand, defineEvents, refuse } from "../../src/index.js";
import type { Diagnostic, LedgerError } from "../../src/index.js";
import { describeStores, open } from "./fixture.js";
import { accounts, append, counts, expectTables, moved, opened, readOnly, storedTable } from "./tables.js";
import type { Account } from "./tables.js";

const broken = accounts({ breaks: 13 });

async function until(said: () => boolean): Promise<void> {
  while (!said()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describeStores("projections that cannot go on", (openOne, openStore) => {
  test("E03 a reducer that throws stops its projection before that event, with its error, and no other", async () => {
    const store = await openStore();
    const heard: Diagnostic[] = [];
    const ledger = await open(store, { projections: [broken, counts], onEvent: (event) => heard.push(event) });
    await append(ledger, "a", opened("a"), moved("a", 7));

    const appended = await ledger.append("account/a", [moved("a", 1), moved("a", 13), moved("a", 1)]);
    await append(ledger, "b", opened("b"));

    const at = appended.position - 1;
    expect(heard.filter(({ type }) => type === "stopped")).toMatchObject([
      { projection: "account", version: 1, position: at, error: { code: "PROJECTION_FAILED" } },
    ]);
    const error = await ledger
      .projection(broken)
      .get("a")
      .catch((cause: unknown) => cause as LedgerError);
    expect(error).toMatchObject({
      code: "PROJECTION_FAILED",
      details: { projection: "account", version: 1, position: at, type: "account.moved", key: "a" },
    });
    expect((error as LedgerError).message).toContain("no such amount: 13");
    expect((error as LedgerError).hint).toBeDefined();
    await expect(ledger.projection(broken).find()).rejects.toMatchObject({ code: "PROJECTION_FAILED" });
    await expect(ledger.projection(broken).digest()).rejects.toMatchObject({ code: "PROJECTION_FAILED" });
    expect(await ledger.projection(counts).get("account.moved")).toEqual({ count: 4 });
    const status = (await ledger.status()).projections;
    expect(status.find(({ name }) => name === "account")).toMatchObject({
      position: at - 1,
      behind: 3,
      status: "failed",
      error: { code: "PROJECTION_FAILED" },
    });
    expect(status.find(({ name }) => name === "count")).toMatchObject({ status: "following", error: null });
    expect((await storedTable(store, broken)).documents).toEqual({ a: { owner: "ann", balance: 8, moves: 2 } });
    expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
    await expectTables(store, [broken, counts]);
  });

  test("E03 a reducer that fails while its table is built stops there, and nothing is skipped", async () => {
    const store = await openStore();
    const plain = await open(store);
    await append(plain, "a", opened("a"), ...Array.from({ length: 1_500 }, () => moved("a", 1)), moved("a", 13));
    await append(plain, "a", ...Array.from({ length: 1_500 }, () => moved("a", 1)));
    const heard: Diagnostic[] = [];
    const ledger = await open(store, { projections: [broken, counts], onEvent: (event) => heard.push(event) });

    await expect(ledger.projection(broken).get("a")).rejects.toMatchObject({
      code: "PROJECTION_FAILED",
      details: { position: 1_502 },
    });

    expect(heard.filter(({ type }) => type === "stopped")).toHaveLength(1);
    expect(await ledger.projection(counts).get("account.moved")).toEqual({ count: 3_001 });
    expect((await storedTable(store, broken)).documents).toEqual({ a: { owner: "ann", balance: 1_500, moves: 1_500 } });
    await expectTables(store, [broken, counts]);
  });

  test("the next process tries what failed once more; one that still fails is not tried again", async () => {
    const store = await openStore();
    const first = await open(store, { projections: [broken] });
    await append(first, "a", opened("a"), moved("a", 13), moved("a", 2));
    await expect(first.projection(broken).get("a")).rejects.toMatchObject({ code: "PROJECTION_FAILED" });
    await first.close();
    let tries = 0;
    const moving: EventHandler<Account> = {
      key: ({ data }) => data["account"] as string,
      apply: () => {
        tries++;
        throw new Error("still");
      },
    };
    const still = defineProjection<Account>()({
      name: "account",
      version: 1,
      indexes: Object.fromEntries(broken.indexes),
      on: { ...Object.fromEntries(broken.on), "account.moved": moving },
    });

    const second = await open(store, { projections: [still] });
    await expect(second.projection(still).get("a")).rejects.toMatchObject({ code: "PROJECTION_FAILED" });
    expect(tries).toBeGreaterThan(0);
    tries = 0;
    for (let n = 0; n < 3; n++) {
      await append(second, "b", opened("b"));
      await expect(second.projection(still).get("a")).rejects.toMatchObject({ code: "PROJECTION_FAILED" });
    }
    await second.close();
    expect(tries).toBe(0);

    const whole = accounts();
    const third = await open(store, { projections: [whole] });
    expect(await third.projection(whole).get("a")).toMatchObject({ balance: 15, moves: 2 });
    expect((await storedTable(store, whole)).row).toMatchObject({ status: "following", error: null });
    await expectTables(store, [whole]);
  });

  test("read-only, what failed is told by what is stored", async () => {
    const store = await openStore();
    const ledger = await open(store, { projections: [broken] });
    await append(ledger, "a", opened("a"), moved("a", 13));

    const reader = await open(readOnly(store), { projections: [broken], readOnly: true });
    await expect(reader.projection(broken).get("a")).rejects.toMatchObject({
      code: "PROJECTION_FAILED",
      details: { position: 2, type: "account.moved", key: "a" },
    });
  });

  test("what a tx that is not kept did to a projection never happened: neither its documents nor its failure", async () => {
    const events = defineEvents("account", { open: true }, { "account.opened": {}, "account.moved": {} });
    const move = defineCommand("account.move", {
      reads: [(input: { readonly account: string; readonly amount: number }) => ({ at: broken.get(input.account) })],
      decide: ({ at }, input) =>
        at === null
          ? refuse("MISSING")
          : accept([{ stream: `account/${input.account}`, ...moved(input.account, input.amount) }], at.balance),
    });
    const heard: Diagnostic[] = [];
    const ledger = await openOne({
      events: [events],
      projections: [broken],
      commands: [move],
      onEvent: (event) => heard.push(event),
    });
    await append(ledger, "a", opened("a"));

    const [dropped, kept] = await Promise.allSettled([
      ledger.execute([
        move({ account: "a", amount: 50 }),
        move({ account: "a", amount: 13 }),
        move({ account: "none", amount: 1 }),
      ]),
      ledger.execute(move({ account: "a", amount: 2 })),
    ]);

    expect(dropped).toMatchObject({ status: "rejected", reason: { code: "PROJECTION_FAILED" } });
    expect(kept).toMatchObject({ status: "fulfilled", value: { result: 0 } });
    expect(heard.filter(({ type }) => type === "stopped")).toEqual([]);
    expect(await ledger.projection(broken).get("a")).toMatchObject({ balance: 2, moves: 1 });
  });

  test("an event that this program does not know, in an area that a projection lists, stops it here and nowhere else", async () => {
    const store = await openStore();
    const known = (version: number, types: readonly string[]) =>
      defineEvents(
        "account",
        { open: true },
        Object.fromEntries(
          types.map((type) => [
            type,
            version === 1 || type !== "account.moved"
              ? {}
              : { version, upcast: { 1: (data: object) => ({ ...data }) } },
          ]),
        ) as never,
      );
    const types = ["account.opened", "account.moved", "account.closed"];
    const projection = accounts();
    const old = await open(store, { projections: [projection], events: [known(1, types)] });
    const events = [known(2, [...types, "account.frozen"])];
    const plain = await open(store, { events });
    await append(old, "a", opened("a"), moved("a", 1));

    await append(plain, "a", moved("a", 5), { type: "account.frozen", data: { account: "a" } });

    await expect(old.projection(projection).get("a")).rejects.toMatchObject({
      code: "SCHEMA_UNKNOWN",
      details: { projection: "account", type: "account.moved", position: 4 },
    });
    await append(old, "b", opened("b"));
    expect((await old.status()).projections.find(({ name }) => name === "account")).toMatchObject({
      status: "stopped",
    });
    const next = await open(store, { events, projections: [projection] });
    expect(await next.projection(projection).get("b")).toMatchObject({ balance: 0 });
    expect(await old.projection(projection).get("a")).toMatchObject({ balance: 6 });
    await expectTables(store, [projection], events);
  });

  test("other indexes under the same version are refused when the ledger is opened, with what was stored", async () => {
    const store = await openStore();
    const ledger = await open(store, { projections: [accounts()] });
    await append(ledger, "a", opened("a"));
    const { on } = accounts();
    const other = defineProjection<object>()({ name: "account", version: 1, on: Object.fromEntries(on) as never });

    await expect(open(store, { projections: [other] })).rejects.toMatchObject({
      code: "SCHEMA_UNKNOWN",
      details: { projection: "account", version: 1, stored: ["owner", "rich"], declared: [] },
    });
  });

  test("other indexes that another program stored since are refused when they are met", async () => {
    const store = await openStore();
    const { on } = accounts();
    const bare = defineProjection<object>()({ name: "account", version: 1, on: Object.fromEntries(on) as never });
    const late = await open(store, { projections: [bare] });
    const ledger = await open(store, { projections: [accounts()] });
    await append(ledger, "a", opened("a"));

    await expect(late.projection(bare).get("a")).rejects.toMatchObject({ code: "SCHEMA_UNKNOWN" });
    await append(late, "b", opened("b"));
    await expect(late.projection(bare).find()).rejects.toMatchObject({ code: "SCHEMA_UNKNOWN" });
    await expectTables(store, [accounts()]);
  });

  test("an async projection that fails says so, and stays where it was", async () => {
    const store = await openStore();
    const heard: Diagnostic[] = [];
    const later = defineProjection<{ sum: number }>()({
      name: "later",
      version: 1,
      async: true,
      on: {
        "account.moved": {
          key: () => "all",
          apply: (document, { data }) => {
            if (data["amount"] === 13) throw new Error("no");
            return { sum: (document?.sum ?? 0) + (data["amount"] as number) };
          },
        },
      },
    });
    const ledger = await open(store, { projections: [later], onEvent: (event) => heard.push(event) });

    await append(ledger, "a", moved("a", 2), moved("a", 13), moved("a", 3));
    await until(() => heard.some(({ type }) => type === "stopped"));

    await expect(ledger.projection(later).get("all")).rejects.toMatchObject({
      code: "PROJECTION_FAILED",
      details: { position: 2 },
    });
    expect((await storedTable(store, later)).documents).toEqual({ all: { sum: 2 } });
  });
});
