import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, test, vi } from "vitest";
import { endGroup, signalGroup, stateOfGroup } from "../../../src/cli/exec/process-group.js";
import { identifyProcess } from "../../../src/cli/exec/process-identity.js";
import type { ProcessIdentity } from "../../../src/cli/exec/process-identity.js";
import { openProcessTable, parseStat, psTable } from "../../../src/cli/exec/process-table.js";
import type { TableRow } from "../../../src/cli/exec/process-table.js";

const table = openProcessTable()!;
const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) signalGroup(child.pid!, "SIGKILL");
});

/** A group whose leader has said something. */
async function group(script: string): Promise<{ leader: ChildProcess; identity: ProcessIdentity; said: string }> {
  const leader = spawn("sh", ["-c", script], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  started.push(leader);
  // Before it can be gone: it is not reaped in this turn.
  const identity = identifyProcess(leader.pid!, table)!;
  const [said] = (await once(leader.stdout, "data")) as [Buffer];
  return { leader, identity, said: said.toString().trim() };
}

async function endOf(leader: ChildProcess): Promise<void> {
  if (leader.exitCode === null && leader.signalCode === null) await once(leader, "exit");
}

describe("a process group", () => {
  test("is alive, and gone once it was ended", async () => {
    const { identity } = await group("echo up; sleep 60; :");
    expect(stateOfGroup(identity, table)).toBe("alive");
    expect(await endGroup(identity, table)).toEqual({ type: "gone" });
    expect(stateOfGroup(identity, table)).toBe("gone");
  });

  test("is ended by KILL when it does not hear TERM", async () => {
    const { leader, identity } = await group("trap '' TERM; echo up; while :; do sleep 0.05; done");
    expect(await endGroup(identity, table, { graceMs: 150 })).toEqual({ type: "gone" });
    await endOf(leader);
    expect(leader.signalCode).toBe("SIGKILL");
  });

  test("hears TERM though it is stopped", async () => {
    const { leader, identity } = await group("trap 'exit 3' TERM; echo up; while :; do sleep 0.05; done");
    signalGroup(identity.pid, "SIGSTOP");
    expect(await endGroup(identity, table)).toEqual({ type: "gone" });
    await endOf(leader);
    expect(leader.exitCode).toBe(3);
  });

  test("whose leader is gone is known by its members", async () => {
    const { leader, identity, said } = await group("sleep 60 >/dev/null & echo $!");
    await endOf(leader);
    expect(table.get(identity.pid)).toBeNull();
    expect(table.get(Number(said))).toMatchObject({ group: identity.pid, dead: false });
    expect(stateOfGroup(identity, table)).toBe("alive");
    expect(await endGroup(identity, table)).toEqual({ type: "gone" });
  });

  test("takes what moved to a group of its own along, as timeout and shells with job control do", async () => {
    const { leader, identity, said } = await group("timeout 60 sh -c 'echo $$; sleep 60; :' & wait");
    const inner = table.get(Number(said))!;
    expect([inner.session, inner.group === identity.pid]).toEqual([identity.pid, false]);
    signalGroup(identity.pid, "SIGKILL");
    await endOf(leader);
    expect(signalGroup(identity.pid, 0)).toBe("gone");
    expect(stateOfGroup(identity, table)).toBe("alive");
    expect(await endGroup(identity, table)).toEqual({ type: "gone" });
    expect(table.get(inner.pid)?.dead ?? true).toBe(true);
  });

  test("is gone when all of it are dead, though nobody has looked", async () => {
    // A parent that never waits: it is no shell any more when its child ends.
    const ends = "setsid sh -c 'until grep -q sleep /proc/$PPID/comm; do sleep 0.01; done' & echo $!";
    const { identity, said } = await group(`${ends}; exec sleep 60`);
    const zombie = { ...identity, pid: Number(said), startedAt: "0" };
    await expect.poll(() => table.get(zombie.pid)?.dead).toBe(true);
    expect(stateOfGroup({ ...zombie, startedAt: String(table.get(zombie.pid)!.started) }, table)).toBe("gone");
  });

  test("that has only the number is foreign, and left alone", async () => {
    const { leader, identity } = await group("echo up; exec sleep 60");
    for (const startedAt of [
      String(Number(identity.startedAt) - 1),
      String(Number(identity.startedAt) + 1),
      "yesterday",
    ]) {
      expect(await endGroup({ ...identity, startedAt }, table)).toEqual({ type: "foreign" });
    }
    expect(leader.signalCode).toBeNull();
  });

  test("that has only the number is foreign when its leader is gone, by members that are older", async () => {
    const { leader, identity } = await group("sleep 60 >/dev/null & echo $!");
    await endOf(leader);
    const later = { ...identity, startedAt: String(Number(identity.startedAt) + 100_000) };
    expect(await endGroup(later, table)).toEqual({ type: "foreign" });
    expect(stateOfGroup(identity, table)).toBe("alive");
  });

  test("from before the machine was started again is gone; on another machine nobody can know", async () => {
    const { identity } = await group("echo up; exec sleep 60");
    expect(await endGroup({ ...identity, boot: "another" }, table)).toEqual({ type: "gone" });
    expect(await endGroup({ ...identity, host: "elsewhere" }, table)).toMatchObject({
      type: "cannot",
      reason: expect.stringMatching(/it was started on elsewhere/) as unknown,
    });
    expect(await endGroup(identity, null)).toMatchObject({ type: "cannot" });
    expect(stateOfGroup(identity, table)).toBe("alive");
  });

  test("whose processes cannot be seen is not taken for gone", async () => {
    const { identity } = await group("echo up; exec sleep 60");
    const blind = { ...table, get: () => null, members: () => [] };
    expect(stateOfGroup(identity, blind)).toBe("hidden");
    expect(await endGroup(identity, blind)).toMatchObject({ type: "cannot" });
    expect(stateOfGroup(identity, table)).toBe("alive");
  });

  test("that belongs to somebody else cannot be ended, which is said", async () => {
    const { identity } = await group("echo up; exec sleep 60");
    const sent = vi.spyOn(process, "kill").mockImplementation(() => {
      throw Object.assign(new Error("kill EPERM"), { code: "EPERM" });
    });
    const end = await endGroup(identity, table).finally(() => sent.mockRestore());
    expect(end).toEqual({ type: "cannot", reason: `process ${identity.pid} belongs to somebody else` });
    expect(stateOfGroup(identity, table)).toBe("alive");
  });

  test.each([1, 0, -1, -2, 1.5, Number.NaN])("is never everybody: %d", async (pid) => {
    const identity = { host: table.host, boot: table.boot, pid, startedAt: "0" };
    expect(await endGroup(identity, table)).toEqual({ type: "foreign" });
    expect(signalGroup(pid, "SIGKILL")).toBe("gone");
  });
});

describe("the process table", () => {
  test("reads names that look like fields", () => {
    const fields = "S 1 40 41 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 77 0 0";
    expect(parseStat(`42 (a) Z 9 (9) ${fields}\n`)).toEqual({
      pid: 42,
      group: 40,
      session: 41,
      started: 77,
      dead: false,
    });
  });

  test("by ps says the same of groups", async () => {
    const ps = psTable("boot");
    const { identity } = await group("echo up; sleep 60; :");
    const [one, other] = [ps.get(identity.pid)!, table.get(identity.pid)!];
    expect([one.pid, one.group, one.dead]).toEqual([other.pid, other.group, other.dead]);
    expect(Math.abs(one.started - Date.now() / 1_000)).toBeLessThan(60);
    const pids = (rows: readonly TableRow[]): unknown => new Set(rows.map(({ pid }) => pid));
    expect(pids(ps.members(identity.pid))).toEqual(pids(table.members(identity.pid)));
    const known = { ...identity, boot: "boot", startedAt: String(one.started) };
    expect(stateOfGroup(known, ps)).toBe("alive");
    expect(await endGroup(known, ps)).toEqual({ type: "gone" });
  });
});
