/** Reading a ledger file through the descriptor of another connection of the process. */
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { HeldFile } from "../../src/store/sqlite/held-file.js";
import { inspectTarget } from "../../src/store/sqlite/location.js";
import { closedLedger } from "../store/place.js";

// Where SQLite hands on a descriptor that was closed under the locks of an older connection, that connection's was borrowed,
// and was gone when it was closed: reading failed with EBADF.
test("a file that is held is read on when the connection whose descriptor was borrowed is closed", async () => {
  const path = await closedLedger();
  const [older, closed] = [reading(path), reading(path)];
  closed.close();
  const held = new HeldFile(path, inspectTarget(path).main!);

  older.close();

  expect(held.read(0, 16).toString("latin1")).toBe("SQLite format 3\0");
  held.close();
});

function reading(path: string): Database.Database {
  const connection = new Database(path, { readonly: true });
  connection.prepare("SELECT count(*) FROM entries").get();
  return connection;
}
