import { spawn } from "node:child_process";
import { chmodSync, existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { stateOfGroup } from "../../src/cli/exec/process-group.js";
import { openProcessTable } from "../../src/cli/exec/process-table.js";
import { finish, mainFile, newFolder, newLedgerFile, start } from "../cli/command.js";
import type { Finished, RunOptions } from "../cli/command.js";
import { freshPlace, openShared, sharedStoreNames } from "../engine/fixture.js";
import { expectInOrder, outputOf, recordsOf, storyOf, waitFor, waitForFile, writing } from "../cli/exec-fixture.js";

const table = openProcessTable()!;

interface Started {
  readonly pid: number;
  readonly finished: Promise<Finished>;
  kill(signal: NodeJS.Signals): void;
}

function exec(args: readonly string[], options: RunOptions = {}): Started {
  const child = start(["exec", ...args], options);
  child.stdin.end();
  return { pid: child.pid!, finished: finish(child), kill: (signal) => void child.kill(signal) };
}

function linesOf(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

describe("a signal to exec", () => {
  test("is passed on, and what the command does with it decides", async () => {
    const [file, folder] = [newLedgerFile(), newFolder()];
    const script = "trap 'echo usr' USR1; trap 'echo int; exit 5' INT; echo up > up; while :; do sleep 0.02; done";
    const child = exec(["--ledger", file, "--retries", "3", "--", "sh", "-c", script], { cwd: folder });
    await waitForFile(join(folder, "up"));
    child.kill("SIGUSR1");
    await sleep(100);
    child.kill("SIGINT");

    expect(await child.finished).toMatchObject({ code: 5, stdout: "usr\nint\n" });
    const { run } = await storyOf(file);
    // Who interrupts does not want it again.
    expect(run).toMatchObject({ status: "failed", exit: { code: 5 }, attempts: 1 });
  });

  test.each(sharedStoreNames)(
    "that is SIGTERM ends the command, and leaves the run to whoever resumes it, on %s",
    async (store) => {
      const [file, folder] = [freshPlace(store), newFolder()];
      const script =
        "trap 'echo saved; exit 0' TERM; echo x >> tries; while [ ! -e go ]; do sleep 0.02; done; echo done";
      const child = exec(["--ledger", file, "--run", "r1", "--", "sh", "-c", script], { cwd: folder });
      await waitForFile(join(folder, "tries"));
      child.kill("SIGTERM");
      const drained = await child.finished;

      expect(drained).toMatchObject({ code: 143, stdout: "saved\n" });
      expect(drained.stderr).toMatch(
        /runledger: r1 left to be resumed \(command\.1 exit code 0\); \d lines?, \d+ bytes received, all/,
      );
      expect(await storyOf(file)).toMatchObject({
        run: { status: "running", attempt: null, owner: null },
        attempts: [{ status: "cancelled", reason: "drained", exit: { code: 0 } }],
        captures: [{ status: "complete" }],
        item: { status: "parked", reason: "drained" },
      });

      writeFileSync(join(folder, "go"), "");
      const resumed = await exec(["--ledger", file, "--resume"], { cwd: "/" }).finished;
      expect(resumed).toMatchObject({ code: 0, stdout: "done\n" });
      expect(await storyOf(file)).toMatchObject({
        run: { status: "completed", attempts: 2, resumes: 1 },
        attempts: [{ status: "cancelled" }, { attemptId: "command.2", status: "completed", generation: 2 }],
      });
      expect(linesOf(join(folder, "tries"))).toHaveLength(2);
      await expectInOrder(file);
    },
  );

  test("that is SIGTERM, to all processes at once as when a machine is stopped, leaves the run too", async () => {
    const [file, folder] = [newLedgerFile(), newFolder()];
    const child = exec(["--ledger", file, "--", "sh", "-c", "echo $$ > pid; exec sleep 300"], { cwd: folder });
    await waitFor(() => linesOf(join(folder, "pid")).length === 1);
    child.kill("SIGTERM");
    process.kill(Number(linesOf(join(folder, "pid"))[0]), "SIGTERM");

    expect((await child.finished).code).toBe(143);
    expect(await storyOf(file)).toMatchObject({ run: { status: "running" }, item: { status: "parked" } });
  });

  test("that is SIGTERM ends a command that ignores it after 5 s, and a second one at once", async () => {
    const [file, folder] = [newLedgerFile(), newFolder()];
    const script = "trap '' TERM; echo $$ > pid; while :; do sleep 0.02; done";
    const child = exec(["--ledger", file, "--", "sh", "-c", script], { cwd: folder });
    await waitForFile(join(folder, "pid"));
    child.kill("SIGTERM");
    await sleep(300);
    expect(table.get(Number(readFileSync(join(folder, "pid"), "utf8")))).not.toBeNull();
    child.kill("SIGTERM");

    expect((await child.finished).code).toBe(143);
    expect((await storyOf(file)).attempts).toMatchObject([{ status: "cancelled", exit: { signal: "SIGKILL" } }]);
  });
});

/** Holds the write lock of a journal until it is let go of. */
async function lock(place: string): Promise<() => Promise<void>> {
  const store = await openShared(place);
  const transaction = await store.begin();
  return async () => {
    await transaction.rollback();
    await store.close();
  };
}

describe.each(sharedStoreNames)("a start that is in flight, on %s,", (store) => {
  /** An `exec` whose command waits behind its gate, for the attempt cannot be written before it is let go of. */
  async function inFlight(file: string, ...args: readonly string[]) {
    const folder = newFolder();
    // The maker of its pipes waits until the ledger is locked.
    const mkfifo = join(folder, "mkfifo");
    const real = '/bin/mkfifo "$@" 2>/dev/null || exec /usr/bin/mkfifo "$@"';
    writeFileSync(
      mkfifo,
      `#!/bin/sh\necho > ${folder}/here\nwhile [ ! -e ${folder}/go ]; do sleep 0.01; done\n${real}\n`,
    );
    chmodSync(mkfifo, 0o755);
    const child = exec(["--ledger", file, ...args, "--", "sh", "-c", "echo x >> ran"], {
      cwd: folder,
      env: { PATH: `${folder}:${process.env["PATH"]}` },
    });
    await waitForFile(join(folder, "here"));
    const letGo = await lock(file);
    writeFileSync(join(folder, "go"), "");
    await waitFor(() => gateOf(child.pid) !== null);
    return { child, ran: join(folder, "ran"), gate: gateOf(child.pid)!, letGo };
  }

  /** The gate of a process: its child that waits. */
  function gateOf(pid: number): number | null {
    for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
        if (parent === pid && readFileSync(`/proc/${name}/cmdline`, "utf8").includes("runledger_gate"))
          return Number(name);
      } catch {
        // It has just ended.
      }
    }
    return null;
  }

  test("H-07 a drain that arrives meanwhile: the command is not run, and a later resume runs it once", async () => {
    const file = freshPlace(store);
    const { child, ran, letGo } = await inFlight(file, "--run", "r1");
    await sleep(100);
    child.kill("SIGTERM");
    await sleep(100);
    await letGo();

    expect(await child.finished).toMatchObject({ code: 143, stdout: "" });
    expect(existsSync(ran)).toBe(false);
    expect(await storyOf(file)).toMatchObject({
      run: { status: "running", attempt: null },
      attempts: [{ status: "cancelled", reason: "drained", exit: null }],
      item: { status: "parked" },
    });

    expect(await exec(["--ledger", file, "--run", "r1", "--resume"]).finished).toMatchObject({ code: 0 });
    expect(linesOf(ran)).toEqual(["x"]);
    await expectInOrder(file);
  });

  test("of an exec that is killed meanwhile never runs the command", async () => {
    const file = freshPlace(store);
    const { child, ran, gate, letGo } = await inFlight(file, "--lease", "300");
    child.kill("SIGKILL");
    await child.finished;
    await letGo();

    await waitFor(() => table.get(gate) === null || table.get(gate)!.dead);
    expect(existsSync(ran)).toBe(false);
    await waitFor(async () => (await storyOf(file)).run.owner === null);
    expect(await exec(["--ledger", file, "--resume", "--lease", "30000"]).finished).toMatchObject({ code: 0 });
    expect(linesOf(ran)).toEqual(["x"]);
  });
});

