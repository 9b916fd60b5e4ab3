/** Two programs on one store, of which one cannot fold what the other can. What a process remembered of a table that stopped in
 *  it, or failed elsewhere, was believed where another process had changed it without moving the head: documents were folded
 *  twice, or into older ones, and readers waited for ever. */
import { expect, test } from "vitest";
import { accept, defineCommand, defineEvents } from "../../src/index.js";
import { describeStores, open } from "../engine/fixture.js";
import { accounts, append, counts, expectTables, moved, opened, storedTable } from "../engine/tables.js";

const types = { "account.opened": {}, "account.moved": {}, "account.closed": {} };
const old = defineEvents("account", { open: true }, types);
const newer = defineEvents("account", { open: true }, { ...types, "account.renamed": {} });
const broken = accounts({ breaks: 13 });
const whole = accounts();
const show = defineCommand("account.show", {
  reads: [(account: string) => ({ account: broken.get(account) })],
  decide: ({ account }) => accept([], account),
});

describeStores("a table that another program brought on", (_, openStoreOf) => {
  test("says how far it was folded when it stopped before an event that this program does not know", async () => {
    const store = await openStoreOf();
    const writer = await open(store, { events: [newer] });
    await append(writer, "a", opened("a"), moved("a", 1), { type: "account.renamed" });

    const reader = await open(store, { events: [old], projections: [whole] });
    await append(reader, "b", opened("b"));

    await expectTables(store, [whole], [old]);
    const next = await open(store, { events: [newer], projections: [whole] });
    expect(await next.projection(whole).get("a")).toMatchObject({ balance: 1, moves: 1 });
  });

  test("keeps its position when a program in which it stopped writes", async () => {
    const store = await openStoreOf();
    const first = await open(store, { projections: [broken, counts] });
    await append(first, "a", opened("a"), moved("a", 13), moved("a", 5));
    const second = await open(store, { projections: [whole] });
    expect(await second.projection(whole).get("a")).toMatchObject({ balance: 18 });

    await append(first, "a", moved("a", 100));

    await expectTables(store, [whole, counts]);
    expect(await second.projection(whole).get("a")).toMatchObject({ balance: 118, moves: 3 });
  });

  test("is not folded on from the documents that were remembered before it stopped", async () => {
    const store = await openStoreOf();
    const first = await open(store, { events: [old], projections: [broken], commands: [show] });
    await append(first, "a", opened("a"), moved("a", 1));
    await append(first, "a", moved("a", 13));
    const second = await open(store, { events: [old], projections: [whole] });
    await second.projection(whole).get("a");

    expect(await first.execute(show("a"), { id: "first" })).toMatchObject({ result: { balance: 14, moves: 2 } });
    await append(first, "a", moved("a", 100));

    await expectTables(store, [whole]);
  });

  test("is read and used again in the program that could not fold it", async () => {
    const store = await openStoreOf();
    const first = await open(store, { events: [old], projections: [broken], commands: [show] });
    await append(first, "a", opened("a"), moved("a", 13));
    await expect(first.execute(show("a"))).rejects.toMatchObject({ code: "PROJECTION_FAILED" });
    const second = await open(store, { events: [old], projections: [whole] });
    await append(second, "a", moved("a", 1));

    await append(first, "a", moved("a", 2));

    expect(await first.projection(broken).get("a")).toMatchObject({ balance: 16, moves: 3 });
    expect(await first.execute(show("a"))).toMatchObject({ result: { balance: 16 } });
  });

  test("is read by a program that can fold what made it fail in another one", async () => {
    const store = await openStoreOf();
    const first = await open(store, { projections: [whole] });
    await append(first, "a", opened("a"));
    const plain = await open(store);
    await append(plain, "a", moved("a", 13));
    const second = await open(store, { projections: [broken] });
    await expect(second.projection(broken).get("a")).rejects.toMatchObject({ code: "PROJECTION_FAILED" });

    expect(await first.projection(whole).get("a")).toMatchObject({ balance: 13 });
    expect((await storedTable(store, whole)).row).toMatchObject({ status: "following", error: null });
  });
});
