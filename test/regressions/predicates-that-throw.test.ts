/** A predicate of `waitFor` that threw what a store throws while it is busy was asked again for ever, in place of being heard. */
import { expect, test } from "vitest";
import { queue } from "../../projections/queue.js";
import { LedgerError, openLedger } from "../../src/index.js";

test.each(["STORE_BUSY", "STORE_UNAVAILABLE"])("what a predicate throws is thrown, be it %s", async (code) => {
  await using ledger = await openLedger("memory:");
  const mine = new LedgerError(code, "mine");
  const wait = ledger.waitFor(queue.get("r1"), () => {
    throw mine;
  });
  setTimeout(() => void ledger.close(), 300);

  await expect(wait).rejects.toBe(mine);
});
