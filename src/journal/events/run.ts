/** What becomes of a run, on `run/<run id>`; its attempts write there too, so that one revision covers both.
 *  Source: design sections 4 and 8, decisions 15.4, 15.6, 15.18, 0026; rows U-01 to U-11, L-01 to L-04. */
import { isDigest } from "../../kernel/digest.js";
import { invalid } from "../../kernel/errors.js";
import { checkMembers, parseInteger } from "../../kernel/members.js";
import { parseAttemptId, parseName, parseReason, parseRunId, parseTitle } from "../../kernel/names.js";
import type { ContentReference } from "../content.js";
import { defineEvents } from "../define-events.js";
import type { EventDefinitions } from "../define-events.js";
import { parseExit } from "../exit.js";
import type { Exit } from "../exit.js";
import { factsOf, nullOr, oneOf } from "../facts.js";

export const runKind = "run";

/** Which definition a run follows: one that was registered. @public */
export interface DefinitionName {
  readonly name: string;
  /** SHA-256 of its canonical JSON, 64 hex digits. */
  readonly digest: string;
}

/** There is such a run, and it has not begun. */
export interface RunCreated {
  readonly definition: DefinitionName | null;
  readonly title?: string;
  readonly input?: ContentReference;
  /** The run that it continues, or was made by. */
  readonly parent?: string;
}

/** Somebody asks that it be ended, while its holder works. */
export interface RunCancelRequested {
  readonly reason: string;
}

/** Whoever took it over closed what was left open, and goes on. */
export interface RunResumePrepared {
  /** The attempt that was abandoned; null: none was open. */
  readonly attempt: string | null;
  /** How many captures were still recording. */
  readonly captures: number;
}

/** How a run can end. @public */
export type FinalRunStatus = "completed" | "failed" | "timed_out" | "cancelled";

/** It is over, for good. */
export interface RunFinished {
  readonly status: FinalRunStatus;
  readonly exit?: Exit;
  readonly reason?: string;
  readonly error?: ContentReference;
}

/** How a run can end, in the order in which lists show it. */
export const finalRunStatuses: readonly FinalRunStatus[] = ["completed", "failed", "timed_out", "cancelled"];

/** Closed: written by the commands of runs and attempts alone. */
export const runEvents: EventDefinitions = defineEvents(
  runKind,
  { open: false },
  {
    "run.created": {
      content: ["/input"],
      parse: factsOf(
        "run.created",
        { definition: nullOr(parseDefinitionName) },
        { title: parseTitle, input: (value) => value, parent: parseRunId },
      ),
    },
    "run.started": { parse: factsOf("run.started", {}) },
    "run.cancelRequested": { parse: factsOf("run.cancelRequested", { reason: parseReason }) },
    "run.resumePrepared": {
      parse: factsOf("run.resumePrepared", {
        attempt: nullOr(parseAttemptId),
        captures: (value, path) => parseInteger(value, path, 0),
      }),
    },
    "run.finished": {
      content: ["/error"],
      parse: factsOf(
        "run.finished",
        { status: oneOf(finalRunStatuses) },
        { exit: parseExit, reason: parseReason, error: (value) => value },
      ),
    },
  },
);

/** Reads which definition is meant. */
export function parseDefinitionName(value: unknown, path: string): DefinitionName {
  checkMembers(value, path, ["name", "digest"]);
  const { name, digest } = value as { readonly [name: string]: unknown }; // just seen
  if (!isDigest(digest))
    throw invalid(`${path}.digest`, "the digest of a definition, 64 lower-case hex digits", digest);
  return { name: parseName(name, `${path}.name`), digest };
}

/** The stream of a run and of its attempts. */
export function runStream(runId: string): string {
  return `${runKind}/${runId}`;
}

/** The run of such a stream. */
export function runOfStream(stream: string): string {
  return stream.slice(runKind.length + 1);
}
