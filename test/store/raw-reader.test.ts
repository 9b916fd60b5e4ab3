/** The raw reader shows what is stored, and says what is wrong with it before anybody looks at the content. */
import { readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import Database from "better-sqlite3";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { RawEntry, RawProblem, RawReader } from "../../src/journal/raw-reader.js";
import { openSqliteRawReader } from "../../src/store/sqlite/raw-reader.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { read, write } from "../../src/testing/store-histories.js";
import { closedLedger, freshPath, sql } from "./place.js";

async function problemsOf(path: string): Promise<readonly RawProblem[]> {
  const raw = await openSqliteRawReader(path);
  const problems = await raw.problems();
  await raw.close();
  return problems;
}

/** Puts other rows under the table's name, without its STRICT, and leaves the text of the schema as it was. */
function forgeEntries(path: string, change: string): void {
  const database = new Database(path);
  database.unsafeMode(true);
  const root = (name: string): unknown =>
    database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").pluck().get(name);
  database.exec(
    `CREATE TABLE loose (seq INTEGER PRIMARY KEY, id, stream, rev, before, type, at, skew, entry); INSERT INTO loose SELECT * FROM entries; ${change}`,
  );
  const [loose, entries] = [root("loose"), root("entries")];
  database.pragma("writable_schema = ON");
  const move = database.prepare("UPDATE sqlite_schema SET rootpage = ? WHERE name = ?");
  move.run(loose, "entries");
  move.run(entries, "loose");
  database.close();
  sql(path, "DROP TABLE loose");
}

const schemaAttacks: readonly (readonly [string, string, string])[] = [
  [
    "entries replaced by a view",
    "ALTER TABLE entries RENAME TO hidden; CREATE VIEW entries AS SELECT * FROM hidden",
    "entries",
  ],
  ["a generated column", "ALTER TABLE entries ADD COLUMN shown TEXT AS (upper(entry)) VIRTUAL", "entries"],
  [
    "an additional trigger",
    "CREATE TRIGGER more AFTER INSERT ON entries BEGIN UPDATE streams SET rev = 0; END",
    "more",
  ],
  [
    "a view with a trigger that rewrites",
    "ALTER TABLE streams RENAME TO old; CREATE VIEW streams AS SELECT * FROM old; CREATE TRIGGER rewrite INSTEAD OF INSERT ON streams BEGIN SELECT 1; END",
    "streams",
  ],
  [
    "streams without its UNIQUE",
    "CREATE TABLE new (id INTEGER PRIMARY KEY, name TEXT NOT NULL, rev INTEGER NOT NULL, last_seq INTEGER NOT NULL) STRICT; INSERT INTO new SELECT * FROM streams; DROP TABLE streams; ALTER TABLE new RENAME TO streams",
    "sqlite_autoindex_streams_1",
  ],
  [
    "entries without STRICT",
    "DROP TRIGGER entries_no_update; DROP TRIGGER entries_no_delete; DROP TRIGGER entries_no_replace; DROP TABLE entries; CREATE TABLE entries (seq INTEGER PRIMARY KEY, id, stream, rev, before, type, at, skew, entry)",
    "entries",
  ],
  ["a guard that is gone", "DROP TRIGGER contents_no_delete", "contents_no_delete"],
  ["another application id", "PRAGMA application_id = 5", "application_id"],
  ["no layout version", "PRAGMA user_version = 0", "user_version"],
  ["another schema identifier", "UPDATE meta SET value = 'x'", "meta"],
];

test.each(schemaAttacks)("T47 %s is E_SCHEMA", async (_, attack, where) => {
  const path = await closedLedger();
  sql(path, attack);

  const problems = await problemsOf(path);

  expect(problems).toContainEqual({ code: "E_SCHEMA", where, message: expect.stringContaining("must") as string });
});

const typeAttacks: readonly (readonly [string, string, string])[] = [
  ["a revision that is REAL 7.5", "UPDATE loose SET rev = 7.5 WHERE seq = 1", "entries.rev"],
  ["a revision that is REAL 1.0", "UPDATE loose SET rev = 1.0 WHERE seq = 1", "entries.rev"],
  ["a revision that is TEXT '1'", "UPDATE loose SET rev = '1' WHERE seq = 1", "entries.rev"],
  ["a type that is a BLOB", "UPDATE loose SET type = x'31' WHERE seq = 1", "entries.type"],
  ["an entry that is a BLOB", "UPDATE loose SET entry = CAST(entry AS BLOB) WHERE seq = 1", "entries.entry"],
  ["an id that is TEXT", "UPDATE loose SET id = lower(hex(id)) WHERE seq = 1", "entries.id"],
  ["a time that is missing", "UPDATE loose SET at = NULL WHERE seq = 1", "entries.at"],
  ["a position of 2^53+1", "UPDATE loose SET seq = 9007199254740993 WHERE seq = 2", "entries.seq"],
  ["a position below zero", "UPDATE loose SET seq = -5 WHERE seq = 2", "entries.seq"],
];

test.each(typeAttacks)("T47 %s is E_TYPE, and the row is shown as it is", async (_, attack, where) => {
  const path = await closedLedger();
  forgeEntries(path, attack);

  const raw = await openSqliteRawReader(path);
  const problems = await raw.problems();
  const entries = await raw.entries(null, 10);
  const count = await raw.entryCount();
  await raw.close();

  expect(problems).toEqual([{ code: "E_TYPE", where, message: expect.any(String) as string }]);
  expect(count).toBe(3);
  expect(entries).toHaveLength(attack.includes("9007199254740993") ? 2 : 3);
  if (attack.includes("'1'")) expect(entries[1]?.rev).toBe("1");
  if (attack.includes("7.5")) expect(entries[1]?.rev).toBe(7.5);
  if (attack.includes("CAST")) expect(entries[1]?.entry).toBeInstanceOf(Uint8Array);
  if (attack.includes("hex(id)")) expect(entries[1]?.id).toMatch(/^[0-9a-f]{64}$/);
});

test("A16 times and skews at the edge of 2^53 come back exactly", async () => {
  const path = freshPath();
  const store = await openSqliteStore(path);
  const transaction = await store.begin();
  const edge = Number.MAX_SAFE_INTEGER;
  const row = { id: "0".repeat(64), stream: "a/1", type: "a.b", entry: "{}" };
  await transaction.append([{ ...row, seq: 0, rev: 1, before: null, at: edge, skew: -edge }], [], []);
  await transaction.commit();

  expect(await read(store, (reads) => reads.head())).toMatchObject({ at: edge, skew: -edge });
  const raw = await store.raw();
  expect(await raw.problems()).toEqual([]);
  expect((await raw.entries(null, 1))[0]).toMatchObject({ at: edge, skew: -edge, before: null });
  await raw.close();
  await store.close();
});

test("T47 a row that an index hides is E_CORRUPT, and the row is shown", async () => {
  const path = await closedLedger();
  const database = new Database(path);
  database.unsafeMode(true);
  const index = database.prepare("SELECT * FROM sqlite_schema WHERE name = 'contents_plain'").get() as Record<
    string,
    unknown
  >;
  database.pragma("writable_schema = ON");
  database.exec("DELETE FROM sqlite_schema WHERE name = 'contents_plain'");
  database.pragma("writable_schema = RESET");
  database.exec(
    "INSERT INTO contents (n, digest, media, salt, plain, bytes) VALUES (2, randomblob(32), 'a/b', randomblob(32), randomblob(32), x'00')",
  );
  database.pragma("writable_schema = ON");
  database.prepare("INSERT INTO sqlite_schema VALUES (@type, @name, @tbl_name, @rootpage, @sql)").run(index);
  database.close();

  const raw = await openSqliteRawReader(path);

  expect(await raw.problems()).toEqual([
    { code: "E_CORRUPT", where: "contents_plain", message: expect.stringContaining("missing from index") as string },
  ]);
  expect((await raw.contents(null, 10)).map(({ n }) => n)).toEqual([1, 2]);
  await raw.close();
});

test("T47 two tables of the same name are a problem, never a choice", async () => {
  const path = await closedLedger();
  const database = new Database(path);
  database.unsafeMode(true);
  database.pragma("writable_schema = ON");
  database.exec("INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name = 'entries'");
  database.close();

  const raw = await openSqliteRawReader(path);

  expect((await raw.problems()).map(({ where }) => where)).toEqual(["schema"]);
  await expect(raw.entries(null, 10)).rejects.toMatchObject({ code: "STORE_DAMAGED" });
  await raw.close();
});

async function everyCall(raw: RawReader): Promise<void> {
  await raw.entryCount();
  await raw.entries(null, 1_000);
  await raw.streams(null, 1_000);
  await raw.types();
  await raw.streamPages(null, 1_000);
  await raw.contents(null, 1_000);
}

test("T49 whichever page is destroyed, it is told as damage: by the problems or by the call that meets it", async () => {
  const path = await closedLedger(300);
  const sound = readFileSync(path);
  const pages = sound.length / 4_096;
  expect(pages).toBeGreaterThan(20);

  for (let page = 0; page < pages; page++) {
    for (const filler of [0, 0xa5]) {
      writeFileSync(path, Buffer.from(sound).fill(filler, page * 4_096, (page + 1) * 4_096));
      const found = await openSqliteRawReader(path).then(
        async (raw) => {
          const problems = await raw.problems();
          const called = await everyCall(raw).then(
            () => null,
            (error: unknown) => error,
          );
          await raw.close();
          if (called !== null) expect(called).toMatchObject({ code: "STORE_DAMAGED" });
          return problems.map(({ code }) => code);
        },
        (error: unknown) => {
          // The first page holds the header: without it nothing says that this was a ledger.
          expect([page, error]).toEqual([
            0,
            expect.objectContaining({ code: filler === 0 ? "STORE_DAMAGED" : "STORE_FOREIGN" }),
          ]);
          return ["E_CORRUPT"];
        },
      );
      expect([page, filler, new Set(found)]).toEqual([page, filler, new Set(["E_CORRUPT"])]);
    }
  }
});

test("T49 a truncated file is read as far as it goes", async () => {
  const path = await closedLedger(300);
  const raw = await openSqliteRawReader(path);
  const whole = await raw.entries(null, 1_000);
  await raw.close();
  truncateSync(path, statSync(path).size - 4_096 * 6);

  const cut = await openSqliteRawReader(path);
  const problems = await cut.problems();
  expect(new Set(problems.map(({ code }) => code))).toEqual(new Set(["E_CORRUPT"]));
  const prefix: RawEntry[] = [];
  const failure = await (async () => {
    for (;;) {
      const page = await cut.entries(prefix.length - 1, 1);
      if (page.length === 0) return null;
      prefix.push(...page);
    }
  })().catch((error: unknown) => error);
  await cut.close();

  expect(failure).toMatchObject({ code: "STORE_DAMAGED" });
  expect(prefix.length).toBeGreaterThan(100);
  expect(prefix).toEqual(whole.slice(0, prefix.length));
});

test("whatever single byte of the file is changed, reading ends in rows, problems or a coded error", async () => {
  const path = await closedLedger(20);
  const sound = readFileSync(path);
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: sound.length - 1 }),
      fc.integer({ min: 1, max: 255 }),
      async (at, change) => {
        const bytes = Buffer.from(sound);
        bytes[at] = bytes.readUInt8(at) ^ change;
        writeFileSync(path, bytes);
        try {
          const raw = await openSqliteRawReader(path);
          await raw.problems();
          try {
            await everyCall(raw);
          } finally {
            await raw.close();
          }
        } catch (error) {
          expect(error).toMatchObject({ name: "LedgerError" });
        }
      },
    ),
  );
});

