/** What becomes of the attempts of a run, on the run's own stream: `attemptId` says which of them.
 *  Source: design section 8, decisions 15.5, 15.16, 0026; rows P-01, P-05, P-06. */
import { checkMembers, parseInteger } from "../../kernel/members.js";
import { parseAttemptId, parseLabel, parseName, parseReason } from "../../kernel/names.js";
import type { ContentReference } from "../content.js";
import { defineEvents } from "../define-events.js";
import type { EventDefinitions } from "../define-events.js";
import { parseExit } from "../exit.js";
import type { Exit } from "../exit.js";
import { checkTime, factsOf, oneOf } from "../facts.js";
import { runKind } from "./run.js";

export const attemptArea = "attempt";

/** A process, so that whoever takes over can tell whether one of its number is still that one. @public */
export interface ProcessIdentity {
  /** A label of the machine. */
  readonly host: string;
  /** A label of how long the machine has been up: after a restart it is another. */
  readonly boot: string;
  readonly pid: number;
  /** When it started, as the system tells it: a label to compare, not a time to compute with. */
  readonly startedAt: string;
}

/** Work on a node of the run has begun. */
export interface AttemptStarted {
  /** `<node>.<number>`. */
  readonly attemptId: string;
  readonly node: string;
  /** Dense for each node of a run, from 1. */
  readonly number: number;
  readonly process?: ProcessIdentity;
}

/** How an attempt can end by itself. @public */
export type AttemptOutcome = "completed" | "failed" | "timed_out";

/** It came to its end. Times of callers are shown and never compared. */
export interface AttemptFinished {
  readonly attemptId: string;
  readonly outcome: AttemptOutcome;
  readonly exit?: Exit;
  /** By a monotonic clock of who reports it. */
  readonly durationMs?: number;
  /** Ms since the epoch, by the caller's clock. */
  readonly reportedStartedAt?: number;
  readonly reportedFinishedAt?: number;
  readonly error?: ContentReference;
}

/** It was ended before. */
export interface AttemptCancelled {
  readonly attemptId: string;
  readonly reason: string;
  readonly exit?: Exit;
}

export const attemptOutcomes: readonly AttemptOutcome[] = ["completed", "failed", "timed_out"];

/** Closed: written by the commands of attempts and runs alone. */
export const attemptEvents: EventDefinitions = defineEvents(
  attemptArea,
  { open: false, kinds: [runKind] },
  {
    "attempt.started": {
      parse: factsOf(
        "attempt.started",
        {
          attemptId: parseAttemptId,
          node: parseName,
          number: (value, path) => parseInteger(value, path, 1),
        },
        { process: parseProcess },
      ),
    },
    "attempt.finished": {
      content: ["/error"],
      parse: factsOf(
        "attempt.finished",
        { attemptId: parseAttemptId, outcome: oneOf(attemptOutcomes) },
        {
          exit: parseExit,
          durationMs: (value, path) => parseInteger(value, path, 0),
          reportedStartedAt: checkTime,
          reportedFinishedAt: checkTime,
          error: (value) => value,
        },
      ),
    },
    "attempt.cancelled": {
      parse: factsOf("attempt.cancelled", { attemptId: parseAttemptId, reason: parseReason }, { exit: parseExit }),
    },
  },
);

/** Reads the identity of a process. */
export function parseProcess(value: unknown, path: string): ProcessIdentity {
  checkMembers(value, path, ["host", "boot", "pid", "startedAt"]);
  const { host, boot, pid, startedAt } = value as { readonly [name: string]: unknown }; // just seen
  return {
    host: parseLabel(host, `${path}.host`),
    boot: parseLabel(boot, `${path}.boot`),
    pid: parseInteger(pid, `${path}.pid`, 1),
    startedAt: parseLabel(startedAt, `${path}.startedAt`),
  };
}
