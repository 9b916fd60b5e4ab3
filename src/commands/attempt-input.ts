/** What the commands of attempts are told, and how it is checked. */
import { invalid } from "../kernel/errors.js";
import { parseInteger } from "../kernel/members.js";
import { parseAttemptId, parseName, parseReason } from "../kernel/names.js";
import type { ContentValue } from "../journal/content.js";
import { attemptOutcomes, parseProcess } from "../journal/events/attempt.js";
import type { AttemptOutcome, ProcessIdentity } from "../journal/events/attempt.js";
import { parseExit } from "../journal/exit.js";
import type { Exit } from "../journal/exit.js";
import { members, optional, parseErrorContent, parseTime } from "./input.js";
import { parseRunWrite } from "./run-input.js";
import type { RunWriteInput } from "./run-input.js";

/** Work on a node of a run that begins. @public */
export interface StartAttemptInput extends RunWriteInput {
  /** A letter, then letters, digits, `_`, `.` or `-`; at most 128 units. */
  readonly node: string;
  /** The process that works, for whoever has to end it later. */
  readonly process?: ProcessIdentity | undefined;
}

/** How an attempt came to its end. @public */
export interface FinishAttemptInput extends RunWriteInput {
  readonly attemptId: string;
  readonly outcome: AttemptOutcome;
  readonly exit?: Exit | undefined;
  /** How long it took, ms, by a monotonic clock. Default: the difference of the engine times. */
  readonly durationMs?: number | undefined;
  /** By the caller's own clock, ms since the epoch: shown, and never compared. */
  readonly reportedStartedAt?: number | undefined;
  readonly reportedFinishedAt?: number | undefined;
  /** Kept as content: text is cut to 8,192 units, anything else may have 1 MiB. */
  readonly error?: unknown;
}

/** Which attempt to end, and why. @public */
export interface CancelAttemptInput extends RunWriteInput {
  readonly attemptId: string;
  /** 1 to 200 units: a fact, and not erasable. */
  readonly reason: string;
  readonly exit?: Exit | undefined;
}

/** `FinishAttemptInput` with its error as content. */
export type FinishAttemptParsed = Omit<FinishAttemptInput, "error"> & { readonly error: ContentValue | undefined };

export function parseStartAttempt(given: StartAttemptInput): StartAttemptInput {
  const input = members(given, "start", ["runId", "node", "process", "expectedRevision"]);
  return {
    ...parseRunWrite(input, "start"),
    node: parseName(input["node"], "start.node"),
    process: optional(input["process"], (value) => parseProcess(value, "start.process")),
  };
}

export function parseFinishAttempt(given: FinishAttemptInput): FinishAttemptParsed {
  const input = members(given, "finish", [
    "runId",
    "attemptId",
    "outcome",
    "exit",
    "durationMs",
    "reportedStartedAt",
    "reportedFinishedAt",
    "error",
    "expectedRevision",
  ]);
  return {
    ...parseRunWrite(input, "finish"),
    attemptId: parseAttemptId(input["attemptId"], "finish.attemptId"),
    outcome: parseOutcome(input["outcome"], "finish.outcome"),
    exit: optional(input["exit"], (value) => parseExit(value, "finish.exit")),
    durationMs: optional(input["durationMs"], (value) => parseInteger(value, "finish.durationMs", 0)),
    reportedStartedAt: optional(input["reportedStartedAt"], (value) => parseTime(value, "finish.reportedStartedAt")),
    reportedFinishedAt: optional(input["reportedFinishedAt"], (value) => parseTime(value, "finish.reportedFinishedAt")),
    error: optional(input["error"], (value) => parseErrorContent(value, "finish.error")),
  };
}

export function parseCancelAttempt(given: CancelAttemptInput): CancelAttemptInput {
  const input = members(given, "cancel", ["runId", "attemptId", "reason", "exit", "expectedRevision"]);
  return {
    ...parseRunWrite(input, "cancel"),
    attemptId: parseAttemptId(input["attemptId"], "cancel.attemptId"),
    reason: parseReason(input["reason"], "cancel.reason"),
    exit: optional(input["exit"], (value) => parseExit(value, "cancel.exit")),
  };
}

function parseOutcome(value: unknown, path: string): AttemptOutcome {
  const outcome = attemptOutcomes.find((each) => each === value);
  if (outcome === undefined) throw invalid(path, `one of ${attemptOutcomes.join(", ")}`, value);
  return outcome;
}
