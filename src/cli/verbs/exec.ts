/** `runledger exec`: a command as a run of the ledger. Writes; stdout and stderr are the command's. */
import { setFlagsFromString } from "node:v8";
import type { Command } from "commander";
import { LedgerError, openLedger } from "../../index.js";
import type { Ledger } from "../../index.js";
import { leaseMsMax } from "../../kernel/limits.js";
import { parseRunId } from "../../kernel/names.js";
import { checked, jsonOption, ledgerOption, wholeNumber } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { createRun } from "../exec/exec-run.js";
import { exitCodeOfSignal, sayExit } from "../exec/exit-code.js";
import { HeldClaim } from "../exec/held-claim.js";
import { Outlet } from "../exec/outlet.js";
import { openProcessTable } from "../exec/process-table.js";
import type { ProcessTable } from "../exec/process-table.js";
import { RunRecord } from "../exec/run-record.js";
import type { Head } from "../exec/run-record.js";
import { Signals } from "../exec/signals.js";
import { Stop } from "../exec/stop.js";
import { findAbandoned, takeOver, watchOf } from "../exec/take-over.js";
import type { Abandoned, TakenOver } from "../exec/take-over.js";
import { work } from "../exec/work.js";
import type { Worked } from "../exec/work.js";
import { escapeJson } from "../escape.js";
import { UsageError } from "../exit.js";
import { counted } from "../figures.js";
import { ledgerFile, whenThere } from "../open.js";
import type { Terminal } from "../terminal.js";

interface ExecOptions extends CommonOptions {
  readonly run?: string;
  readonly retries?: number;
  readonly lease?: number;
  readonly resume?: true;
}

const leaseMsDefault = 30_000;
/** Less is over before the first renewal. */
const leaseMsMin = 100;
const retriesMax = 1_000;

const moreHelp = `
The command runs as it would without runledger: its environment, folder and standard input are yours, its output streams to
yours (by pipes, so that it sees no terminal), and its exit code is the answer (128 and the signal's number for a signal). It
leads a process group and session of its own. There is no shell around it: pipes and && need sh -c '…'. Beside that, the ledger
has a run, an attempt each time it is started, and its output line by line; read them with \`runledger run\` and
\`runledger session\`. The arguments are recorded: give secrets by the environment.

Signals are passed on, SIGHUP under nohup too: setsid is what keeps a command beyond its terminal. A run that Ctrl-C, SIGHUP or
SIGQUIT ended has failed, and is not tried again. SIGTERM ends the command
(SIGKILL after 5 s) and leaves the run for \`exec --resume\`; so does the death of exec itself, once its claim has run out
(--lease). --resume ends what is left of the command first, and starts it again. A --run that is over or has an owner is
refused; without --run it takes the oldest run of exec that nobody owns (with a command: of that command). With a command it
starts a run when there is none: a line of a crontab can always have it. --retries and --lease are those that the run was
made with, unless they are given.

Exit codes beside the command's own:
  127  the command was not found       126  it cannot be executed
  75   the run was taken away: this process was stopped for longer than its lease, and another one has gone on
  1    refused: the run name is in use, another owner, another command, a full disk before the command ran
  2    the command line is not one      3    the ledger cannot be opened, or there is no run to resume

Examples:
  runledger exec -- npm test
  runledger exec --run nightly-2026-03-01 --retries 2 --resume -- ./backup.sh /srv
  runledger exec --resume`;

