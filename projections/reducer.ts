/** What every driver does around a reducer: it finds the handler, asks for the key, says what went wrong, makes index keys.
 *  Whatever a host's function does (throws, answers later, answers nonsense) becomes a `PROJECTION_FAILED`. */
import { LedgerError } from "../src/kernel/errors.js";
import { parseKey } from "../src/kernel/names.js";
import { abandon } from "../src/kernel/promises.js";
import type { AnyProjection, Projection } from "./define-projection.js";
import { settle } from "./document.js";
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

/** The index keys of a document, in the order of the projection's indexes; null: not in that one. A fold has checked the
 *  document for them; when it no longer fits, a function of the host answers now this, now that: `PROJECTION_FAILED`. */
export function indexKeys(projection: AnyProjection, document: object, key: string): (Uint8Array | null)[] {
  return Array.from(projection.indexes, ([name, tupleOf]) => {
    try {
      const tuple = tupleOfDocument(name, tupleOf, document);
      return tuple === null ? null : indexKey(tuple, key, `indexes.${name}`);
    } catch (cause) {
      throw new LedgerError(
        "PROJECTION_FAILED",
        `index ${name} of projection ${projection.name} must answer for a document as it did when it was folded, found that ${messageOf(cause)}`,
        { details: { projection: projection.name, version: projection.version, index: name, key }, cause },
      );
    }
  });
}

/** Lets the reducer change what is in a box, so that changing the document and returning another are the same thing. */
export function changeBox<Document extends object>(
  projection: Projection<Document>,
  event: ProjectionEvent,
): (box: { document: Document | null }) => void {
  return (box) => {
    const answer = refusePromise(projection.on.get(event.type)?.apply(box.document ?? undefined, event), "apply");
    if (answer !== undefined) box.document = answer as Document | null; // looked at when it is settled
  };
}

/** What a reducer left behind as a document, checked for itself and for its indexes; `before` when it says the same. */
export function settleFold<Document extends object>(
  projection: Projection<Document>,
  after: Document | null | undefined,
  before: Document | null,
): Document | null {
  if (after === null || after === undefined) return null;
  const settled = settle(after, before) as Document; // the same, settled
  if (settled === before) return before;
  for (const [name, tupleOf] of projection.indexes) {
    const tuple = tupleOfDocument(name, tupleOf, settled);
    if (tuple !== null) indexKey(tuple, "", `indexes.${name}`);
  }
  return settled;
}

/** What an `apply` answered: not a promise. */
function refusePromise(answer: unknown, name: string): unknown {
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

function tupleOfDocument<Document extends object>(
  name: string,
  tupleOf: (document: Document) => IndexTuple | null,
  document: Document,
): IndexTuple | null {
  const tuple = refusePromise(tupleOf(document), `indexes.${name}`);
  if (tuple === null) return null;
  checkTuple(tuple, `indexes.${name}`);
  return tuple;
}
