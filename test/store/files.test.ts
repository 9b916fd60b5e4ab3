/** What happens to a ledger's files while it is open, and to readers of files that nobody has open. */
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { openSqliteRawReader } from "../../src/store/sqlite/raw-reader.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import type { StoreDiagnostic } from "../../src/store/sqlite/diagnostic.js";
import { append, begin, read, readAll, write } from "../../src/testing/store-histories.js";
import { closedLedger, crashedLedger, emptyDirectory, freshPath, listing, placeForCopies } from "./place.js";

test.each([
  [
    "the file and its sidecars are deleted",
    (path: string) => ["", "-wal", "-shm"].forEach((suffix) => rmSync(path + suffix)),
  ],
  ["the file alone is deleted", (path: string) => rmSync(path)],
  ["the log alone is deleted", (path: string) => rmSync(`${path}-wal`)],
  ["the shared memory alone is deleted", (path: string) => rmSync(`${path}-shm`)],
  [
    "the file is replaced by a copy",
    (path: string) => {
      copyFileSync(path, `${path}.new`);
      renameSync(`${path}.new`, path);
    },
  ],
  ["the directory is renamed", (path: string) => renameSync(dirname(path), `${dirname(path)}.old`)],
] as const)("A13 when %s under a running store, the next append fails, and so does reading", async (_, damage) => {
  const path = join(emptyDirectory(), "below", "state.ledger");
  mkdirSync(dirname(path));
  const store = await openSqliteStore(path);
  await write(store, { streams: ["a/1"] });

  damage(path);

  const appended = async (): Promise<void> => {
    const transaction = await store.begin();
    await append(transaction, { streams: ["a/1"] });
    await transaction.commit();
    await store.maintain();
  };
  // The shared memory is looked at between commits: it holds no entries, so what was acknowledged is still there.
  const memoryAlone = !existsSync(`${path}-shm`) && existsSync(path);
  if (memoryAlone) await appended();
  await expect(appended()).rejects.toMatchObject({ code: "STORE_DAMAGED", details: { reason: "replaced" } });
  await expect(store.snapshot()).rejects.toMatchObject({ code: "STORE_DAMAGED" });
  await store.reset().catch(() => {});
  await expect(store.begin()).rejects.toMatchObject({ code: "STORE_DAMAGED" });
  await store.close();
  if (!memoryAlone) return;
  const again = await openSqliteStore(path);
  expect((await readAll(again)).length).toBeGreaterThanOrEqual(2); // all that was acknowledged
  await again.close();
});

test("A13 files that vanish in mid-transaction: the commit is not acknowledged", async () => {
  const path = await closedLedger();
  const store = await openSqliteStore(path);
  const transaction = await begin(store);
  await append(transaction, { streams: ["a/1"] });

  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix);

  await expect(transaction.commit()).rejects.toMatchObject({ code: "STORE_DAMAGED" });
  await store.close();
});

test("A13 files that vanish right after the commit: it is not acknowledged either", async () => {
  const path = await closedLedger();
  const store = await openSqliteStore(path, {
    faults: (step, moment) => {
      if (step === "commit" && moment === "after") for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix);
    },
  });
  const transaction = await begin(store);
  await append(transaction, { streams: ["a/1"] });

  await expect(transaction.commit()).rejects.toMatchObject({ code: "STORE_DAMAGED" });
  await store.close();
});

test("A14 a closed ledger in a directory that cannot be written is read in place, and nothing is left there", async () => {
  const path = await closedLedger();
  chmodSync(dirname(path), 0o555);

  const raw = await openSqliteRawReader(path);
  expect(raw.copied).toBe(false);
  expect(await raw.problems()).toEqual([]);
  expect(await raw.entryCount()).toBe(3);
  await raw.close();

  expect(readdirSync(dirname(path))).toEqual(["state.ledger"]);
  chmodSync(dirname(path), 0o755);
});