export function addExec(program: Command, line: CommandLine): void {
  program
    .command("exec")
    .description("run a command under the ledger: claimed, captured, resumable")
    .usage("[options] -- <command...>")
    .argument("[command...]", "the command and its arguments, behind --")
    .option(...ledgerOption)
    .option(
      "--run <name>",
      "the id of the run (default: the time, the program and 8 random digits)",
      checked("--run", parseRunId),
    )
    .option(
      "--retries <times>",
      "start it again when it fails, so many times (default: 0)",
      wholeNumber("--retries", 0, retriesMax),
    )
    .option(
      "--lease <ms>",
      `how long the run stays ours without a sign of life (default: ${leaseMsDefault})`,
      wholeNumber("--lease", leaseMsMin, leaseMsMax),
    )
    .option("--resume", "go on with a run that nobody owns any more")
    .option("--json", `${jsonOption[1]}: the summary, on stderr`)
    .addHelpText("after", moreHelp)
    .action((command: string[], options: ExecOptions) => exec(line, command, options));
}

async function exec(line: CommandLine, command: readonly string[], options: ExecOptions): Promise<void> {
  const { terminal, env } = line;
  line.writes = true;
  if (command.length === 0 && options.resume === undefined)
    throw new UsageError("exec needs a command", "runledger exec -- COMMAND…");
  const file = ledgerFile(options.ledger, env);
  // It stands beside a command that has its own use for memory: what a fast output leaves behind is collected earlier.
  for (const flag of ["--optimize-for-size", "--semi-space-growth-factor=1"]) setFlagsFromString(flag);
  const stop = new Stop();
  const signals = new Signals(stop);
  try {
    // Where nothing is, there is nothing to resume either.
    const ledger = await whenThere(openLedger(file, { create: command.length > 0 }));
    try {
      line.exitCode = await runIn(ledger, { terminal, env, command, options, stop, signals });
    } finally {
      // The command has run, whatever the store says now.
      await ledger
        .close()
        .catch((error: unknown) => terminal.say(`note: the ledger could not be closed: ${String(error)}`));
    }
  } finally {
    signals.close();
  }
}

interface Wish {
  readonly terminal: Terminal;
  readonly env: CommandLine["env"];
  readonly command: readonly string[];
  readonly options: ExecOptions;
  readonly stop: Stop;
  readonly signals: Signals;
}

async function runIn(ledger: Ledger, wish: Wish): Promise<number> {
  const { terminal, env, stop, signals, options } = wish;
  const table = openProcessTable();
  if (table === null)
    await terminal.say(
      "note: this system does not say when a process was started; a run that is left cannot be resumed here",
    );
  const early = stop.why();
  if (early?.type === "drained") return exitCodeOfSignal(early.signal);
  const { run: owned, claim } = await begin(ledger, wish, table);
  try {
    const record = new RunRecord(ledger, owned, claim);
    const { stdout, stderr } = terminal.streams;
    const outlets = { stdout: new Outlet(stdout), stderr: new Outlet(stderr) };
    const worked = await work({ run: owned, record, stop, signals, table, env, outlets });
    // What is said now begins a line of its own.
    const { stdout: output, stderr: errors } = outlets;
    if (errors.isInLine || (output.isInLine && output.isSameAs(errors))) await terminal.say("");
    // All is on record, and what is left to say may find no reader either: the next signal ends the process.
    if (outlets.stdout.isStuck || outlets.stderr.isStuck) signals.close();
    for (const [name, outlet] of Object.entries(outlets))
      if (outlet.failure !== null) await terminal.say(`note: ${name} could not be passed on: ${outlet.failure}`);
    await summarise(terminal, options, owned.runId, worked, record.head);
    return worked.exitCode;
  } finally {
    claim.stop();
  }
}

