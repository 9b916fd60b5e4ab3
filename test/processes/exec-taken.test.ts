/** `exec` whose run is taken by a host, which ends no command of others: what is its own it ends itself. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stateOfGroup } from "../../src/cli/exec/process-group.js";
import { openProcessTable } from "../../src/cli/exec/process-table.js";
import { finish, newFolder, newLedgerFile, start } from "../cli/command.js";
import { expectInOrder, storyOf, waitFor, waitForFile, writing } from "../cli/exec-fixture.js";

test("an exec whose run was taken ends its command, one deaf to TERM by KILL, writes nothing more, and ends with 75", async () => {
  const [file, folder] = [newLedgerFile(), newFolder()];
  const script = "trap 'echo TERM >> heard' TERM; echo > up; while :; do sleep 0.02; done";
  const child = start(["exec", "--ledger", file, "--run", "r1", "--lease", "600", "--", "sh", "-c", script], {
    cwd: folder,
  });
  child.stdin.end();
  const finished = finish(child);
  await waitForFile(join(folder, "up"));
  child.kill("SIGSTOP");
  await waitFor(async () => (await storyOf(file)).run.owner === null);
  await writing(file, (ledger) => ledger.queue.claimNext({ holder: "host", leaseMs: 600_000, runId: "r1" }));
  const before = await storyOf(file);
  const command = before.attempts[0]!.process!;
  expect(stateOfGroup(command, openProcessTable()!)).toBe("alive");
  expect(existsSync(join(folder, "heard"))).toBe(false);
  child.kill("SIGCONT");

  const { code, stderr } = await finished;
  expect(code).toBe(75);
  expect(stderr).toMatch(/found a fence of generation 1/);
  expect(readFileSync(join(folder, "heard"), "utf8")).toBe("TERM\n");
  expect(stateOfGroup(command, openProcessTable()!)).toBe("gone");
  const { run, attempts, captures, events } = await storyOf(file);
  expect(run).toMatchObject({ status: "running", attempt: "command.1", owner: { holder: "host", generation: 2 } });
  expect([attempts[0]!.status, captures[0]!.status]).toEqual(["running", "recording"]);
  const behind = events.slice(before.events.length).map(({ type }) => type);
  expect([...new Set(behind)]).toEqual(["fence.refused"]);
  await expectInOrder(file);
});
