/** Upcasting: the data of an event, stepped up to the version that this program writes. It runs on every read path, and
 *  wherever events are folded. */
import type { JsonObject } from "../kernel/canonical.js";
import { invariant, LedgerError } from "../kernel/errors.js";
import { abandon } from "../kernel/promises.js";
import type { ParsedEventDefinition } from "./define-events.js";

/** What is upcast: the data that an event was written with, and what an error says of it. */
export interface Upcastable {
  readonly position: number;
  readonly version: number;
  readonly data: JsonObject;
}

/** The data in the version of its definition, which is not older. `SCHEMA_UNKNOWN` when a step throws, or returns something
 *  else than an object. */
export function upcast({ position, version, data }: Upcastable, definition: ParsedEventDefinition): JsonObject {
  let shown = data;
  for (let from = version; from < definition.version; from++) {
    const step = definition.upcast.get(from);
    invariant(step !== undefined, "a definition has a step from each older version");
    shown = take(step, shown, position, definition.type, from);
  }
  return shown;
}

function take(
  step: (data: JsonObject) => JsonObject,
  data: JsonObject,
  position: number,
  type: string,
  from: number,
): JsonObject {
  let next: unknown;
  try {
    next = step(data);
  } catch (cause) {
    throw new LedgerError(
      "SCHEMA_UNKNOWN",
      `event #${position} ${type} must be upcast from version ${from}, found a step that throws`,
      { details: { position, type, version: from }, cause },
    );
  }
  if (typeof next === "object" && next !== null && !Array.isArray(next) && !("then" in next)) return next as JsonObject;
  abandon(next);
  throw new LedgerError(
    "SCHEMA_UNKNOWN",
    `event #${position} ${type} must be upcast from version ${from} into an object, found something else`,
    { details: { position, type, version: from } },
  );
}
