import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { call, jsonLines, newLedgerFile, runledger } from "./command.js";
import { beginRun, filledLedger, leaseMs, t0, tellStory } from "./storied.js";

describe("runs", () => {
  test("lists the runs, the newest first, with who works on them, in a process of its own", async () => {
    const file = await filledLedger(async (ledger, clock) => {
      await tellStory(ledger, clock);
      clock.advance(1_000);
      const { fence, attemptId } = await beginRun(ledger, "build-2", "host A");
      clock.advance(500);
      await ledger.attempts.finish(
        { runId: "build-2", attemptId, outcome: "failed", exit: { signal: "SIGKILL" } },
        { fence },
      );
      await ledger.runs.finish({ runId: "build-2", status: "failed", exit: { signal: "SIGKILL" } }, { fence });
      clock.advance(1_000);
      await beginRun(ledger, "build-3", "host C");
      clock.advance(1_000);
      await ledger.runs.create({ runId: "build-4" });
    });
    const done = await runledger(["runs", "--ledger", file]);

    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(done.stdout.split("\n")).toEqual([
      "RUN      STATUS     OWNER     ATTEMPTS  STARTED                   DURATION  EXIT     TITLE",
      "build-4  queued     no owner  0         -                         -         -        -",
      "build-3  running    host C    1         2100-01-01T00:00:19.500Z  -         -        -",
      "build-2  failed     -         1         2100-01-01T00:00:18.000Z  500 ms    SIGKILL  -",
      "build-1  completed  -         2         2100-01-01T00:00:00.000Z  17.00 s   exit 0   nightly build",
      "",
    ]);
  });

  test("shows each run as JSON with the same keys", async () => {
    const file = await filledLedger(async (ledger, clock) => {
      await tellStory(ledger, clock);
      await ledger.runs.create({ runId: "build-2", parent: "build-1" });
    });
    const [created, completed] = jsonLines((await call(["runs", "--ledger", file, "--json"])).stdout);

    expect(completed).toEqual({
      run: "build-1",
      status: "completed",
      owner: null,
      attempts: 2,
      createdAt: t0,
      startedAt: t0,
      finishedAt: t0 + 17_000,
      durationMs: 17_000,
      exit: { code: 0 },
      reason: null,
      title: "nightly build",
      definition: null,
      parent: null,
      revision: 8,
    });
    expect(Object.keys(created!)).toEqual(Object.keys(completed!));
    expect(created).toMatchObject({
      run: "build-2",
      status: "queued",
      startedAt: null,
      durationMs: null,
      parent: "build-1",
    });
  });

  test("I13 a run whose process was killed has its owner until the lease ends, then none, and then the next", async () => {
    const ownerAfter = async (ms: number, holder: string | null): Promise<unknown> => {
      const file = await filledLedger(async (ledger, clock) => {
        await beginRun(ledger, "build-1", "host A");
        clock.advance(ms);
        if (holder === null) await ledger.append("note/a", [{ type: "note.taken" }]);
        else await ledger.queue.claimNext({ holder, leaseMs });
      });
      const text = await call(["runs", "--ledger", file]);
      const [run] = jsonLines((await call(["runs", "--ledger", file, "--json"])).stdout);
      const shown = /build-1 {2}running {2}(.*?) {2}/.exec(text.stdout)?.[1];
      return [shown, run?.["owner"]];
    };
    const ofA = { holder: "host A", generation: 1, expiresAt: t0 + leaseMs };
    const ofB = { holder: "host B", generation: 2, expiresAt: t0 + 2 * leaseMs };

    // Time goes on while it is looked at.
    expect(await ownerAfter(leaseMs / 2, null)).toEqual(["host A", ofA]);
    expect(await ownerAfter(leaseMs, null)).toEqual(["no owner", null]);
    expect(await ownerAfter(leaseMs, "host B")).toEqual(["host B", ofB]);
  });

  test("lists one status, and no more than were asked for", async () => {
    const file = await filledLedger(async (ledger, clock) => {
      for (const runId of ["a", "b", "c"]) {
        await ledger.runs.create({ runId });
        clock.advance(1_000);
      }
    });
    const runs = async (...args: string[]): Promise<unknown[]> =>
      jsonLines((await call(["runs", "--ledger", file, "--json", ...args])).stdout).map(({ run }) => run);

    expect(await runs("--status", "queued")).toEqual(["c", "b", "a"]);
    expect(await runs("--limit", "2")).toEqual(["c", "b"]);
    expect((await call(["runs", "--ledger", file, "--limit", "2"])).stderr).toBe(
      "there are more; --limit shows more than 2\n",
    );
    expect((await call(["runs", "--ledger", file, "--limit", "3"])).stderr).toBe("");
    const failed = await call(["runs", "--ledger", file, "--status", "failed"]);
    expect(failed).toMatchObject({ code: 0, stdout: "", stderr: "the ledger has no failed runs\n" });
  });

  test("folds the runs of a ledger that has no table of them", async () => {
    const file = await filledLedger(async (ledger, clock) => {
      await tellStory(ledger, clock);
      await beginRun(ledger, "build-2", "host A");
    });
    const before = await call(["runs", "--ledger", file, "--json"]);
    const database = new Database(file);
    const { id } = database.prepare<[], { id: number }>("SELECT id FROM projections WHERE name = 'run'").get()!;
    database.exec(`DROP TABLE doc_${id}; DELETE FROM projections WHERE id = ${id}`);
    database.close();
    const after = await call(["runs", "--ledger", file, "--json"]);

    expect(jsonLines(before.stdout)).toMatchObject([
      { run: "build-2", owner: { holder: "host A" } },
      { run: "build-1", owner: null },
    ]);
    expect(after).toEqual(before);
    expect((await call(["runs", "--ledger", file, "--json", "--status", "queued"])).stdout).toBe("");
  });

  test("of a ledger without runs says so", async () => {
    const done = await call(["runs", "--ledger", await filledLedger(async () => {})]);

    expect(done).toMatchObject({ code: 0, stdout: "", stderr: "the ledger has no runs\n" });
  });

  test("T46 shows titles and holders as text, and does not obey them", async () => {
    const file = await filledLedger((ledger) => beginRun(ledger, "build-1", "\u202ehost", "title\u202e"));
    for (const form of [[], ["--json"]]) {
      const done = await call(["runs", "--ledger", file, ...form], { terminal: true, env: { TERM: "xterm" } });

      expect(done.code).toBe(0);
      expect(done.stdout.match(/\\u\{?202e/g)).toHaveLength(2);
      expect(done.stdout).not.toContain("\u202e");
    }
  });

  test.each([
    [["--status", "done"], "--status must be one of queued, running, waiting, completed, failed, timed_out, cancelled"],
    [["--limit", "-1"], "--limit must be a whole number from 1"],
  ])("refuses %j", async (args, says) => {
    const done = await call(["runs", "--ledger", await filledLedger(async () => {}), ...args]);

    expect(done).toMatchObject({ code: 2, stdout: "" });
    expect(done.stderr).toContain(says);
  });

  test("ends with 3 where there is no ledger", async () => {
    expect(await call(["runs", "--ledger", newLedgerFile()])).toMatchObject({ code: 3, stdout: "" });
  });
});
