/** What a reader and a writer say of a file that somebody changed. */
import Database from "better-sqlite3";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { content, entryId, openLedger } from "../../src/index.js";
import type { ContentReference, Ledger } from "../../src/index.js";
import { directory, ledgerPath, open } from "./fixture.js";

/** A closed ledger of five events, the last but one with a content and a U+FFFD. */
async function ledgerFile(): Promise<string> {
  const path = ledgerPath();
  const ledger = await openLedger(path);
  await ledger.append("order/1", [{ type: "order.placed" }, { type: "order.paid" }]);
  await ledger.append("order/1", [{ type: "order.noted", data: { mark: "a\ufffdb", note: content("hello") } }]);
  await ledger.append("order/1", [{ type: "order.sent" }]);
  await ledger.close();
  return path;
}

function tamper(path: string, change: (database: Database.Database) => void): void {
  const database = new Database(path);
  for (const { name } of database
    .prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
    .all())
    database.exec(`DROP TRIGGER "${name}"`);
  change(database);
  database.close();
}

/** Changes rows and leaves the schema as it was. */
function tamperQuietly(path: string, change: (database: Database.Database) => void): void {
  const before = new Database(path, { readonly: true });
  const triggers = before.prepare<[], { sql: string }>("SELECT sql FROM sqlite_schema WHERE type = 'trigger'").all();
  before.close();
  tamper(path, (database) => {
    change(database);
    for (const { sql } of triggers) database.exec(sql);
  });
}

function reseal(database: Database.Database, seq: number, change: (entry: string) => string): void {
  const { entry } = database.prepare<[number], { entry: string }>("SELECT entry FROM entries WHERE seq = ?").get(seq)!;
  const changed = change(entry);
  expect(changed).not.toBe(entry);
  database
    .prepare("UPDATE entries SET entry = ?, id = ? WHERE seq = ?")
    .run(changed, Buffer.from(entryId(changed), "hex"), seq);
}

function rowsOf(path: string): unknown[] {
  const database = new Database(path, { readonly: true });
  const rows = ["entries", "streams", "contents", "types"].map((table) =>
    database.prepare(`SELECT * FROM ${table}`).all(),
  );
  database.close();
  return rows;
}

const readAll = async (ledger: Ledger): Promise<unknown> => ledger.read().toArray();

describe("a reader", () => {
  test.each([
    ["text that is not JSON", (entry: string) => entry.slice(0, -1), "entry"],
    ["a field that is missing", (entry: string) => entry.replace(/"rev":\d+,/, ""), "rev"],
    ["a field of the wrong type", (entry: string) => entry.replace(/"tv":1/, '"tv":"1"'), "tv"],
    ["a field that nobody knows", (entry: string) => entry.replace(',"v":1}', ',"v":1,"x":1}'), "x"],
    ["data that is no object", (entry: string) => entry.replace('"data":{}', '"data":[]'), "data"],
    [
      "another position",
      (entry: string) => entry.replace('"seq":2', '"seq":3').replace('"tx":[1,2]', '"tx":[2,2]'),
      "seq",
    ],
  ])("G-16 refuses %s as damaged and names event and field, never a silent default", async (_, change, field) => {
    const path = await ledgerFile();
    tamperQuietly(path, (database) => reseal(database, 2, change));
    const ledger = await open(path, { readOnly: true });

    await expect(readAll(ledger)).rejects.toMatchObject({ code: "STORE_DAMAGED", details: { position: 2, field } });
    await expect(ledger.readStream("order/1").toArray()).rejects.toMatchObject({
      code: "STORE_DAMAGED",
      details: { position: 2, field },
    });
    expect((await ledger.read({ from: 3 }).toArray()).length).toBe(2);
  });

  test("refuses an entry whose bytes do not hash to its id", async () => {
    const path = await ledgerFile();
    tamperQuietly(path, (database) =>
      database.exec(`UPDATE entries SET entry = replace(entry, 'order.paid', 'order.said') WHERE seq = 2`),
    );
    const ledger = await open(path, { readOnly: true });
    await expect(readAll(ledger)).rejects.toMatchObject({
      code: "STORE_DAMAGED",
      details: { position: 2, field: "id" },
    });
  });

  test.each(["ff", "f0", "eda080"])("T59 is not deceived by bytes %s that are shown as U+FFFD", async (bytes) => {
    const path = await ledgerFile();
    tamperQuietly(path, (database) => {
      const { entry } = database
        .prepare<[], { entry: Buffer }>("SELECT CAST(entry AS BLOB) AS entry FROM entries WHERE seq = 3")
        .get()!;
      const at = entry.indexOf(Buffer.from("efbfbd", "hex"));
      const changed = Buffer.concat([entry.subarray(0, at), Buffer.from(bytes, "hex"), entry.subarray(at + 3)]);
      database.prepare("UPDATE entries SET entry = CAST(? AS TEXT) WHERE seq = 3").run(changed);
    });
    const ledger = await open(path, { readOnly: true });
    await expect(readAll(ledger)).rejects.toMatchObject({
      code: "STORE_DAMAGED",
      details: { position: 3, field: "id" },
    });
  });

  test("reads a real U+FFFD as it was written", async () => {
    const ledger = await open(await ledgerFile(), { readOnly: true });
    expect((await ledger.read({ from: 3, limit: 1 }).toArray())[0]!.data).toMatchObject({ mark: "a\ufffdb" });
  });

  test("G-16 G-17 tells changed content from missing content", async () => {
    const path = await ledgerFile();
    const reference = await (async () => {
      const ledger = await openLedger(path, { readOnly: true });
      const [event] = await ledger.read({ from: 3, limit: 1 }).toArray();
      await ledger.close();
      return (event!.data as unknown as { note: ContentReference }).note;
    })();
    tamperQuietly(path, (database) => database.exec("UPDATE contents SET bytes = CAST('jello' AS BLOB) WHERE n = 1"));
    const changed = await openLedger(path, { readOnly: true });
    await expect(changed.content(reference)).rejects.toMatchObject({ code: "STORE_DAMAGED" });
    await changed.close();
    tamperQuietly(path, (database) => database.exec("DELETE FROM contents"));
    const missing = await open(path, { readOnly: true });
    await expect(missing.content(reference)).rejects.toMatchObject({ code: "CONTENT_MISSING" });
  });
});