test("a log with its shared memory is read in place, by whoever comes, and left as it was", async () => {
  const path = await crashedLedger(5);
  const before = listing(dirname(path));

  const store = await openSqliteStore(path, { readOnly: true });
  expect(await readAll(store)).toHaveLength(5);
  expect((await store.health()).copied).toBe(false);
  await store.close();
  const raw = await openSqliteRawReader(path);
  expect([raw.copied, await raw.entryCount()]).toEqual([false, 5]);
  await raw.close();

  const after = listing(dirname(path));
  // The index of the log is made anew when nobody is alive; the evidence is in the file and in the log.
  expect({ ...after, "state.ledger-shm": "" }).toEqual({ ...before, "state.ledger-shm": "" });
});

test.each([
  ["a log without shared memory", ["", "-wal"], 5],
  ["a file in WAL mode without its log", [""], 0],
] as const)(
  "%s is read from a private copy that goes away, and nothing is made beside it",
  async (_, suffixes, entries) => {
    const path = await crashedLedger(5, suffixes);
    const before = listing(dirname(path));
    const copies = placeForCopies();
    const heard: StoreDiagnostic[] = [];

    const store = await openSqliteStore(path, { readOnly: true, onDiagnostic: (diagnostic) => heard.push(diagnostic) });
    expect(await readAll(store)).toHaveLength(entries);
    expect((await store.health()).copied).toBe(true);
    expect(heard).toEqual([{ type: "copied", location: path }]);
    await store.close();
    const raw = await openSqliteRawReader(path);
    expect([raw.copied, await raw.entryCount()]).toEqual([true, entries]);
    const evidence = await raw.evidence();
    expect(
      Object.fromEntries(evidence.map(({ name, sha256 }) => [name.slice(dirname(path).length + 1), sha256])),
    ).toEqual(before);
    await raw.close();

    expect(listing(dirname(path))).toEqual(before);
    expect(readdirSync(copies)).toEqual([]);
    const writer = await openSqliteStore(path);
    await write(writer, { streams: ["a/1"] });
    expect(await readAll(writer)).toHaveLength(entries + 1);
    await writer.close();
  },
);

test("T49 a hot journal left behind is rolled back in the copy alone, and by the next writer", async () => {
  const path = await closedLedger(400);
  // A rollback journal of a transaction that was half written: the file has new pages, the journal has the old ones.
  const before = readFileSync(path);
  const { default: Database } = await import("better-sqlite3");
  const database = new Database(path);
  database.pragma("cache_size = 1");
  database.pragma("cache_spill = 1");
  database.exec("BEGIN IMMEDIATE; DROP TRIGGER entries_no_update; UPDATE entries SET at = at + 1");
  const hot = freshPath();
  copyFileSync(path, hot);
  copyFileSync(`${path}-journal`, `${hot}-journal`);
  database.exec("ROLLBACK");
  database.close();
  expect(readFileSync(hot).equals(before)).toBe(false);
  const left = listing(dirname(hot));

  const raw = await openSqliteRawReader(hot);
  expect(raw.copied).toBe(true);
  expect(await raw.problems()).toEqual([]);
  expect((await raw.entries(null, 1))[0]).toMatchObject({ seq: 0, at: 1_000 });
  expect((await raw.evidence()).map(({ name }) => name)).toEqual([hot, `${hot}-journal`]);
  await raw.close();
  expect(listing(dirname(hot))).toEqual(left);

  const store = await openSqliteStore(hot);
  expect(await readAll(store)).toHaveLength(400);
  await store.close();
  expect(Object.keys(listing(dirname(hot)))).toEqual(["state.ledger"]);
});

