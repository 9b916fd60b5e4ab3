/** Why a projection stopped: in one shape for those who keep it, and as the error of those who read. */
import { describe, LedgerError } from "../src/kernel/errors.js";
import { errorTextUnitsMax } from "../src/kernel/limits.js";
import type { AnyProjection } from "./define-projection.js";

/** Why a projection stopped, and before which event. `PROJECTION_FAILED`: its own function threw, or left no document behind;
 *  `SCHEMA_UNKNOWN`: this program does not know the event, and the projection lists its area. @public */
export interface ProjectionFailure {
  readonly code: "PROJECTION_FAILED" | "SCHEMA_UNKNOWN";
  /** Of the event. */
  readonly position: number;
  /** Of the event. */
  readonly type: string;
  /** Of the document; null when it was not known yet. */
  readonly key: string | null;
  /** What was expected and found. */
  readonly message: string;
}

/** The error that says it. */
export function projectionFailed(projection: AnyProjection, failure: ProjectionFailure, cause?: unknown): LedgerError {
  const { name, version } = projection;
  const { code, position, type, key, message } = failure;
  return new LedgerError(
    code,
    `projection ${name} (version ${version}) must fold event #${position} ${type}, found: ${message}`,
    {
      details: { projection: name, version, position, type, key, message },
      hint:
        code === "SCHEMA_UNKNOWN"
          ? "use the program that wrote the event, or give its definition in `events`"
          : "correct the projection; it goes on where it stopped",
      ...(cause === undefined ? {} : { cause }),
    },
  );
}

/** What an error of `projectionFailed` says; null for any other. */
export function failureOf(error: unknown): ProjectionFailure | null {
  if (!(error instanceof LedgerError)) return null;
  const { position, type, key, message } = error.details as Partial<ProjectionFailure>;
  if (position === undefined || type === undefined || key === undefined || message === undefined) return null;
  const code = error.code === "SCHEMA_UNKNOWN" ? "SCHEMA_UNKNOWN" : "PROJECTION_FAILED";
  return code === error.code ? { code, position, type, key, message } : null;
}

/** What a thrown value says, cut. */
export function messageOf(thrown: unknown): string {
  const text = thrown instanceof Error && typeof thrown.message === "string" ? thrown.message : describe(thrown);
  return text.length > errorTextUnitsMax ? `${text.slice(0, errorTextUnitsMax).toWellFormed()}…` : text.toWellFormed();
}
