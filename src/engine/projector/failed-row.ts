/** What keeps a table from going on, as an error: what its row says, or an event that this program does not know. */
import type { AnyProjection } from "../../../projections/define-projection.js";
import type { UnknownEvent } from "../../../projections/event-of.js";
import { projectionFailed } from "../../../projections/failure.js";
import type { ProjectionFailure } from "../../../projections/failure.js";
import type { LedgerError } from "../../kernel/errors.js";
import type { ProjectionRow } from "../../journal/documents.js";

/** The error of a table that failed, as its row says it. */
export function failedError(projection: AnyProjection, row: ProjectionRow): LedgerError {
  return projectionFailed(projection, parseFailure(row));
}

/** The error of a table that lists the area of an event that this program does not know. */
export function unknownError(projection: AnyProjection, event: UnknownEvent): LedgerError {
  const { position, type, message, cause } = event;
  return projectionFailed(projection, { code: "SCHEMA_UNKNOWN", position, type, key: null, message }, cause);
}

/** What a row says of the failure. A row that does not say it, or says nonsense, still says that there was one. */
function parseFailure({ position, error }: ProjectionRow): ProjectionFailure {
  const said = parseObject(error);
  const text = (name: string): string | null => (typeof said[name] === "string" ? said[name] : null);
  return {
    code: "PROJECTION_FAILED",
    position: typeof said["position"] === "number" ? said["position"] : position + 1,
    type: text("type") ?? "of a type that was not kept",
    key: text("key"),
    message: text("message") ?? "its reducer failed; what it said was not kept",
  };
}

function parseObject(text: string | null): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
