/** The live driver: one event into one document, through immer, so that a reducer writes as if it changed the document and
 *  nobody who holds the old one sees it. Source: decision 0018. */
import { Immer } from "immer";
import type { Projection } from "./define-projection.js";
import type { ProjectionEvent } from "./event.js";
import { changeBox, failed, settleBox } from "./reducer.js";

const immer = new Immer({ autoFreeze: false }); // `settle` freezes, and nothing that is the host's

/** The document after an event: frozen; null when it is removed or there is none; the same one when the event changed
 *  nothing. `document` came out of a fold or of `documentOf`, `key` is the event's. `PROJECTION_FAILED`. */
export function foldLive<Document extends object>(
  projection: Projection<Document>,
  event: ProjectionEvent,
  key: string,
  document: Document | null,
): Document | null {
  try {
    const box = immer.produce({ document }, changeBox(projection, event));
    return settleBox(projection, box, document);
  } catch (cause) {
    throw failed(projection, event, key, cause);
  }
}
