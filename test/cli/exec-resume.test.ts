import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createRun } from "../../src/cli/exec/exec-run.js";
import type { OwnedRun } from "../../src/cli/exec/exec-run.js";
import { attemptCommands, openLedger, runCommands, sessionCommands } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { call, newFolder, newLedgerFile, runledger } from "./command.js";
import { expectInOrder, storyOf } from "./exec-fixture.js";

/** A run of `exec` whose process is gone: its claim ends by itself. */
function leave(ledger: Ledger, runId: string, command: readonly string[], leaseMs = 1): Promise<OwnedRun> {
  return createRun(ledger, { command, cwd: newFolder(), retries: 0, leaseMs }, runId);
}

/** Leaves runs behind in a ledger that is closed then. */
async function left(leaveThem: (ledger: Ledger) => Promise<unknown>): Promise<string> {
  const file = newLedgerFile();
  const ledger = await openLedger(file);
  await leaveThem(ledger);
  await ledger.close();
  return file;
}

/** With a lease of its own. */
function resume(file: string, ...args: readonly string[]) {
  return runledger(["exec", "--ledger", file, "--resume", "--lease", "30000", ...args]);
}

/** Inside this process: nothing is started. */
function refusedIn(file: string) {
  return (...args: readonly string[]) => call(["exec", "--ledger", file, "--resume", ...args]);
}

describe("exec --resume", () => {
  test("with a command starts a run that is not there yet, so that a crontab can always have it", async () => {
    const file = newLedgerFile();
    const done = await runledger(["exec", "--ledger", file, "--resume", "--run", "nightly", "--", "echo", "a"]);
    expect(done).toMatchObject({ code: 0, stdout: "a\n" });
    expect((await storyOf(file)).run).toMatchObject({ runId: "nightly", status: "completed" });
  });

  test("takes the oldest run of exec that nobody owns, and leaves those of others alone", async () => {
    const file = await left(async (ledger) => {
      await ledger.runs.create({ runId: "host" });
      await ledger.queue.enqueue({ runId: "host" });
      await leave(ledger, "owned", ["echo", "owned"], 600_000);
      await leave(ledger, "older", ["echo", "older"]);
      await leave(ledger, "newer", ["echo", "newer"]);
    });
    expect(await resume(file)).toMatchObject({ code: 0, stdout: "older\n" });
    for (const runId of ["host", "owned", "newer"]) expect((await storyOf(file, runId)).run.status).toBe("queued");
    await expectInOrder(file);
  });

  test("with a command takes the oldest run of that command", async () => {
    const file = await left(async (ledger) => {
      await leave(ledger, "older", ["echo", "older"]);
      await leave(ledger, "newer", ["echo", "newer"]);
    });
    const done = await resume(file, "--", "echo", "newer");
    expect(done).toMatchObject({ code: 0, stdout: "newer\n" });
    expect((await storyOf(file, "older")).run.status).toBe("queued");
    expect((await storyOf(file, "newer")).run.status).toBe("completed");
  });

  test("goes on to the next where the oldest cannot be taken over now", async () => {
    const file = await left(async (ledger) => {
      await startAs(elsewhere, ledger, await leave(ledger, "older", ["echo", "older"], 1_000));
      await leave(ledger, "newer", ["echo", "newer"]);
    });
    expect(await resume(file)).toMatchObject({ code: 0, stdout: "newer\n" });
    expect((await storyOf(file, "older")).run).toMatchObject({ status: "running", attempt: "command.1" });
  });

  // A line of a crontab that several machines have did nothing on one as long as another was down.
  test("with a command starts one of its own beside a run that another machine left", async () => {
    const file = await left(async (ledger) => {
      await startAs(elsewhere, ledger, await leave(ledger, "theirs", ["echo", "x"], 1_000));
    });
    const before = await storyOf(file, "theirs");
    const done = await resume(file, "--", "echo", "x");
    expect(done).toMatchObject({ code: 0, stdout: "x\n" });
    expect(done.stderr).toContain("note: theirs was left on another-host, and can be resumed there alone\n");
    const { run, item } = await storyOf(file, "theirs");
    expect({ run, item }).toEqual({ run: before.run, item: before.item });
    expect(await resume(file)).toMatchObject({ code: 1, stderr: expect.stringContaining("NOT_READY") as unknown });
  });

  // A line of a crontab found it first every time, and started nothing any more.
  test("starts a new one where nothing is left but a run whose item a host has ended", async () => {
    const file = await left(async (ledger) => {
      const { fence } = await leave(ledger, "r1", ["echo", "x"], 600_000);
      await ledger.queue.complete(fence);
    });
    expect(await resume(file)).toMatchObject({ code: 3 });
    expect(await resume(file, "--", "echo", "x")).toMatchObject({ code: 0, stdout: "x\n" });
    expect((await storyOf(file, "r1")).run.status).toBe("queued");
  });

  test("ends a run that somebody asked to be ended, without its command", async () => {
    const file = await left(async (ledger) => {
      await leave(ledger, "r1", ["touch", "ran"], 1_000);
      await ledger.runs.requestCancel({ runId: "r1", reason: "enough" });
      await sleep(1_100);
    });
    const done = await runledger(["exec", "--ledger", file, "--resume"], { cwd: newFolder() });
    expect(done.code).toBe(143);
    expect(await storyOf(file)).toMatchObject({
      run: { status: "cancelled", reason: "enough", attempts: 0 },
      item: { status: "done" },
    });
  });

  test("in a folder that is gone ends the run as one that cannot be started", async () => {
    const folder = join(newFolder(), "gone");
    const plan = { command: ["true"], cwd: folder, retries: 3, leaseMs: 1 };
    const file = await left((ledger) => createRun(ledger, plan, "r1"));
    const done = await resume(file);
    expect(done.code).toBe(126);
    expect(done.stderr).toMatch(/"true" cannot be started: its working directory ".*gone" is not there/);
    expect((await storyOf(file)).run).toMatchObject({ status: "failed", exit: { code: 126 } });
  });

  test("counts what failed before among its retries", async () => {
    const file = newLedgerFile();
    const ledger = await openLedger(file);
    const { fence } = await createRun(
      ledger,
      { command: ["sh", "-c", "exit 6"], cwd: newFolder(), retries: 1, leaseMs: 2_000 },
      "r1",
    );
    const exit = { code: 6 };
    await ledger.execute(
      [
        runCommands.start({ runId: "r1" }),
        attemptCommands.start({ runId: "r1", node: "command" }),
        attemptCommands.finish({ runId: "r1", attemptId: "command.1", outcome: "failed", exit }),
      ],
      { fence },
    );
    await ledger.queue.park(fence);
    await ledger.close();
    expect((await runledger(["exec", "--ledger", file, "--resume"])).code).toBe(6);
    expect((await storyOf(file)).run).toMatchObject({ status: "failed", attempts: 2 });
  });
});

