/** What every driver does around a reducer: it finds the handler, asks for the key, says what went wrong, makes index keys.
 *  Whatever a host's function does (throws, answers later, answers nonsense) becomes a `PROJECTION_FAILED`. */
import { LedgerError } from "../src/kernel/errors.js";
import { parseKey } from "../src/kernel/names.js";
import { abandon } from "../src/kernel/promises.js";
import type { AnyProjection, EventHandler, Projection } from "./define-projection.js";
import { settle } from "./document.js";
import type { ProjectionEvent } from "./event.js";
import { messageOf, projectionFailed } from "./failure.js";
import { checkTuple, indexKey, isSameTuple } from "./index-key.js";
import type { IndexTuple } from "./index-key.js";

/** The key of the document that an event concerns; null: it concerns none. `PROJECTION_FAILED`. */
export function keyOf(projection: AnyProjection, event: ProjectionEvent): string | null {
  const handler = projection.on.get(event.type);
  if (handler === undefined) return null;
  try {
    return parseAnsweredKey(handler.key(event));
  } catch (cause) {
    throw failed(projection, event, null, cause);
  }
}

/** What a `key` answered, as a key; null: no document. */
export function parseAnsweredKey(answer: unknown): string | null {
  return answer === null ? null : parseKey(refusePromise(answer, "key"), "key");
}

/** The index keys of a document, in the order of the projection's indexes; null: not in that one. A fold has checked the
 *  document for them; when it no longer fits, a function of the host answers now this, now that: `PROJECTION_FAILED`. */
export function indexKeys(projection: AnyProjection, document: object, key: string): (Uint8Array | null)[] {
  return keysIn(projection, key, (name, tupleOf) => {
    const tuple = tupleOfDocument(name, tupleOf, document);
    return tuple === null ? null : indexKey(tuple, key, `indexes.${name}`);
  });
}

/** The same, but undefined where the document stands where it stood before: as a rule it does, and no bytes are made. */
export function movedIndexKeys(
  projection: AnyProjection,
  document: object,
  before: object,
  key: string,
): (Uint8Array | null | undefined)[] {
  return keysIn(projection, key, (name, tupleOf) => {
    const tuple = tupleOfDocument(name, tupleOf, document);
    if (isSameTuple(tuple, tupleOfDocument(name, tupleOf, before))) return undefined;
    return tuple === null ? null : indexKey(tuple, key, `indexes.${name}`);
  });
}

function keysIn<Key>(
  { name: projection, version, indexes }: AnyProjection,
  key: string,
  keyIn: (index: string, tupleOf: (document: object) => IndexTuple | null) => Key,
): Key[] {
  const keys: Key[] = [];
  for (const [index, tupleOf] of indexes) {
    try {
      keys.push(keyIn(index, tupleOf));
    } catch (cause) {
      throw new LedgerError(
        "PROJECTION_FAILED",
        `index ${index} of projection ${projection} must answer for a document as it did when it was folded, found: ${messageOf(cause)}`,
        { details: { projection, version, index, key }, cause },
      );
    }
  }
  return keys;
}

/** What a reducer leaves of a document: it was changed in place, or another is answered in its place. Not looked at yet. */
export function applied<Document extends object>(
  handler: EventHandler<Document>,
  event: ProjectionEvent,
  document: Document | undefined,
): unknown {
  const answer = handler.apply(document, event);
  return answer === undefined || answer === document ? document : refusePromise(answer, "apply");
}

/** Lets the reducer change what is in a box, so that changing the document and returning another are the same thing. */
export function changeBox<Document extends object>(
  projection: Projection<Document>,
  event: ProjectionEvent,
): (box: { document: Document | null }) => void {
  const handler = projection.on.get(event.type);
  return (box) => {
    if (handler === undefined) return;
    box.document = (applied(handler, event, box.document ?? undefined) ?? null) as Document | null; // settled later
  };
}

/** What a reducer left as a document, checked for its indexes too; `before` when it says the same. */
export function settleLeft<Document extends object>(
  projection: Projection<Document>,
  left: unknown,
  before: Document | null,
): Document | null {
  if (left === null || left === undefined) return null;
  const settled = settle(left, before) as Document; // what its reducer made
  if (settled !== before) checkIndexes(projection.indexes, settled);
  return settled;
}

/** Checks that every index can take a document. */
export function checkIndexes<Document extends object>(
  indexes: Iterable<readonly [name: string, tupleOf: (document: Document) => IndexTuple | null]>,
  document: Document,
): void {
  for (const [name, tupleOf] of indexes) tupleOfDocument(name, tupleOf, document);
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
