/** A stored entry as a reader sees it: its fields by the names of the public API, its data upcast to the version that this
 *  program writes. */
import type { JsonObject } from "../kernel/canonical.js";
import { invalid, LedgerError } from "../kernel/errors.js";
import { areaOf } from "../kernel/names.js";
import { abandon } from "../kernel/promises.js";
import { reservedAreas } from "../journal/define-events.js";
import type { DecodedEntry } from "../journal/stored.js";
import { upcast } from "../journal/upcast.js";
import type { Areas } from "./areas.js";
import type { LedgerEvent, UnknownEvents } from "./types.js";

/** The event that a stored entry is today; null when `unknown` leaves it out. */
export function showEvent(decoded: DecodedEntry, areas: Areas, unknown: UnknownEvents): LedgerEvent | null {
  const definition = areas.definitionOf(decoded.fields.type);
  const { tv, type, seq } = decoded.fields;
  // The journal's own events need no definition of the host's.
  if (tv === 1 && reservedAreas.has(areaOf(type))) return toEvent(decoded, decoded.fields.data, tv);
  if (definition === undefined || tv > definition.version) {
    const event = toEvent(decoded, decoded.fields.data, tv);
    if (unknown === "accept") return event;
    if (unknown === "ignore") return null;
    if (typeof unknown === "function") return answerOf(unknown, event);
    throw new LedgerError(
      "SCHEMA_UNKNOWN",
      `event #${seq} ${type} must be of a type and version that this program defines, found version ${tv}`,
      { details: { position: seq, type, version: tv } },
    );
  }
  const data = upcast({ position: seq, version: tv, data: decoded.fields.data }, definition);
  return toEvent(decoded, data, definition.version);
}

/** What the host makes of an event that this program does not know: an event or null, now. An answer that is missing, or
 *  comes later, must not pass for an event. */
function answerOf(unknown: (event: LedgerEvent) => LedgerEvent | null, event: LedgerEvent): LedgerEvent | null {
  const answer: unknown = unknown(event);
  if (answer === null || (typeof answer === "object" && !Array.isArray(answer) && !("then" in answer)))
    return answer as LedgerEvent | null; // what the type of the function says
  abandon(answer);
  throw invalid("options.unknown", `a function that returns an event or null, for event #${event.position}`, answer);
}

/** Parses what a reader does with types that it does not know. */
export function parseUnknown(unknown: UnknownEvents = "accept"): UnknownEvents {
  if (unknown !== "accept" && unknown !== "ignore" && unknown !== "error" && typeof unknown !== "function") {
    throw invalid("options.unknown", '"accept", "ignore", "error" or a function', unknown);
  }
  return unknown;
}

function toEvent({ id, fields }: DecodedEntry, data: JsonObject, version: number): LedgerEvent {
  const { seq, stream, rev, type, at, tx, actor, command, cause, corr, fence, meta } = fields;
  return {
    position: seq,
    id,
    stream,
    revision: rev,
    type,
    version,
    data,
    at,
    tx: { first: tx[0], count: tx[1] },
    ...(actor === undefined ? {} : { actor }),
    ...(command === undefined ? {} : { command }),
    ...(cause === undefined ? {} : { cause }),
    ...(corr === undefined ? {} : { correlation: corr }),
    ...(fence === undefined ? {} : { fence }),
    ...(meta === undefined ? {} : { meta }),
  };
}
