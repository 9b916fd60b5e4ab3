/** `runledger/projections`: what a host defines projections with, and folds events with. Every public name, one by one. */
export { defineProjection } from "./define-projection.js";
export type {
  AnyEvents,
  AnyProjection,
  DocumentRead,
  EventHandler,
  FindQuery,
  FoundDocuments,
  Projection,
  ProjectionOptions,
  QueryRead,
} from "./define-projection.js";
export type { EventData, ProjectionEvent } from "./event.js";
export type { ProjectionFailure } from "./failure.js";
export type { ProjectionDigest } from "./digest.js";
export type { FoldedProjection } from "./folded.js";
export { indexKey, keyOfIndexKey } from "./index-key.js";
export type { IndexTuple } from "./index-key.js";
export { applyPatches } from "./patches.js";
export type { DocumentPatch } from "./patches.js";
export { queue } from "./queue.js";
export type { QueueItem, QueueStatus } from "./queue.js";
export type { OwnedDocument } from "./owned.js";
export { sessionCaptures } from "./session-capture.js";
export type { CaptureStatus, SessionCapture } from "./session-capture.js";
export { replay } from "./replay.js";
export type { Replay } from "./replay.js";