test("an unfinished creation is nothing to a reader, and is finished by the next writer", async () => {
  const path = freshPath();
  // What a crash in the middle of making the schema leaves: pages in the file, and a journal that takes them back.
  const { default: Database } = await import("better-sqlite3");
  const { createSchema } = await import("../../src/store/sqlite/create.js");
  writeFileSync(path, "");
  const other = freshPath();
  const database = new Database(path);
  const capture = (step: string, moment: string): void => {
    if (step !== "schema" || moment !== "before") return;
    database.pragma("cache_size = 1");
    database.pragma("cache_spill = 1");
  };
  createSchema(database, capture);
  copyFileSync(path, other);
  database.exec("BEGIN IMMEDIATE; CREATE TABLE more (a)");
  database.close();
  rmSync(path);
  const pages = readFileSync(other);
  writeFileSync(other, pages.subarray(0, 4_096 * 3));
  writeFileSync(`${other}-journal`, journalOfNothing());

  await expect(openSqliteStore(other, { readOnly: true })).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(openSqliteRawReader(other)).rejects.toMatchObject({ code: "NOT_FOUND" });

  const store = await openSqliteStore(other);
  await write(store, { streams: ["a/1"] });
  await store.close();
  expect(Object.keys(listing(dirname(other)))).toEqual(["state.ledger"]);
});

/** A rollback journal that says: the file had no pages. */
function journalOfNothing(): Buffer {
  const journal = Buffer.alloc(512);
  Buffer.from("d9d505f920a163d7", "hex").copy(journal); // magic
  journal.writeUInt32BE(0, 8); // pages in the journal
  journal.writeUInt32BE(1, 12); // nonce
  journal.writeUInt32BE(0, 16); // size of the file before, in pages
  journal.writeUInt32BE(512, 20); // sector size
  journal.writeUInt32BE(4_096, 24); // page size
  return journal;
}

test("a reader of a file that a writer opens meanwhile goes on, in place", async () => {
  const path = await closedLedger();
  const reader = await openSqliteStore(path, { readOnly: true });
  expect(await readAll(reader)).toHaveLength(3);

  const writer = await openSqliteStore(path);
  await write(writer, { streams: ["a/1"] });
  expect(await readAll(reader)).toHaveLength(4);
  await writer.close();
  expect(await readAll(reader)).toHaveLength(4);
  await reader.close();
});

