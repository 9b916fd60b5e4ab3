/** What every driver does around a reducer: it finds the handler, asks for the key, says what went wrong, makes index keys.
 *  Whatever a host's function does (throws, answers later, answers nonsense) becomes a `PROJECTION_FAILED`. */
import { LedgerError } from "../src/kernel/errors.js";
import { parseKey } from "../src/kernel/names.js";
import { abandon } from "../src/kernel/promises.js";
import type { AnyProjection } from "./define-projection.js";
import type { ProjectionEvent } from "./event.js";
import { messageOf, projectionFailed } from "./failure.js";
import { checkTuple, indexKey } from "./index-key.js";
import type { IndexTuple } from "./index-key.js";

/** The key of the document that an event concerns; null: it concerns none. `PROJECTION_FAILED`. */
export function keyOf(projection: AnyProjection, event: ProjectionEvent): string | null {
  const handler = projection.on.get(event.type);
  if (handler === undefined) return null;
  try {
    const key: unknown = handler.key(event);
    return key === null ? null : parseKey(refusePromise(key, "key"), "key");
  } catch (cause) {
    throw failed(projection, event, null, cause);
  }
}

/** The index keys of a document, in the order of the projection's indexes; null: not in that one. `PROJECTION_FAILED`. */
export function indexKeys(
  projection: AnyProjection,
  event: ProjectionEvent,
  key: string,
  document: object,
): readonly (Uint8Array | null)[] {
  try {
    return Array.from(projection.indexes, ([name, tupleOf]) => {
      const tuple = tupleOfDocument(name, tupleOf, document);
      return tuple === null ? null : indexKey(tuple, key, `indexes.${name}`);
    });
  } catch (cause) {
    throw failed(projection, event, key, cause);
  }
}

/** Checks what a fold left behind for its indexes, without making their keys. Throws what the caller words. */
export function checkIndexes(projection: AnyProjection, document: object): void {
  for (const [name, tupleOf] of projection.indexes) {
    const tuple = tupleOfDocument(name, tupleOf, document);
    if (tuple !== null) indexKey(tuple, "", `indexes.${name}`);
  }
}

/** What an `apply` answered: not a promise. */
export function refusePromise(answer: unknown, name: string): unknown {
  if (typeof answer !== "object" || answer === null || !("then" in answer) || typeof answer.then !== "function")
    return answer;
  abandon(answer);
  throw new LedgerError("INVALID_ARGUMENT", `${name} must be synchronous, found a promise`, {
    details: { path: name, expected: "synchronous", found: "a promise" },
  });
}

/** The error of a projection whose function did not do what it must. */
export function failed(
  projection: AnyProjection,
  event: ProjectionEvent,
  key: string | null,
  cause: unknown,
): LedgerError {
  const { position, type } = event;
  return projectionFailed(
    projection,
    { code: "PROJECTION_FAILED", position, type, key, message: messageOf(cause) },
    cause,
  );
}

function tupleOfDocument(
  name: string,
  tupleOf: (document: object) => IndexTuple | null,
  document: object,
): IndexTuple | null {
  const tuple = refusePromise(tupleOf(document), `indexes.${name}`);
  if (tuple === null) return null;
  checkTuple(tuple, `indexes.${name}`);
  return tuple;
}
