/** One attempt: the command behind its gate, on record, let run, its output captured, its end waited for.
 *  Invariants: the command does not run before its process is on record, and not at all when something asked for its end by
 *  then (row H-07); when this returns because something asked for the end, its group is gone. */
import { setTimeout as sleep } from "node:timers/promises";
import { LedgerError } from "../../index.js";
import { Capture } from "./capture.js";
import type { Counted } from "./capture.js";
import type { OwnedRun } from "./exec-run.js";
import { startGated } from "./gate.js";
import type { GatedCommand } from "./gate.js";
import type { Outlet } from "./outlet.js";
import { endGroup, signalGroup, signalMembers } from "./process-group.js";
import type { GroupEnd } from "./process-group.js";
import { identifyProcess } from "./process-identity.js";
import type { ProcessIdentity } from "./process-identity.js";
import type { ProcessTable } from "./process-table.js";
import type { Env } from "./program-path.js";
import type { AttemptEnd, CaptureEnd, RunRecord } from "./run-record.js";
import type { Signals } from "./signals.js";
import type { Stop, StopReason } from "./stop.js";

/** What the attempts of a run share. */
export interface Surroundings {
  readonly run: OwnedRun;
  readonly record: RunRecord;
  readonly stop: Stop;
  readonly signals: Signals;
  /** Null where processes cannot be told from each other. */
  readonly table: ProcessTable | null;
  readonly env: Env;
  readonly outlets: { readonly stdout: Outlet; readonly stderr: Outlet };
}

/** How long a reader that takes nothing is waited for once the command is to end. */
const readerMs = 2_000;

export interface AttemptRun extends AttemptEnd {
  /** Why it was ended, if it did not end by itself. */
  readonly stopped: StopReason | null;
  readonly received: Counted;
  readonly recorded: Counted;
  /** Why not all of it was recorded. */
  readonly captureFailure: Error | null;
  /** Ends what the command left behind, for it to be tried again. `NOT_READY`: that cannot be ended. */
  endRest(): Promise<void>;
}

/** Runs the program at `path` once. What it throws was thrown before the command ran. */
export async function runAttempt(path: string, around: Surroundings): Promise<AttemptRun> {
  const { run, record, stop, signals, table, env, outlets } = around;
  const command = await startGated({ path, command: run.command, cwd: run.cwd, env });
  const identity = table === null ? null : identifyProcess(command.pid, table);
  let attemptId = "";
  try {
    if (stop.why() === null) attemptId = await record.startAttempt(identity);
  } catch (error) {
    await leave(command);
    throw error;
  }
  const capture = new Capture((from, records) => record.append(attemptId, from, records));
  const counts = () => ({ received: capture.received, recorded: capture.recorded, captureFailure: capture.failure });
  const endRest = async () => {
    if (identity !== null) requireGone(await endGroup(identity, table));
  };
  if (stop.why() !== null) {
    await leave(command);
    return { attemptId, exit: null, durationMs: 0, capture: endOf(null), stopped: stop.why(), ...counts(), endRest };
  }
  signals.passTo({ pid: command.pid, kill: () => killCommand(command, identity, table) });
  capture.read("stdout", command.stdout, outlets.stdout);
  capture.read("stderr", command.stderr, outlets.stderr);
  const since = performance.now();
  command.open();
  const gone = stop.asked.then(() => endCommand(command, identity, table));
  void stop.asked.then(() => Object.values(outlets).forEach((outlet) => outlet.hurry(readerMs)));
  // What it throws is thrown where it is awaited; until then it is not unheard.
  gone.catch(() => {});
  const exit = await command.ended;
  const durationMs = Math.round(performance.now() - since);
  const stopped = stop.why();
  const open = await capture.finish();
  if (stop.why() !== null) await gone.then(requireGone);
  signals.passTo(null);
  return { attemptId, exit, durationMs, capture: endOf(capture.failure, open), stopped, ...counts(), endRest };
}

/** The command will not run. */
async function leave(command: GatedCommand): Promise<void> {
  command.close();
  await command.ended;
  command.stdout.destroy();
  command.stderr.destroy();
}

function endOf(failure: Error | null, open = false): CaptureEnd {
  if (failure === null) return { status: "complete", ...(open && { open }) };
  const code = failure instanceof LedgerError ? failure.code : "OUTPUT_FAILED";
  return { status: "failed", failure: { code, message: failure.message.slice(0, 200).toWellFormed() } };
}

async function endCommand(
  command: GatedCommand,
  identity: ProcessIdentity | null,
  table: ProcessTable | null,
): Promise<GroupEnd> {
  if (identity !== null) return endGroup(identity, table);
  // It is our own child, so that its number is its own until we have heard of its end.
  let isOver = false;
  void command.ended.then(() => (isOver = true));
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    if (isOver) break;
    signalGroup(command.pid, signal);
    await Promise.race([command.ended, sleep(5_000)]);
  }
  return isOver ? { type: "gone" } : { type: "cannot", reason: `process ${command.pid} does not end` };
}

function killCommand({ pid }: GatedCommand, identity: ProcessIdentity | null, table: ProcessTable | null): void {
  if (identity !== null && table !== null) signalMembers(identity, table, "SIGKILL");
  else signalGroup(pid, "SIGKILL");
}

/** What is still there must not be forgotten: the attempt stays open, and whoever comes next looks for it. */
function requireGone(end: GroupEnd): void {
  if (end.type !== "cannot") return;
  throw new LedgerError("NOT_READY", `the command must be gone, found that it cannot be ended: ${end.reason}`, {
    hint: "end it by hand, then `runledger exec --resume`",
  });
}
