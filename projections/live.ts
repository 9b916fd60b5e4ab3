/** The live driver: one event into one document, through immer, so that a reducer writes as if it changed the document and
 *  nobody who holds the old one sees it. Source: decision 0018. */
import { types } from "node:util";
import { Immer, current, isDraft } from "immer";
import { depthMax } from "../src/kernel/limits.js";
import type { Projection } from "./define-projection.js";
import type { ProjectionEvent } from "./event.js";
import { applied, failed, settleLeft } from "./reducer.js";

const immer = new Immer({ autoFreeze: false }); // `settle` freezes, and nothing that is the host's

/** The document after an event: frozen; null when it is removed or there is none; the same one when the event changed
 *  nothing. `document` came out of a fold or of `documentOf`, `key` is the event's. `PROJECTION_FAILED`. */
export function foldLive<Document extends object>(
  projection: Projection<Document>,
  event: ProjectionEvent,
  key: string,
  document: Document | null,
): Document | null {
  const handler = projection.on.get(event.type);
  if (handler === undefined) return document;
  try {
    if (document === null) return settleLeft(projection, applied(handler, event, undefined), null);
    const draft = immer.createDraft(document) as Document; // without the types' leave to change it
    const left = applied(handler, event, draft);
    if (left === draft) return settleLeft(projection, immer.finishDraft(draft), document);
    const plain = undrafted(left, 0);
    immer.finishDraft(draft); // nobody changes anything through it afterwards
    return settleLeft(projection, plain, document);
  } catch (cause) {
    throw failed(projection, event, key, cause);
  }
}

/** Another document that a reducer answers may have parts of the draft in it: puts what they stand for in their place. What is
 *  no plain data stays, to be refused. */
function undrafted(value: unknown, level: number): unknown {
  if (isDraft(value)) return current(value);
  if (typeof value !== "object" || value === null || types.isProxy(value)) return value;
  if (Object.isFrozen(value) || level > depthMax) return value;
  for (const [name, { value: member }] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
    const plain = undrafted(member, level + 1);
    if (plain !== member) (value as Record<string, unknown>)[name] = plain; // its own member
  }
  return value;
}
