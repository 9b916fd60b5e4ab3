/** A directory of its own for each test, and what can be seen of a ledger file from outside. */
import { createHash } from "node:crypto";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { write } from "../../src/testing/store-histories.js";

/** An empty directory that goes away with the test. */
export function emptyDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "store-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** From here to the end of the test, private copies are made in a directory of its own, which is empty before. */
export function placeForCopies(): string {
  const before = process.env["TMPDIR"];
  const directory = emptyDirectory();
  process.env["TMPDIR"] = directory;
  onTestFinished(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  });
  return directory;
}

/** A path in a directory of its own, where nothing stands. */
export function freshPath(name = "state.ledger"): string {
  return join(emptyDirectory(), name);
}

/** A closed ledger file with some entries, in a directory of its own. */
export async function closedLedger(entries = 3): Promise<string> {
  const path = freshPath();
  const store = await openSqliteStore(path);
  await write(store, { streams: Array.from({ length: entries }, (_, index) => `a/${index % 2}`), contents: ["one"] });
  await store.close();
  return path;
}

/** Copies of a ledger's files as a crash would leave them: the log is not folded. */
export async function crashedLedger(
  entries: number,
  suffixes: readonly string[] = ["", "-wal", "-shm"],
): Promise<string> {
  const [path, copy] = [freshPath(), freshPath()];
  const store = await openSqliteStore(path);
  for (let each = 0; each < entries; each++) await write(store, { streams: ["a/1"] });
  for (const suffix of suffixes) copyFileSync(path + suffix, copy + suffix);
  await store.close();
  return copy;
}

/** Names and hashes of all files in a directory: equal when nothing changed. */
export function listing(directory: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    readdirSync(directory)
      .sort()
      .map((name) => [
        name,
        createHash("sha256")
          .update(readFileSync(join(directory, name)))
          .digest("hex"),
      ]),
  );
}

/** Runs SQL on the file as a person with the sqlite3 shell would. `unsafe` allows changes of the schema's text. */
export function sql(path: string, text: string, unsafe = false): void {
  const database = new Database(path);
  try {
    if (unsafe) database.unsafeMode(true);
    database.exec(text);
  } finally {
    database.close();
  }
}