describe("a writer", () => {
  test("T33 does not append to a journal whose head is of an unknown format", async () => {
    const path = await ledgerFile();
    tamperQuietly(path, (database) => reseal(database, 4, (entry) => entry.replace('"v":1}', '"v":2}')));
    const before = rowsOf(path);
    const ledger = await open(path);

    await expect(ledger.append("order/1", [{ type: "order.sent" }])).rejects.toMatchObject({
      code: "SCHEMA_UNKNOWN",
      details: { position: 4, field: "v" },
    });
    await ledger.close();
    expect(rowsOf(path)).toEqual(before);
  });

  test("does not begin a second journal where the entries of the first are gone", async () => {
    const path = await ledgerFile();
    tamperQuietly(path, (database) => database.exec("DELETE FROM entries"));
    const before = rowsOf(path);
    await expect(openLedger(path)).rejects.toMatchObject({ code: "STORE_DAMAGED", details: { position: 0 } });
    expect(rowsOf(path)).toEqual(before);
  });

  test("does not append to a damaged head, and goes on refusing", async () => {
    const path = await ledgerFile();
    tamperQuietly(path, (database) =>
      database.exec(`UPDATE entries SET entry = replace(entry, 'order.sent', 'order.bent') WHERE seq = 4`),
    );
    const ledger = await open(path);
    for (let n = 0; n < 2; n++) {
      await expect(ledger.append("order/1", [{ type: "order.sent" }])).rejects.toMatchObject({
        code: "STORE_DAMAGED",
        details: { position: 4 },
      });
    }
    expect((await ledger.status()).size).toBe(5);
  });
});

test("A13 a ledger whose files are deleted under it refuses the next append, and goes on refusing", async () => {
  const path = ledgerPath();
  const ledger = await open(path, { busyTimeoutMs: 100 });
  await ledger.append("order/1", [{ type: "order.placed" }]);

  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix);

  for (let n = 0; n < 2; n++) {
    await expect(ledger.append("order/1", [{ type: "order.paid" }])).rejects.toMatchObject({
      code: "STORE_DAMAGED",
      details: { reason: "replaced" },
    });
  }
});

describe("opening", () => {
  test("J04 a missing path read-only is NOT_FOUND, and nothing is created", async () => {
    const folder = directory();
    const path = join(folder, "a", "none.ledger");
    await expect(openLedger(path, { readOnly: true })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(openLedger(path, { create: false })).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(existsSync(dirname(path))).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("G-20 a ledger that is open read-only refuses every write and changes nothing", async () => {
    const path = await ledgerFile();
    const bytes = readFileSync(path);
    const ledger = await open(path, { readOnly: true });
    await expect(ledger.append("order/1", [{ type: "order.sent" }])).rejects.toMatchObject({ code: "READ_ONLY" });
    expect((await ledger.status()).readOnly).toBe(true);
    await ledger.close();
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(readdirSync(dirname(path))).toEqual(["state.ledger"]);
  });

  test.each([
    [{ readOnly: "yes" }, "options.readOnly"],
    [{ busyTimeoutMs: -1 }, "options.busyTimeoutMs"],
    [{ origin: "Not This" }, "options.origin"],
    [{ clock: {} }, "options.clock"],
    [{ events: {} }, "options.events"],
    [{ events: [{}] }, "options.events"],
    [{ onEvent: 1 }, "options.onEvent"],
    [{ readonly: true }, "options"],
  ])("refuses the option %j before anything is created", async (options, path) => {
    const location = join(directory(), "new.ledger");
    await expect(openLedger(location, options as never)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(path) as string,
    });
    expect(existsSync(location)).toBe(false);
  });

  test("refuses a location that is none", async () => {
    const other = openLedger("mysql://ann:secret@localhost/x");
    await expect(other).rejects.toMatchObject({ code: "STORE_UNSUPPORTED", details: { found: "mysql://" } });
    const slip = openLedger("postgres:/ann:secret@localhost/x");
    await expect(slip).rejects.toMatchObject({ code: "INVALID_ARGUMENT", details: { path: "location" } });
    await expect(other).rejects.not.toThrow("secret");
    await expect(openLedger(7 as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(openLedger("memory:", { readOnly: true })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("keeps the origin that it was given, and draws one otherwise", async () => {
    const named = await open("memory:", { origin: "acme/orders" });
    const drawn = await open("memory:");
    expect(named.origin).toBe("acme/orders");
    expect(drawn.origin).toMatch(/^runledger\/[a-z2-7]{26}$/);
    expect(await named.status()).toMatchObject({
      origin: "acme/orders",
      format: 1,
      incarnation: 1,
      size: 1,
      contents: 0,
      clockAheadMs: 0,
    });
  });
});
