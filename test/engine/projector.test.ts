/** Tables that commits keep current: documents change in the commit of the events that they follow. */
import { expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import { accept, defineCommand, defineEvents } from "../../src/index.js";
import { writeOperational } from "../../src/engine/operational.js";
import { describeStores, open } from "./fixture.js";
import { accounts, append, closed, counts, expectTables, moved, opened, readOnly, storedTable } from "./tables.js";

describeStores("tables that commits keep current", (_, openStore) => {
  test("documents are stored with the events that they follow", async () => {
    const store = await openStore();
    const account = accounts();
    const ledger = await open(store, { projections: [account, counts] });

    await append(ledger, "a", opened("a", "ann"), moved("a", 5));
    await append(ledger, "b", opened("b", "bob"));
    await Promise.all([append(ledger, "a", moved("a", 7)), append(ledger, "b", moved("b", 1), closed("b"))]);

    const table = await storedTable(store, account);
    expect(table.documents).toEqual({ a: { owner: "ann", balance: 12, moves: 2 } });
    expect(table.listed).toBe(true);
    expect((await storedTable(store, counts)).documents).toEqual({
      "account.closed": { count: 1 },
      "account.moved": { count: 3 },
      "account.opened": { count: 2 },
    });
  });

  test("events that no table concerns write nothing but their entries", async () => {
    const store = await openStore();
    const ledger = await open(store, { projections: [counts] });
    await append(ledger, "a", opened("a"));
    const before = await storedTable(store, counts);

    for (let n = 0; n < 5; n++) await ledger.append("other/1", [{ type: "other.happened" }]);

    expect(await storedTable(store, counts)).toEqual(before);
  });

  test("the mark is written when a document changed, when it is 256 events behind, and when the ledger is closed", async () => {
    const store = await openStore();
    const ledger = await open(store, { projections: [counts] });
    const other = (count: number): Promise<unknown> =>
      ledger.append(
        "other/1",
        Array.from({ length: count }, () => ({ type: "other.happened" })),
      );
    const marked = async (): Promise<number> => (await storedTable(store, counts)).mark!.position;
    await append(ledger, "a", opened("a"));
    expect(await marked()).toBe(1);

    await other(255);
    expect(await marked()).toBe(1);
    await other(1);
    expect(await marked()).toBe(257);
    await other(10);
    await append(ledger, "a", moved("a", 1));
    expect(await marked()).toBe(268);
    await other(10);
    await ledger.close();

    expect(await storedTable(store, counts)).toMatchObject({ mark: { position: 278 }, listed: true });
    await expectTables(store, [counts]);
  });

  test("a program without projections makes no table, and writes none", async () => {
    const store = await openStore();
    const ledger = await open(store);

    for (let n = 0; n < 600; n += 100)
      await ledger.append(
        "other/1",
        Array.from({ length: 100 }, () => ({ type: "other.happened" })),
      );
    await ledger.close();

    expect(await storedTable(store, counts)).toEqual({ row: null, mark: null, listed: false, documents: {} });
  });

  test("a refused append changes no document", async () => {
    const store = await openStore();
    const account = accounts();
    const ledger = await open(store, { projections: [account] });
    await append(ledger, "a", opened("a"));
    const before = await storedTable(store, account);

    const [refused, accepted] = await Promise.allSettled([
      ledger.append("account/a", [moved("a", 5)], { expected: 7 }),
      append(ledger, "a", moved("a", 2)),
    ]);

    expect([refused.status, accepted.status]).toEqual(["rejected", "fulfilled"]);
    expect(before.documents).toEqual({ a: { owner: "ann", balance: 0, moves: 0 } });
    expect((await storedTable(store, account)).documents).toEqual({ a: { owner: "ann", balance: 2, moves: 1 } });
  });

  test("read-only, a table is read where it is current for what concerns it, and is NOT_READY elsewhere", async () => {
    const store = await openStore();
    const account = accounts();
    const ledger = await open(store, { projections: [account] });
    await append(ledger, "a", opened("a"), moved("a", 1));
    const reader = await open(readOnly(store), { projections: [account, counts], readOnly: true });
    const plain = await open(store);

    await append(plain, "a", { type: "other.happened" });
    expect(await reader.projection(account).get("a")).toMatchObject({ balance: 1 });
    expect(await reader.projection(account).digest()).toMatchObject({ position: 3, documents: 1 });
    await expect(reader.projection(counts).get("account.opened")).rejects.toMatchObject({
      code: "NOT_READY",
      details: { projection: "count", version: 1 },
    });
    await append(plain, "a", moved("a", 1));
    const before = await storedTable(store, account);
    await expect(reader.projection(account).get("a")).rejects.toMatchObject({ code: "NOT_READY" });

    expect(await storedTable(store, account)).toEqual(before);
  });

  test("an async projection follows behind the commits of every program, and commands cannot read it", async () => {
    const store = await openStore();
    const later = defineProjection<{ sum: number }>()({
      name: "later",
      version: 1,
      async: true,
      on: {
        "account.moved": {
          key: () => "all",
          apply: (document, { data }) => ({ sum: (document?.sum ?? 0) + (data["amount"] as number) }),
        },
      },
    });
    const events = defineEvents("account", { open: true }, { "account.moved": {} });
    const look = defineCommand("account.look", {
      reads: [() => ({ found: later.get("all") })],
      decide: () => accept([]),
    });
    const ledger = await open(store, { projections: [later], events: [events], commands: [look] });
    const plain = await open(store);
    const read = ledger.projection(later);

    await append(ledger, "a", moved("a", 1));
    await append(plain, "b", moved("b", 2));
    const head = (await plain.status()).head.position;
    while ((await read.digest()).position < head) await new Promise((resolve) => setTimeout(resolve, 5));

    expect(await read.get("all")).toEqual({ sum: 3 });
    expect((await ledger.status()).projections.find(({ name }) => name === "later")).toMatchObject({
      async: true,
      behind: 0,
      status: "following",
    });
    await expect(ledger.execute(look())).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await ledger.close();
    await append(plain, "a", moved("a", 1));
    expect((await storedTable(store, later)).row).toMatchObject({ position: head });
    await expectTables(store, [later]);
  });

  test("a document whose text is no longer one is damage, and says which", async () => {
    const store = await openStore();
    const account = accounts();
    const ledger = await open(store, { projections: [account] });
    await append(ledger, "a", opened("a"));
    const { row } = await storedTable(store, account);
    await writeOperational(store, 5_000, (transaction) =>
      transaction.putDocuments(row!.id, [{ key: "a", seq: 1, text: '{"owner":', indexes: [undefined, undefined] }]),
    );

    await expect(ledger.projection(account).get("a")).rejects.toMatchObject({
      code: "STORE_DAMAGED",
      details: { projection: "account", version: 1, key: "a" },
    });
    await expect(ledger.projection(account).find()).rejects.toMatchObject({ code: "STORE_DAMAGED" });
  });

  test("a document that is damaged refuses the command that reads it, whatever its text is, and nobody else in the commit", async () => {
    const store = await openStore();
    const account = accounts();
    const show = defineCommand("account.show", {
      reads: [(key: string) => ({ account: account.get(key) })],
      decide: ({ account: found }) => accept([], found),
    });
    const events = [defineEvents("account", { open: true }, { "account.opened": {} })];
    const options = { events, projections: [account], commands: [show], cacheDocuments: 0 };
    const ledger = await open(store, options);
    await append(ledger, "a", opened("a"));
    const { row } = await storedTable(store, account);
    for (const text of ["5", "null", "[1]", '"a"', "{"]) {
      await writeOperational(store, 5_000, (transaction) =>
        transaction.putDocuments(row!.id, [{ key: "a", seq: 1, text, indexes: [undefined, undefined] }]),
      );
      const refused = ledger.execute(show("a"));
      const neighbour = append(ledger, "b", opened("b"));
      await expect(refused).rejects.toMatchObject({ code: "STORE_DAMAGED", details: { key: "a" } });
      await neighbour;
    }
    await writeOperational(store, 5_000, (transaction) =>
      transaction.putDocuments(row!.id, [
        { key: "a", seq: 1, text: '{"owner":1e999}', indexes: [undefined, undefined] },
      ]),
    );
    await expect(ledger.projection(account).digest()).rejects.toMatchObject({ code: "STORE_DAMAGED" });
  });

  test("options that are none are refused", async () => {
    const account = accounts();
    for (const [options, message] of [
      [{ projections: {} }, /projections made by defineProjection/],
      [{ projections: [{ name: "account" }] }, /made by defineProjection/],
      [{ projections: [account, accounts({ version: 2 })] }, /one version a name/],
      [{ projections: [defineProjection()({ name: "receipt", version: 1, on: {} })] }, /built-in/],
      [{ builds: "lazy" }, /options\.builds must be "blocking" or "background", found "lazy"/],
      [{ builds: null }, /options\.builds/],
      [{ cacheDocuments: -1 }, /cacheDocuments/],
      [{ cacheDocuments: 0.5 }, /cacheDocuments/],
    ] as const)
      await expect(open(await openStore(), options as never)).rejects.toThrow(message);
  });
});
