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
export { attempts } from "./attempt.js";
export type { Attempt, AttemptStatus } from "./attempt.js";
export { definitions } from "./definition.js";
export type { Definition } from "./definition.js";
export { queue } from "./queue.js";
export type { QueueItem, QueueStatus } from "./queue.js";
export { runs } from "./run.js";
export type { Run, RunStatus } from "./run.js";
export type { OwnedDocument } from "./owned.js";
export { sessionCaptures } from "./session-capture.js";
export type { CaptureStatus, SessionCapture } from "./session-capture.js";
export { replay } from "./replay.js";
export type { Replay } from "./replay.js";
