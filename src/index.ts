/** runledger: an embeddable, verifiable, event-sourced ledger. Every public name, one by one. */
export { copyLedger } from "./copy-ledger.js";
export type { CopyOptions } from "./copy-ledger.js";
export type { CopiedLedger } from "./engine/copy-journal.js";
export { openLedger } from "./open-ledger.js";
export { openRawReader } from "./open-raw-reader.js";
export { verifyWorkers } from "./verify-workers.js";
export { Ledger } from "./api/ledger.js";
export type { LedgerVerifyOptions } from "./api/ledger.js";
export { PastLedger } from "./api/past-ledger.js";
export { Attempts } from "./api/attempts.js";
export type { AttemptListOptions } from "./api/attempts.js";
export { Definitions } from "./api/definitions.js";
export type { DefinitionListOptions } from "./api/definitions.js";
export { Runs } from "./api/runs.js";
export type { NewRun, RunEntry, RunListOptions, RunOwner } from "./api/runs.js";
export { Queue } from "./api/queue.js";
export type {
  ClaimNextOptions,
  ClaimOptions,
  ClaimedWork,
  LetGoOptions,
  ListedClaim,
  NewQueueItem,
  QueueEntry,
  QueueListOptions,
  RequeueOptions,
  Time,
} from "./api/queue.js";
export type { HandleJob, Job } from "./api/job.js";
export { Sessions } from "./api/sessions.js";
export type { NewSessionRecords, SessionListOptions, SessionRecordInput } from "./api/sessions.js";
export type { SessionEventsOptions, SessionRecord } from "./api/session-records.js";
export type { WaitForOptions } from "./api/wait-for.js";
export { LedgerWorker } from "./api/worker.js";
export type { WorkerOptions, WorkerQueueOptions, WorkerStopOptions } from "./api/worker-options.js";
export type { OnWorkerError, WorkerActivity, WorkerTrouble } from "./api/worker-reports.js";
export type { RetryOptions } from "./api/worker-retry.js";
export { canonicalize } from "./kernel/canonical.js";
export type { JsonObject, JsonValue } from "./kernel/canonical.js";
export { systemClock } from "./kernel/clock.js";
export type { Clock, Scheduled } from "./kernel/clock.js";
export { InvariantError, LedgerError } from "./kernel/errors.js";
export type { LedgerErrorCode, LedgerErrorOptions } from "./kernel/errors.js";
export { accept, refuse } from "./commands/answer.js";
export type { Accepted, CommandAnswer, CommandEvent, Refused, RefuseOptions } from "./commands/answer.js";
export type { CommandContext } from "./commands/context.js";
export { defineCommand } from "./commands/define-command.js";
export type { Command, CommandDefinition, CommandMaker, CommandOptions, ResultOf } from "./commands/define-command.js";
export { attemptCommands } from "./commands/attempt.js";
export type { AttemptCommands, AttemptWritten } from "./commands/attempt.js";
export type { CancelAttemptInput, FinishAttemptInput, StartAttemptInput } from "./commands/attempt-input.js";
export { definitionCommands } from "./commands/definition.js";
export type { DefinitionCommands } from "./commands/definition.js";
export { definitionDigest } from "./commands/definition-input.js";
export type { RegisterDefinitionInput } from "./commands/definition-input.js";
export { runCommands } from "./commands/run.js";
export type { ResumePrepared, RunCommands, RunWritten } from "./commands/run.js";
export type { CreateRunInput, FinishRunInput, RequestRunCancelInput, RunWriteInput } from "./commands/run-input.js";
export { queueCommands } from "./commands/queue.js";
export type {
  CancelRequested,
  ClaimedItem,
  EnqueuedClaim,
  QueueCommands,
  Renewed,
  Requeued,
} from "./commands/queue.js";
export type {
  ClaimNextInput,
  ClaimWish,
  CompleteInput,
  EnqueueInput,
  ParkInput,
  ReleaseInput,
  RenewInput,
  RequestCancelInput,
  RequeueInput,
} from "./commands/queue-input.js";
export { sessionCommands } from "./commands/session.js";
export type { CaptureState, SessionCommands } from "./commands/session.js";
export type {
  AppendSessionEventsInput,
  BindSessionInput,
  FinishSessionInput,
  NewSessionRecord,
} from "./commands/session-input.js";
export { contentSalt } from "./commands/read.js";
export type { CommandRead, ContentRead, Found, FoundBy, FoundContent, Moment, Stage } from "./commands/read.js";
export { Content, content, contentDigest } from "./journal/content.js";
export type { ContentReference, ContentValue } from "./journal/content.js";
export type { CaptureFailure } from "./journal/events/session.js";
export { defineEvents } from "./journal/define-events.js";
export type { AreaOptions, EventDefinition, EventDefinitions, ParsedEventDefinition } from "./journal/define-events.js";
export type { AttemptOutcome, ProcessIdentity } from "./journal/events/attempt.js";
export type { DefinitionName, FinalRunStatus } from "./journal/events/run.js";
export type { Exit } from "./journal/exit.js";
export type { StandardSchema } from "./journal/schema.js";
export type { Attempt, AttemptStatus } from "../projections/attempt.js";
export type { Definition } from "../projections/definition.js";
export type { Run, RunStatus } from "../projections/run.js";
export type { CaptureStatus, SessionCapture } from "../projections/session-capture.js";
export { defineProjection } from "../projections/define-projection.js";
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
} from "../projections/define-projection.js";
export type { ProjectionDigest } from "../projections/digest.js";
export type { EventData, ProjectionEvent } from "../projections/event.js";
export type { IndexTuple } from "../projections/index-key.js";
export { entryId } from "./journal/entry.js";
export type { FenceMark } from "./journal/entry.js";
export type { EvidenceFile, RawReader } from "./journal/raw-reader.js";
export type {
  ConsumerRow,
  ContentFacts,
  ContentRow,
  EntryRow,
  Store,
  StoredCheckpoint,
  StoredContent,
  StoredEntry,
  StoredFacts,
  StoreHead,
  StoreHealth,
  StoreReads,
  StoreSnapshot,
  StoreTransaction,
  StreamHead,
  TreeNode,
} from "./journal/store.js";
export { fencingNumber, hashToken } from "./kernel/claim.js";
export type { Claim, Fence, FenceProof, FenceReason } from "./kernel/claim.js";
export type { CheckpointListOptions, CheckpointOptions, LedgerCheckpoint } from "./engine/checkpoints.js";
export type { Executed, ExecuteListResult, ExecuteOptions, ExecuteResult, Told } from "./engine/execution.js";
export type { ProjectionReader, ProjectionReadOptions } from "./engine/projector/reads.js";
export type { ProjectionStatus } from "./engine/projector/status.js";
export type { LedgerConsistencyProof, LedgerInclusionProof, ProveOptions } from "./engine/proofs.js";
export type { Reading } from "./engine/reading.js";
export type { Receipt } from "./engine/receipts.js";
export type { RecordedRefusal } from "./journal/events/receipt.js";
export { redactStrings } from "./engine/redact-strings.js";
export type { Redact, RedactionPlace } from "./engine/redact.js";
export type {
  AppendLabels,
  AppendOptions,
  AppendResult,
  BuildsMode,
  ConsumerStatus,
  Diagnostic,
  EraseOptions,
  ErasedContent,
  Erasure,
  ErasurePlan,
  EventReference,
  Expected,
  LedgerEvent,
  LedgerOptions,
  LedgerStatus,
  NamingEntry,
  NewEvent,
  ReadOptions,
  ReadStreamOptions,
  StreamAppend,
  StreamRequirement,
  SubscribeOptions,
  Subscription,
  SubscriptionBatch,
  UnknownEvents,
} from "./engine/types.js";
export type { TestingSeams } from "./engine/testing-seams.js";
export type { VerifyOptions, VerifyReport } from "./forensic/verify.js";
