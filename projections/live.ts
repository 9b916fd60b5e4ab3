/** The live driver: one event into one document, through immer, so that a reducer writes as if it changed the document and
 *  nobody who holds the old one sees it. Source: decision 0018. */
import { Immer } from "immer";
import type { Projection } from "./define-projection.js";
import { settle } from "./document.js";
import type { ProjectionEvent } from "./event.js";
import { checkIndexes, failed, refusePromise } from "./reducer.js";

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
    const { document: after } = immer.produce({ document }, (box: { document: Document | null }) => {
      const answer = refusePromise(handler.apply(box.document ?? undefined, event), "apply");
      if (answer !== undefined) box.document = answer as Document | null; // checked when it is settled
    });
    if (after === null) return null;
    const settled = settle(after, document) as Document; // the shape is what the reducer says it is
    if (settled !== document) checkIndexes(projection, settled);
    return settled;
  } catch (cause) {
    throw failed(projection, event, key, cause);
  }
}
