import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { startGated } from "../../../src/cli/exec/gate.js";
import type { GatedCommand } from "../../../src/cli/exec/gate.js";
import { identifyProcess } from "../../../src/cli/exec/process-identity.js";
import { openProcessTable } from "../../../src/cli/exec/process-table.js";
import { findProgram } from "../../../src/cli/exec/program-path.js";
import type { Env } from "../../../src/cli/exec/program-path.js";
import { newFolder } from "../command.js";

const env = { PATH: process.env["PATH"] };

async function gated(command: readonly string[], options: { cwd?: string; env?: Env } = {}): Promise<GatedCommand> {
  const at = { cwd: newFolder(), env, ...options };
  const found = findProgram(command[0]!, at);
  if (found.type !== "found") throw new Error(found.sentence);
  return startGated({ path: found.path, command, ...at });
}

async function textOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe("a command behind a gate", () => {
  test("runs when the gate is opened, and not before", async () => {
    const folder = newFolder();
    const command = await gated(["touch", "ran"], { cwd: folder });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(existsSync(join(folder, "ran"))).toBe(false);

    command.open();

    expect(await command.ended).toEqual({ code: 0 });
    expect(existsSync(join(folder, "ran"))).toBe(true);
  });

  test("never runs when the pipe closes first", async () => {
    const folder = newFolder();
    const command = await gated(["touch", "ran"], { cwd: folder });

    command.close();

    expect(await command.ended).toEqual({ code: 125 });
    expect(existsSync(join(folder, "ran"))).toBe(false);
  });

  // Bash lets `read` wait for so many seconds, and speaks of a locale that it does not have: both were the command's, to whoever
  // read what became of it.
  test("waits as long as it takes, and hears nothing of what the shell says, whatever the environment has", async () => {
    const odd = { ...env, TMOUT: "1", LC_ALL: "xx_YY.UTF-8", BASH_COMPAT: "99" };
    const script =
      'echo "$TMOUT $LC_ALL" >&2; for fd in 3 4; do (eval ": <&$fd") 2>/dev/null && echo "$fd is open"; done; :';
    const command = await gated(["sh", "-c", script], { env: odd });
    await new Promise((resolve) => setTimeout(resolve, 1_500));

    command.open();

    const [stdout, stderr] = [textOf(command.stdout), textOf(command.stderr)];
    expect(await command.ended).toEqual({ code: 0 });
    expect(await stderr).toBe("1 xx_YY.UTF-8\n");
    expect(await stdout).toBe("");
  });

  test("is the process that was shown before, with the same start, and leads a group and session of its own", async () => {
    const table = openProcessTable()!;
    const command = await gated(["sh", "-c", "echo $$; exec cat /proc/$$/stat"]);
    const before = identifyProcess(command.pid, table);
    expect(table.get(command.pid)).toMatchObject({ group: command.pid, session: command.pid });

    command.open();
    const [pid, stat] = (await textOf(command.stdout)).split("\n");

    expect(pid).toBe(String(before!.pid));
    expect(stat!.split(" ")[21]).toBe(before!.startedAt);
  });

  test.each([
    ["spaces and quotes", ["a b", `"c"`, "'d'", "$HOME", "`id`", "$(id)", ";id", "\n", ""]],
    ["what looks like options", ["-c", "--", "-x"]],
  ])("is given its arguments as they are: %s", async (_, args) => {
    const command = await gated([process.execPath, "-p", "JSON.stringify(process.argv.slice(1))", "--", ...args]);
    command.open();
    expect(JSON.parse(await textOf(command.stdout))).toEqual(args);
  });

  test("has the working directory of its caller, and its environment, names that no shell can have too", async () => {
    const cwd = newFolder();
    const wished = {
      ...env,
      "INPUT_MY-TOKEN": "é \n",
      runledger_gate: undefined,
      go: "1",
      "BASH_FUNC_read%%": "() { :; }",
    };
    const command = await gated([process.execPath, "-p", "JSON.stringify([process.cwd(), process.env])"], {
      cwd,
      env: wished,
    });
    command.open();
    const [where, { SHLVL: _, _: __, ...variables }] = JSON.parse(await textOf(command.stdout)) as [
      string,
      NodeJS.ProcessEnv,
    ];
    expect(where).toBe(cwd);
    expect(variables).toEqual(JSON.parse(JSON.stringify(wished)));
  });

  test("ends with its exit code, or its signal", async () => {
    const [one, other] = [await gated(["sh", "-c", "exit 7"]), await gated(["sh", "-c", "kill -KILL $$"])];
    one.open();
    other.open();
    expect(await Promise.all([one.ended, other.ended])).toEqual([{ code: 7 }, { signal: "SIGKILL" }]);
  });

  test("may open its output by name", async () => {
    const command = await gated(["sh", "-c", "echo out > /dev/stdout; echo err > /dev/stderr; test -p /dev/stdout"]);
    command.open();
    expect(await Promise.all([textOf(command.stdout), textOf(command.stderr)])).toEqual(["out\n", "err\n"]);
    expect(await command.ended).toEqual({ code: 0 });
  });

  test("may begin with a dash", async () => {
    const folder = newFolder();
    writeFileSync(join(folder, "-x"), "#!/bin/sh\necho ran\n");
    chmodSync(join(folder, "-x"), 0o755);
    const command = await gated(["-x"], { env: { PATH: `${folder}:${env.PATH}` } });
    command.open();
    expect(await textOf(command.stdout)).toBe("ran\n");
  });
});

