/** Opening a ledger file: what is created, what is refused, and that a refusal changes nothing. */
import { existsSync, linkSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { openSqliteRawReader } from "../../src/store/sqlite/raw-reader.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { read, readAll, write } from "../../src/testing/store-histories.js";
import { closedLedger, emptyDirectory, freshPath, listing, sql } from "./place.js";

/** The ways to open a file; each must refuse, and leave everything as it was. */
const openings = {
  write: (path: string) => openSqliteStore(path),
  "write without creating": (path: string) => openSqliteStore(path, { create: false }),
  "read only": (path: string) => openSqliteStore(path, { readOnly: true }),
} as const;

async function refusesUnchanged(path: string, code: string, extra: object = {}): Promise<void> {
  const before = listing(dirname(path));
  for (const open of Object.values(openings)) {
    await expect(open(path)).rejects.toMatchObject({ name: "LedgerError", code, ...extra });
    expect(listing(dirname(path))).toEqual(before);
  }
}

test("G-20 a read-only open of a file that is not there refuses and creates nothing", async () => {
  const path = freshPath();

  await expect(openSqliteStore(path, { readOnly: true })).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(openSqliteStore(path, { create: false })).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(openSqliteRawReader(path)).rejects.toMatchObject({ code: "NOT_FOUND" });

  expect(listing(dirname(path))).toEqual({});
});

test("G-20 a read-only open changes no byte, no permission, no journal mode, and refuses every write", async () => {
  const path = await closedLedger();
  const before = { files: listing(dirname(path)), mode: statSync(path).mode, changed: statSync(path).mtimeMs };

  const store = await openSqliteStore(path, { readOnly: true });
  expect(store.readOnly).toBe(true);
  expect(await readAll(store)).toHaveLength(3);
  await expect(store.begin()).rejects.toMatchObject({ code: "READ_ONLY" });
  await store.maintain();
  await store.close();

  expect({ files: listing(dirname(path)), mode: statSync(path).mode, changed: statSync(path).mtimeMs }).toEqual(before);
});

test("G-21 a writable open creates missing directories 0700 and the file 0600, and leaves existing ones as they are", async () => {
  const directory = emptyDirectory();
  mkdirSync(join(directory, "there"), { mode: 0o755 });
  const path = join(directory, "there", "new", "deeper", "state.ledger");

  const store = await openSqliteStore(path);
  await write(store, { streams: ["a/1"] });

  const mode = (of: string): string => (statSync(of).mode & 0o777).toString(8);
  expect([mode(join(directory, "there")), mode(dirname(dirname(path))), mode(dirname(path))]).toEqual([
    "755",
    "700",
    "700",
  ]);
  expect([mode(path), mode(`${path}-wal`), mode(`${path}-shm`)]).toEqual(["600", "600", "600"]);
  await store.close();
  expect(mode(path)).toBe("600");
});

test("G-23 a file with a newer layout or another schema identifier is refused by the value that it carries", async () => {
  const newer = await closedLedger();
  sql(newer, "PRAGMA user_version = 7");
  await refusesUnchanged(newer, "SCHEMA_UNKNOWN", {
    message: expect.stringMatching(/layout version 1.*found 7/) as string,
  });
  await expect(openSqliteRawReader(newer)).rejects.toMatchObject({ code: "SCHEMA_UNKNOWN" });

  const renamed = await closedLedger();
  sql(renamed, "UPDATE meta SET value = 'runledger/9' WHERE key = 'schema'");
  await refusesUnchanged(renamed, "SCHEMA_UNKNOWN", { message: expect.stringContaining("runledger/9") as string });

  const missing = await closedLedger();
  sql(missing, "DELETE FROM meta");
  await refusesUnchanged(missing, "SCHEMA_UNKNOWN", { message: expect.stringContaining("found none") as string });
});

test.each([
  ["an additional table", "CREATE TABLE more (a)", "more"],
  ["an additional index", "CREATE INDEX by_rev ON entries (stream, rev)", "by_rev"],
  ["a guard that was dropped", "DROP TRIGGER entries_no_delete", "entries_no_delete"],
  [
    "a guard that does nothing",
    "DROP TRIGGER entries_no_delete; CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries BEGIN SELECT 1; END",
    "entries_no_delete",
  ],
  [
    "a view in place of a table",
    "ALTER TABLE entries RENAME TO hidden; CREATE VIEW entries AS SELECT * FROM hidden",
    "entries",
  ],
])("G-24 a schema with %s is refused, the file unchanged and nothing left beside it", async (_, change, named) => {
  const path = await closedLedger();
  sql(path, change);

  await refusesUnchanged(path, "SCHEMA_UNKNOWN", { message: expect.stringContaining(named) as string });
});

test("G-24 a changed schema is found in the log too, before the log is taken into the file", async () => {
  const path = await closedLedger();
  const copy = freshPath();
  const store = await openSqliteStore(path);
  await write(store, { streams: ["a/1"] });
  sql(path, "CREATE TABLE more (a)");
  for (const suffix of ["", "-wal", "-shm"]) writeFileSync(copy + suffix, readFileSync(path + suffix));
  await store.close();
  const before = { main: readFileSync(copy), wal: readFileSync(`${copy}-wal`) };

  for (const open of Object.values(openings))
    await expect(open(copy)).rejects.toMatchObject({ code: "SCHEMA_UNKNOWN" });

  expect({ main: readFileSync(copy), wal: readFileSync(`${copy}-wal`) }).toEqual(before);
});

test("a file that is not a ledger is refused without a byte changed", async () => {
  const text = freshPath("notes.txt");
  writeFileSync(text, "these are my notes\n".repeat(1_000));
  await refusesUnchanged(text, "STORE_FOREIGN");
  await expect(openSqliteRawReader(text)).rejects.toMatchObject({ code: "STORE_FOREIGN" });

  const short = freshPath("short");
  writeFileSync(short, "x");
  await refusesUnchanged(short, "STORE_FOREIGN");

  const other = freshPath("other.db");
  sql(other, "CREATE TABLE bookmarks (url); INSERT INTO bookmarks VALUES ('x')");
  await refusesUnchanged(other, "STORE_FOREIGN", { message: expect.stringContaining("application id") as string });

  const wal = freshPath("wal.db");
  sql(wal, "PRAGMA journal_mode = WAL; CREATE TABLE bookmarks (url)");
  await refusesUnchanged(wal, "STORE_FOREIGN");

  const wide = freshPath("utf16.db");
  sql(wide, `PRAGMA encoding = 'UTF-16'; PRAGMA application_id = 1919706215; CREATE TABLE entries (seq)`);
  await refusesUnchanged(wide, "STORE_FOREIGN", { message: expect.stringContaining("UTF-8") as string });
});

test("a file whose header is gone is damaged, not foreign", async () => {
  const path = await closedLedger();
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0, 0, 4_096));
  await refusesUnchanged(path, "STORE_DAMAGED");
  await expect(openSqliteRawReader(path)).rejects.toMatchObject({ code: "STORE_DAMAGED" });

  const cut = await closedLedger();
  writeFileSync(cut, readFileSync(cut).subarray(0, 50));
  await refusesUnchanged(cut, "STORE_DAMAGED");
});

