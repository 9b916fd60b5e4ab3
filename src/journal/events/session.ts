/** The events of captures, on `session/<run id>` for the run's own and `session/<run id>/<attempt>` for an attempt's.
 *  Invariant: the records of a capture are dense from 1, in the order of its stream, and none comes behind its end.
 *  Source: design section 14, decisions 15.3, 15.5, 15.8, 0026; rows SB-01 to SB-14. */
import { invalid, limit } from "../../kernel/errors.js";
import { sessionRecordsPerEntryMax } from "../../kernel/limits.js";
import { checkMembers, isList, parseInteger } from "../../kernel/members.js";
import { parseAttemptId, parseLabel, parseReason, parseRunId } from "../../kernel/names.js";
import type { ContentReference } from "../content.js";
import { defineEvents } from "../define-events.js";
import type { EventDefinitions } from "../define-events.js";
import { checkTime, factsOf, oneOf } from "../facts.js";

export const sessionKind = "session";

/** A capture begins. */
export interface SessionBound {
  readonly runId: string;
  /** Empty: the run's own. */
  readonly attemptId: string;
}

/** One record of a capture, as an event says it. */
export interface RecordFacts {
  /** What kind of record, in its producer's words. */
  readonly type: string;
  /** When its producer says that it was made, ms since the epoch. */
  readonly reportedAt?: number;
  /** It was cut, or the output ended in it. */
  readonly partial?: true;
  readonly payload: ContentReference;
}

/** Records were captured. */
export interface SessionEventsAppended {
  /** The number of the first of them. */
  readonly from: number;
  readonly records: readonly RecordFacts[];
}

/** Why a capture is not complete. @public */
export interface CaptureFailure {
  /** A label of 1 to 128 units. */
  readonly code: string;
  /** 1 to 200 units: a fact, and not erasable. */
  readonly message: string;
}

/** A capture ends. */
export interface SessionFinished {
  readonly status: "complete" | "failed";
  /** Where it failed. */
  readonly failure?: CaptureFailure;
  /** Something held the output open, and what it wrote later is not in here. */
  readonly open?: true;
}

/** Closed: written by the ledger's own commands alone. */
export const sessionEvents: EventDefinitions = defineEvents(
  sessionKind,
  { open: false },
  {
    "session.bound": { parse: factsOf("session.bound", { runId: parseRunId, attemptId: parseAttemptKey }) },
    "session.eventsAppended": {
      parse: factsOf("session.eventsAppended", {
        from: (value, path) => parseInteger(value, path, 1),
        records: checkRecords,
      }),
    },
    "session.finished": { parse: parseFinished },
  },
);

const finishedFacts = factsOf(
  "session.finished",
  { status: oneOf(["complete", "failed"]) },
  { failure: parseCaptureFailure, open: checkTrue },
);

function parseFinished(data: unknown): object {
  const facts = finishedFacts(data) as Partial<SessionFinished>; // just checked
  if ((facts.status === "failed") !== (facts.failure !== undefined))
    throw invalid("session.finished failure", "there where the status is failed, and only there", facts.failure);
  return facts;
}

function checkTrue(value: unknown, path: string): void {
  if (value !== true) throw invalid(path, "true or absent", value);
}

/** Its payloads are looked at where they are placed. */
function checkRecords(value: unknown, path: string): void {
  if (!isList(value) || value.length === 0) throw invalid(path, "a list of at least one record", value);
  if (value.length > sessionRecordsPerEntryMax) throw limit(path, "records", sessionRecordsPerEntryMax, value.length);
  for (const [index, record] of value.entries()) {
    const at = `${path}[${index}]`;
    checkMembers(record, at, ["type", "reportedAt", "partial", "payload"]);
    const { type, reportedAt, partial, payload } = record as Readonly<Record<string, unknown>>; // just seen
    parseLabel(type, `${at}.type`);
    if (reportedAt !== undefined) checkTime(reportedAt, `${at}.reportedAt`);
    if (partial !== undefined) checkTrue(partial, `${at}.partial`);
    if (typeof payload !== "object" || payload === null) throw invalid(`${at}.payload`, "a content", payload);
  }
}

/** Why a capture failed: a code and a sentence, both of them facts. */
export function parseCaptureFailure(value: unknown, path: string): CaptureFailure {
  checkMembers(value, path, ["code", "message"]);
  const { code, message } = value as Readonly<Record<string, unknown>>; // just seen
  return { code: parseLabel(code, `${path}.code`), message: parseReason(message, `${path}.message`) };
}

/** The attempt of a capture: empty for the run's own. */
export function parseAttemptKey(value: unknown, path: string): string {
  return value === "" ? value : parseAttemptId(value, path);
}

/** The key of a capture's document, which is the name of its stream. */
export function captureKey(runId: string, attemptId: string): string {
  return attemptId === "" ? runId : `${runId}/${attemptId}`;
}

/** The stream of a capture. */
export function sessionStream(runId: string, attemptId: string): string {
  return `${sessionKind}/${captureKey(runId, attemptId)}`;
}
