/** `runledger/forensic`: reads only, trusts nothing. Every public name, one by one. */
export { verify } from "./verify.js";
export type { VerifyOptions, VerifyProgress } from "./verify.js";
export type { EntryRange, RangeProof, RangeWorkers, StartRangeWorkers } from "./ranges.js";
export { forkCheck } from "./fork-check.js";
export type { ForkCheckOptions, ForkReport, ForkSide, ForkVerdict } from "./fork-check.js";
export type { Equivocation } from "./equivocation.js";
export { formatReport } from "./format-report.js";
export type { Anchored, CheckLine, Verdict, VerifyLevel, VerifyReport } from "./report.js";
export { findingKinds } from "./findings.js";
export type {
  CheckName,
  DocumentFault,
  DocumentPlace,
  Finding,
  FindingClass,
  FindingCode,
  FindingKind,
} from "./findings.js";
export { entryId, EntryProblem, parseEntry } from "../journal/entry.js";
export type { EntryFields, FenceMark } from "../journal/entry.js";
export { checkProof } from "./check-proof.js";
export type { ProofCheck, ProofEvidence, ProofReport } from "./check-proof.js";
export { merkleRoot, verifyConsistency, verifyInclusion } from "./proofs.js";
export type { ConsistencyProof, InclusionProof } from "./proofs.js";
export { parseCheckpoint } from "../journal/checkpoint.js";
export type { Checkpoint } from "../journal/checkpoint.js";
export { verifyNote } from "../journal/note.js";
export type { VerifiedSigner } from "../journal/note.js";
export { contentDigest } from "../journal/content.js";
export { canonicalize } from "../kernel/canonical.js";
export type { JsonObject, JsonValue } from "../kernel/canonical.js";
export type {
  EvidenceFile,
  RawCheckpoint,
  RawContent,
  RawEntry,
  RawNode,
  RawProblem,
  RawProblemPart,
  RawReader,
  RawStream,
  RawStreamPage,
  RawType,
} from "../journal/raw-reader.js";