describe("the look-up of a command", () => {
  const folder = (): string => {
    const made = newFolder();
    mkdirSync(join(made, "one"));
    mkdirSync(join(made, "two"));
    writeFileSync(join(made, "one", "tool"), "#!/bin/sh\n");
    writeFileSync(join(made, "two", "tool"), "#!/bin/sh\n");
    chmodSync(join(made, "two", "tool"), 0o755);
    return made;
  };

  test("goes through PATH, past what cannot be executed, an empty part being the working directory", () => {
    const cwd = folder();
    const find = (PATH: string): unknown => findProgram("tool", { env: { PATH }, cwd });
    expect(find("none:one:two")).toEqual({ type: "found", path: join(cwd, "two", "tool") });
    expect(findProgram("tool", { env: { PATH: ":" }, cwd: join(cwd, "two") })).toMatchObject({ type: "found" });
    expect(find("one")).toMatchObject({
      exit: 126,
      sentence: expect.stringMatching(/one\/tool may not be executed/) as unknown,
    });
    expect(find("none")).toMatchObject({
      exit: 127,
      sentence: expect.stringMatching(/"tool" was not found.*PATH/) as unknown,
    });
  });

  test("takes a name with a slash as a path", () => {
    const cwd = folder();
    const find = (name: string): unknown => findProgram(name, { env: {}, cwd });
    expect(find("two/tool")).toEqual({ type: "found", path: join(cwd, "two", "tool") });
    expect(find("./one/tool")).toMatchObject({ exit: 126 });
    expect(find("./one")).toMatchObject({ exit: 126, sentence: expect.stringMatching(/is not a file/) as unknown });
    expect(find("./three")).toMatchObject({ exit: 127 });
    expect(find("two/tool/x")).toMatchObject({ exit: 127 });
    expect(find("")).toMatchObject({ exit: 127 });
  });

  test("tells who gives a line for a shell as one word that there is none", () => {
    const find = (name: string): unknown => findProgram(name, { env: {}, cwd: newFolder() });
    const sentence = expect.stringMatching(/was not found: .*; a line for a shell goes to one, as in sh -c/) as unknown;
    expect(find("npm run build && npm test")).toMatchObject({ exit: 127, sentence });
    expect(find("./build.sh --all")).toMatchObject({ exit: 127, sentence });
    expect(find("./build.sh")).toMatchObject({ sentence: expect.not.stringContaining("shell") as unknown });
  });
});
