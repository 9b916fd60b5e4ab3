/** What the connections of a store promise. */
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { connect, connectionSettings } from "../../src/store/sqlite/connection.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { append, begin, write } from "../../src/testing/store-histories.js";
import { closedLedger, freshPath, sql } from "./place.js";

test("G-22 A21 every writing connection is durable, guarded and never sleeps inside SQLite", async () => {
  const path = await closedLedger();
  const store = await openSqliteStore(path);

  const connection = connect(path, "write");
  const settings = connectionSettings(connection);
  const timeout = connection.pragma("busy_timeout", { simple: true });
  connection.close();
  await store.close();

  expect(settings).toEqual({
    journal_mode: "wal",
    encoding: "UTF-8",
    synchronous: 2,
    secure_delete: 1,
    foreign_keys: 1,
    trusted_schema: 0,
    recursive_triggers: 1,
    cell_size_check: 1,
    wal_autocheckpoint: 0,
    fullfsync: 1,
    temp_store: 2,
  });
  expect(timeout).toBe(0);
});

test("A21 what an acknowledged append survives is said in the health", async () => {
  const path = freshPath();
  const store = await openSqliteStore(path);
  await write(store, { streams: ["a/1"] });

  expect((await store.health()).durability).toBe("power loss");
  await store.close();
});

test("G-22 reading connections cannot write", async () => {
  const path = await closedLedger();

  const connection = connect(path, "read");

  expect(() => connection.exec("DELETE FROM meta")).toThrow(
    expect.objectContaining({ code: expect.stringMatching(/^SQLITE_READONLY/) as string }),
  );
  expect(connection.pragma("query_only", { simple: true })).toBe(1);
  connection.close();
});

test("G-22 a writer waits for another at most the busy timeout, and the event loop turns meanwhile", async () => {
  const path = await closedLedger();
  const [first, second] = [await openSqliteStore(path), await openSqliteStore(path, { busyTimeoutMs: 200 })];
  const patient = await openSqliteStore(path, { busyTimeoutMs: 60_000 });
  const transaction = await begin(first);
  let turns = 0;
  const timer = setInterval(() => turns++, 5);

  await expect(second.begin()).rejects.toMatchObject({ code: "STORE_BUSY", details: { timeoutMs: 200 } });
  clearInterval(timer);
  expect(turns).toBeGreaterThan(0);

  const waiting = patient.begin();
  await append(transaction, { streams: ["a/0"] });
  await transaction.commit();
  const after = await waiting;
  expect((await after.head())?.seq).toBe(3);
  await after.rollback();
  await first.close();
  await patient.close();
  await second.close();
});

test("G-22 the busy timeout of a writer is 5,000 ms unless another one is given", async () => {
  const path = await closedLedger();
  const [first, second] = [await openSqliteStore(path), await openSqliteStore(path)];
  const transaction = await begin(first);

  await expect(second.begin()).rejects.toMatchObject({ code: "STORE_BUSY", details: { timeoutMs: 5_000 } });

  await transaction.rollback();
  await first.close();
  await second.close();
});

const attempts: readonly (readonly [string, string])[] = [
  ["UPDATE an entry", "UPDATE entries SET entry = '{}' WHERE seq = 1"],
  ["UPDATE the head", "UPDATE entries SET at = 0 WHERE seq = (SELECT max(seq) FROM entries)"],
  ["DELETE an entry", "DELETE FROM entries WHERE seq = 1"],
  ["DELETE all entries", "DELETE FROM entries"],
  [
    "REPLACE an entry",
    "REPLACE INTO entries SELECT seq, id, stream, rev, before, type, at, skew, '{}' FROM entries WHERE seq = 1",
  ],
  [
    "INSERT OR REPLACE the head",
    "INSERT OR REPLACE INTO entries SELECT seq, id, stream, rev, before, type, at, skew, '{}' FROM entries ORDER BY seq DESC LIMIT 1",
  ],
  [
    "INSERT OR IGNORE an entry",
    "INSERT OR IGNORE INTO entries SELECT seq, id, stream, rev, before, type, at, skew, '{}' FROM entries WHERE seq = 1",
  ],
  [
    "UPSERT an entry",
    "INSERT INTO entries SELECT * FROM entries WHERE seq = 1 ON CONFLICT (seq) DO UPDATE SET entry = '{}'",
  ],
  ["UPDATE OR REPLACE a position", "UPDATE OR REPLACE entries SET seq = 0 WHERE seq = 1"],
  ["DELETE a content", "DELETE FROM contents WHERE n = 1"],
  ["change the bytes of a content", "UPDATE contents SET bytes = x'00' WHERE n = 1"],
  [
    "change the digest of a content while erasing",
    "UPDATE contents SET digest = zeroblob(32), media = NULL, salt = NULL, plain = NULL, bytes = NULL, erased = 1 WHERE n = 1",
  ],
  ["erase half of a content", "UPDATE contents SET bytes = NULL, erased = 1 WHERE n = 1"],
  [
    "REPLACE a content",
    "REPLACE INTO contents SELECT n, digest, media, salt, plain, erased, x'00' FROM contents WHERE n = 1",
  ],
];

test.each(attempts)("T48 the engine's own connection cannot %s", async (_, attempt) => {
  const path = await closedLedger();
  const connection = connect(path, "write");
  const before = connection.prepare("SELECT * FROM entries").all();
  const contents = connection.prepare("SELECT * FROM contents").all();

  expect(() => connection.exec(attempt)).toThrow(expect.objectContaining({ code: "SQLITE_CONSTRAINT_TRIGGER" }));

  expect(connection.prepare("SELECT * FROM entries").all()).toEqual(before);
  expect(connection.prepare("SELECT * FROM contents").all()).toEqual(contents);
  connection.close();
});

test.each(attempts)("T48 a plain sqlite3 shell cannot %s either", async (_, attempt) => {
  const path = await closedLedger();
  const before = entriesOf(path);

  expect(() => sql(path, attempt)).toThrow(expect.objectContaining({ code: "SQLITE_CONSTRAINT_TRIGGER" }));

  const store = await openSqliteStore(path, { readOnly: true });
  await store.close();
  expect(entriesOf(path)).toEqual(before);
});

function entriesOf(path: string): unknown[] {
  const database = new Database(path, { readonly: true });
  try {
    return database.prepare("SELECT * FROM entries").all();
  } finally {
    database.close();
  }
}

test("T48 an erasure passes the guard once", async () => {
  const path = await closedLedger();
  const erase = "UPDATE contents SET media = NULL, salt = NULL, plain = NULL, bytes = NULL, erased = 2 WHERE n = 1";

  sql(path, erase);

  expect(() => sql(path, erase)).toThrow(expect.objectContaining({ code: "SQLITE_CONSTRAINT_TRIGGER" }));
});
