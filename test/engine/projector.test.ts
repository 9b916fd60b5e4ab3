/** Tables that commits keep current: documents change in the commit of the events that they follow. */
import { expect, test } from "vitest";
import { open, describeStores } from "./fixture.js";
import { accounts, append, closed, counts, moved, opened, storedTable } from "./tables.js";

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
});
