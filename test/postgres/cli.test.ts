/** The command on PostgreSQL: every verb, and not one that says the password. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { call, jsonLines, newFolder, numberedLines, runledger, start } from "../cli/command.js";
import type { Finished, RunOptions } from "../cli/command.js";
import { addressOf, dropJournal, freshName, serverUrl, sql } from "./journal.js";

const { password } = new URL(serverUrl);
const made: string[] = [];

afterEach(async () => {
  for (const journal of made.splice(0)) await dropJournal(journal);
});

function freshAddress(): string {
  const journal = freshName();
  made.push(journal);
  return addressOf(journal);
}

/** Runs a verb on the ledger at an address; whatever it says, it does not say the password. */
async function on(address: string, args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const done = await call(args, { ...options, env: { ...options.env, RUNLEDGER: address } });
  expect(done.stdout + done.stderr).not.toContain(password);
  expect(done.stderr).not.toContain("bug in runledger");
  return done;
}

/** The ids of the last two events, as `tail` shows them before it waits for more. */
async function twoOf(address: string): Promise<unknown[]> {
  const child = start(["tail", "-n", "2", "--json"], { env: { RUNLEDGER: address } });
  let shown = "";
  for await (const chunk of child.stdout) {
    shown += String(chunk);
    if (shown.split("\n").length > 2) break;
  }
  child.kill("SIGINT");
  expect((await once(child, "exit"))[0]).toBe(130);
  return jsonLines(shown).map(({ id }) => id);
}

test("init makes a journal once, and says which", async () => {
  const address = freshAddress();
  const { host, pathname } = new URL(address);
  const shown = `postgres://${host}${pathname}?journal=${made[0]}`;

  const first = await on(address, ["init", "--origin", "testing/cli"]);
  const again = await on(address, ["init"]);

  expect(first).toMatchObject({ code: 0, stdout: `created ${shown}: testing/cli, format 1\n` });
  expect(again).toMatchObject({ code: 1, stdout: "" });
  expect(again.stderr).toContain("STORE_EXISTS");
  expect(jsonLines((await on(freshAddress(), ["init", "--json"])).stdout)[0]?.["ledger"]).toContain("?journal=");
});

test("what is not there is not made by who only reads", async () => {
  const address = freshAddress();

  for (const verb of [["status"], ["log"], ["verify"], ["show", "@"], ["cat", "@"], ["runs"], ["queue"]])
    expect(await on(address, verb)).toMatchObject({ code: 3, stderr: expect.stringContaining("NOT_FOUND") as string });
  expect(await sql("SELECT 1 FROM pg_namespace WHERE nspname = $1", [made[0]])).toEqual([]);
});

test("append, log, show, cat, tail, state, status, erase, checkpoint, prove and verify work as on a file", async () => {
  const address = freshAddress();
  const key = join(newFolder(), "signer.key");
  expect(await on(address, ["keygen", "--origin", "testing/cli", "--out", key])).toMatchObject({ code: 0 });
  expect(await on(address, ["init", "--key", key])).toMatchObject({ code: 0 });

  const appended = await on(address, ["append", "--stream", "log/a"], { input: numberedLines(5) });
  const contents = await on(address, ["append", "--stream", "log/b", "--content"], { input: '{"line":"secret"}\n' });
  expect([appended.code, contents.code]).toEqual([0, 0]);

  const log = jsonLines((await on(address, ["log", "--json"])).stdout);
  const last = log.at(-1)!;
  expect(log).toHaveLength(7);
  expect((await on(address, ["show", "log/a@2"])).stdout).toContain('"number": 2');
  expect((await on(address, ["cat", "log/a@2"])).stdout).toContain('"number":2');
  expect(await twoOf(address)).toEqual(log.slice(-2).map(({ id }) => id));
  expect((await on(address, ["status"])).stdout).toContain("store       postgres");
  expect(await on(address, ["state", "run"])).toMatchObject({ code: 0 });

  const [shown] = jsonLines((await on(address, ["show", String(last["id"]), "--json"])).stdout);
  const [{ digest }] = shown!["contents"] as [{ digest: string }];
  expect(await on(address, ["erase", digest, "--reason", "x", "--yes"])).toMatchObject({ code: 0 });
  expect(await on(address, ["checkpoint", "--store", "--key", key])).toMatchObject({ code: 0 });
  expect((await on(address, ["prove", "log/a@2"])).stdout).toContain("c2sp.org/tlog-proof");
  for (const level of ["--quick", "--full", "--deep"])
    expect(await on(address, ["verify", level])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("verdict   OK") as string,
    });
  expect(await on(address, ["fork-check", address, address])).toMatchObject({ code: 0 });
});

test("verify finds what was changed, and what to do next names the ledger without its password", async () => {
  const address = freshAddress();
  await on(address, ["append", "--stream", "log/a"], { input: numberedLines(5) });
  await sql(
    `SET session_replication_role = replica; UPDATE ${made[0]}.entries SET rev = 7 WHERE seq = 3; SET session_replication_role = origin`,
  );

  const done = await on(address, ["verify", "--ledger", address]);

  expect(done.code).toBe(1);
  expect(done.stdout).toMatch(/next .*--ledger '?postgres:\/\/[^@]+journal=/);
});

test("a ledger that is named with its password is called without it by whoever fails", async () => {
  const url = new URL(freshAddress());
  url.port = "1";
  const down = await on(url.href, ["status"]);
  expect(down).toMatchObject({ code: 3, stderr: expect.stringContaining("STORE_UNAVAILABLE") as string });

  const wrong = await call(["status", "--json"], { env: { RUNLEDGER: "postgres://ann:zebra/@h/d" } });
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toContain("INVALID_ARGUMENT");
  expect(wrong.stderr).not.toContain("zebra");
});

test("exec runs a command under a ledger in PostgreSQL, and neither the journal nor the command's line has the password", async () => {
  const address = freshAddress();
  const seen = join(newFolder(), "seen");
  // The command lines of all processes, as anybody may see them.
  const script = `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\\\0' ' ' > ${seen}; echo done`;

  const done = await runledger(["exec", "--run", "nightly", "--", "sh", "-c", script], { env: { RUNLEDGER: address } });

  expect(done).toMatchObject({ code: 0, stdout: "done\n" });
  expect(readFileSync(seen, "utf8")).not.toContain(made[0]);
  const rows = await sql(`SELECT entry FROM ${made[0]}.entries`);
  expect(JSON.stringify(rows)).not.toContain(password);
  expect((await on(address, ["runs"])).stdout).toContain("nightly");
  expect((await on(address, ["run", "nightly"])).stdout).toContain("completed, exit 0");
  expect((await on(address, ["session", "nightly"])).stdout).toBe("done\n");
  expect(await on(address, ["queue"])).toMatchObject({ code: 0 });
});
