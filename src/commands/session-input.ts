/** What the commands of captures are told, and how it is checked. */
import { invalid, limit } from "../kernel/errors.js";
import { sessionBytesPerCallMax, sessionRecordBytesMax, sessionRecordsPerCallMax } from "../kernel/limits.js";
import { checkBoolean, isList, parseInteger } from "../kernel/members.js";
import { parseLabel, parseRunId } from "../kernel/names.js";
import { toContent } from "../journal/content.js";
import type { ContentValue } from "../journal/content.js";
import { parseAttemptKey, parseCaptureFailure } from "../journal/events/session.js";
import type { CaptureFailure } from "../journal/events/session.js";
import { members, parseRevision, parseTime } from "./input.js";

/** Which capture begins. @public */
export interface BindSessionInput {
  readonly runId: string;
  /** Whose output it is. Default: the run's own. */
  readonly attemptId?: string | undefined;
  /** The revision of the run that the caller has seen: needed where no claim of the run is live. */
  readonly expectedRevision?: number | undefined;
}

/** A record to capture. @public */
export interface NewSessionRecord {
  /** What kind of record, in its producer's words: a label of 1 to 128 units. */
  readonly type: string;
  /** When its producer says that it was made, ms since the epoch: shown, and never ordered by. */
  readonly reportedAt?: number | undefined;
  /** It was cut, or the output ended in it. Default false. */
  readonly partial?: boolean | undefined;
  /** Kept as content: text, bytes, JSON, or what `content()` made. With its facts at most 1 MiB. */
  readonly payload: unknown;
}

/** Records for a capture. @public */
export interface AppendSessionEventsInput {
  readonly runId: string;
  readonly attemptId?: string | undefined;
  /** The number of the first of them: one more than the capture has. */
  readonly from: number;
  /** 1 to 10,000, and 64 MiB. */
  readonly records: readonly NewSessionRecord[];
}

/** How a capture ends. @public */
export interface FinishSessionInput {
  readonly runId: string;
  readonly attemptId?: string | undefined;
  readonly status: "complete" | "failed";
  /** Why it failed: a code of 1 to 128 units and a sentence of 1 to 200, facts that cannot be erased. */
  readonly failure?: CaptureFailure | undefined;
  /** Something held the output open, and what it wrote later is not in here. Default false. */
  readonly open?: boolean | undefined;
  /** The revision of the run that the caller has seen: needed where no claim of the run is live. */
  readonly expectedRevision?: number | undefined;
}

/** `BindSessionInput` with its default. */
export interface BindSessionParsed extends BindSessionInput {
  readonly attemptId: string;
}

/** A record with its payload as content. */
export interface ParsedRecord {
  readonly type: string;
  readonly reportedAt?: number;
  readonly partial?: true;
  readonly payload: ContentValue;
}

/** `AppendSessionEventsInput` with its contents. */
export interface AppendSessionEventsParsed {
  readonly runId: string;
  readonly attemptId: string;
  readonly from: number;
  readonly records: readonly ParsedRecord[];
}

/** `FinishSessionInput` as it is decided. */
export interface FinishSessionParsed {
  readonly runId: string;
  readonly attemptId: string;
  readonly status: "complete" | "failed";
  readonly failure: CaptureFailure | null;
  readonly open: boolean;
  readonly expectedRevision: number | undefined;
}

type Members = Readonly<Record<string, unknown>>;

export function parseBindSession(given: BindSessionInput): BindSessionParsed {
  const input = members(given, "bind", ["runId", "attemptId", "expectedRevision"]);
  return {
    ...captureOf(input, "bind"),
    expectedRevision: parseRevision(input["expectedRevision"], "bind.expectedRevision"),
  };
}

export function parseAppendSessionEvents(given: AppendSessionEventsInput): AppendSessionEventsParsed {
  const path = "appendEvents";
  const input = members(given, path, ["runId", "attemptId", "from", "records"]);
  const { records } = input;
  const capture = captureOf(input, path);
  const from = parseInteger(input["from"], `${path}.from`, 1);
  if (!isList(records) || records.length === 0)
    throw invalid(`${path}.records`, "a list of at least one record", records);
  if (records.length > sessionRecordsPerCallMax)
    throw limit(`${path}.records`, "records", sessionRecordsPerCallMax, records.length);
  let bytes = 0;
  const parsed = Array.from(records, (record: unknown, index) => {
    const at = `${path}.records[${index}]`;
    const one = parseRecord(record, at);
    const size = factsBytes(one) + one.payload.size;
    if (size > sessionRecordBytesMax) throw limit(at, "bytes", sessionRecordBytesMax, size);
    bytes += size;
    if (bytes > sessionBytesPerCallMax) throw limit(`${path}.records`, "bytes", sessionBytesPerCallMax, bytes);
    return one;
  });
  return { ...capture, from, records: parsed };
}

export function parseFinishSession(given: FinishSessionInput): FinishSessionParsed {
  const path = "finish";
  const input = members(given, path, ["runId", "attemptId", "status", "failure", "open", "expectedRevision"]);
  const { status, failure, open } = input;
  if (status !== "complete" && status !== "failed") throw invalid(`${path}.status`, '"complete" or "failed"', status);
  if (status === "complete" && failure !== undefined)
    throw invalid(`${path}.failure`, "absent of what is complete", failure);
  checkBoolean(open, `${path}.open`);
  return {
    ...captureOf(input, path),
    status,
    failure: status === "complete" ? null : parseCaptureFailure(failure, `${path}.failure`),
    open: open === true,
    expectedRevision: parseRevision(input["expectedRevision"], `${path}.expectedRevision`),
  };
}

/** The bytes of a record's facts as an entry holds them, without its content. */
export function factsBytes({ type, reportedAt, partial }: Omit<ParsedRecord, "payload">): number {
  return (
    '{"payload":,"type":}'.length +
    Buffer.byteLength(JSON.stringify(type)) +
    (partial === undefined ? 0 : '"partial":true,'.length) +
    (reportedAt === undefined ? 0 : `"reportedAt":${reportedAt},`.length)
  );
}

function captureOf(input: Members, path: string): { readonly runId: string; readonly attemptId: string } {
  const { runId, attemptId = "" } = input;
  return {
    runId: parseRunId(runId, `${path}.runId`),
    attemptId: parseAttemptKey(attemptId, `${path}.attemptId`),
  };
}

function parseRecord(given: unknown, path: string): ParsedRecord {
  const { type, reportedAt, partial, payload } = members(given, path, ["type", "reportedAt", "partial", "payload"]);
  checkBoolean(partial, `${path}.partial`);
  return {
    type: parseLabel(type, `${path}.type`),
    ...(reportedAt !== undefined && { reportedAt: parseTime(reportedAt, `${path}.reportedAt`) }),
    ...(partial === true && { partial }),
    payload: toContent(payload, `${path}.payload`),
  };
}
