/** A command that is started and does not run yet: a small shell waits on a pipe, and becomes the command when a line comes.
 *  Invariants: the command never runs when the pipe closes first, so not when this process dies either; the process that is
 *  shown before is the one that the command becomes, with the same pid and the same start; nothing of the command is read
 *  as text of a shell.
 *  Source: decision 0027. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { closeSync, existsSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type { Exit } from "./exit-code.js";
import { openPipes } from "./output-pipes.js";
import type { Env } from "./program-path.js";

/** A command behind its gate: the leader of a process group and session of its own. */
export interface GatedCommand {
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly ended: Promise<Exit>;
  /** Lets it run. */
  open(): void;
  /** It will never run, unless the gate was opened. */
  close(): void;
}

export interface GatedOptions {
  /** The file to execute. */
  readonly path: string;
  /** The name that it was asked for by, and its arguments. */
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Env;
}

/** Starts a command behind a gate. It shares standard input with this process. */
export async function startGated({ path, command, cwd, env }: GatedOptions): Promise<GatedCommand> {
  const [name = "", ...args] = command;
  // The shell looks the name up again, so that the program is called by it; what looks like an option is not one then.
  const called = name.startsWith("-") ? path : name;
  const pipes = await openPipes(2);
  const [stdout, stderr] = pipes ?? [];
  try {
    const child = spawn(shell.file, [...shell.options, "-c", scriptFor(env), "sh", called, ...args], {
      cwd,
      env: { ...env },
      detached: true,
      // What the shell has to say of itself, of a locale that is not there for one, is not the command's to say.
      stdio: ["inherit", stdout?.end ?? "pipe", "ignore", "pipe", stderr?.end ?? "pipe"],
    });
    const ended = exitOf(child);
    await started(child);
    const gate = child.stdio[3] as Writable; // a pipe, as asked for
    // The command may be killed before it hears of the open gate.
    gate.on("error", () => {});
    return {
      pid: child.pid!, // it has started
      stdout: stdout?.output ?? child.stdout!,
      stderr: stderr?.output ?? (child.stdio[4] as Readable), // a pipe too
      ended,
      open: () => void gate.end("go\n"),
      close: () => void gate.destroy(),
    };
  } catch (error) {
    for (const { output } of pipes ?? []) output.destroy();
    throw error;
  } finally {
    // The output ends when the last process that has the other end is gone, and that must not be this one.
    for (const { end } of pipes ?? []) closeSync(end);
  }
}

/** Bash, where there is one, because it hands on variables that are no names to a shell (`INPUT_MY-TOKEN`), and other shells
 *  drop them. The options keep it from running what the environment says, and the file that it runs when its input is a socket. */
const shell =
  ["/bin/bash", "/usr/bin/bash"]
    .map((file) => ({ file, options: ["--norc", "-p"] }))
    .find(({ file }) => existsSync(file)) ?? ({ file: "/bin/sh", options: [] } as const);

/** What a shell sets for itself and its caller did not have is taken away again (but for bash's SHLVL, which is 0 then). `TMOUT`
 *  would end the waiting. */
function scriptFor(env: Env): string {
  const own = ["PWD", "OLDPWD"].filter((name) => env[name] === undefined);
  const unset = ["runledger_gate", ...own].join(" ");
  return `TMOUT=0 read -r runledger_gate <&3 || exit 125; exec 3<&- 2>&4 4>&-; unset ${unset}; exec "$@"`;
}

function started(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve(signal === null ? { code: code ?? 0 } : { signal }));
  });
}
