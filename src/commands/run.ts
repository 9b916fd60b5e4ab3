/** Runs: what may happen to them. Whoever writes to one holds its claim, or says which revision of it was seen (`writerOf`);
 *  a run that ends takes its queue item with it.
 *  Source: design section 8, decisions 15.12, 15.18, 15.20, 0026; rows U-01 to U-11, L-01 to L-04. */
import { isLive } from "../kernel/claim.js";
import type { ContentValue } from "../journal/content.js";
import { queueStream } from "../journal/events/queue.js";
import type { QueueClosed } from "../journal/events/queue.js";
import { runStream } from "../journal/events/run.js";
import type { RunCancelRequested, RunResumePrepared } from "../journal/events/run.js";
import type { AttemptCancelled } from "../journal/events/attempt.js";
import { sameExit } from "../journal/exit.js";
import { sessionStream } from "../journal/events/session.js";
import type { SessionFinished } from "../journal/events/session.js";
import type { FoundDocuments, QueryRead } from "../../projections/define-projection.js";
import { definitions } from "../../projections/definition.js";
import type { Definition } from "../../projections/definition.js";
import { queue } from "../../projections/queue.js";
import type { QueueItem } from "../../projections/queue.js";
import { isFinal, runs } from "../../projections/run.js";
import type { Run, RunStatus } from "../../projections/run.js";
import { sessionCaptures } from "../../projections/session-capture.js";
import type { SessionCapture } from "../../projections/session-capture.js";
import { accept, refuse } from "./answer.js";
import type { CommandAnswer, CommandEvent, Refused } from "./answer.js";
import type { CommandContext } from "./context.js";
import { defineCommand } from "./define-command.js";
import type { CommandMaker } from "./define-command.js";
import { refuseName } from "./definition.js";
import { requireHolder, writerOf } from "./guard.js";
import { contentSalt } from "./read.js";
import type { FoundContent } from "./read.js";
import {
  parseCreateRun,
  parseFinishRun,
  parsePrepareResume,
  parseRequestRunCancel,
  parseStartRun,
} from "./run-input.js";
import type {
  CreateRunInput,
  CreateRunParsed,
  FinishRunInput,
  FinishRunParsed,
  RequestRunCancelInput,
  RunWriteInput,
} from "./run-input.js";

interface RunAndItem {
  readonly run: Run | null;
  readonly item: QueueItem | null;
}

interface RunAndCaptures extends RunAndItem {
  /** Those that are recording. */
  readonly captures: FoundDocuments<SessionCapture>;
}

/** Captures that one command ends; what is beyond them goes on recording until the next one. */
const capturesMax = 1_000;

type Maker<Given, Result, Found, Input = Given> = CommandMaker<Given, Input, CommandAnswer<Result>, Found>;

/** Where a write leaves a run. @public */
export interface RunWritten {
  readonly runId: string;
  readonly status: RunStatus;
  /** That of the run: what the next write expects. */
  readonly revision: number;
}

/** What whoever took a run over found open, and closed. @public */
export interface ResumePrepared extends RunWritten {
  /** The attempt that was abandoned; null: none was open. */
  readonly attempt: string | null;
  /** How many captures were still recording. */
  readonly captures: number;
}

/** Makes a run that has not begun. */
export const create: Maker<
  CreateRunInput,
  RunWritten,
  RunAndItem & { readonly registered: Definition | null },
  CreateRunParsed
> = defineCommand("run.create", {
  parse: parseCreateRun,
  reads: [
    ({ runId, definition }) => ({
      run: runs.get(runId),
      item: queue.get(runId),
      registered: definitions.get(definition?.digest),
    }),
  ],
  decide({ run, item, registered }, { runId, definition, title, input, parent }, context) {
    if (run !== null)
      return refuse(
        "ALREADY_EXISTS",
        { runId, status: run.status },
        { message: `${runId} must be the id of no run, found one that is ${run.status}` },
      );
    const refused = requireHolder(runId, item, context);
    if (refused !== null) return refused;
    if (definition !== undefined) {
      if (registered === null) return unknownDefinition(definition.digest);
      const other = refuseName(registered, definition.name);
      if (other !== null) return other;
    }
    const data = { definition: definition ?? null, title, input, parent };
    return accept([on(runId, "run.created", data)], { runId, status: "queued", revision: 1 });
  },
});

