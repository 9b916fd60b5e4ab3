/** After a commit that failed or gave no answer the writer forgot when it had seen the last entry, so that in a journal
 *  ahead of its clock the time until the next append did not count.
 *  Notation: a50@75y append with the clock 75 years ahead; c✗ commit refused; c? its reply is lost; +1s a second passes. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { asyncMemoryStore } from "../../src/testing/async-memory-store.js";
import { manualClock } from "../../src/testing/manual-clock.js";

const years75Ms = 75 * 365.25 * 86_400_000;

// a@75y c?  +1s a c?  +1s a c? …
// a@75y c✗c +1s a c✗c +1s a c✗c …
test.each([
  ["every reply is lost", { busyRate: 0, lostReplyRate: 1 }],
  ["commits are refused first", { busyRate: 0.5, lostReplyRate: 0 }],
])("a journal that is ahead goes on at real speed when %s", async (_what, trouble) => {
  const clock = manualClock();
  const ledger = await openLedger(asyncMemoryStore(Number(process.env["RUNLEDGER_SEED"]), trouble), {
    clock,
    acceptClockStep: true,
  });
  const right = clock.now();
  clock.set(right + years75Ms);
  const ahead = (await ledger.append("note/1", [{ type: "note.added" }])).at;
  clock.set(right);

  for (let second = 1; second <= 20; second++) {
    clock.advance(1_000);
    expect((await ledger.append("note/1", [{ type: "note.added" }])).at).toBe(ahead + second * 1_000);
  }
  await ledger.close();
});
