/** Several processes, threads and limits of the operating system, on one ledger file. */
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { read, readAll } from "../../src/testing/store-histories.js";
import { freshPlace, openShared, sharedStoreNames } from "../engine/fixture.js";
import { runChild, startChild } from "../processes/child.js";
import { closedLedger, crashedLedger, listing } from "./place.js";

const long = process.env["RUNLEDGER_LONG"] === "1";

interface Written {
  readonly name: string;
  readonly n: number;
  readonly seq: number;
}

function written(lines: readonly string[]): Written[] {
  return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Written);
}

test.each(sharedStoreNames)(
  "A01 two processes that read and then write lose nothing and fork nothing, and neither is told of the other, on %s",
  async (name) => {
    const path = freshPlace(name);
    await (await openShared(path)).close();
    const count = long ? 1_000 : 100;

    const children = await Promise.all(
      ["one", "two"].map((writer) => runChild("store-writer.mjs", [path, writer, String(count)])),
    );

    for (const child of children) expect([child.code, child.stderr]).toEqual([0, ""]);
    const store = await openShared(path, { readOnly: true });
    const entries = await read(store, (reads) => reads.entries(0, 100_000));
    expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 4 * count }, (_, index) => index));
    const heads = await read(store, (reads) => reads.streamHeads(["own/one", "own/two", "shared/1"]));
    expect(heads.map((head) => head?.rev)).toEqual([count, count, 2 * count]);
    for (const { name: writer, n, seq } of children.flatMap((child) => written(child.lines))) {
      expect(JSON.parse(String(entries[seq]!.entry))).toMatchObject({ stream: `own/${writer}`, rev: n + 1 });
    }
    await store.close();
    if (name === "sqlite") expect(readdirSync(dirname(path))).toEqual(["state.ledger"]);
  },
);

test.each(sharedStoreNames)("several processes that create the same ledger at once all get it, on %s", async (name) => {
  for (let round = 0; round < (long ? 20 : 3); round++) {
    const path = freshPlace(name);

    const children = await Promise.all(
      ["one", "two", "three"].map((writer) => runChild("store-writer.mjs", [path, writer, "5"])),
    );

    expect(children.map((child) => [child.code, child.stderr])).toEqual([
      [0, ""],
      [0, ""],
      [0, ""],
    ]);
    const store = await openShared(path, { readOnly: true });
    expect(await readAll(store)).toHaveLength(30);
    await store.close();
    if (name === "sqlite") expect(readdirSync(dirname(path))).toEqual(["state.ledger"]);
  }
});

test("a writer that is killed leaves a file that the next one opens, with everything that was acknowledged", async () => {
  const path = await closedLedger();
  const child = startChild("store-writer.mjs", [path, "one", "100000"]);
  await child.line('{"name":"one","n":20');
  child.process.kill("SIGKILL");
  const { lines } = await child.finished;

  const reader = await openSqliteStore(path, { readOnly: true });
  const seen = (await readAll(reader)).length;
  await reader.close();
  const store = await openSqliteStore(path);
  const entries = await readAll(store);
  await store.close();

  expect(entries).toHaveLength(seen);
  expect((entries.length - 3) % 2).toBe(0);
  for (const { seq } of written(lines)) expect(seq).toBeLessThan(entries.length);
  expect(readdirSync(dirname(path))).toEqual(["state.ledger"]);
});

test("A22 a worker thread that opened the store and threw takes nobody with it", async () => {
  const path = await closedLedger();

  const child = await runChild("store-worker.mjs", [path]);

  expect([child.code, child.signal, child.stderr]).toEqual([0, null, ""]);
  expect(child.lines.map((line) => JSON.parse(line) as object)).toEqual([
    { error: "the worker gives up" },
    { closed: true },
  ]);
  const store = await openSqliteStore(path);
  expect(await read(store, (reads) => reads.streamHeads(["main/1", "worker/1"]))).toMatchObject([
    { rev: 2 },
    { rev: 1 },
  ]);
  await store.close();
  expect(readdirSync(dirname(path))).toEqual(["state.ledger"]);
});

test("K04 a process without free descriptors is told that, never that the file is damaged, foreign or empty", async () => {
  const path = await closedLedger();
  const program = fileURLToPath(new URL("../children/store-exhausted.mjs", import.meta.url));

  // Many, for Node's own loader opens all modules that it knows of at once. The child then uses up all but a few of them.
  const child = spawnSync("sh", ["-c", `ulimit -n 512 && exec "$0" "$1" "$2"`, process.execPath, program, path], {
    encoding: "utf8",
  });

  expect([child.status, child.stderr]).toEqual([0, ""]);
  const outcomes = child.stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { free: number; name: string; ok?: true; code?: string });
  for (const outcome of outcomes)
    expect(outcome.ok === true ? outcome : outcome.code).toEqual(outcome.ok === true ? outcome : "RESOURCES_EXHAUSTED");
  expect(outcomes.filter(({ ok }) => ok !== true).length).toBeGreaterThan(3);
  for (const name of ["write", "read", "verify"])
    expect(outcomes.findLast((outcome) => outcome.name === name)).toMatchObject({ ok: true });
  expect(readdirSync(dirname(path))).toEqual(["state.ledger"]);
});

test.each([
  ["that was closed", null, { entries: 3, copied: false }],
  ["whose writer was killed", ["", "-wal", "-shm"], { entries: 5, copied: false }],
  ["that was copied with its log alone", ["", "-wal"], { entries: 5, copied: true }],
  ["that lost its log", [""], { entries: 0, copied: true }],
] as const)(
  "A14 a ledger %s, in a directory that this user cannot write, is read and left alone",
  async (_, suffixes, expected) => {
    const path = suffixes === null ? await closedLedger() : await crashedLedger(5, suffixes);
    const program = fileURLToPath(new URL("../children/store-reader.mjs", import.meta.url));
    const names = readdirSync(dirname(path));
    for (const each of names) chmodSync(join(dirname(path), each), 0o400);
    chmodSync(dirname(path), 0o500);
    if (process.getuid?.() === 0) {
      for (const each of ["", ...names]) chownSync(join(dirname(path), each), 65_534, 65_534);
    }
    const before = listing(dirname(path));

    const child = spawnSync(process.execPath, [program, path], { encoding: "utf8" });

    expect([child.status, child.stderr]).toEqual([0, ""]);
    expect(JSON.parse(child.stdout)).toEqual({
      writable: "EACCES",
      store: expected,
      raw: { ...expected, problems: [] },
      write: "READ_ONLY",
    });
    expect(listing(dirname(path))).toEqual(before);
    chmodSync(dirname(path), 0o700);
  },
);