/** Begins a run. */
export const start: Maker<RunWriteInput, RunWritten, RunAndItem> = defineCommand("run.start", {
  parse: parseStartRun,
  reads: [({ runId }) => ({ run: runs.get(runId), item: queue.get(runId) })],
  decide({ run, item }, { runId, expectedRevision }, context) {
    if (run === null) return unknownRun(runId);
    const refused = writerOf({ runId, item, revision: run.revision, expectedRevision }, context);
    if (refused !== null) return refused;
    if (run.status !== "queued") return illegal(run, "queued to be started");
    return accept([on(runId, "run.started", {})], { runId, status: "running", revision: run.revision + 1 });
  },
});

/** For whoever took a run over: closes what its last holder left open, so that the run goes on with a new attempt. */
export const prepareResume: Maker<RunWriteInput, ResumePrepared, RunAndCaptures> = defineCommand("run.prepareResume", {
  areas: ["run", "attempt", "session"],
  parse: parsePrepareResume,
  reads: [({ runId }) => ({ run: runs.get(runId), item: queue.get(runId), captures: recordingOf(runId) })],
  decide({ run, item, captures }, { runId, expectedRevision }, context) {
    if (run === null) return unknownRun(runId);
    const refused = writerOf({ runId, item, revision: run.revision, expectedRevision }, context);
    if (refused !== null) return refused;
    if (run.status !== "running" && run.status !== "waiting") return illegal(run, "running or waiting to be resumed");
    const failed = failCaptures(captures, "its holder went away");
    const prepared: RunResumePrepared = { attempt: run.attempt, captures: failed.length };
    const events = [...failed, ...endAttempt(run, "abandoned"), on(runId, "run.resumePrepared", prepared)];
    return accept(events, { runId, status: run.status, revision: revisionBehind(run, events), ...prepared });
  },
});

/** Asks that a run be ended: its holder hears of it when it renews; one that nobody owns is ended. Needs no fence. */
export const requestCancel: Maker<RequestRunCancelInput, RunWritten, RunAndCaptures> = defineCommand(
  "run.requestCancel",
  {
    areas: ["run", "attempt", "session", "queue"],
    parse: parseRequestRunCancel,
    reads: [({ runId }) => ({ run: runs.get(runId), item: queue.get(runId), captures: recordingOf(runId) })],
    decide({ run, item, captures }, { runId, reason }, context) {
      if (run === null) return unknownRun(runId);
      if (isFinal(run.status)) return accept([], written(run, run.status, []));
      const requested: RunCancelRequested = { reason };
      if (item !== null && isLive(item.claim, context.at)) {
        if (run.cancel !== null) return accept([], written(run, run.status, []));
        const asked = item.cancel === null ? [onQueue(runId, "queue.cancelRequested", requested)] : [];
        const events = [on(runId, "run.cancelRequested", requested), ...asked];
        return accept(events, written(run, run.status, events));
      }
      const ended = end({ run, item }, { status: "cancelled", reason }, context);
      const events = [...failCaptures(captures, reason), ...ended];
      return accept(events, written(run, "cancelled", events));
    },
  },
);

/** Ends a run for good, and its queue item with it. Said again, it writes nothing. */
export const finish: Maker<
  FinishRunInput,
  RunWritten,
  RunAndItem & { readonly salt: FoundContent | null },
  FinishRunParsed
> = defineCommand("run.finish", {
  areas: ["run", "attempt", "queue"],
  parse: parseFinishRun,
  reads: [
    ({ runId }) => ({ run: runs.get(runId), item: queue.get(runId) }),
    (_, { run }) => ({ salt: contentSalt(run?.error) }),
  ],
  decide({ run, item }, { runId, expectedRevision, ...said }, context) {
    if (run === null) return unknownRun(runId);
    if (isFinal(run.status))
      return saysTheSame(run, said, context)
        ? accept([], written(run, run.status, []))
        : illegal(run, "open to be ended");
    const refused = writerOf({ runId, item, revision: run.revision, expectedRevision }, context);
    if (refused !== null) return refused;
    if (said.status === "completed") {
      if (run.status === "queued") return illegal(run, "started to be completed");
      if (run.attempt !== null) return attemptOpen(run, "no open attempt to be completed");
    }
    const events = end({ run, item }, said, context);
    return accept(events, written(run, said.status, events));
  },
});

