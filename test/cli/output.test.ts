import { once } from "node:events";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import Database from "better-sqlite3";
import { spawn, spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { content, openLedger } from "../../src/index.js";
import {
  call,
  finish,
  jsonLines,
  ledgerWith,
  mainFile,
  newFile,
  newFolder,
  newLedgerFile,
  runledger,
  start,
} from "./command.js";

const fiveMiB = 5 * 1024 * 1024;

/** A ledger whose log is larger than 5 MiB, and one content of 5 MiB at its end. */
async function largeLedger(): Promise<{ file: string; size: number }> {
  const file = newLedgerFile();
  const ledger = await openLedger(file);
  const text = "x".repeat(10_000);
  for (let batch = 0; batch < 6; batch++)
    await ledger.append(
      "log/a",
      Array.from({ length: 100 }, (_, index) => ({ type: "line.appended", data: { index, text } })),
    );
  const { position } = await ledger.append("log/a", [
    { type: "line.appended", data: { line: content(Buffer.alloc(fiveMiB, "a\n")) } },
  ]);
  await ledger.close();
  return { file, size: position + 1 };
}

describe("J14 output through pipes", () => {
  test("J14 a slow reader gets every byte, the last line included", async () => {
    const { file, size } = await largeLedger();
    const child = start(["log", "--ledger", file, "--json"]);
    child.stdin.end();
    const chunks: Buffer[] = [];
    for await (const chunk of child.stdout) {
      chunks.push(chunk as Buffer);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const text = Buffer.concat(chunks).toString();
    expect(text.length).toBeGreaterThan(fiveMiB);
    expect(text.endsWith("\n")).toBe(true);
    expect(jsonLines(text).map(({ position }) => position)).toEqual(
      Array.from({ length: size }, (_, position) => position),
    );
    if (child.exitCode === null) await once(child, "close");
    expect(child.exitCode).toBe(0);
  });

  test("J14 a slow reader gets 5 MiB of content to the byte", async () => {
    const { file } = await largeLedger();
    const slow = spawnSync(
      "sh",
      ["-c", `"$0" "$1" cat --ledger "$2" --content @ | { sleep 0.5; wc -c; }`, process.execPath, mainFile, file],
      { encoding: "utf8" },
    );
    expect(slow.stdout.trim()).toBe(String(fiveMiB));
  });

  test.each([
    ["log", "--json"],
    ["log", "--oneline"],
    ["cat", "--content", "@"],
  ])("J14 %s ends quietly with 141 when its reader goes away", async (verb, ...args) => {
    const { file } = await largeLedger();
    if (args.includes("--oneline")) {
      const ledger = await openLedger(file);
      for (let batch = 0; batch < 4; batch++)
        await ledger.append(
          "log/a",
          Array.from({ length: 1_000 }, () => ({ type: "line.appended" })),
        );
      await ledger.close();
    }
    const child = start([verb, "--ledger", file, ...args]);
    child.stdin.end();
    const ended = finish(child);
    await once(child.stdout, "data");
    child.stdout.destroy();
    const done = await ended;
    expect(done).toMatchObject({ code: 141, stderr: "" });
  });

  test("J14 a reader that was never there is the same", () => {
    const gone = spawnSync(
      "bash",
      ["-c", '"$0" "$1" --help | true; echo "${PIPESTATUS[0]}"', process.execPath, mainFile],
      { encoding: "utf8" },
    );
    expect(["0", "141"]).toContain(gone.stdout.trim());
    expect(gone.stderr).toBe("");
  });

  test("a full disk under the output is an error, not success", async () => {
    const file = await ledgerWith(3);
    const full = openSync("/dev/full", "w");
    const child = spawn(process.execPath, [mainFile, "log", "--ledger", file], { stdio: ["ignore", full, "pipe"] });
    closeSync(full);
    let stderr = "";
    child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    await once(child, "close");
    expect(child.exitCode).toBe(1);
    expect(stderr).toMatch(/^runledger: OUTPUT_FAILED: the output could not be written: ENOSPC/);
  });
});

test("an interrupted reader leaves no private copy behind and says nothing", async () => {
  const { file } = await largeLedger();
  const database = new Database(file);
  database.pragma("journal_mode = WAL");
  database.exec("UPDATE meta SET value = value");
  const [ledger, log] = [readFileSync(file), readFileSync(`${file}-wal`)];
  database.close();
  const copy = newFile("copy.ledger", ledger);
  writeFileSync(`${copy}-wal`, log);
  const scratch = newFolder();

  const child = start(["log", "--ledger", copy, "--json"], { env: { TMPDIR: scratch } });
  child.stdin.end();
  await once(child.stdout, "data");
  child.stdout.pause();
  expect(readdirSync(scratch)).toHaveLength(1);
  child.kill("SIGINT");
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  await once(child, "exit");

  expect(child.signalCode).toBe("SIGINT");
  expect(readdirSync(scratch)).toEqual([]);
  expect(said).toBe(`note: ${copy} cannot be read where it is; a private copy is read\n`);
});

describe("a terminal", () => {
  test("gets colour, anything else gets none", async () => {
    const file = await ledgerWith(3);
    const escape = "\u001b[";
    const log = ["log", "--ledger", file];
    expect((await call(log, { terminal: true, env: { TERM: "xterm" } })).stdout).toContain(escape);
    expect((await call(log, { terminal: true, env: { TERM: "xterm", NO_COLOR: "" } })).stdout).toContain(escape);
    expect((await call(log, { terminal: true, env: { TERM: "xterm", NO_COLOR: "1" } })).stdout).not.toContain(escape);
    expect((await call(log, { terminal: true, env: { TERM: "dumb" } })).stdout).not.toContain(escape);
    expect((await call(log)).stdout).not.toContain(escape);
    expect((await call([...log, "--json"], { terminal: true })).stdout).not.toContain(escape);
  });

  test("T46 is not sent content that it would obey", async () => {
    const file = newLedgerFile();
    const ledger = await openLedger(file);
    await ledger.append("log/a", [
      { type: "line.appended", data: { line: content("\u001b[2Jgone") } },
      { type: "line.appended", data: { line: content("plain\ntext\n") } },
    ]);
    await ledger.close();
    const refused = await call(["cat", "--ledger", file, "--content", "#1"], { terminal: true });
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("send them to a file or a pipe");
    expect((await call(["cat", "--ledger", file, "--content", "#1"])).stdout).toBe("\u001b[2Jgone");
    expect((await call(["cat", "--ledger", file, "--content", "#2"], { terminal: true })).stdout).toBe("plain\ntext\n");
  });
});

describe("the command line", () => {
  test("without a verb, or with one that there is not, is none", async () => {
    const bare = await runledger([]);
    expect(bare).toMatchObject({ code: 2, stdout: "" });
    expect(bare.stderr).toContain("Usage: runledger");
    const unknown = await runledger(["lgo"]);
    expect(unknown).toMatchObject({ code: 2, stdout: "" });
    expect(unknown.stderr).toMatch(/^runledger: USAGE: unknown command 'lgo' .*log.*\nhint: `runledger --help` lists/);
  });

  test("with a ledger where none is expected says how it is named", async () => {
    const done = await call(["runs", "runs.ledger"]);

    expect(done).toMatchObject({ code: 2, stdout: "" });
    expect(done.stderr).toContain(
      "hint: `runledger runs --help` shows how it is used; the ledger is named by --ledger",
    );
  });

  test("T46 is not repeated to the terminal as it is", async () => {
    const done = await call(["\u001b[2J\u202e"]);
    expect(done.code).toBe(2);
    expect(done.stderr).toContain("\\u{1b}[2J\\u{202e}");
    expect(done.stderr).not.toMatch(/[\u001b\u202e]/);
  });

  // Node.js puts U+FFFD for what is not UTF-8: the command ran with another argument, and another file was opened.
  test.skipIf(process.platform !== "linux")("is refused where an argument is not UTF-8, and runs nothing", () => {
    const file = newLedgerFile();
    const script = '"$0" "$1" exec --ledger "$2" -- printf %s "$(printf \'a\\377\')"';
    const done = spawnSync("bash", ["-c", script, process.execPath, mainFile, file], { encoding: "utf8" });
    expect([done.status, done.stdout]).toEqual([2, ""]);
    expect(done.stderr).toContain('runledger: USAGE: an argument must be UTF-8, found "a\ufffd"');
    expect(existsSync(file)).toBe(false);
  });

  test.each([
    ["log", "--ledger", "state.ledger"],
    ["exec", "--ledger", "state.ledger", "--", "true"],
    ["exec", "--ledger", newLedgerFile(), "--", "true"],
  ])("cannot decide in a folder that is gone: %s %s %s", (...args) => {
    const script = 'rmdir "$PWD" && exec "$@"';
    const done = spawnSync("sh", ["-c", script, "sh", process.execPath, mainFile, ...args], {
      cwd: newFolder(),
      encoding: "utf8",
    });
    expect([done.status, done.stdout]).toEqual([3, ""]);
    expect(done.stderr).toMatch(
      /^runledger: STORE_UNAVAILABLE: the working directory must be there, found that it is gone$/m,
    );
  });

  test("tells its version", async () => {
    const done = await runledger(["--version"]);
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(done.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test("says with --json what went wrong as an object too", async () => {
    const cases: [string[], string, number][] = [
      [["show", "--ledger", await ledgerWith(1), "#9", "--json"], "NOT_FOUND", 3],
      [["show", "--ledger", "none.ledger", "nonsense", "--json"], "USAGE", 2],
    ];
    for (const [args, code, exitCode] of cases) {
      const done = await call(args);
      expect(done).toMatchObject({ code: exitCode, stdout: "" });
      const lines = done.stderr.trimEnd().split("\n");
      expect(lines[0]).toMatch(new RegExp(`^runledger: ${code}: `));
      const { error } = JSON.parse(lines.at(-1) ?? "") as { error: Record<string, unknown> };
      expect(Object.keys(error)).toEqual(["code", "message", "details", "hint"]);
      expect(error["code"]).toBe(code);
    }
  });
});
