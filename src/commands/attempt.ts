/** Attempts: what may happen to them. At most one of a run is open; its name follows from the journal.
 *  Source: decisions 15.12, 15.16, 0026; rows P-01, P-05, P-06. */
import type { AttemptCancelled, AttemptStarted } from "../journal/events/attempt.js";
import { runStream } from "../journal/events/run.js";
import { sameExit } from "../journal/exit.js";
import { attemptKey, attempts, isOpen } from "../../projections/attempt.js";
import type { Attempt, AttemptStatus } from "../../projections/attempt.js";
import type { FoundDocuments } from "../../projections/define-projection.js";
import { queue } from "../../projections/queue.js";
import type { QueueItem } from "../../projections/queue.js";
import { runs } from "../../projections/run.js";
import type { Run } from "../../projections/run.js";
import { accept, refuse } from "./answer.js";
import type { CommandAnswer, CommandEvent, Refused } from "./answer.js";
import { parseCancelAttempt, parseFinishAttempt, parseStartAttempt } from "./attempt-input.js";
import type {
  CancelAttemptInput,
  FinishAttemptInput,
  FinishAttemptParsed,
  StartAttemptInput,
} from "./attempt-input.js";
import type { CommandContext } from "./context.js";
import { defineCommand } from "./define-command.js";
import type { CommandMaker } from "./define-command.js";
import { writerOf } from "./guard.js";
import { contentSalt } from "./read.js";
import type { FoundContent } from "./read.js";
import { attemptOpen, illegal, sameError, unknownRun } from "./run.js";

interface OneAttempt {
  readonly run: Run | null;
  readonly item: QueueItem | null;
  readonly attempt: Attempt | null;
}

interface BeforeStart {
  readonly run: Run | null;
  readonly item: QueueItem | null;
  /** The last one of the node. */
  readonly last: FoundDocuments<Attempt>;
  /** The one that is open. */
  readonly open: Attempt | null;
}

type Maker<Given, Result, Found, Input = Given> = CommandMaker<Given, Input, CommandAnswer<Result>, Found>;

/** Where a write leaves an attempt. @public */
export interface AttemptWritten {
  readonly runId: string;
  readonly attemptId: string;
  readonly number: number;
  readonly status: AttemptStatus;
  /** That of the run: what the next write expects. */
  readonly revision: number;
}

/** Begins work on a node: the next attempt of it. One that was interrupted is cancelled. */
export const start: Maker<StartAttemptInput, AttemptWritten, BeforeStart> = defineCommand("attempt.start", {
  parse: parseStartAttempt,
  reads: [
    ({ runId, node }) => ({
      run: runs.get(runId),
      item: queue.get(runId),
      last: attempts.find({ index: "node", prefix: [runId, node], order: "desc", limit: 1 }),
    }),
    ({ runId }, { run }) => ({
      open: attempts.get(run === null || run.attempt === null ? null : attemptKey(runId, run.attempt)),
    }),
  ],
  decide({ run, item, last, open }, { runId, node, process, expectedRevision }, context) {
    if (run === null) return unknownRun(runId);
    const refused = writerOf({ runId, item, revision: run.revision, expectedRevision }, context);
    if (refused !== null) return refused;
    if (run.status !== "running") return illegal(run, "running to be worked on");
    const events: CommandEvent[] = [];
    if (open !== null) {
      if (open.status !== "interrupted") return attemptOpen(run, "no open attempt for another to be started");
      const cancelled: AttemptCancelled = { attemptId: open.attemptId, reason: "another was started" };
      events.push(on(runId, "attempt.cancelled", cancelled));
    }
    const number = (last.documents[0]?.document.number ?? 0) + 1;
    const attemptId = `${node}.${number}`;
    const started: AttemptStarted = { attemptId, node, number, ...(process !== undefined && { process }) };
    events.push(on(runId, "attempt.started", started));
    return accept(events, { runId, attemptId, number, status: "running", revision: run.revision + events.length });
  },
});

/** Ends an attempt as it came to its end. Said again, it writes nothing. */
export const finish: Maker<
  FinishAttemptInput,
  AttemptWritten,
  OneAttempt & { readonly salt: FoundContent | null },
  FinishAttemptParsed