/** What `runCommands` has. @public */
export interface RunCommands {
  readonly create: typeof create;
  readonly start: typeof start;
  readonly prepareResume: typeof prepareResume;
  readonly requestCancel: typeof requestCancel;
  readonly finish: typeof finish;
}

/** The commands of runs. @public */
export const runCommands: RunCommands = { create, start, prepareResume, requestCancel, finish };

/** There is no such run. */
export function unknownRun(runId: string): Refused {
  return refuse("NOT_FOUND", { runId }, { message: `${JSON.stringify(runId)} must be a run, found none of this id` });
}

/** The run does not stand as it must. */
export function illegal({ runId, status }: Run, expected: string): Refused {
  return refuse(
    "ILLEGAL_TRANSITION",
    { runId, status },
    { message: `${runId} must be ${expected}, found it ${status}` },
  );
}

/** The run has an open attempt, and must not have one. */
export function attemptOpen({ runId, status, attempt }: Run, expected: string): Refused {
  return refuse(
    "ILLEGAL_TRANSITION",
    { runId, status, attempt },
    { message: `${runId} must have ${expected}, found attempt ${attempt}` },
  );
}

/** How a run ends, as it is said. */
type RunEnd = Pick<FinishRunParsed, "status" | "reason"> & Partial<Pick<FinishRunParsed, "exit" | "error">>;

/** The events that end a run: its attempt, the run, its item. */
function end(
  { run, item }: { run: Run; item: QueueItem | null },
  said: RunEnd,
  { at }: CommandContext,
): CommandEvent[] {
  const { runId } = run;
  const { status, reason } = said;
  return [
    ...endAttempt(run, reason ?? `the run ended: ${status}`),
    on(runId, "run.finished", said),
    ...endItem(runId, item, at, reason),
  ];
}

/** Whoever ends a run under its claim ends the claim; where nobody has one, the item is closed. */
function endItem(runId: string, item: QueueItem | null, at: number, reason: string | undefined): CommandEvent[] {
  if (item === null || item.status === "released" || item.status === "done") return [];
  if (isLive(item.claim, at)) return [onQueue(runId, "queue.completed", {})];
  const closed: QueueClosed = { ...(reason !== undefined && { reason }) };
  return [onQueue(runId, "queue.closed", closed)];
}

function recordingOf(runId: string): QueryRead<SessionCapture> {
  return sessionCaptures.find({ index: "recording", prefix: [runId], limit: capturesMax });
}

/** Nobody will record any more. */
function failCaptures({ documents }: FoundDocuments<SessionCapture>, message: string): CommandEvent[] {
  const failed: SessionFinished = { status: "failed", failure: { code: "host_interrupted", message } };
  return documents.map(({ document: { runId, attemptId } }) => ({
    stream: sessionStream(runId, attemptId),
    type: "session.finished",
    data: failed,
  }));
}

function endAttempt({ runId, attempt }: Run, reason: string): CommandEvent[] {
  if (attempt === null) return [];
  const cancelled: AttemptCancelled = { attemptId: attempt, reason };
  return [on(runId, "attempt.cancelled", cancelled)];
}

/** Is it over in just this way? */
function saysTheSame(run: Run, { status, exit, reason, error }: RunEnd, context: CommandContext): boolean {
  if (run.status !== status || run.reason !== (reason ?? null) || !sameExit(run.exit, exit ?? null)) return false;
  return sameError(run.error, error, context);
}

/** Is it the same error, or none both times? */
export function sameError(recorded: Run["error"], said: ContentValue | undefined, context: CommandContext): boolean {
  if (recorded === null || said === undefined) return recorded === null && said === undefined;
  return context.sameContent(recorded, said);
}

function written(run: Run, status: RunStatus, events: readonly CommandEvent[]): RunWritten {
  return { runId: run.runId, status, revision: revisionBehind(run, events) };
}

function revisionBehind({ runId, revision }: Run, events: readonly CommandEvent[]): number {
  return revision + events.filter(({ stream }) => stream === runStream(runId)).length;
}

function unknownDefinition(digest: string): Refused {
  return refuse(
    "NOT_FOUND",
    { digest },
    { message: `definition ${digest} must be registered before a run follows it, found none` },
  );
}

function on(runId: string, type: string, data: object): CommandEvent {
  return { stream: runStream(runId), type, data };
}

function onQueue(runId: string, type: string, data: object): CommandEvent {
  return { stream: queueStream(runId), type, data };
}