test("J04 an empty file is no ledger to a reader, and not yet one to a writer", async () => {
  const path = freshPath();
  writeFileSync(path, "", { mode: 0o600 });

  await expect(openSqliteStore(path, { readOnly: true })).rejects.toMatchObject({
    code: "NOT_FOUND",
    message: expect.stringContaining("empty") as string,
  });
  await expect(openSqliteStore(path, { create: false })).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(openSqliteRawReader(path)).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(statSync(path).size).toBe(0);

  const store = await openSqliteStore(path);
  await write(store, { streams: ["a/1"] });
  await store.close();
});

test.each(["", "-wal", "-shm", "-journal"])(
  "D-57 a symbolic link at the path of the file%s is refused and not followed",
  async (suffix) => {
    const path = await closedLedger();
    const target = join(emptyDirectory(), "elsewhere");
    writeFileSync(target, "keep me");
    const linked = suffix === "" ? join(dirname(path), "link.ledger") : path;
    symlinkSync(suffix === "" ? path : target, linked + suffix);

    await refusesUnchanged(linked, "STORE_UNSAFE_PATH", {
      details: { path: linked + suffix, found: "a symbolic link" },
    });
    await expect(openSqliteRawReader(linked)).rejects.toMatchObject({ code: "STORE_UNSAFE_PATH" });

    expect(readFileSync(target, "utf8")).toBe("keep me");
  },
);

test("D-57 a symbolic link that leads nowhere is refused, and nothing is created where it points", async () => {
  const directory = emptyDirectory();
  const target = join(emptyDirectory(), "not-yet");
  symlinkSync(target, join(directory, "state.ledger"));

  for (const open of Object.values(openings))
    await expect(open(join(directory, "state.ledger"))).rejects.toMatchObject({ code: "STORE_UNSAFE_PATH" });

  expect(existsSync(target)).toBe(false);
});

