import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { call, jsonLines, newFile, newLedgerFile, runledger } from "./command.js";
import { visitedLedger, visitsModule } from "./visits.js";

const define = (text: string = visitsModule): string[] => ["--define", newFile("visits.mjs", text)];

/** Visits that come after the program with the code was gone. */
async function visitMore(file: string): Promise<void> {
  const ledger = await openLedger(file);
  await ledger.append("page/1", [{ type: "page.visited", data: { page: "b" } }]);
  await ledger.close();
}

describe("state", () => {
  test("shows documents in the order of their keys, as text and as JSON lines, in a process of its own", async () => {
    const file = await visitedLedger();
    const text = await runledger(["state", "visits", "--ledger", file, ...define()]);
    const json = await runledger(["state", "visits", "--ledger", file, "--json", ...define()]);

    expect(text).toMatchObject({ code: 0, stderr: "visits@1 as of #5\n" });
    expect(text.stdout).toBe('a  {"count":3}\nb  {"count":1}\nc\\u{202e}  {"count":1}\n');
    const same = { projection: "visits", version: 1, asOf: 5, stored: false };
    expect(jsonLines(json.stdout)).toEqual([
      { ...same, key: "a", document: { count: 3 } },
      { ...same, key: "b", document: { count: 1 } },
      { ...same, key: "c\u202e", document: { count: 1 } },
    ]);
    expect(json.stdout).not.toContain("\u202e");
  });

  test("shows one document, and ends with 3 when there is none", async () => {
    const file = await visitedLedger();
    const one = await call(["state", "visits", "a", "--ledger", file, ...define()]);
    const none = await call(["state", "visits", "x", "--ledger", file, "--json", ...define()]);

    expect(one).toMatchObject({ code: 0, stdout: '{\n  "count": 3\n}\n' });
    expect(none).toMatchObject({ code: 3, stdout: "" });
    expect(none.stderr).toContain('NOT_FOUND: a document "x" of visits@1 must be there as of #5, found none');
  });

  test("shows documents as of any event", async () => {
    const file = await visitedLedger();
    for (const [at, counts] of [
      ["#0", {}],
      ["#1", { a: 1 }],
      ["@~2", { a: 2, b: 1 }],
      ["page/1@5", { a: 3, b: 1, "c\u202e": 1 }],
    ] as const) {
      const done = await call(["state", "visits", "--ledger", file, "--at", at, "--json", ...define()]);
      const found = jsonLines(done.stdout).map(({ key, document }) => [key, (document as { count: number }).count]);

      expect(done.code).toBe(0);
      expect(Object.fromEntries(found)).toEqual(counts);
    }
  });

  test("finds by an index, by the beginning of its tuples, and no more than were asked for", async () => {
    const file = await visitedLedger();
    const keysOf = async (...args: string[]): Promise<unknown[]> =>
      jsonLines((await call(["state", "visits", "--ledger", file, "--json", ...args])).stdout).map(({ key }) => key);

    for (const source of [define(), [...define(), "--at", "@"], []]) {
      expect(await keysOf("--index", "count", ...source)).toEqual(["b", "c\u202e", "a"]);
      expect(await keysOf("--index", "count", "--prefix", "[1]", ...source)).toEqual(["b", "c\u202e"]);
      expect(await keysOf("--index", "count", "--prefix", "[2]", ...source)).toEqual([]);
      expect(await keysOf("--limit", "2", ...source)).toEqual(["a", "b"]);
    }
    const limited = await call(["state", "visits", "--ledger", file, "--limit", "2", ...define()]);
    expect(limited.stderr).toContain("there are more; --limit shows more than 2");
  });

  test("shows what is there now, though the table is behind", async () => {
    const file = await visitedLedger();
    await visitMore(file);
    const done = await call(["state", "visits", "b", "--ledger", file, "--json", ...define()]);

    expect(jsonLines(done.stdout)).toMatchObject([{ asOf: 6, stored: false, document: { count: 2 } }]);
  });

  test("shows without the code what is stored, and as of when that is", async () => {
    const file = await visitedLedger();
    await visitMore(file);
    const text = await call(["state", "visits", "--ledger", file]);
    const json = await call(["state", "visits@1", "b", "--ledger", file, "--json"]);

    expect(text.stdout).toContain('a  {"count":3}\n');
    expect(text.stderr).toBe("visits@1 as of #5, as stored: its code was not given\n");
    expect(jsonLines(json.stdout)).toMatchObject([{ asOf: 5, stored: true, document: { count: 1 } }]);
  });

  test("shows the receipts without being given their code", async () => {
    const done = await call(["state", "receipt", "--ledger", await visitedLedger()]);

    expect(done).toMatchObject({ code: 0, stdout: "" });
    expect(done.stderr).toContain("receipt@1 has no such documents as of #5");
  });

  test("says that a document which cannot be read is damaged", async () => {
    const file = await visitedLedger();
    const database = new Database(file);
    database.exec("UPDATE doc_1 SET doc = '{' WHERE key = 'a'");
    database.close();
    for (const source of [define(), []]) {
      const done = await call(["state", "visits", "a", "--ledger", file, ...source]);

      expect(done.code).toBe(1);
      expect(done.stderr).toContain("STORE_DAMAGED");
    }
    expect(await call(["state", "visits", "a", "--ledger", file, "--at", "@", ...define()])).toMatchObject({ code: 0 });
  });

  test("says which event a reducer could not fold, and shows what was before it", async () => {
    const failing = visitsModule.replace("(page?.count ?? 0) + 1", "page === undefined ? 1 : page.count.no.such");
    const file = newLedgerFile();
    const ledger = await openLedger(file);
    for (let visit = 0; visit < 2; visit++)
      await ledger.append("page/1", [{ type: "page.visited", data: { page: "a" } }]);
    await ledger.close();
    const done = await call(["state", "visits", "--ledger", file, ...define(failing)]);
    const before = await call(["state", "visits", "--ledger", file, "--at", "#1", ...define(failing)]);

    expect(done.code).toBe(1);
    expect(done.stderr).toContain("PROJECTION_FAILED: projection visits");
    expect(done.stderr).toContain("must fold event #2 page.visited");
    expect(before).toMatchObject({ code: 0, stdout: 'a  {"count":1}\n' });
  });

  test("says that an event which the definitions do not know may change what is shown, unless it comes later", async () => {
    const file = await visitedLedger();
    const events = "export const events = defineEvents('page', { open: true }, { 'page.left': {} });";
    const module = visitsModule.replace("{ defineProjection }", "{ defineEvents, defineProjection }") + events;
    const done = await call(["state", "visits", "--ledger", file, "--at", "@", ...define(module)]);
    const before = await call(["state", "visits", "--ledger", file, "--at", "#0", ...define(module)]);

    expect(done.code).toBe(3);
    expect(done.stderr).toMatch(/SCHEMA_UNKNOWN: .*#1 page\.visited/);
    expect(before.code).toBe(0);
  });

  test.each([
    [["visits", "--prefix", "[1]"], "--prefix must stand with --index"],
    [["visits", "a", "--index", "count"], "--index must stand without a key"],
    [["visits", "--index", "count", "--prefix", "{"], "--prefix must be a JSON list"],
    [["visits", "--index", "count", "--prefix", "1"], "--prefix must be a JSON list"],
    [["visits", "--index", "size"], "--index must be one of table visits@1 (count)"],
    [["visits", "--at", "#1"], "--at needs the code of visits"],
    [["visits", "--limit", "0"], "--limit must be a whole number from 1"],
    [["visits", ""], "the key must be"],
  ])("refuses %j", async (args, says) => {
    const done = await call(["state", "--ledger", await visitedLedger(), ...args]);

    expect(done).toMatchObject({ code: 2, stdout: "" });
    expect(done.stderr).toContain(says);
  });

  test.each([
    [["--index", "size"], "--index must be an index of projection visits"],
    [["--index", "count", "--prefix", "[1.5]"], "--prefix[0] must be a safe integer"],
  ])("refuses %j, which the code does not declare", async (args, says) => {
    const done = await call(["state", "visits", "--ledger", await visitedLedger(), ...define(), ...args]);

    expect(done).toMatchObject({ code: 2, stdout: "" });
    expect(done.stderr).toContain(says);
  });

  test("refuses a projection of two versions, and takes one of them by its version", async () => {
    const second = visitsModule
      .replace(/import .*/, "")
      .replaceAll("visits =", "more =")
      .replace("version: 1", "version: 2");
    const file = await visitedLedger();
    const done = await call(["state", "visits", "--ledger", file, ...define(visitsModule + second)]);
    const one = await call(["state", "visits@2", "--ledger", file, "--json", ...define(visitsModule + second)]);

    expect(done.code).toBe(2);
    expect(done.stderr).toContain("must be of one version, found 1, 2");
    expect(jsonLines(one.stdout)[0]).toMatchObject({ version: 2, key: "a", document: { count: 3 } });
  });

  test("ends with 3 and says which tables there are for a projection that nobody knows", async () => {
    const done = await call(["state", "visists", "--ledger", await visitedLedger()]);

    expect(done).toMatchObject({ code: 3, stdout: "" });
    expect(done.stderr).toContain('projection "visists" must have a table of documents, found visits@1');
    expect(done.stderr).toContain("session-capture are always there; for others --define names the module");
  });

  test("says whose code was given where it is not that of the projection", async () => {
    const given = define(visitsModule);
    const done = await call(["state", "visists", "--ledger", await visitedLedger(), "--at", "@", ...given]);

    expect(done).toMatchObject({ code: 2, stdout: "" });
    expect(done.stderr).toContain("hint: the modules of --define have the code of visits@1");
  });

  test("has help with an example", async () => {
    const done = await call(["state", "--help"]);

    expect(done.code).toBe(0);
    expect(done.stdout).toContain("runledger state orders order/7 --define ./shop.js --at '#1200' --json");
  });
});
