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

// The same byte may make a number of it: a TypeError to every reader.
test("an entry that became a number is damage to every reader", async () => {
  const path = await damaged((database) => {
    const table = database.prepare("SELECT sql FROM sqlite_schema WHERE name = 'entries'").pluck().get() as string;
    const declare = (sql: string): void => {
      database.unsafeMode(true);
      database.pragma("writable_schema = ON");
      database.prepare("UPDATE sqlite_schema SET sql = ? WHERE name = 'entries'").run(sql);
      database.pragma("writable_schema = RESET");
    };
    declare(table.replace("entry TEXT NOT NULL", "entry ANY"));
    database.exec("UPDATE entries SET entry = 7 WHERE seq = 1");
    declare(table);
  });
  const ledger = await openLedger(path);

  const damage = { code: "STORE_DAMAGED", details: { position: 1 } };
  await expect(ledger.read().toArray()).rejects.toMatchObject(damage);
  await expect(ledger.subscribe().next()).rejects.toMatchObject(damage);
  await expect(ledger.erase(["ab".repeat(32)], { reason: "asked" })).rejects.toMatchObject(damage);
  expect(await ledger.verify()).toMatchObject({ exitCode: 1, firstBad: 1 });
  await ledger.close();
});

// A journal with a head and without its first entry was taken for a bug of ours.
test("a first entry that is gone is damage", async () => {
  const path = await damaged((database) => void database.exec("DELETE FROM entries WHERE seq = 0"));

  await expect(openLedger(path)).rejects.toMatchObject({ code: "STORE_DAMAGED", details: { position: 0 } });
});

// Numbers that were reckoned with: a place before the journal, a generation that goes backwards, one that never ends.
test.each([
  ["position", "-2"],
  ["position", "9007199254740993"],
  ["position", "-9223372036854775808"],
  ["incarnation", "0"],
  ["incarnation", "9007199254740993"],
  ["generation", "-1"],
  ["generation", "4294967296"],
])("a consumer's %s of %s is damage that names it, and none to who begins anew", async (column, value) => {
  const path = await damaged((database) => {
    const insert = "INSERT INTO consumers (name, position, id, incarnation, generation) VALUES (?, -1, NULL, 1, 1)";
    for (const name of ["mailer", "other"]) database.prepare(insert).run(name);
    database.exec(`UPDATE consumers SET ${column} = ${value} WHERE name = 'mailer'`);
  });
  const ledger = await openLedger(path);

  const damage = { code: "STORE_DAMAGED", details: { consumer: "mailer", column } };
  await expect(ledger.subscribe({ consumer: "mailer" }).next()).rejects.toMatchObject(damage);
  await expect(ledger.status()).rejects.toMatchObject(damage);
  const anew = ledger.subscribe({ consumer: "mailer", reset: true, from: "start" });
  expect((await anew.next()).value?.position).toBe(2);
  await anew.return();
  expect((await ledger.status()).consumers).toMatchObject([{ name: "mailer" }, { name: "other" }]);
  await ledger.close();
});

// It was a broken invariant to who signs, and the smallest of them was not seen by verify.
test.each(["0", "-5", "-9223372036854775808"])(
  "a stored checkpoint of %s events keeps others from being signed, and verify names it",
  async (size) => {
    const path = await damaged((database) => void database.exec(`INSERT INTO checkpoints VALUES (${size}, 'x')`));
    const ledger = await openLedger(path);

    await expect(ledger.checkpoint()).rejects.toMatchObject({ code: "STORE_DAMAGED" });
    expect((await ledger.prove(1)).size).toBe(3);
    expect(await ledger.verify()).toMatchObject({ exitCode: 1, findings: [{ code: "E_CHECKPOINT" }] });
    await ledger.close();
  },
);
