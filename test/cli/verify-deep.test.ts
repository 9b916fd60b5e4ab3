import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { appendRaw } from "../engine/raw-append.js";
import { call, jsonLines, newFile, newLedgerFile, runledger } from "./command.js";
import { library, visitedLedger, visitsModule } from "./visits.js";

function edit(file: string, sql: string): void {
  const database = new Database(file);
  expect(database.prepare(sql).run().changes).toBe(1);
  database.close();
}

describe("verify --deep", () => {
  test("ends with 0 and says how many documents it compared, in a process of its own", async () => {
    const file = await visitedLedger();
    const done = await runledger(["verify", file, "--deep", "--define", newFile("visits.mjs", visitsModule)]);

    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(done.stdout).toMatch(/\nok +documents +3 documents of 1 table /);
    expect(done.stdout).toMatch(/\nverdict +OK/);
  });

  test("ends with 1 for an edited document, and names it, the path, and the event that explains it", async () => {
    const file = await visitedLedger();
    edit(file, `UPDATE doc_1 SET doc = '{"count":9}' WHERE key = 'a'`);
    const define = ["--define", newFile("visits.mjs", visitsModule)];
    const done = await runledger(["verify", file, "--deep", ...define]);

    expect(done.code).toBe(1);
    expect(done.stdout).toMatch(/\nFAIL +documents +#5 page\/1@5 table 1 visits@1 "a" +E_PROJECTION +want 3 have 9/);
    expect(done.stdout).toMatch(/\nverdict +DERIVED +1 finding; the journal itself is in order/);
    expect(done.stdout).toContain("runledger show '#5'");
    const [report] = jsonLines((await call(["verify", file, "--deep", "--json", ...define])).stdout);
    expect(report).toMatchObject({
      level: "deep",
      exitCode: 1,
      checked: { documents: 3, tables: 1, receipts: 0 },
      findings: [{ position: 5, document: { fault: "changed", key: "a", path: "/count" } }],
    });
  });

  test("lists a table whose code was not given, and does not say that it is in order", async () => {
    const done = await call(["verify", await visitedLedger(), "--deep"]);

    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(/\nwarn +documents +table 1 visits@1 +W_PROJECTION_UNKNOWN/);
    expect(done.stdout).not.toMatch(/\nok +documents/);
  });

  test("counts claims and what was written under them, and names the one that nobody may take, and its stream", async () => {
    const file = newLedgerFile();
    const store = await openSqliteStore(file, {});
    const ledger = await openLedger(store);
    const { fence } = await ledger.queue.enqueue({ runId: "r1", claim: { holder: "A" } });
    await ledger.append("note/1", [{ type: "note.added" }], { fence });
    const legal = await call(["verify", file, "--deep"]);
    const claim = { holder: "M", generation: 2, tokenHash: "ab".repeat(32), superseded: 1 };
    const expiresAt = (await ledger.status()).head.at + 1_000;
    await appendRaw(store, "queue/r1", "queue.claimed", { claim: { ...claim, expiresAt } });
    await ledger.close();
    await store.close();
    const done = await call(["verify", file, "--deep"]);

    expect(legal.stdout).toMatch(/\nok +claims +1 claim legal, 1 event under the live one\n/);
    expect(done.code).toBe(1);
    expect(done.stdout).toMatch(
      /\nFAIL +claims +#4 queue\/r1@2 +E_CLAIM +queue\/r1 is claimed while its claim of generation 1/,
    );
    expect(done.stdout).toMatch(/\nverdict +TAMPERED/);
    expect(done.stdout).toMatch(/\nnext .*runledger log --stream 'queue\/r1'/);
    const [report] = jsonLines((await call(["verify", file, "--deep", "--json"])).stdout);
    expect(report).toMatchObject({
      checked: { claims: 2, fencedEvents: 1 },
      findings: [{ code: "E_CLAIM", position: 4 }],
    });
  });

  test.each(["DROP TABLE doc_1", "DROP INDEX doc_1_0"])(
    "takes a table that is not as it was made for tampering: %s",
    async (sql) => {
      const file = await visitedLedger();
      const database = new Database(file);
      database.exec(sql);
      database.close();
      const done = await call(["verify", file, "--deep", "--define", newFile("visits.mjs", visitsModule)]);

      expect(done.code).toBe(1);
      expect(done.stdout).toMatch(/\nverdict +TAMPERED/);
      expect(done.stdout).toContain("E_SCHEMA");
    },
  );

  test("shows nothing of a key that turns the line around", async () => {
    const file = await visitedLedger();
    edit(file, "DELETE FROM doc_1 WHERE key LIKE 'c%'");
    const done = await call(["verify", file, "--deep", "--define", newFile("visits.mjs", visitsModule)]);

    expect(done.code).toBe(1);
    expect(done.stdout).not.toContain("\u202e");
  });

  test.each([
    [["--deep", "--full"], "one of --quick, --full and --deep"],
    [["--deep", "--workers", "2"], "--workers must stand with --full"],
    [["--deep", "--define", "./nowhere.mjs"], "--define must name a module that loads"],
  ])("refuses %j", async (args, says) => {
    const done = await call(["verify", await visitedLedger(), ...args]);

    expect(done).toMatchObject({ code: 2, stdout: "" });
    expect(done.stderr).toContain(says);
  });

  test("T52 names the event and the path of a reducer that looks at the clock", async () => {
    const module = visitsModule.replace("(page?.count ?? 0) + 1", "Date.now()");
    const done = await runledger(["verify", await visitedLedger(), "--deep", "--define", newFile("v.mjs", module)]);

    expect(done.code).toBe(1);
    expect(done.stdout).toMatch(/\nFAIL +documents +#1 page\/1@1 table 1 visits@1 "a" \/count +E_NONDETERMINISM/);
  });

  test("T52 finds a reducer that looks at the time zone of its process when another one verifies", async () => {
    const spoken = visitsModule.replace("(page?.count ?? 0) + 1", "new Date(2026, 0, 1).toISOString()");
    const file = newLedgerFile();
    const module = newFile("visits.mjs", spoken.replace("count: ({ count }) => [count]", "none: () => null"));
    const writer = newFile(
      "writer.mjs",
      `import { openLedger } from ${library};
       import { visits } from ${JSON.stringify(pathToFileURL(module).href)};
       const ledger = await openLedger(${JSON.stringify(file)}, { projections: [visits] });
       await ledger.append("page/1", [{ type: "page.visited", data: { page: "a" } }]);
       await ledger.close();`,
    );
    execFileSync(process.execPath, [writer], { env: { ...process.env, TZ: "Asia/Tokyo" } });
    const verify = ["verify", file, "--deep", "--define", module];
    const there = await runledger(verify, { env: { TZ: "Asia/Tokyo" } });
    const elsewhere = await runledger(verify, { env: { TZ: "America/Lima" } });

    expect(there.code).toBe(0);
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.stdout).toMatch(/\nFAIL +documents +#1 page\/1@1 table 1 visits@1 "a" +E_PROJECTION /);
  });
});
