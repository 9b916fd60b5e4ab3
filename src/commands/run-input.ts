/** What the commands of runs are told, and how it is checked. */
import { invalid } from "../kernel/errors.js";
import { parseReason, parseRunId, parseTitle } from "../kernel/names.js";
import type { ContentValue } from "../journal/content.js";
import { finalRunStatuses, parseDefinitionName } from "../journal/events/run.js";
import type { DefinitionName, FinalRunStatus } from "../journal/events/run.js";
import { parseExit } from "../journal/exit.js";
import type { Exit } from "../journal/exit.js";
import { members, optional, parseErrorContent, parseInput, parseRevision } from "./input.js";

/** A new run. @public */
export interface CreateRunInput {
  readonly runId: string;
  /** What it follows: a definition that was registered. */
  readonly definition?: DefinitionName | undefined;
  /** What it is called for people, 1 to 200 units: a fact, and not erasable. */
  readonly title?: string | undefined;
  /** Kept as content: JSON or bytes, at most 1 MiB. */
  readonly input?: unknown;
  /** The run that it continues, or that made it. */
  readonly parent?: string | undefined;
}

/** A write to a run that is there. @public */
export interface RunWriteInput {
  readonly runId: string;
  /** The revision of the run that the caller has seen: checked when it is given, and demanded while nobody has a live claim of
   *  the run. Under a live claim the call presents its fence. */
  readonly expectedRevision?: number | undefined;
}

/** Which run to end, and why. @public */
export interface RequestRunCancelInput {
  readonly runId: string;
  /** 1 to 200 units: a fact, and not erasable. */
  readonly reason: string;
}

/** How a run ended. @public */
export interface FinishRunInput extends RunWriteInput {
  readonly status: FinalRunStatus;
  /** That of its process, where it had one. */
  readonly exit?: Exit | undefined;
  /** 1 to 200 units: a fact, and not erasable. */
  readonly reason?: string | undefined;
  /** Kept as content: text is cut to 8,192 units, anything else may have 1 MiB. */
  readonly error?: unknown;
}

/** `CreateRunInput` with its input as content. */
export type CreateRunParsed = Omit<CreateRunInput, "input"> & { readonly input: ContentValue | undefined };

/** `FinishRunInput` with its error as content. */
export type FinishRunParsed = Omit<FinishRunInput, "error"> & { readonly error: ContentValue | undefined };

export function parseCreateRun(given: CreateRunInput): CreateRunParsed {
  const input = members(given, "create", ["runId", "definition", "title", "input", "parent"]);
  return {
    runId: parseRunId(input["runId"], "create.runId"),
    definition: optional(input["definition"], (value) => parseDefinitionName(value, "create.definition")),
    title: optional(input["title"], (value) => parseTitle(value, "create.title")),
    input: optional(input["input"], (value) => parseInput(value, "create.input")),
    parent: optional(input["parent"], (value) => parseRunId(value, "create.parent")),
  };
}

export function parseStartRun(given: RunWriteInput): RunWriteInput {
  return parseRunWrite(members(given, "start", ["runId", "expectedRevision"]), "start");
}

export function parsePrepareResume(given: RunWriteInput): RunWriteInput {
  return parseRunWrite(members(given, "prepareResume", ["runId", "expectedRevision"]), "prepareResume");
}

export function parseRequestRunCancel(given: RequestRunCancelInput): RequestRunCancelInput {
  const { runId, reason } = members(given, "requestCancel", ["runId", "reason"]);
  return { runId: parseRunId(runId, "requestCancel.runId"), reason: parseReason(reason, "requestCancel.reason") };
}

export function parseFinishRun(given: FinishRunInput): FinishRunParsed {
  const input = members(given, "finish", ["runId", "status", "exit", "reason", "error", "expectedRevision"]);
  return {
    ...parseRunWrite(input, "finish"),
    status: parseFinalStatus(input["status"], "finish.status"),
    exit: optional(input["exit"], (value) => parseExit(value, "finish.exit")),
    reason: optional(input["reason"], (value) => parseReason(value, "finish.reason")),
    error: optional(input["error"], (value) => parseErrorContent(value, "finish.error")),
  };
}

/** The members that every write to a run has. */
export function parseRunWrite(input: Readonly<Record<string, unknown>>, path: string): RunWriteInput {
  return {
    runId: parseRunId(input["runId"], `${path}.runId`),
    expectedRevision: parseRevision(input["expectedRevision"], `${path}.expectedRevision`),
  };
}

function parseFinalStatus(value: unknown, path: string): FinalRunStatus {
  const status = finalRunStatuses.find((each) => each === value);
  if (status === undefined) throw invalid(path, `one of ${finalRunStatuses.join(", ")}`, value);
  return status;
}
