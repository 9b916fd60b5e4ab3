/** A commit without an answer was looked up by the id of its first entry alone. Two processes that write to an area for the first time
 *  begin with the same entry, `area.defined`, byte for byte: whose commit was lost took that of the other one for its own, and told
 *  its caller that it was done. Found by the simulation.
 *    A w1 …  B w2✓  A looks: the same first entry ✓ (w1 is nowhere) */
import { expect, test } from "vitest";
import { LedgerError, defineEvents, openLedger } from "../../src/index.js";
import type { Store } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { manualClock } from "../../src/testing/manual-clock.js";

test("a commit that was lost is not taken for one of another process that begins with the same entry", async () => {
  const options = { events: [defineEvents("shop", { open: true }, { "shop.sold": {} })], clock: manualClock() };
  const store = createMemoryStore();
  const other = await openLedger(store, options);
  const ledger = await openLedger(
    losingFirstCommit(store, () => other.append("shop/1", [{ type: "shop.sold", data: { by: 2 } }])),
    options,
  );

  const { ids } = await ledger.append("shop/2", [{ type: "shop.sold", data: { by: 1 } }]);

  const stored = await other.read().toArray();
  expect(stored.map(({ id }) => id)).toEqual(expect.arrayContaining([...ids]));
  expect(stored.filter(({ type }) => type === "shop.sold")).toHaveLength(2);
});

/** Loses the first commit, and lets somebody else write before it says so. */
function losingFirstCommit(store: Store, meanwhile: () => Promise<unknown>): Store {
  let lost = false;
  const begin = async () => {
    const transaction = await store.begin();
    const commit = transaction.commit.bind(transaction);
    transaction.commit = async () => {
      if (lost) return commit();
      lost = true;
      await transaction.rollback();
      await meanwhile();
      throw new LedgerError("STORE_BUSY", "the transaction could not be serialised");
    };
    return transaction;
  };
  return new Proxy(store, {
    get: (_, name) => {
      const value: unknown = name === "begin" ? begin : Reflect.get(store, name);
      return typeof value === "function" ? (value.bind(store) as unknown) : value;
    },
  });
}