test("a reader whose file was replaced says so instead of reading something else", async () => {
  const [path, other] = [await closedLedger(), await closedLedger(9)];
  const reader = await openSqliteStore(path, { readOnly: true });

  renameSync(other, path);

  await expect(reader.snapshot()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  await reader.close();
});

test("reading a file's bytes costs the connections of the same process no lock", async () => {
  const path = await closedLedger();
  const holder = await openSqliteStore(path, { readOnly: true });
  const snapshot = await holder.snapshot();

  const raw = await openSqliteRawReader(path);
  await raw.evidence();
  await raw.close();
  const reader = await openSqliteStore(path, { readOnly: true });
  await reader.close();

  // Another process must not be able to change the file under the snapshot.
  const program = `
    const Database = require("better-sqlite3");
    const database = new Database(${JSON.stringify(path)}, { timeout: 0 });
    try { database.exec("BEGIN EXCLUSIVE"); console.log("taken"); } catch (error) { console.log(error.code); }`;
  const asked = spawnSync(process.execPath, ["-e", program], { encoding: "utf8" });
  expect([asked.stdout.trim(), asked.stderr]).toEqual(["SQLITE_BUSY", ""]);
  await snapshot.release();
  await holder.close();
});

test("A04 a reader that never lets go: appends go on, and health says how large the log is and that it is held", async () => {
  const path = await closedLedger();
  const heard: StoreDiagnostic[] = [];
  const capBytes = 24 * 1024 * 1024; // more than is written between two checkpoints
  const store = await openSqliteStore(path, {
    walCapBytes: capBytes,
    onDiagnostic: (diagnostic) => heard.push(diagnostic),
  });
  const holder = await store.snapshot();
  const appends = process.env["RUNLEDGER_LONG"] === "1" ? 50_000 : 15_000;

  for (let done = 0; done < appends; done += 100) {
    await write(store, { streams: Array<string>(100).fill("a/1"), data: Array<string>(100).fill("x".repeat(3_000)) });
    await store.maintain();
  }

  const held = (await store.health()).wal;
  expect(held).toMatchObject({ capBytes, overCap: true, checkpointBlocked: true, lastError: null });
  expect(held!.bytes).toBeGreaterThan(capBytes);
  expect(heard).toEqual([
    { type: "walOverCap", bytes: expect.any(Number) as number, capBytes, checkpointBlocked: true },
  ]);
  expect((await holder.head())?.seq).toBe(2);

  await holder.release();
  for (let done = 0; done < 6; done++) {
    await write(store, {
      streams: Array<string>(1_000).fill("a/1"),
      data: Array<string>(1_000).fill("x".repeat(3_000)),
    });
    await store.maintain();
  }
  expect((await store.health()).wal).toMatchObject({ overCap: false, checkpointBlocked: false });
  expect(heard).toHaveLength(1);
  await store.close();
}, 120_000);

test("a live log is not truncated and does not grow without bound while checkpoints get through", async () => {
  const path = await closedLedger();
  const store = await openSqliteStore(path);
  const sizes: number[] = [];

  for (let done = 0; done < 100; done++) {
    await write(store, { streams: Array<string>(500).fill("a/1"), data: Array<string>(500).fill("x".repeat(1_000)) });
    await store.maintain();
    sizes.push((await store.health()).wal!.bytes);
  }

  expect(sizes).toEqual([...sizes].sort((one, other) => one - other));
  expect(sizes.at(-1)).toBeLessThan(36 * 1024 * 1024);
  await store.close();
});

test("K01 a checkpoint that fails is reported by health and never thrown, and the next one makes good", async () => {
  const path = await closedLedger();
  let failing = true;
  const store = await openSqliteStore(path, {
    faults: (step, moment) => {
      if (failing && step === "checkpoint" && moment === "before")
        throw Object.assign(new Error("disk full"), { code: "SQLITE_FULL" });
    },
  });
  const fill = async (): Promise<void> => {
    await write(store, {
      streams: Array<string>(5_000).fill("a/1"),
      data: Array<string>(5_000).fill("x".repeat(4_000)),
    });
    await store.maintain();
  };

  await fill();
  expect((await store.health()).wal).toMatchObject({ checkpointBlocked: true, lastError: "disk full" });
  failing = false;
  await fill();

  expect((await store.health()).wal).toMatchObject({ checkpointBlocked: false, lastError: null });
  expect(await read(store, (reads) => reads.head())).toMatchObject({ seq: 10_002 });
  await store.close();
});

test("K03 opening, appending and closing again and again keeps the number of descriptors flat", async () => {
  const path = await closedLedger();
  const descriptors = (): number => readdirSync("/proc/self/fd").length;
  const rounds = process.env["RUNLEDGER_LONG"] === "1" ? 500 : 50;
  const once = async (): Promise<void> => {
    const store = await openSqliteStore(path);
    await write(store, { streams: ["a/1"] });
    await readAll(store);
    await store.close();
    const reader = await openSqliteStore(path, { readOnly: true });
    await reader.snapshot();
    await reader.close();
    const raw = await openSqliteRawReader(path);
    await raw.evidence();
    await raw.close();
  };
  await once();
  const before = descriptors();

  for (let round = 0; round < rounds; round++) await once();
  await expect(openSqliteStore(freshPath(), { readOnly: true })).rejects.toMatchObject({ code: "NOT_FOUND" });

  expect(descriptors()).toBe(before);
}, 120_000);

test("a snapshot that is not to be had in time is refused, and one that is released goes to whoever waited first", async () => {
  const path = await closedLedger();
  const store = await openSqliteStore(path, { busyTimeoutMs: 100 });
  const taken = await Promise.all(Array.from({ length: 8 }, () => store.snapshot()));

  await expect(store.snapshot()).rejects.toMatchObject({ code: "STORE_BUSY" });
  const waiting = store.snapshot();
  await taken[3]!.release();
  expect((await (await waiting).head())?.seq).toBe(2);

  await store.close();
  expect(existsSync(path)).toBe(true);
});

test("a file that grew a tail is damaged or reads as before, never as something else", async () => {
  const path = await closedLedger();
  appendFileSync(path, Buffer.alloc(4_096, 7));

  const raw = await openSqliteRawReader(path);
  expect(await raw.entryCount()).toBe(3);
  await raw.close();
});