const elsewhere = { host: "another-host", boot: "b", pid: 4242, startedAt: "1" };

/** Says that an attempt of a run was started by such a process, if it is known, and lets its claim end. */
async function startAs(
  process: typeof elsewhere | undefined,
  ledger: Ledger,
  { runId, fence }: OwnedRun,
): Promise<void> {
  await ledger.execute(
    [
      runCommands.start({ runId }),
      attemptCommands.start({ runId, node: "command", process }),
      sessionCommands.bind({ runId, attemptId: "command.1" }),
    ],
    { fence },
  );
  await sleep(1_100);
}

describe("exec --resume refuses", () => {
  test("what is over, what is somebody's, what exec did not make, and what is not there", async () => {
    const file = newLedgerFile();
    expect(await refusedIn(file)()).toMatchObject({ code: 3 });
    expect(existsSync(file)).toBe(false);
    await runledger(["exec", "--ledger", file, "--run", "over", "--", "true"]);
    const ledger = await openLedger(file);
    await ledger.runs.create({ runId: "host" });
    await ledger.queue.enqueue({ runId: "host" });
    await ledger.close();
    const refused = refusedIn(file);

    expect(await refused("--run", "over")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /ILLEGAL_TRANSITION: over .*completed\nhint: `runledger run over` tells/,
      ) as unknown,
    });
    expect(await refused("--run", "host")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/REQUEST_CONFLICT: host .*exec did not make/) as unknown,
    });
    expect(await refused("--run", "none")).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/NOT_FOUND: none/) as unknown,
    });
    expect(await refused()).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/NOT_FOUND: there must be a run of exec/) as unknown,
    });
  });

  test.each([
    ["on another machine", elsewhere, "it was started on another-host"],
    ["as a process that nobody recorded", undefined, "its process is not on record"],
  ])("what was started %s, which nobody here can end, and gives the claim back", async (_, process, found) => {
    const file = await left(async (ledger) => {
      await startAs(process, ledger, await leave(ledger, "r1", ["echo", "again"], 1_000));
    });
    const before = await storyOf(file);
    const refused = await refusedIn(file)("--run", "r1");
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain(`NOT_READY: what command.1 of r1 started must be gone, found: ${found}`);
    const { run, item } = await storyOf(file);
    expect([run.revision, run.attempt, run.owner]).toEqual([before.run.revision, "command.1", null]);
    expect(item).toMatchObject({ status: "parked", reason: "NOT_READY" });
  });

  test("a run whose command was erased", async () => {
    const file = await left(async (ledger) => {
      await leave(ledger, "r1", ["touch", "ran"]);
      const run = (await ledger.runs.get("r1"))!;
      await ledger.erase([run.input!.$content], { actor: "me", reason: "secret" });
    });
    const refused = await refusedIn(file)("--run", "r1");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("CONTENT_ERASED");
    expect((await refusedIn(file)()).stderr).toContain("NOT_FOUND: there must be a run of exec");
  });
});