describe.each(sharedStoreNames)("an exec that is killed, on %s,", (store) => {
  test("I13 leaves a run without an owner, and a resume ends what is left of the command and finishes it", async () => {
    const [file, folder] = [freshPlace(store), newFolder()];
    // It does not notice that nobody reads what it says.
    const script =
      "trap '' PIPE; echo $$ >> pids; echo up; while [ ! -e go ]; do sleep 0.02; done; echo done >> ends; echo end";
    const child = exec(["--ledger", file, "--run", "r1", "--lease", "1000", "--", "sh", "-c", script], { cwd: folder });
    await waitFor(async () => (await storyOf(file).catch(() => null))?.captures[0]?.events === 1);
    child.kill("SIGKILL");
    await child.finished;
    const left = await storyOf(file);
    expect(left).toMatchObject({ run: { status: "running" }, captures: [{ status: "recording" }] });
    await waitFor(async () => (await storyOf(file)).run.owner === null);
    const old = left.attempts[0]!.process!;
    expect(stateOfGroup(old, table)).toBe("alive");

    const resumed = exec(["--ledger", file, "--run", "r1", "--resume", "--lease", "30000", "--", "sh", "-c", script]);
    await waitFor(() => linesOf(join(folder, "pids")).length === 2);
    expect(stateOfGroup(old, table)).toBe("gone");
    writeFileSync(join(folder, "go"), "");

    expect(await resumed.finished).toMatchObject({ code: 0, stdout: "up\nend\n" });
    expect(linesOf(join(folder, "ends"))).toEqual(["done"]);
    expect(await storyOf(file)).toMatchObject({
      run: { status: "completed", owner: null, resumes: 1 },
      attempts: [
        { attemptId: "command.1", status: "cancelled", reason: "abandoned", generation: 1 },
        { attemptId: "command.2", status: "completed", generation: 2 },
      ],
      captures: [
        { attemptId: "command.1", status: "failed", failure: { code: "host_interrupted" } },
        { attemptId: "command.2", status: "complete" },
      ],
    });
    expect(outputOf(await recordsOf(file, "r1"), "stdout").toString()).toBe("up\n");
    await expectInOrder(file);
  });

  test("H-06 is not resumed with another command: the item is parked with the reason, the run stays as it was", async () => {
    const [file, folder] = [freshPlace(store), newFolder()];
    const child = exec(
      ["--ledger", file, "--run", "r1", "--lease", "1000", "--", "sh", "-c", "echo x >> ran; sleep 300"],
      {
        cwd: folder,
      },
    );
    await waitForFile(join(folder, "ran"));
    child.kill("SIGKILL");
    await child.finished;
    const before = await storyOf(file);
    await waitFor(async () => (await storyOf(file)).run.owner === null);

    const other = await exec(["--ledger", file, "--run", "r1", "--resume", "--", "sh", "-c", "echo y >> ran"]).finished;
    expect(other).toMatchObject({ code: 1, stdout: "" });
    expect(other.stderr).toMatch(/REQUEST_CONFLICT: r1 must be resumed with the command it was made with/);
    const after = await storyOf(file);
    expect(after.run.revision).toBe(before.run.revision);
    expect(after).toMatchObject({
      run: { status: "running", attempt: "command.1" },
      item: { status: "parked", reason: "REQUEST_CONFLICT" },
    });
    expect(stateOfGroup(before.attempts[0]!.process!, table)).toBe("alive");
    expect(linesOf(join(folder, "ran"))).toEqual(["x"]);

    const group = before.attempts[0]!.process!.pid;
    process.kill(-group, "SIGKILL");
    await waitFor(() => stateOfGroup(before.attempts[0]!.process!, table) === "gone");
  });
});

