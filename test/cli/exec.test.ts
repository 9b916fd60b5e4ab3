import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { lineBytesMax } from "../../src/cli/exec/line-cutter.js";
import { openLedger } from "../../src/index.js";
import { call, finish, jsonLines, mainFile, newFolder, newLedgerFile, runledger, start } from "./command.js";
import { freshPlace, sharedStoreNames } from "../engine/fixture.js";
import { expectInOrder, outputOf, recordsOf, storyOf, waitForFile, writing } from "./exec-fixture.js";

const node = process.execPath;

/** A shell script as a command. */
function script(text: string): readonly string[] {
  return ["--", "sh", "-c", text];
}

describe.each(sharedStoreNames)("exec, on %s,", (store) => {
  test("runs a command under the ledger, and is the command to whoever looks", async () => {
    const file = freshPlace(store);
    const done = await runledger(["exec", "--ledger", file, ...script("cat; echo warn >&2; exit 3")], {
      input: "a\nb\r\n",
    });

    expect(done).toMatchObject({ code: 3, stdout: "a\nb\r\n" });
    expect(done.stderr).toMatch(
      /^warn\nrunledger: \S+-exec\.sh-[0-9a-f]{8} failed \(command\.1 exit code 3\); 3 lines, 10 bytes received, all recorded; head #\d+ [0-9a-f]{12}\n$/,
    );
    const { run, attempts, captures, item, types } = await storyOf(file);
    expect(run).toMatchObject({ status: "failed", exit: { code: 3 }, title: "sh", owner: null, attempts: 1 });
    expect(attempts).toMatchObject([
      {
        attemptId: "command.1",
        status: "failed",
        exit: { code: 3 },
        generation: 1,
        process: { pid: expect.any(Number) as unknown },
      },
    ]);
    expect(captures).toMatchObject([{ attemptId: "command.1", status: "complete", open: false, events: 3 }]);
    expect(item).toMatchObject({ status: "done" });
    expect(types.filter((type) => !/^(journal|area)\./.test(type))).toEqual([
      "definition.registered",
      "run.created",
      "queue.enqueued",
      "run.started",
      "attempt.started",
      "session.bound",
      ...types.filter((type) => type === "session.eventsAppended"),
      "session.finished",
      "attempt.finished",
      "run.finished",
      "queue.completed",
    ]);
    await expectInOrder(file);
  });

  test("passes bytes on as they are, and records them so, lines that are too long and not ended too", async () => {
    const file = freshPlace(store);
    const bytes = Buffer.concat([
      Buffer.from("text\r\n\n\u{1f600}\n"),
      Buffer.from([0xff, 0xfe, 0x0a, 0x00, 0x0a]),
      Buffer.alloc(2 * lineBytesMax + 10, "é"),
      Buffer.from("\nlast"),
    ]);
    const done = await runledger(["exec", "--ledger", file, "--", "cat"], { input: bytes });

    expect(done.code).toBe(0);
    expect(done.bytes.equals(bytes)).toBe(true);
    const { run } = await storyOf(file);
    const records = await recordsOf(file, run.runId);
    expect(outputOf(records, "stdout").equals(bytes)).toBe(true);
    expect(records.map(({ media, partial }) => [media.split(";")[0], partial])).toEqual([
      ["text/plain", false],
      ["text/plain", false],
      ["text/plain", false],
      ["application/octet-stream", false],
      ["text/plain", false],
      ["text/plain", true],
      ["text/plain", true],
      ["text/plain", false],
      ["text/plain", true],
    ]);
  });

  test("loses nothing of an output that is larger than what may be on its way", async () => {
    const file = freshPlace(store);
    const lines = 2_000;
    const program = `let n=0;const go=()=>{while(n<${lines}){if(!process.stdout.write("line "+n+++" ".repeat(1000)+"\\n")){process.stdout.once("drain",go);return}}};go()`;
    const done = await runledger(["exec", "--json", "--ledger", file, "--", node, "-e", program]);

    expect(done.code).toBe(0);
    const [summary] = jsonLines(done.stderr);
    expect(summary).toMatchObject({
      received: { lines, bytes: done.bytes.length },
      recorded: { lines, bytes: done.bytes.length },
    });
    expect(outputOf(await recordsOf(file, String(summary!["run"])), "stdout").equals(done.bytes)).toBe(true);
  });

  test("passes output on as it comes, while the command goes on", async () => {
    const child = start(["exec", "--ledger", freshPlace(store), ...script("printf half; read line; echo $line")]);
    const finished = finish(child);
    const [first] = (await once(child.stdout, "data")) as [Buffer];
    child.stdin.end("done\n");

    expect(first.toString()).toBe("half");
    expect(await finished).toMatchObject({ code: 0, stdout: "halfdone\n" });
  });

  test("says with --json on stderr what it did, in one object", async () => {
    const done = await runledger([
      "exec",
      "--ledger",
      freshPlace(store),
      "--run",
      "r1",
      "--json",
      ...script("echo out; kill -KILL $$"),
    ]);
    expect(done).toMatchObject({ code: 137, stdout: "out\n" });
    const [summary, another] = jsonLines(done.stderr);
    expect(another).toBeUndefined();
    expect(Object.keys(summary!).join(" ")).toBe("run status attempts exit exitCode received recorded head notes");
    expect(summary).toMatchObject({
      run: "r1",
      status: "failed",
      attempts: [{ attemptId: "command.1", exit: { signal: "SIGKILL" } }],
      exit: { signal: "SIGKILL" },
      exitCode: 137,
      received: { lines: 1, bytes: 4 },
      recorded: { lines: 1, bytes: 4 },
      notes: [],
    });
  });

  test("begins a line of its own for what it says, where the command left one open", () => {
    const said = (rest: string) => {
      const exec = `"${node}" "${mainFile}" exec --ledger "${freshPlace(store)}"`;
      const { stdout, stderr } = spawnSync("sh", ["-c", `${exec} ${rest}`], { encoding: "utf8" });
      return [stdout, stderr];
    };

    expect(said("-- printf open 2>&1")[0]).toMatch(/^open\nrunledger: /);
    expect(said("-- printf open")).toEqual(["open", expect.stringMatching(/^runledger: /)]);
    expect(said("-- sh -c 'printf open >&2'")[1]).toMatch(/^open\nrunledger: /);
    expect(said("-- echo over 2>&1")[0]).toMatch(/^over\nrunledger: /);
  });

  test("tries a command that fails again, as often as it is told, each time as an attempt of its own", async () => {
    const [file, folder] = [freshPlace(store), newFolder()];
    const flaky = script(`echo x >> tries; test $(wc -l < tries) -ge 3`);
    const done = await runledger(["exec", "--ledger", file, "--retries", "5", ...flaky], { cwd: folder });
    expect(done.code).toBe(0);
    const { run, attempts, captures } = await storyOf(file);
    expect(run).toMatchObject({ status: "completed", attempts: 3 });
    expect(attempts.map(({ attemptId, status, generation }) => [attemptId, status, generation])).toEqual([
      ["command.1", "failed", 1],
      ["command.2", "failed", 1],
      ["command.3", "completed", 1],
    ]);
    expect(captures.map(({ attemptId, status }) => [attemptId, status])).toEqual([
      ["command.1", "complete"],
      ["command.2", "complete"],
      ["command.3", "complete"],
    ]);
  });

  test("has the exit code of the last attempt when all of them fail", async () => {
    const [file, folder] = [freshPlace(store), newFolder()];
    const done = await runledger(
      ["exec", "--ledger", file, "--retries", "1", ...script("echo x >> tries; exit $(wc -l < tries)")],
      {
        cwd: folder,
      },
    );
    expect(done.code).toBe(2);
    expect((await storyOf(file)).run).toMatchObject({ status: "failed", exit: { code: 2 }, attempts: 2 });
  });

  test("records a command that is not there as 127, and one that may not be executed as 126, and does not try again", async () => {
    const folder = newFolder();
    writeFileSync(join(folder, "tool"), "#!/bin/sh\n");
    chmodSync(join(folder, "tool"), 0o644);
    for (const [name, code, sentence] of [
      ["no-such-command", 127, /"no-such-command" was not found/],
      ["./tool", 126, /"\.\/tool" cannot be executed: .*may not be executed/],
      [folder, 126, /is not a file/],
    ] as const) {
      const file = freshPlace(store);
      const done = await runledger(["exec", "--ledger", file, "--retries", "3", "--", name], { cwd: folder });
      expect(done).toMatchObject({ code, stdout: "" });
      expect(done.stderr).toMatch(sentence);
      const { run, attempts, item } = await storyOf(file);
      expect(run).toMatchObject({ status: "failed", exit: { code }, reason: "the command could not be started" });
      expect(attempts).toMatchObject([{ status: "failed", exit: { code }, process: null }]);
      expect(item).toMatchObject({ status: "done" });
      await expectInOrder(file);
    }
  });

  test.each([
    ["with control characters", "\u001b[31m\t\n\u007f", "\u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}"],
    ["that is long, with a character at its limit", `${"a".repeat(79)}😀`, `${"a".repeat(79)}\u{fffd}`],
  ])("runs a program whose name is one %s, and shows it so that nobody obeys it", async (_, name, title) => {
    const [file, folder] = [freshPlace(store), newFolder()];
    writeFileSync(join(folder, name), "#!/bin/sh\necho ran\n", { mode: 0o755 });
    const done = await runledger(["exec", "--ledger", file, "--", `./${name}`], { cwd: folder });
    expect(done).toMatchObject({ code: 0, stdout: "ran\n" });
    expect((await storyOf(file)).run).toMatchObject({ status: "completed", title });

    const gone = await runledger(["exec", "--ledger", file, "--", `${name}\u202e`]);
    expect(gone.code).toBe(127);
    expect(gone.stderr.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202e]/u);
  });

  test("goes on when the reader of its output goes away, and so does what the ledger records", async () => {
    const [file, folder] = [freshPlace(store), newFolder()];
    const child = start(
      [
        "exec",
        "--ledger",
        file,
        ...script("yes 0123456789012345678901234567890123456789 | head -8000; echo done > done"),
      ],
      { cwd: folder },
    );
    child.stdout.once("data", () => child.stdout.destroy());
    child.stderr.resume();
    const code = await new Promise((resolve) => child.once("exit", resolve));

    expect(code).toBe(0);
    expect(existsSync(join(folder, "done"))).toBe(true);
    const { run } = await storyOf(file);
    expect((await recordsOf(file, run.runId)).length).toBe(8_000);
  });

  test("I08 what still comes after the command ended is in the capture, which closes after it", async () => {
    const file = freshPlace(store);
    const done = await runledger(["exec", "--ledger", file, ...script("(sleep 0.5; echo late) & echo early")]);
    expect(done).toMatchObject({ code: 0, stdout: "early\nlate\n" });
    const { run, captures, types } = await storyOf(file);
    expect(captures).toMatchObject([{ status: "complete", open: false, events: 2 }]);
    expect(outputOf(await recordsOf(file, run.runId), "stdout").toString()).toBe("early\nlate\n");
    expect(types.lastIndexOf("session.eventsAppended")).toBeLessThan(types.indexOf("session.finished"));
  });

  test("does not wait for what a command left in the background with its output open, and says so", async () => {
    const [file, folder] = [freshPlace(store), newFolder()];
    const daemon = "setsid sh -c 'trap \"\" HUP; echo $$ > pid; exec sleep 300' & echo started";
    const done = await runledger(["exec", "--ledger", file, ...script(daemon)], { cwd: folder });
    process.kill(Number(readFileSync(join(folder, "pid"), "utf8")), "SIGKILL");

    expect(done).toMatchObject({ code: 0, stdout: "started\n" });
    expect(done.stderr).toMatch(/something that command\.1 started still has its output open/);
    expect(await storyOf(file)).toMatchObject({
      run: { status: "completed" },
      captures: [{ status: "complete", open: true, events: 1 }],
    });
    await expectInOrder(file);
  });

  test("is told by `run` with its command, as a shell would take it, and its folder, until they are erased", async () => {
    const [file, folder] = [freshPlace(store), newFolder()];
    await runledger(["exec", "--ledger", file, "--run", "r1", ...script("echo 'a\u001b'")], { cwd: folder });
    const told = async (...more: string[]) => (await call(["run", "r1", "--ledger", file, ...more])).stdout;

    expect(await told()).toContain(
      `\ncommand     sh -c 'echo '\\''a\\u{1b}'\\'''\nfolder      ${realpathSync(folder)}\n`,
    );
    expect(jsonLines(await told("--json"))).toMatchObject([{ command: ["sh", "-c", "echo 'a\u001b'"] }]);
    const ledger = await openLedger(file);
    await ledger.erase([(await ledger.runs.get("r1"))!.input!.$content], { reason: "a secret in it" });
    await ledger.close();
    expect(jsonLines(await told("--json"))).toMatchObject([{ command: null, folder: null, status: "completed" }]);
  });

  test("keeps the arguments out of what cannot be erased", async () => {
    const file = freshPlace(store);
    await runledger(["exec", "--ledger", file, "--", "echo", "s3cret-word"]);
    const { events, run } = await storyOf(file);
    expect(JSON.stringify(events)).not.toContain("s3cret-word");
    const erased = await writing(file, (ledger) =>
      ledger.erase([run.input!.$content], { actor: "me", reason: "secret" }),
    );
    expect(erased.contents).toHaveLength(1);
  });
});