test.each(["ff", "f0", "eda080"])("T59 bytes %s that are shown as U+FFFD are handed over as bytes", async (bytes) => {
  const path = freshPath();
  const store = await openSqliteStore(path);
  await write(store, { streams: ["a/1", "a/1"], data: ["\ufffd", "plain"] });
  await store.close();
  sql(
    path,
    `DROP TRIGGER entries_no_update; UPDATE entries SET entry = CAST(replace(hex(entry), 'EFBFBD', '${bytes}') AS TEXT)`,
  );
  const database = new Database(path);
  database.exec("UPDATE entries SET entry = CAST(unhex(entry) AS TEXT)");
  database.close();

  const raw = await openSqliteRawReader(path);
  const [forged, plain] = await raw.entries(null, 10);
  await raw.close();

  expect(Buffer.from(forged?.entry as Uint8Array).toString("hex")).toContain(
    Buffer.from('"data":"').toString("hex") + bytes,
  );
  expect(typeof plain?.entry).toBe("string");
});

test("sound pages are read the fast way and show the same rows as the plain way", async () => {
  const path = freshPath();
  const store = await openSqliteStore(path);
  for (let round = 0; round < 5; round++) {
    await write(store, {
      streams: Array.from({ length: 100 }, (_, index) => `a/${index % 7}`),
      data: ["\ufffd", "é", "😀\u0000"],
      type: `a.t${round}`,
    });
  }
  await store.close();
  const [plain, fast] = [await openSqliteRawReader(path), await openSqliteRawReader(path)];
  expect(await fast.problems()).toEqual([]);

  for (const [after, limit] of [
    [null, 1_000],
    [null, 1],
    [99, 50],
    [498, 100],
    [499, 10],
    [-10, 3],
  ] as const) {
    expect(await fast.entries(after, limit)).toEqual(await plain.entries(after, limit));
  }
  await plain.close();
  await fast.close();
});

test("sound pages with an id of another size are shown as they are", async () => {
  const path = await closedLedger();
  forgeEntries(path, "UPDATE loose SET id = x'00ff' WHERE seq = 1");

  const raw = await openSqliteRawReader(path);
  await raw.problems();

  expect((await raw.entries(null, 10)).map(({ id }) => String(id).length)).toEqual([64, 4, 64]);
  await raw.close();
});
