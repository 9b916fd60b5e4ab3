/** Attempts: one document for each time that somebody worked on a node of a run.
 *  Source: decisions 15.16, 0026; rows P-01, P-05, P-06; case G13. */
import type { ContentReference } from "../src/journal/content.js";
import { attemptArea } from "../src/journal/events/attempt.js";
import type {
  AttemptCancelled,
  AttemptFinished,
  AttemptOutcome,
  AttemptStarted,
  ProcessIdentity,
} from "../src/journal/events/attempt.js";
import { queueStream } from "../src/journal/events/queue.js";
import { runOfStream } from "../src/journal/events/run.js";
import type { Exit } from "../src/journal/exit.js";
import { defineProjection } from "./define-projection.js";
import type { Projection } from "./define-projection.js";
import type { ProjectionEvent } from "./event.js";

/** Where an attempt stands; the first four are open, and a run has at most one of those. @public */
export type AttemptStatus = "pending" | "running" | "waiting" | "interrupted" | AttemptOutcome | "cancelled";

/** An attempt. Times are engine time, ms since the epoch, but for those that are `reported`. @public */
export interface Attempt {
  runId: string;
  /** `<node>.<number>`. */
  attemptId: string;
  node: string;
  /** Which one of this node, from 1. */
  number: number;
  status: AttemptStatus;
  /** The revision of the run with which it started: attempts are in that order, and not in that of any clock. */
  startedRevision: number;
  /** That of the claim under which it was started; null: of none. */
  generation: number | null;
  process: ProcessIdentity | null;
  startedAt: number;
  finishedAt: number | null;
  /** As its caller measured it, or the difference of the engine times; never below zero. */
  durationMs: number | null;
  /** By a caller's own clock: shown, and never compared. */
  reportedStartedAt: number | null;
  reportedFinishedAt: number | null;
  exit: Exit | null;
  /** Why it was cancelled. */
  reason: string | null;
  error: ContentReference | null;
}

/** What its events say. */
interface AttemptEventData {
  "attempt.started": AttemptStarted;
  "attempt.finished": AttemptFinished;
  "attempt.cancelled": AttemptCancelled;
}

/** The attempts by `<run id>/<attempt id>`. @public */
export const attempts: Projection<Attempt> = defineProjection<Attempt, AttemptEventData>()({
  name: attemptArea,
  version: 1,
  indexes: {
    run: ({ runId, startedRevision }) => [runId, startedRevision],
    node: ({ runId, node, number }) => [runId, node, number],
  },
  on: {
    "attempt.started": {
      key: keyOf,
      apply(_, { stream, revision, data: { attemptId, node, number, process = null }, at, fence }) {
        const runId = runOfStream(stream);
        return {
          runId,
          attemptId,
          node,
          number,
          status: "running",
          startedRevision: revision,
          generation: fence?.[0] === queueStream(runId) ? fence[2] : null,
          process,
          startedAt: at,
          finishedAt: null,
          durationMs: null,
          reportedStartedAt: null,
          reportedFinishedAt: null,
          exit: null,
          reason: null,
          error: null,
        };
      },
    },
    "attempt.finished": {
      key: keyOf,
      apply(before, { data, at }) {
        const attempt = close(before, data.outcome, at);
        attempt.durationMs = data.durationMs ?? attempt.durationMs;
        attempt.reportedStartedAt = data.reportedStartedAt ?? null;
        attempt.reportedFinishedAt = data.reportedFinishedAt ?? null;
        attempt.exit = data.exit ?? null;
        attempt.error = data.error ?? null;
      },
    },
    "attempt.cancelled": {
      key: keyOf,
      apply(before, { data: { reason, exit = null }, at }) {
        const attempt = close(before, "cancelled", at);
        attempt.reason = reason;
        attempt.exit = exit;
      },
    },
  },
});

const openStatuses: ReadonlySet<AttemptStatus> = new Set<AttemptStatus>([
  "pending",
  "running",
  "waiting",
  "interrupted",
]);

/** May it still come to its end? */
export function isOpen({ status }: Attempt): boolean {
  return openStatuses.has(status);
}

/** The key of an attempt of a run; a run id has no slash. */
export function attemptKey(runId: string, attemptId: string): string {
  return `${runId}/${attemptId}`;
}

function close(attempt: Attempt | undefined, status: AttemptStatus, at: number): Attempt {
  if (attempt === undefined) throw new Error("an event of an attempt comes behind the one that started it");
  attempt.status = status;
  attempt.finishedAt = at;
  attempt.durationMs = Math.max(0, at - attempt.startedAt);
  return attempt;
}

function keyOf({ stream, data: { attemptId } }: ProjectionEvent<{ readonly attemptId: string }>): string {
  return attemptKey(runOfStream(stream), attemptId);
}
