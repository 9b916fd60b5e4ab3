/** A verification of an open ledger failed with EBADF. SQLite gives a connection the descriptor of one that was closed
 *  before it, so no new one showed which is the file's, and the lowest of the others was taken: after the store had dropped
 *  its connection, that of the file's name, which reads nothing. */
import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { ledgerPath, onCleanup } from "../engine/fixture.js";

test("a ledger whose connection was dropped is verified, and verified again", async () => {
  const store = await openSqliteStore(ledgerPath(), {});
  onCleanup(() => store.close());
  const ledger = await openLedger(store);
  await store.reset();
  // What was let go of is taken by others, so that the connection comes to stand above the name.
  const others = Array.from({ length: 30 }, () => openSync(devNull, "r"));
  await ledger.append("order/1", [{ type: "order.placed" }]);

  try {
    for (let time = 0; time < 3; time++) expect((await ledger.verify()).verdict).toBe("OK");
  } finally {
    for (const other of others) closeSync(other);
  }
});
