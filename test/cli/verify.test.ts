import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { call, jsonLines, ledgerWith, newFile, newFolder, newLedgerFile, runledger } from "./command.js";
import { damage } from "./damage.js";

describe("verify", () => {
  test("ends with 0 for a ledger in order and says how much was checked", async () => {
    const file = await ledgerWith(20);
    const before = readFileSync(file);
    const done = await runledger(["verify", "--ledger", file]);
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(done.stdout).toContain("21 ");
    expect(done.stdout).toMatch(/\nverdict +OK/);
    expect(readFileSync(file)).toEqual(before);
    expect(readdirSync(dirname(file))).toEqual(["state.ledger"]);
  });

  test("takes the file as an argument, from --ledger or from the environment", async () => {
    const file = await ledgerWith(1);
    const reports = [
      await call(["verify", file]),
      await call(["verify", "--ledger", file]),
      await call(["verify"], { env: { RUNLEDGER: file } }),
    ];
    for (const report of reports) expect(report).toEqual(reports[0]);
    expect(reports[0]?.code).toBe(0);
  });

  test("is the same text each time", async () => {
    const file = await ledgerWith(5);
    expect(await call(["verify", file])).toEqual(await call(["verify", file]));
    expect(await call(["verify", file, "--json"])).toEqual(await call(["verify", file, "--json"]));
  });

  test("says the same with any number of threads, and takes no number that is none", async () => {
    const file = await ledgerWith(5);
    const alone = await call(["verify", file, "--workers", "1", "--json"]);

    expect(alone.code).toBe(0);
    expect(await call(["verify", file, "--workers", "2", "--json"])).toEqual(alone);
    expect(await call(["verify", file, "--json"])).toEqual(alone);
    for (const count of ["0", "65", "two"]) {
      const done = await call(["verify", file, "--workers", count]);
      expect(done).toMatchObject({ code: 2, stdout: "" });
      expect(done.stderr).toContain("--workers must be a whole number from 1 to 64");
    }
  });

  test("ends with 1 for a changed entry and names the event", async () => {
    const file = await ledgerWith(20);
    damage(file, "UPDATE entries SET entry = replace(entry, '\"number\":7', '\"number\":8') WHERE seq = 7");
    for (const level of [["--full"], []]) {
      const done = await runledger(["verify", file, ...level]);
      expect(done.code).toBe(1);
      expect(done.stdout).toMatch(/FAIL .*#7\b/);
      expect(done.stdout).toMatch(/\nverdict +TAMPERED/);
      expect(done.stdout).toContain(`runledger show '#7' --ledger ${file} · `);
    }
    const [report] = jsonLines((await call(["verify", file, "--json"])).stdout);
    expect(report).toMatchObject({ level: "full", verdict: "TAMPERED", exitCode: 1, firstBad: 7, size: 21 });
  });

  test("cannot decide while the store cannot be had, and says so", async () => {
    const file = await ledgerWith(1);
    const database = new Database(file);
    database.pragma("locking_mode = EXCLUSIVE");
    database.exec("BEGIN EXCLUSIVE");
    const done = await call(["verify", file]);
    database.close();
    expect(done.code).toBe(3);
    expect(done.stderr).toMatch(/^runledger: STORE_[A-Z]+: /);
  });

  test("shows with --json one object with stable keys", async () => {
    const [report, another] = jsonLines((await call(["verify", await ledgerWith(1), "--quick", "--json"])).stdout);
    expect(another).toBeUndefined();
    expect(Object.keys(report ?? {}).sort()).toEqual(
      [
        "level",
        "location",
        "copied",
        "origin",
        "format",
        "incarnation",
        "size",
        "head",
        "root",
        "evidence",
        "checked",
        "anchored",
        "signed",
        "lines",
        "findings",
        "findingsOmitted",
        "failures",
        "firstBad",
        "verdict",
        "reason",
        "exitCode",
        "next",
      ].sort(),
    );
    expect(report).toMatchObject({ level: "quick", verdict: "OK" });
  });

  test.each([
    [["--quick", "--full"]],
    [["a.ledger", "--ledger", "b.ledger"]],
    [["a.ledger", "b.ledger"]],
    [["--deep-down"]],
  ])("%j is no command line", async (args) => {
    expect(await call(["verify", ...args])).toMatchObject({ code: 2, stdout: "" });
  });

  test("T46 a hostile name in a damaged ledger does not reach the terminal", async () => {
    const file = newLedgerFile();
    await call(["append", "--ledger", file, "--stream", "log/\u009b2J\u202e"], { input: '{"a":1}\n' });
    damage(file, "UPDATE entries SET entry = replace(entry, '\"a\":1', '\"a\":2') WHERE seq = 1");
    for (const args of [[], ["--json"]]) {
      const done = await call(["verify", file, ...args], { terminal: true });
      expect(done.code).toBe(1);
      expect(done.stdout).toContain("202e");
      expect(done.stdout).not.toMatch(/[\u0080-\u009f\u202e]/);
    }
  });
});

describe("J04 nothing checked is never in order", () => {
  test("J04 a missing path ends with 3, and no file is created", async () => {
    const folder = newFolder();
    for (const file of [join(folder, "none.ledger"), join(folder, "no", "folder", "none.ledger")]) {
      const done = await runledger(["verify", file]);
      expect(done).toMatchObject({ code: 3, stdout: "" });
      expect(done.stderr).toMatch(/^runledger: NOT_FOUND: .*\nhint: --ledger, or \$RUNLEDGER, names the ledger\n$/);
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  test("J04 an empty database, an empty file, another database and a text are not ledgers in order", async () => {
    const empty = join(newFolder(), "empty.db");
    new Database(empty).exec("VACUUM").close();
    const other = join(newFolder(), "other.db");
    new Database(other).exec("CREATE TABLE entries (seq, entry); INSERT INTO entries VALUES (0, '{}')").close();
    for (const file of [empty, other, newFile("empty.ledger", ""), newFile("notes.txt", "notes\n".repeat(1_000))]) {
      const before = readFileSync(file);
      const done = await runledger(["verify", file]);
      expect(done.code).toBe(3);
      expect(done.stdout).not.toMatch(/verdict +OK/);
      expect(readFileSync(file)).toEqual(before);
      expect(readdirSync(dirname(file))).toHaveLength(1);
    }
  });

  test("J04 a ledger without a single entry is not in order, and the report says that none was checked", async () => {
    const file = await ledgerWith(1);
    damage(file, "DELETE FROM entries");
    for (const level of ["--quick", "--full"]) {
      const done = await call(["verify", file, level]);
      expect(done.code).not.toBe(0);
      expect(done.stdout).not.toMatch(/verdict +OK/);
      expect(done.stdout).toMatch(/\b0 /);
    }
    expect(jsonLines((await call(["verify", file, "--json"])).stdout)[0]).toMatchObject({ checked: { entries: 0 } });
  });

  test("J04 a schema of another version cannot be decided", async () => {
    const file = await ledgerWith(1);
    const database = new Database(file);
    database.pragma("user_version = 99");
    database.close();
    const done = await runledger(["verify", file]);
    expect(done.code).toBe(3);
  });

  test("J04 a folder, and a file that nobody may read, cannot be decided", async () => {
    const folder = join(newFolder(), "folder.ledger");
    mkdirSync(folder);
    expect((await call(["verify", folder])).code).toBe(3);
    if (process.getuid?.() === 0) return; // root may read everything
    const file = newFile("closed.ledger", "");
    chmodSync(file, 0o000);
    expect((await call(["verify", file])).code).toBe(3);
  });

  test("J04 no reading verb creates what is missing", async () => {
    const file = join(newFolder(), "none.ledger");
    for (const args of [["log"], ["show", "@"], ["cat", "@"], ["cat", "--content", "@"], ["status"], ["verify"]]) {
      const [verb = "", ...rest] = args;
      const done = await call([verb, "--ledger", file, ...rest]);
      expect(done).toMatchObject({ code: 3, stdout: "" });
      expect(existsSync(file)).toBe(false);
    }
  });
});

describe("status", () => {
  test("tells how a ledger is, in words", async () => {
    const file = await ledgerWith(1_234);
    const done = await runledger(["status", "--ledger", file]);
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(done.stdout).toMatch(
      /^ledger {6}.*state\.ledger\norigin {6}runledger\/[a-z2-7]{26}\nformat {6}1, incarnation 1\nevents {6}1,235, the last is #1234\nhead {8}[0-9a-f]{64} at 20\d\d-/,
    );
    expect(done.stdout).toContain("contents    0\n");
    expect(done.stdout).toContain("store       sqlite; what is acknowledged survives power loss\n");
  });

  test("shows with --json one object with stable keys", async () => {
    const file = await ledgerWith(2);
    const [status, another] = jsonLines((await call(["status", "--ledger", file, "--json"])).stdout);
    expect(another).toBeUndefined();
    expect(Object.keys(status ?? {})).toEqual([
      "origin",
      "format",
      "incarnation",
      "size",
      "head",
      "contents",
      "now",
      "clockAheadMs",
      "readOnly",
      "location",
      "queue",
      "consumers",
      "projections",
      "store",
    ]);
    expect(status).toMatchObject({ size: 3, readOnly: true, head: { position: 2 } });
  });

  test("of a file that is no ledger ends with 3 and leaves it alone", async () => {
    const file = newFile("notes.txt", "notes\n".repeat(1_000));
    writeFileSync(file, "notes");
    expect(await call(["status", "--ledger", file])).toMatchObject({ code: 3, stdout: "" });
    expect(readFileSync(file, "utf8")).toBe("notes");
  });

  test("says while bytes of erased contents may still stand in its files, until somebody wrote", async () => {
    const file = await ledgerWith(3);
    const line = "erased      bytes of erased contents may still stand in its files; the next writer takes them out\n";
    expect((await call(["status", "--ledger", file])).stdout).not.toContain("erased");

    damage(file, "INSERT INTO meta VALUES ('scrub', '2')");

    expect((await call(["status", "--ledger", file])).stdout).toContain(line);
    await call(["append", "--ledger", file, "--stream", "log/a"], { input: "{}\n" });
    expect((await call(["status", "--ledger", file])).stdout).not.toContain("erased");
  });

  test("says when a private copy is read", async () => {
    // A write-ahead log without its index cannot be read where it is without creating one.
    const file = await ledgerWith(3);
    const database = new Database(file);
    database.pragma("journal_mode = WAL");
    database.exec("UPDATE meta SET value = value");
    const [ledger, log] = [readFileSync(file), readFileSync(`${file}-wal`)];
    database.close();
    const copy = newFile("copy.ledger", ledger);
    writeFileSync(`${copy}-wal`, log);
    const before = readdirSync(dirname(copy));
    for (const args of [["status"], ["log", "--oneline"], ["verify"], ["cat", "@"]]) {
      const [verb = "", ...rest] = args;
      const done = await call([verb, "--ledger", copy, ...rest]);
      expect(done.code).toBe(0);
      expect(done.stderr).toContain(`note: ${copy} cannot be read where it is; a private copy is read`);
    }
    expect(readdirSync(dirname(copy))).toEqual(before);
  });
});
