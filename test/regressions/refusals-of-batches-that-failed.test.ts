/** Who was refused because of an append before it in the same batch kept that refusal when the commit failed: it was told of a
 *  state that nobody ever saw. Found by the simulation.
 *    w1(none) w2(none)✗(conflict) commit✗(full) → w2 conflicts with nothing */
import { expect, test } from "vitest";
import { LedgerError, openLedger } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";

test("who is refused because of an append that was not written is told why it was not written", async () => {
  let isFull = false;
  const store = createMemoryStore({
    faults: (step, moment) => {
      if (isFull && step === "commit" && moment === "before") throw new LedgerError("STORE_FULL", "the disk is full");
    },
  });
  const ledger = await openLedger(store);
  isFull = true;

  const send = () => ledger.append("shop/1", [{ type: "shop.sold" }], { expected: "none" });
  const told = await Promise.allSettled([send(), send()]);

  expect(told.map((each) => (each.status === "rejected" ? (each.reason as LedgerError).code : "accepted"))).toEqual([
    "STORE_FULL",
    "STORE_FULL",
  ]);
  expect(await ledger.readStream("shop/1").toArray()).toEqual([]);
});