describe("exec refuses", () => {
  test("a name that is in use, and runs nothing", async () => {
    const [file, folder] = [newLedgerFile(), newFolder()];
    await runledger(["exec", "--ledger", file, "--run", "r1", "--", "true"]);
    const again = await call(["exec", "--ledger", file, "--run", "r1", ...script("echo x > ran")], {
      cwd: folder,
    });
    expect(again).toMatchObject({ code: 1, stdout: "" });
    expect(again.stderr).toMatch(/ALREADY_EXISTS: r1 .*\nhint: --resume goes on with a run that was left/);
    expect(existsSync(join(folder, "ran"))).toBe(false);
    expect((await storyOf(file)).run).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("a file that is no ledger, and runs nothing", async () => {
    const folder = newFolder();
    const file = join(folder, "state.ledger");
    writeFileSync(file, "not a ledger");
    const done = await runledger(["exec", "--ledger", file, ...script("echo x > ran")], { cwd: folder });
    expect(done).toMatchObject({ code: 3, stdout: "" });
    expect(done.stderr).toContain("STORE_FOREIGN");
    expect(existsSync(join(folder, "ran"))).toBe(false);
  });

  test.each([
    [["exec"], /exec needs a command/],
    [["exec", "--retries", "-1", "--", "true"], /--retries must be a whole number/],
    [["exec", "--lease", "99", "--", "true"], /--lease must be a whole number/],
    [["exec", "--run", "a b", "--", "true"], /--run must be/],
    [["exec", "ls", "-l"], /unknown option '-l'\nhint: options of the command stand behind --/],
  ])("%j", async (args, message) => {
    const done = await call(
      [...args, "--ledger", newLedgerFile()].sort((a, b) => Number(a === "--") - Number(b === "--") || 0),
    );
    expect(done.code).toBe(2);
    expect(done.stderr).toMatch(message);
  });

  test("to resume a run while its owner lives, and says who that is", async () => {
    const [file, folder] = [newLedgerFile(), newFolder()];
    const child = start(["exec", "--ledger", file, "--run", "r1", ...script("echo x > up; read line; echo $line")], {
      cwd: folder,
    });
    const finished = finish(child);
    await waitForFile(join(folder, "up"));
    const other = await runledger(["exec", "--ledger", file, "--run", "r1", "--resume"]);
    child.stdin.end("bye\n");

    expect(other.code).toBe(1);
    expect(other.stderr).toMatch(
      new RegExp(
        `NOT_READY: r1 must have no owner to be resumed, found exec:.*:${child.pid}, whose claim ends at \\d{4}-`,
      ),
    );
    expect(await finished).toMatchObject({ code: 0, stdout: "bye\n" });
  });
});