/** A run that is ours: a new one, or one that was left. */
async function begin(ledger: Ledger, wish: Wish, table: ProcessTable | null): Promise<TakenOver> {
  const { terminal, options, stop } = wish;
  const { run: name, retries, lease: leaseMs } = options;
  const command = wish.command.length === 0 ? null : wish.command;
  if (options.resume === true) {
    const resume = (runId: string) => takeOver(ledger, runId, { command, retries, leaseMs }, { stop, table });
    if (name === undefined) {
      const found = await findAbandoned(ledger, command);
      const left = await resumeFirst(
        terminal,
        command === null ? found : await ofThisHost(terminal, found, table),
        resume,
      );
      if (left !== null) return left;
    } else if ((await ledger.runs.get(name)) !== null) return resume(name);
    if (command === null) throw nothingToResume(name);
  }
  const plan = {
    command: command ?? [],
    cwd: process.cwd(),
    retries: retries ?? 0,
    leaseMs: leaseMs ?? leaseMsDefault,
  };
  const created = await createRun(ledger, plan, name).catch((error: unknown) => {
    throw error instanceof LedgerError && error.code === "ALREADY_EXISTS" ? inUse(error) : error;
  });
  return { run: created, claim: new HeldClaim(ledger, created, watchOf(stop)) };
}

/** A line that several machines have starts a run of its own on each: what one that is down left waits for that one alone. */
async function ofThisHost(
  terminal: Terminal,
  found: readonly Abandoned[],
  table: ProcessTable | null,
): Promise<readonly Abandoned[]> {
  const here: Abandoned[] = [];
  for (const run of found)
    if (run.host === null || table === null || run.host === table.host) here.push(run);
    else await terminal.say(`note: ${run.runId} was left on ${run.host}, and can be resumed there alone`);
  return here;
}

/** The first that can be taken over; null when there is none at all. One that cannot must not stand before the others. */
async function resumeFirst(
  terminal: Terminal,
  found: readonly Abandoned[],
  resume: (runId: string) => Promise<TakenOver>,
): Promise<TakenOver | null> {
  let refused: LedgerError | null = null;
  for (const { runId } of found) {
    try {
      return await resume(runId);
    } catch (error) {
      if (!(error instanceof LedgerError) || !passingCodes.has(error.code)) throw error;
      if (refused !== null) await terminal.say(`note: ${refused.message}`);
      refused = error;
    }
  }
  if (refused !== null) throw refused;
  return null;
}

/** Refusals of one run, which say nothing of the next: not to be had now, or just ended by somebody else. */
const passingCodes: ReadonlySet<string> = new Set(["NOT_READY", "ILLEGAL_TRANSITION"]);

function nothingToResume(name: string | undefined): LedgerError {
  return new LedgerError(
    "NOT_FOUND",
    name === undefined
      ? "there must be a run of exec that nobody owns to resume, found none"
      : `${name} must be a run to be resumed, found none of this id`,
    { hint: "with a command behind --, --resume starts one" },
  );
}

function inUse(error: LedgerError): LedgerError {
  return new LedgerError(error.code, error.message, {
    details: error.details,
    hint: "--resume goes on with a run that was left; a new run needs a new --run, or none",
    cause: error,
  });
}

async function summarise(
  terminal: Terminal,
  options: ExecOptions,
  runId: string,
  { status, exit, attempts, received, recorded, notes, exitCode }: Worked,
  head: Head | null,
): Promise<void> {
  for (const note of notes) await terminal.say(`runledger: ${note}`);
  if (options.json === true) {
    const said = { run: runId, status, attempts, exit, exitCode, received, recorded, head, notes };
    await terminal.say(escapeJson(JSON.stringify(said)));
    return;
  }
  const tried = attempts.map(
    ({ attemptId, exit: each }) => `${attemptId} ${each === null ? "not run" : sayExit(each)}`,
  );
  const isWhole = received.lines === recorded.lines && received.bytes === recorded.bytes;
  const output = `${counted(received.lines, "line")}, ${counted(received.bytes, "byte")} received`;
  const kept = isWhole
    ? "all recorded"
    : `${counted(recorded.lines, "line")}, ${counted(recorded.bytes, "byte")} recorded`;
  const where = head === null ? "" : `; head #${head.position} ${head.id.slice(0, 12)}`;
  const how = status === "drained" ? "left to be resumed" : status;
  await terminal.say(
    `runledger: ${runId} ${how}${tried.length === 0 ? "" : ` (${tried.join(", ")})`}; ${output}, ${kept}${where}`,
  );
}
