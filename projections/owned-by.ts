/** Which documents hold claims: by the kind of the stream that is owned, the projection that has its name as the key. */
import { queueKind } from "../src/journal/events/queue.js";
import type { AnyProjection, Projection } from "./define-projection.js";
import type { OwnedDocument } from "./owned.js";
import { queue } from "./queue.js";

const projections: ReadonlyMap<string, AnyProjection> = new Map([[queueKind, queue]]);

/** The projection whose documents hold the claims of a kind of streams; undefined: nothing of the kind is owned. */
export function ownedBy(kind: string): Projection<OwnedDocument> | undefined {
  return projections.get(kind);
}