test.each(sharedStoreNames)(
  "an exec that stands still for longer than its lease is overtaken; when it wakes it is refused, on record, and ends with 75, on %s",
  async (store) => {
    const [file, folder] = [freshPlace(store), newFolder()];
    const script = "echo $$ >> pids; trap 'exit 1' TERM; while [ ! -e go ]; do sleep 0.02; done; echo end";
    const stalled = exec(["--ledger", file, "--run", "r1", "--lease", "2500", "--", "sh", "-c", script], {
      cwd: folder,
    });
    await waitFor(() => linesOf(join(folder, "pids")).length === 1);
    stalled.kill("SIGSTOP");
    await waitFor(async () => (await storyOf(file)).run.owner === null);
    const second = exec(["--ledger", file, "--run", "r1", "--lease", "60000", "--resume"]);
    await waitFor(() => linesOf(join(folder, "pids")).length === 2);
    stalled.kill("SIGCONT");

    const first = await stalled.finished;
    expect(first.code).toBe(75);
    expect(first.stderr).toMatch(/must be written under its live claim of generation 2, found a fence of generation 1/);
    writeFileSync(join(folder, "go"), "");
    expect(await second.finished).toMatchObject({ code: 0, stdout: "end\n" });
    const { run, attempts, events } = await storyOf(file);
    expect(run).toMatchObject({ status: "completed" });
    expect(attempts).toMatchObject([{ status: "cancelled", reason: "abandoned" }, { status: "completed" }]);
    expect(events.filter(({ type }) => type === "fence.refused").length).toBeGreaterThanOrEqual(1);
    await expectInOrder(file);
  },
);