> = defineCommand("attempt.finish", {
  parse: parseFinishAttempt,
  reads: [
    ({ runId, attemptId }) => ({
      run: runs.get(runId),
      item: queue.get(runId),
      attempt: attempts.get(attemptKey(runId, attemptId)),
    }),
    (_, { attempt }) => ({ salt: contentSalt(attempt?.error) }),
  ],
  decide(found, { runId, attemptId, expectedRevision, ...said }, context) {
    return endAttempt(found, { runId, attemptId, expectedRevision }, context, {
      status: said.outcome,
      isSaid: (attempt) => saysTheSame(attempt, said, context),
      event: on(runId, "attempt.finished", { attemptId, ...said }),
    });
  },
});

/** Ends an attempt before it came to its end. Said again, it writes nothing. */
export const cancel: Maker<CancelAttemptInput, AttemptWritten, OneAttempt> = defineCommand("attempt.cancel", {
  parse: parseCancelAttempt,
  reads: [
    ({ runId, attemptId }) => ({
      run: runs.get(runId),
      item: queue.get(runId),
      attempt: attempts.get(attemptKey(runId, attemptId)),
    }),
  ],
  decide(found, { runId, attemptId, reason, exit, expectedRevision }, context) {
    return endAttempt(found, { runId, attemptId, expectedRevision }, context, {
      status: "cancelled",
      isSaid: (attempt) => attempt.reason === reason && sameExit(attempt.exit, exit ?? null),
      event: on(runId, "attempt.cancelled", { attemptId, reason, exit }),
    });
  },
});

/** What `attemptCommands` has. @public */
export interface AttemptCommands {
  readonly start: typeof start;
  readonly finish: typeof finish;
  readonly cancel: typeof cancel;
}

/** The commands of attempts. @public */
export const attemptCommands: AttemptCommands = { start, finish, cancel };

interface AttemptEnd {
  readonly status: AttemptStatus;
  /** Did an attempt of that status end in just this way? */
  readonly isSaid: (attempt: Attempt) => boolean;
  readonly event: CommandEvent;
}

function endAttempt(
  { run, item, attempt }: OneAttempt,
  { runId, attemptId, expectedRevision }: Pick<CancelAttemptInput, "runId" | "attemptId" | "expectedRevision">,
  context: CommandContext,
  { status, isSaid, event }: AttemptEnd,
): CommandAnswer<AttemptWritten> {
  if (run === null) return unknownRun(runId);
  if (attempt === null) return unknownAttempt(runId, attemptId);
  const { number } = attempt;
  if (!isOpen(attempt)) {
    if (attempt.status !== status || !isSaid(attempt)) return attemptClosed(attempt);
    return accept([], { runId, attemptId, number, status, revision: run.revision });
  }
  const refused = writerOf({ runId, item, revision: run.revision, expectedRevision }, context);
  return refused ?? accept([event], { runId, attemptId, number, status, revision: run.revision + 1 });
}

/** Did it end in just this way? What follows from engine time when it is not said is not compared. */
function saysTheSame(
  attempt: Attempt,
  { exit, durationMs, reportedStartedAt, reportedFinishedAt, error }: Omit<FinishAttemptParsed, "runId" | "attemptId">,
  context: CommandContext,
): boolean {
  return (
    sameExit(attempt.exit, exit ?? null) &&
    (durationMs === undefined || attempt.durationMs === durationMs) &&
    attempt.reportedStartedAt === (reportedStartedAt ?? null) &&
    attempt.reportedFinishedAt === (reportedFinishedAt ?? null) &&
    sameError(attempt.error, error, context)
  );
}

function unknownAttempt(runId: string, attemptId: string): Refused {
  return refuse(
    "NOT_FOUND",
    { runId, attemptId },
    { message: `${attemptId} must be an attempt of ${runId}, found none of this id` },
  );
}

function attemptClosed({ runId, attemptId, status }: Attempt): Refused {
  return refuse(
    "ATTEMPT_CLOSED",
    { runId, attemptId, status },
    { message: `${attemptId} of ${runId} must be open, found it ${status}` },
  );
}

function on(runId: string, type: string, data: object): CommandEvent {
  return { stream: runStream(runId), type, data };
}
