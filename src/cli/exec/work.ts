/** The work on a run that is ours: attempt after attempt, until it is done, given back, or taken away. */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { LedgerError } from "../../index.js";
import { exitCodes } from "../exit.js";
import type { Counted } from "./capture.js";
import { exitCodeOfExit, exitCodeOfSignal } from "./exit-code.js";
import type { Exit } from "./exit-code.js";
import { findProgram } from "./program-path.js";
import { runAttempt } from "./run-attempt.js";
import type { AttemptRun, Surroundings } from "./run-attempt.js";
import { isFenced } from "./run-record.js";
import type { Ending } from "./run-record.js";
import type { StopReason } from "./stop.js";

/** So far apart processes hear what all of them are told. */
const toldToAllMs = 250;

/** How it ended for this process. */
export interface Worked {
  readonly status: "completed" | "failed" | "cancelled" | "drained" | "lost" | "unrecorded";
  readonly exitCode: number;
  readonly exit: Exit | null;
  /** The attempts of this process. */
  readonly attempts: readonly { readonly attemptId: string; readonly exit: Exit | null }[];
  readonly received: Counted;
  readonly recorded: Counted;
  /** What whoever started it should know. */
  readonly notes: readonly string[];
}

/** Works on a run until nothing is left to do for this process. */
export async function work(around: Surroundings): Promise<Worked> {
  const tally = new Tally();
  try {
    return await workOn(around, tally);
  } catch (error) {
    // Whatever the refusal was of, from then on nothing was written.
    if (!isFenced(error)) throw error;
    const why = around.stop.why();
    return tally.close("lost", exitCodes.lost, [(why?.type === "lost" ? why.error : error).message]);
  }
}

async function workOn(around: Surroundings, tally: Tally): Promise<Worked> {
  const { run, record, stop, signals } = around;
  for (let failures = run.failures; ; failures++) {
    const before = stop.why();
    if (before !== null) return stopWithout(before, around, tally);
    const started = await startCommand(around);
    if ("sentence" in started) {
      const attemptId = await record.couldNotStart({ code: started.exit }, started.sentence);
      tally.addNeverStarted(attemptId, { code: started.exit });
      return tally.close("failed", started.exit, [started.sentence]);
    }
    tally.add(started);
    const { stopped, exit } = started;
    // Whoever stops a machine tells all of its processes, and the command may have heard of it first.
    if (exit !== null && "signal" in exit && exit.signal === "SIGTERM")
      await Promise.race([stop.asked, sleep(toldToAllMs)]);
    const asked = stop.why();
    if (asked?.type === "lost") return tally.close("lost", exitCodes.lost, [asked.error.message]);
    if (exit === null || started.attemptId === "") return stopBefore(started, around, tally);
    const isLastTry = failures >= run.retries || signals.interrupted;
    const ending = endingOf(exit, stopped, asked, isLastTry);
    const isDrained = ending.type === "drained" && asked?.type === "drained";
    const exitCode = isDrained ? exitCodeOfSignal(asked.signal) : exitCodeOfExit(exit);
    // While the attempt is open: one that cannot be ended is what the next holder looks for.
    if (ending.type === "tryAgain") await started.endRest();
    try {
      await record.end(started, ending);
    } catch (error) {
      if (isFenced(error) || !(error instanceof LedgerError)) throw error;
      // The command has run, and what it said of itself is what counts for whoever started it.
      return tally.close("unrecorded", exitCode, [`the end of the command is not on record: ${error.message}`]);
    }
    if (ending.type !== "tryAgain") return tally.close(ending.type, exitCode, captureNotes(started));
    tally.note(captureNotes(started));
  }
}

/** What becomes of an attempt. `stopped`: why its command was ended, null when it ended by itself; `asked`: what was asked for
 *  until now. What was done by then is done; what failed may have failed because of what was asked for, of which its command may have
 *  heard first: whoever stops a machine tells all of its processes. */
export function endingOf(exit: Exit, stopped: StopReason | null, asked: StopReason | null, isLastTry: boolean): Ending {
  if (stopped === null && "code" in exit && exit.code === 0) return { type: "completed", exit };
  const reason = stopped ?? asked;
  if (reason?.type === "cancelled") return { type: "cancelled", reason: reason.reason };
  if (reason?.type === "drained") return { type: "drained" };
  return { type: isLastTry ? "failed" : "tryAgain", exit };
}

interface CouldNotStart {
  readonly exit: 126 | 127;
  readonly sentence: string;
}

async function startCommand(around: Surroundings): Promise<AttemptRun | CouldNotStart> {
  const { run, env } = around;
  const [name = ""] = run.command;
  const found = findProgram(name, { env, cwd: run.cwd });
  if (found.type === "missing") return found;
  try {
    return await runAttempt(found.path, around);
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === undefined || syscall === undefined || !syscall.startsWith("spawn")) throw error;
    const what = existsSync(run.cwd) ? code : `its working directory ${JSON.stringify(run.cwd)} is not there`;
    return { exit: 126, sentence: `the command ${JSON.stringify(name)} cannot be started: ${what}` };
  }
}

/** Something asked for the end, and there is no command. */
async function stopWithout(reason: StopReason, { record }: Surroundings, tally: Tally): Promise<Worked> {
  if (reason.type === "lost") return tally.close("lost", exitCodes.lost, [reason.error.message]);
  await record.endWithout(reason.type === "drained" ? { type: "drained" } : reason);
  return tally.close(reason.type, codeOfStop(reason), []);
}

/** Something asked for the end before the command ran. */
async function stopBefore(attempt: AttemptRun, around: Surroundings, tally: Tally): Promise<Worked> {
  const reason = attempt.stopped!; // that is why it did not run
  if (attempt.attemptId === "" || reason.type === "lost") return stopWithout(reason, around, tally);
  await around.record.end(attempt, reason.type === "drained" ? { type: "drained" } : reason);
  return tally.close(reason.type, codeOfStop(reason), []);
}

function codeOfStop(reason: Exclude<StopReason, { type: "lost" }>): number {
  return exitCodeOfSignal(reason.type === "drained" ? reason.signal : "SIGTERM");
}

function captureNotes({ attemptId, captureFailure, capture }: AttemptRun): readonly string[] {
  if (captureFailure !== null)
    return [`the output of ${attemptId} is not on record to its end: ${captureFailure.message}`];
  const isOpen = capture.status === "complete" && capture.open === true;
  return isOpen
    ? [`something that ${attemptId} started still has its output open; what it writes is not recorded`]
    : [];
}

/** What this process did, added up. */
class Tally {
  private readonly attempts: { attemptId: string; exit: Exit | null }[] = [];
  private readonly received = { lines: 0, bytes: 0 };
  private readonly recorded = { lines: 0, bytes: 0 };
  private readonly notes: string[] = [];

  add({ attemptId, exit, received, recorded }: AttemptRun): void {
    if (attemptId !== "") this.attempts.push({ attemptId, exit });
    for (const name of ["lines", "bytes"] as const) {
      this.received[name] += received[name];
      this.recorded[name] += recorded[name];
    }
  }

  addNeverStarted(attemptId: string, exit: Exit): void {
    this.attempts.push({ attemptId, exit });
  }

  note(notes: readonly string[]): void {
    this.notes.push(...notes);
  }

  close(status: Worked["status"], exitCode: number, notes: readonly string[]): Worked {
    const { attempts, received, recorded } = this;
    const exit = attempts.at(-1)?.exit ?? null;
    return { status, exitCode, exit, attempts, received, recorded, notes: [...this.notes, ...notes] };
  }
}