test.each(["", "-wal", "-journal"])("D-57 a file%s with a second name is refused", async (suffix) => {
  const path = await closedLedger();
  if (suffix !== "") writeFileSync(path + suffix, "");
  linkSync(path + suffix, join(emptyDirectory(), "second"));

  await refusesUnchanged(path, "STORE_UNSAFE_PATH", { message: expect.stringContaining("2 names") as string });
});

test("D-57 what is not a file is refused: a directory, a path through a file, a name with NUL or none", async () => {
  const directory = emptyDirectory();
  mkdirSync(join(directory, "state.ledger"));
  writeFileSync(join(directory, "file"), "");

  for (const open of Object.values(openings)) {
    await expect(open(join(directory, "state.ledger"))).rejects.toMatchObject({ code: "STORE_UNSAFE_PATH" });
    await expect(open(join(directory, "file", "state.ledger"))).rejects.toMatchObject({ code: "NOT_FOUND" });
    for (const bad of ["a\0b", "", ":memory:", "state.ledger ", "\ud800"]) {
      await expect(open(bad)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
  }
});

test("names that mean something to SQLite or to a URL are names", async () => {
  const directory = emptyDirectory();
  for (const name of ["file:x?mode=memory", "a b%20#?.db", "ü😀", "-wal", ".."].filter((each) => each !== "..")) {
    const store = await openSqliteStore(join(directory, name));
    await write(store, { streams: ["a/1"] });
    await store.close();
    expect(existsSync(join(directory, name))).toBe(true);
    const again = await openSqliteStore(join(directory, name), { readOnly: true });
    expect(await readAll(again)).toHaveLength(1);
    await again.close();
  }
});

test("A08 a log without its file is not taken into a new one", async () => {
  const path = freshPath();
  writeFileSync(`${path}-wal`, "left over");

  await expect(openSqliteStore(path)).rejects.toMatchObject({ code: "STORE_UNSAFE_PATH" });

  expect(Object.keys(listing(dirname(path)))).toEqual(["state.ledger-wal"]);
});

test.each(["nfs", "smb", "smb2", "cifs", "9p", "ceph", "afs", "lustre"])(
  "A10 a ledger on %s is refused before any file is created",
  async (kind) => {
    const path = join(emptyDirectory(), "below", "state.ledger");
    const asked: string[] = [];
    const filesystemKind = (of: string): string => {
      asked.push(of);
      return kind;
    };

    for (const readOnly of [false, true]) {
      await expect(openSqliteStore(path, { filesystemKind, readOnly })).rejects.toMatchObject({
        code: "STORE_UNSUPPORTED",
        details: { found: kind },
      });
    }
    expect(existsSync(dirname(path))).toBe(false);
    expect(asked).toEqual([path, path]);

    const store = await openSqliteStore(path, { filesystemKind, allowNetworkFilesystem: true });
    await write(store, { streams: ["a/1"] });
    await store.close();
  },
);

test("G-25 closing twice is a no-op, and a closed ledger is one file", async () => {
  const path = freshPath();
  const store = await openSqliteStore(path);
  await write(store, { streams: ["a/1"], contents: ["one"] });

  await Promise.all([store.close(), store.close()]);
  await store.close();

  expect(Object.keys(listing(dirname(path)))).toEqual(["state.ledger"]);
  // Not in WAL mode any more, so that it can be read where it is, on read-only media too.
  const reader = await openSqliteStore(path, { readOnly: true });
  expect((await reader.health()).copied).toBe(false);
  await reader.close();
  const again = await openSqliteStore(path);
  expect(await read(again, (reads) => reads.head())).toMatchObject({ seq: 0, contents: 1 });
  await again.close();
});

test("G-25 while others have it open the log stays, and the last one folds it", async () => {
  const path = freshPath();
  const [first, second] = [await openSqliteStore(path), await openSqliteStore(path)];
  await write(first, { streams: ["a/1"] });

  await first.close();
  expect(Object.keys(listing(dirname(path)))).toContain("state.ledger-wal");
  await write(second, { streams: ["a/1"] });
  await second.close();

  expect(Object.keys(listing(dirname(path)))).toEqual(["state.ledger"]);
  const again = await openSqliteStore(path, { readOnly: true });
  expect(await readAll(again)).toHaveLength(2);
  await again.close();
});
