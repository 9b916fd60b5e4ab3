/** Captures beside a naive model of them, on every store: gaps, repetitions and late ends among calls that are in order. */
import fc from "fast-check";
import { test } from "vitest";
import { captureCalls, checkCaptures } from "../../src/testing/capture-law.js";
import { checkLaw } from "../../src/testing/laws.js";
import { describeStores, runsOn } from "../engine/fixture.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;

describeStores("captures", (openOne, _, name) => {
  const title = "every call goes as a naive model of captures says, and what is read back is what was accepted";
  const property = (): fc.IRawProperty<unknown> =>
    fc.asyncProperty(captureCalls, async (calls) => {
      const ledger = await openOne();
      await checkCaptures(ledger, calls);
      await ledger.close();
    });
  test(`SB-02 SB-08 SB-12 ${title}`, () => checkLaw({ title, property }, long ? 200 : runsOn(name, 20)));
});
