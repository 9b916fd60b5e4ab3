/** Opening a ledger while another process, the last one that has it open, closes it. */
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { closedLedger } from "../store/place.js";

// Between the step into WAL mode and the first read of it nothing holds the log: whoever closed the ledger in between took it
// away, and an opening that was slow there said that the ledger was damaged: its log deleted.
test("a ledger that is folded by its last user while it is being opened is opened all the same", async () => {
  const path = await closedLedger();
  let folds = 0;
  const store = await openSqliteStore(path, {
    faults(step, when) {
      if (step === "mode" && when === "after" && folds++ < 3) fold(path);
    },
  });

  expect(folds).toBe(4);
  const transaction = await store.begin();
  await transaction.rollback();
  expect(await store.health()).toMatchObject({ scrubOwed: false });
  await store.close();
});

function fold(path: string): void {
  const other = new Database(path);
  other.pragma("journal_mode = WAL");
  other.prepare("SELECT count(*) FROM entries").get();
  other.pragma("journal_mode = DELETE");
  other.close();
}
