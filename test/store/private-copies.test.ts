/** A private copy is there for as long as its reader is, and no longer: whoever makes the next one removes what is left of
 *  readers that were killed. */
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqliteRawReader } from "../../src/store/sqlite/raw-reader.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { readAll } from "../../src/testing/store-histories.js";
import { startChild } from "../processes/child.js";
import { crashedLedger, emptyDirectory, placeForCopies } from "./place.js";

/** A log without shared memory: such a ledger is read from a copy. */
const needsCopy = (): Promise<string> => crashedLedger(5, ["", "-wal"]);

test.each(["store", "raw"])(
  "the copy of a killed reader (%s) is removed by the next reader that needs one",
  async (way) => {
    const path = await needsCopy();
    const directory = placeForCopies();
    const child = startChild("copy-reader.mjs", [path, way]);
    await child.line("reading");
    expect(readdirSync(directory)).toHaveLength(1);
    child.process.kill("SIGKILL");
    await child.finished;
    const [left] = readdirSync(directory);
    expect(existsSync(join(directory, left!, "ledger"))).toBe(true);

    const reader = await openSqliteStore(path, { readOnly: true });

    expect(readdirSync(directory)).toHaveLength(1);
    expect(readdirSync(directory)).not.toContain(left);
    expect(await readAll(reader)).toHaveLength(5);
    await reader.close();
    expect(readdirSync(directory)).toEqual([]);
  },
);

test("the copy of a reader that lives is left alone, in this process and in others", async () => {
  const path = await needsCopy();
  const directory = placeForCopies();
  const child = startChild("copy-reader.mjs", [path, "store"]);
  await child.line("reading");
  const raw = await openSqliteRawReader(path);
  const reader = await openSqliteStore(path, { readOnly: true });

  const another = await openSqliteStore(path, { readOnly: true });
  expect(readdirSync(directory)).toHaveLength(4);
  await another.close();

  expect(readdirSync(directory)).toHaveLength(3);
  expect(await raw.entryCount()).toBe(5);
  expect(await readAll(reader)).toHaveLength(5);
  await raw.close();
  await reader.close();
  child.process.kill("SIGTERM");
  expect(await child.finished).toMatchObject({ code: 0, stderr: "" });
  expect(readdirSync(directory)).toEqual([]);
});

test("nobody but their owner can read a copy, and nothing but a copy is removed", async () => {
  const path = await needsCopy();
  const mine = emptyDirectory();
  const directory = placeForCopies();
  writeFileSync(join(mine, "in-use"), "");
  mkdirSync(join(directory, "runledger-copy-without"), { mode: 0o700 });
  mkdirSync(join(directory, "runledger-copy-open"), { mode: 0o700 });
  writeFileSync(join(directory, "runledger-copy-open", "in-use"), "");
  chmodSync(join(directory, "runledger-copy-open"), 0o777);
  mkdirSync(join(directory, "runledger-other"), { mode: 0o700 });
  writeFileSync(join(directory, "runledger-other", "in-use"), "");
  writeFileSync(join(directory, "runledger-copy-file"), "notes");
  symlinkSync(mine, join(directory, "runledger-copy-link"));
  const before = readdirSync(directory);

  const reader = await openSqliteStore(path, { readOnly: true });

  const [copy] = readdirSync(directory).filter((name) => !before.includes(name));
  const modes = ["", "in-use", "ledger"].map((name) => statSync(join(directory, copy!, name)).mode & 0o777);
  expect(modes).toEqual([0o700, 0o600, 0o600]);
  await reader.close();
  expect(readdirSync(directory)).toEqual(before);
  expect(readdirSync(mine)).toEqual(["in-use"]);
});
