/** Rows that no statement could have written, and that a changed byte of the file leaves: each was met with an error
 *  without a code. */
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { ledgerPath } from "../engine/fixture.js";

async function damaged(change: (database: Database.Database) => void): Promise<string> {
  const path = ledgerPath();
  const ledger = await openLedger(path);
  await ledger.append("note/1", [{ type: "note.added" }, { type: "note.added" }]);
  await ledger.close();
  const database = new Database(path);
  const triggers = database
    .prepare<[], { name: string; sql: string }>("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    .all();
  for (const { name } of triggers) database.exec(`DROP TRIGGER "${name}"`);
  change(database);
  for (const { sql } of triggers) database.exec(sql);
  database.close();
  return path;
}

// A byte of the row's header turns the text of an entry into NULL, whatever the table says of it: a TypeError.
test("an entry that became NULL is damage", async () => {
  const path = await damaged((database) => {
    const table = database.prepare("SELECT sql FROM sqlite_schema WHERE name = 'entries'").pluck().get() as string;
    const declare = (sql: string): void => {
      database.unsafeMode(true);
      database.pragma("writable_schema = ON");
      database.prepare("UPDATE sqlite_schema SET sql = ? WHERE name = 'entries'").run(sql);
      database.pragma("writable_schema = RESET");
    };
    declare(table.replace("entry TEXT NOT NULL", "entry TEXT"));
    database.exec("UPDATE entries SET entry = NULL WHERE seq = 1");
    declare(table);
  });
  const ledger = await openLedger(path);

  await expect(ledger.read().toArray()).rejects.toMatchObject({ code: "STORE_DAMAGED", details: { position: 1 } });
  expect(await ledger.verify()).toMatchObject({ exitCode: 1, firstBad: 1 });
  await ledger.close();
});

// A journal with a head and without its first entry was taken for a bug of ours.
test("a first entry that is gone is damage", async () => {
  const path = await damaged((database) => void database.exec("DELETE FROM entries WHERE seq = 0"));

  await expect(openLedger(path)).rejects.toMatchObject({ code: "STORE_DAMAGED", details: { position: 0 } });
});
