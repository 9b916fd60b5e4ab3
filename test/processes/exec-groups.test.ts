import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stateOfGroup } from "../../src/cli/exec/process-group.js";
import { openProcessTable } from "../../src/cli/exec/process-table.js";
import { finish, mainFile, newFolder, newLedgerFile, runledger, start } from "../cli/command.js";
import { expectInOrder, storyOf, waitFor, waitForFile } from "../cli/exec-fixture.js";

// `timeout` makes a group of its own, so that neither TERM nor the end of an abandoned group reached what it runs, and a resume
// ran it a second time beside the first.
test.each([
  ["SIGTERM", "gone"],
  ["SIGKILL", "alive"],
] as const)(
  "what a command runs under timeout is ended with it by an exec that hears %s, or by the resume",
  { timeout: 60_000 },
  async (signal, state) => {
    const [table, file, folder] = [openProcessTable()!, newLedgerFile(), newFolder()];
    const inner = "echo $$ >> pids; : > up; while [ ! -e go ]; do sleep 0.02; done";
    const script = `timeout 60 sh -c '${inner}'; [ -e go ]`;
    const exec = start(["exec", "--ledger", file, "--lease", "1000", "--", "sh", "-c", script], { cwd: folder });
    await waitForFile(join(folder, "up"));
    exec.kill(signal);
    await finish(exec);

    const process = (await storyOf(file)).attempts[0]!.process!;
    expect(stateOfGroup(process, table)).toBe(state);
    await waitFor(async () => (await storyOf(file)).run.owner === null);
    const resumed = start(["exec", "--ledger", file, "--resume", "--lease", "30000"], { cwd: folder });
    const pids = (): readonly string[] => readFileSync(join(folder, "pids"), "utf8").split("\n").slice(0, -1);
    await waitFor(() => pids().length === 2);
    expect(stateOfGroup(process, table)).toBe("gone");
    expect(table.get(Number(pids()[0]))).toBeNull();
    writeFileSync(join(folder, "go"), "");
    expect(await finish(resumed)).toMatchObject({ code: 0 });
    await expectInOrder(file);
  },
);

// A shell that was killed left what it had started beside the next attempt, which started it again.
test("what a failed attempt left behind is gone before the command is tried again", { timeout: 60_000 }, async () => {
  const [file, folder] = [newLedgerFile(), newFolder()];
  const script = `
    if [ -e left ]; then grep ^State "/proc/$(cat left)/status" 2> /dev/null | grep -v zombie; exit 0; fi
    timeout 60 sleep 60 > /dev/null 2>&1 & echo $! > left; kill -KILL $$`;

  const done = await runledger(["exec", "--ledger", file, "--retries", "1", "--", "sh", "-c", script], { cwd: folder });

  expect(done).toMatchObject({ code: 0, stdout: "" });
  const { attempts } = await storyOf(file);
  expect(attempts.map(({ status }) => status)).toEqual(["failed", "completed"]);
});

// In a sandbox without it exec ended before it began anything, as a bug.
test.skipIf(spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/proc/sys"]).status !== 0)(
  "where the system does not say which start of the machine it is, a command runs, and a sentence says what cannot be done",
  () => {
    const file = newLedgerFile();
    const exec = ["exec", "--ledger", file, "--retries", "1", "--", "sh", "-c", "echo x; exit 3"];
    const hidden = 'mount -t tmpfs none /proc/sys && exec "$@"';
    const args = ["-rm", "sh", "-c", hidden, "sh", process.execPath, mainFile, ...exec];
    const done = spawnSync("unshare", args, { encoding: "utf8" });
    expect([done.status, done.stdout]).toEqual([3, "x\nx\n"]);
    expect(done.stderr).toMatch(
      /^note: this system does not say when a process was started; a run that is left cannot be/,
    );
  },
);

// It waited for the reader of its output for good, deaf to every signal, and kept the run.
test(
  "an exec whose output nobody takes any more lets go of its run when it hears SIGTERM",
  { timeout: 60_000 },
  async () => {
    const file = newLedgerFile();
    const exec = start(["exec", "--ledger", file, "--", "yes"]);
    const ended = once(exec, "exit");
    await waitFor(
      async () => existsSync(file) && ((await storyOf(file).catch(() => null))?.captures[0]?.events ?? 0) > 0,
    );
    exec.kill("SIGTERM");
    // On a busy machine its claim may run out before: that alone is no letting go.
    await waitFor(async () => (await storyOf(file)).attempts[0]!.status !== "running");
    expect(await storyOf(file)).toMatchObject({ attempts: [{ status: "cancelled", reason: "drained" }] });
    const again = setInterval(() => exec.kill("SIGTERM"), 100);
    await ended;
    clearInterval(again);
  },
);
