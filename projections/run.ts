/** Runs: one document each, however long it was worked on. Events of its attempts stand on its stream and are folded here
 *  too: the revision is that of both, and the open attempt is named.
 *  Source: design section 8, decisions 15.6, 15.18, 0026; rows U-01 to U-11. */
import type { ContentReference } from "../src/journal/content.js";
import type { AttemptCancelled, AttemptFinished, AttemptStarted } from "../src/journal/events/attempt.js";
import { finalRunStatuses, runKind, runOfStream } from "../src/journal/events/run.js";
import type {
  DefinitionName,
  FinalRunStatus,
  RunCancelRequested,
  RunCreated,
  RunFinished,
  RunResumePrepared,
} from "../src/journal/events/run.js";
import type { Exit } from "../src/journal/exit.js";
import { defineProjection } from "./define-projection.js";
import type { EventHandler, Projection } from "./define-projection.js";
import type { ProjectionEvent } from "./event.js";

/** Where a run stands. `waiting`: for something outside, and nobody works on it. @public */
export type RunStatus = "queued" | "running" | "waiting" | FinalRunStatus;

/** A run. Times are engine time, ms since the epoch. @public */
export interface Run {
  runId: string;
  status: RunStatus;
  /** Of its stream, on which its attempts write too. */
  revision: number;
  definition: DefinitionName | null;
  title: string | null;
  input: ContentReference | null;
  parent: string | null;
  createdAt: number;
  updatedAt: number;
  startedAt: number | null;
  finishedAt: number | null;
  exit: Exit | null;
  /** Why it ended so. */
  reason: string | null;
  error: ContentReference | null;
  /** Somebody asks that it be ended. */
  cancel: { at: number; reason: string } | null;
  /** The one that is open. */
  attempt: string | null;
  /** How many there were, the open one included. */
  attempts: number;
  /** How often somebody took it over and went on. */
  resumes: number;
}

/** What its events say. */
export interface RunEventData {
  "run.created": RunCreated;
  "run.started": object;
  "run.cancelRequested": RunCancelRequested;
  "run.resumePrepared": RunResumePrepared;
  "run.finished": RunFinished;
  "attempt.started": AttemptStarted;
  "attempt.finished": AttemptFinished;
  "attempt.cancelled": AttemptCancelled;
}

/** The runs by their ids. @public */
export const runs: Projection<Run> = defineProjection<Run, RunEventData>()({
  name: runKind,
  version: 1,
  indexes: {
    created: ({ createdAt }) => [createdAt],
    status: ({ status, createdAt }) => [status, createdAt],
  },
  on: {
    "run.created": {
      key: keyOf,
      apply: (_, { stream, revision, data, at }) => ({
        runId: runOfStream(stream),
        status: "queued",
        revision,
        definition: data.definition,
        title: data.title ?? null,
        input: data.input ?? null,
        parent: data.parent ?? null,
        createdAt: at,
        updatedAt: at,
        startedAt: null,
        finishedAt: null,
        exit: null,
        reason: null,
        error: null,
        cancel: null,
        attempt: null,
        attempts: 0,
        resumes: 0,
      }),
    },
    "run.started": changed((run, { at }) => {
      run.status = "running";
      run.startedAt = at;
    }),
    "run.cancelRequested": changed((run, { at, data: { reason } }) => {
      run.cancel = { at, reason };
    }),
    "run.resumePrepared": changed((run) => {
      run.resumes++;
    }),
    "run.finished": changed((run, { at, data: { status, exit = null, reason = null, error = null } }) => {
      run.status = status;
      run.finishedAt = at;
      run.exit = exit;
      run.reason = reason;
      run.error = error;
    }),
    "attempt.started": changed((run, { data: { attemptId } }) => {
      run.attempt = attemptId;
      run.attempts++;
    }),
    "attempt.finished": changed(closeAttempt),
    "attempt.cancelled": changed(closeAttempt),
  },
});

/** Where a run can stand, in the order in which lists show it. */
export const runStatuses: readonly RunStatus[] = ["queued", "running", "waiting", ...finalRunStatuses];

/** Is it over? */
export function isFinal(status: RunStatus): status is FinalRunStatus {
  return status !== "queued" && status !== "running" && status !== "waiting";
}

function closeAttempt(run: Run, { data: { attemptId } }: ProjectionEvent<{ readonly attemptId: string }>): void {
  if (run.attempt === attemptId) run.attempt = null;
}

/** An event of a run that is there. */
function changed<Data extends object>(
  change: (run: Run, event: ProjectionEvent<Data>) => void,
): EventHandler<Run, Data> {
  return {
    key: keyOf,
    apply(run, event) {
      if (run === undefined) throw new Error("an event of a run comes behind the one that created it");
      change(run, event);
      run.revision = event.revision;
      run.updatedAt = event.at;
    },
  };
}

function keyOf({ stream }: { readonly stream: string }): string {
  return runOfStream(stream);
}
