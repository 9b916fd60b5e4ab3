/** Runs beside a naive model of them: any calls, by whoever holds a claim, held one or holds none. Property 5 of the fuzzers for
 *  attempts. */
import fc from "fast-check";
import { test } from "vitest";
import { openLedger } from "../../src/index.js";
import { checkRuns, runCalls } from "../../src/testing/run-law.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { runSeed } from "../engine/fixture.js";

test("runs: every call goes as a naive model of runs says, and what is kept is what was accepted", async () => {
  await fc.assert(
    fc.asyncProperty(runCalls, async (calls) => {
      const clock = manualClock();
      await using ledger = await openLedger("memory:", { clock });
      await checkRuns(ledger, clock, calls);
    }),
    { seed: runSeed, numRuns: process.env["RUNLEDGER_LONG"] === undefined ? 40 : 400 },
  );
});