test.each(sharedStoreNames)(
  "a run that somebody asks to be ended ends with its command, when its exec renews, on %s",
  async (store) => {
    const [file, folder] = [freshPlace(store), newFolder()];
    const script = "echo up > up; trap 'echo bye; exit 9' TERM; while :; do sleep 0.02; done";
    const child = exec(["--ledger", file, "--run", "r1", "--lease", "3000", "--", "sh", "-c", script], { cwd: folder });
    await waitForFile(join(folder, "up"));
    await writing(file, (ledger) => ledger.runs.requestCancel({ runId: "r1", reason: "no longer needed" }));

    expect(await child.finished).toMatchObject({ code: 9, stdout: "bye\n" });
    expect(await storyOf(file)).toMatchObject({
      run: { status: "cancelled", reason: "no longer needed" },
      attempts: [{ status: "cancelled", reason: "no longer needed", exit: { code: 9 } }],
      captures: [{ status: "complete" }],
      item: { status: "done" },
    });
    await expectInOrder(file);
  },
);

test("a terminal that takes nothing for a while holds up the command, and not the claim", async () => {
  const [file, folder] = [newLedgerFile(), newFolder()];
  const command = `yes ${"x".repeat(1_000)} | head -c 3000000; echo done > done`;
  const inner = [process.execPath, mainFile, "exec", "--ledger", file, "--lease", "2000", "--", "sh", "-c", command];
  const quoted = inner.map((each) => `'${each}'`).join(" ");
  // Nobody reads what `script` says, so that it reads nothing from its terminal.
  const child = spawn("script", ["-qec", quoted, "/dev/null"], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
  const code = new Promise((resolve) => child.once("exit", resolve));
  const renewals = async (): Promise<number> =>
    (await storyOf(file)).types.filter((type) => type === "queue.renewed").length;
  await waitFor(async () => existsSync(file) && (await renewals().catch(() => 0)) >= 2);
  expect(existsSync(join(folder, "done"))).toBe(false);
  child.stdout.resume();

  expect(await code).toBe(0);
  expect((await storyOf(file)).run).toMatchObject({ status: "completed" });
});
