/** Captures: one document for what a run, or one of its attempts, had to say while it ran. The records themselves are read
 *  from its stream. Source: design section 14, decisions 15.5, 15.8, 0026; rows SB-01 to SB-19. */
import type {
  CaptureFailure,
  SessionBound,
  SessionEventsAppended,
  SessionFinished,
} from "../src/journal/events/session.js";
import { captureKey, sessionKind } from "../src/journal/events/session.js";
import { defineProjection } from "./define-projection.js";
import type { Projection } from "./define-projection.js";

/** Where a capture stands. @public */
export type CaptureStatus = "recording" | "complete" | "failed";

/** A capture. Times are engine time, ms since the epoch. @public */
export interface SessionCapture {
  runId: string;
  /** Empty: the run's own. */
  attemptId: string;
  status: CaptureStatus;
  /** How many records it has; the number of the last of them. */
  events: number;
  /** What they hold, all together, as it was given: equal contents are stored once. */
  bytes: number;
  startedAt: number;
  /** Null while it records. */
  finishedAt: number | null;
  /** Why it is not complete. */
  failure: CaptureFailure | null;
  /** Something held the output open when it ended. */
  open: boolean;
  /** That of its stream. */
  revision: number;
}

/** What its events say. */
interface SessionEventData {
  "session.bound": SessionBound;
  "session.eventsAppended": SessionEventsAppended;
  "session.finished": SessionFinished;
}

/** Captures by `<run id>` for the run's own, and by `<run id>/<attempt>`. @public */
export const sessionCaptures: Projection<SessionCapture> = defineProjection<SessionCapture, SessionEventData>()({
  name: "session-capture",
  version: 1,
  indexes: {
    run: ({ runId, startedAt }) => [runId, startedAt],
    recording: ({ runId, status }) => (status === "recording" ? [runId] : null),
  },
  on: {
    "session.bound": {
      key: ({ data: { runId, attemptId } }) => captureKey(runId, attemptId),
      apply: (_, { data: { runId, attemptId }, at, revision }) => ({
        runId,
        attemptId,
        status: "recording",
        events: 0,
        bytes: 0,
        startedAt: at,
        finishedAt: null,
        failure: null,
        open: false,
        revision,
      }),
    },
    "session.eventsAppended": {
      key: keyOf,
      apply(capture, { data: { records }, revision }) {
        const there = present(capture);
        there.events += records.length;
        for (const { payload } of records) there.bytes += payload.bytes;
        there.revision = revision;
      },
    },
    "session.finished": {
      key: keyOf,
      apply(capture, { data: { status, failure = null, open = false }, at, revision }) {
        const there = present(capture);
        there.status = status;
        there.finishedAt = at;
        there.failure = failure;
        there.open = open;
        there.revision = revision;
      },
    },
  },
});

function keyOf({ stream }: { readonly stream: string }): string {
  return stream.slice(sessionKind.length + 1);
}

function present(capture: SessionCapture | undefined): SessionCapture {
  if (capture === undefined) throw new Error("an event of a capture comes behind the one that bound it");
  return capture;
}
