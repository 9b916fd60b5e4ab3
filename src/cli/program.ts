/** The command `runledger`: its verbs, and how it ends. Runs in the process it is given and never ends it. */
import { Command, CommanderError } from "commander";
import { LedgerError } from "../index.js";
import { version } from "../kernel/version.js";
import type { CommandLine } from "./arguments.js";
import { escapeJson } from "./escape.js";
import { exitCodeOf, exitCodes, OutputFailed, ReaderGone, UsageError } from "./exit.js";
import { Terminal } from "./terminal.js";
import type { Surroundings } from "./terminal.js";
import { addAppend } from "./verbs/append.js";
import { addCat } from "./verbs/cat.js";
import { addExec } from "./verbs/exec.js";
import { addDemo } from "./verbs/demo.js";
import { addCopy } from "./verbs/copy.js";
import { addErase } from "./verbs/erase.js";
import { addCheckProof } from "./verbs/check-proof.js";
import { addCheckpoint } from "./verbs/checkpoint.js";
import { addConsistency } from "./verbs/consistency.js";
import { addForkCheck } from "./verbs/fork-check.js";
import { addInit } from "./verbs/init.js";
import { addKeygen } from "./verbs/keygen.js";
import { addLog } from "./verbs/log.js";
import { addProve } from "./verbs/prove.js";
import { addRun } from "./verbs/run.js";
import { addRuns } from "./verbs/runs.js";
import { addSession } from "./verbs/session.js";
import { addShow } from "./verbs/show.js";
import { addState } from "./verbs/state.js";
import { addQueue } from "./verbs/queue.js";
import { addStatus } from "./verbs/status.js";
import { addTail } from "./verbs/tail.js";
import { addVerify } from "./verbs/verify.js";

const moreHelp = `
Selectors:
  @  @~3              the last event; the third before it
  #123  123           the event at a position (quote the # for your shell)
  1d0c41              the event whose id starts so, 6 hex digits or more
  run/r17@9           revision 9 of a stream
  2026-03-01T12:00    the last event at or before a time, UTC unless it says otherwise
  cp:latest           the last event under the largest checkpoint that the ledger keeps
  A..B  A..  ..B      a range, both ends in it

Exit codes:
  0    done and verified
  1    something is wrong with the evidence, or the command was refused
  2    the command line is not one
  3    cannot decide: unknown format, unreadable, missing, no key, nothing to check, nothing signed by a given key
  4    in order, but no checkpoint from outside vouches for it, and --require-anchor was given
  70   a bug in runledger
  75   the run was taken away (exec, which otherwise ends with the exit code of its command)
  130  interrupted (143 when asked to terminate)
  141  the reader of the output went away

Data goes to stdout, talk to stderr. Reading verbs open the ledger read-only.`;

/** Runs one command line and returns its exit code, after everything it said has been taken. */
export async function runCommandLine(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const terminal = new Terminal(surroundings);
  const line: CommandLine = { terminal, env: surroundings.env, exitCode: exitCodes.done, writes: false };
  const asJson = args.slice(0, args.includes("--") ? args.indexOf("--") : args.length).includes("--json");
  try {
    await buildProgram(line).parseAsync(args, { from: "user" });
    await terminal.flush();
    return line.exitCode;
  } catch (error) {
    return end(line, error, { verb: args[0] ?? "", asJson });
  }
}

function buildProgram(line: CommandLine): Command {
  const program = new Command("runledger")
    .description("A tamper-evident ledger in one file, or in PostgreSQL: append, read, verify.")
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => line.terminal.queue(text),
      writeErr: (text) => line.terminal.queueTalk(text),
      outputError: () => {},
    })
    .addHelpText("after", moreHelp);
  addInit(program, line);
  addCopy(program, line);
  addAppend(program, line);
  addExec(program, line);
  addLog(program, line);
  addTail(program, line);
  addShow(program, line);
  addCat(program, line);
  addState(program, line);
  addRuns(program, line);
  addRun(program, line);
  addSession(program, line);
  addQueue(program, line);
  addStatus(program, line);
  addVerify(program, line);
  addForkCheck(program, line);
  addErase(program, line);
  addCheckpoint(program, line);
  addProve(program, line);
  addConsistency(program, line);
  addCheckProof(program, line);
  addKeygen(program, line);
  addDemo(program, line);
  return program;
}

/** Says what went wrong, after the data that went right. */
async function end(
  { terminal, writes }: CommandLine,
  thrown: unknown,
  { verb, asJson }: { readonly verb: string; readonly asJson: boolean },
): Promise<number> {
  let error =
    thrown instanceof CommanderError ? usageOf(thrown, verb) : isFolderGone(thrown) ? folderGone(thrown) : thrown;
  try {
    if (!(error instanceof ReaderGone)) await terminal.flush();
  } catch (gone) {
    error = gone;
  }
  const exitCode = error === null ? exitCodes.done : exitCodeOf(error, writes);
  if (error instanceof LedgerError) await say(terminal, asJson, error.code, error.message, error.details, error.hint);
  else if (error instanceof UsageError) await say(terminal, asJson, "USAGE", error.message, {}, error.hint);
  else if (error instanceof OutputFailed) await say(terminal, asJson, "OUTPUT_FAILED", error.message, {}, undefined);
  else if (exitCode === exitCodes.bug) await sayBug(terminal, error);
  return exitCode;
}

/** Was it thrown where the working directory was asked for? */
function isFolderGone(thrown: unknown): boolean {
  return thrown instanceof Error && (thrown as NodeJS.ErrnoException).syscall === "uv_cwd";
}

function folderGone(cause: unknown): LedgerError {
  return new LedgerError("STORE_UNAVAILABLE", "the working directory must be there, found that it is gone", {
    hint: "change to a folder that is there",
    cause,
  });
}

async function say(
  terminal: Terminal,
  asJson: boolean,
  code: string,
  message: string,
  details: Readonly<Record<string, unknown>>,
  hint: string | undefined,
): Promise<void> {
  await terminal.say(`runledger: ${code}: ${message}`);
  if (hint !== undefined) await terminal.say(`hint: ${hint}`);
  if (asJson) await terminal.say(escapeJson(JSON.stringify({ error: { code, message, details, hint: hint ?? null } })));
}

async function sayBug(terminal: Terminal, error: unknown): Promise<void> {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  await terminal.say("runledger: this is a bug in runledger; nothing is known of the evidence");
  for (const each of stack.split("\n")) await terminal.say(each);
}

/** Help and version are no errors; a command line without a verb has been shown the help. */
function usageOf({ code, exitCode, message }: CommanderError, verb: string): UsageError | null {
  if (exitCode === 0) return null;
  if (code === "commander.help") return new UsageError("a verb is needed");
  return new UsageError(message.replace(/^error: /, "").replaceAll("\n", " "), usageHint(code, verb));
}

function usageHint(code: string, verb: string): string {
  if (code === "commander.unknownCommand" || verb.startsWith("-")) return "`runledger --help` lists the verbs";
  if (code === "commander.unknownOption" && verb === "exec")
    return "options of the command stand behind --, as in `runledger exec -- ls -l`";
  const how = `\`runledger ${verb} --help\` shows how it is used`;
  return code === "commander.excessArguments" ? `${how}; the ledger is named by --ledger` : how;
}
