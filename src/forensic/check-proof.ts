/** What a proof in a file shows, without the ledger that it came from.
 *  Invariant: nothing is believed but what the caller brings: the key, the bytes of the entry, the checkpoint that was kept.
 *  What was not brought is said to be unchecked, and never counted as right. */
import { hexOf } from "../kernel/digest.js";
import { LedgerError } from "../kernel/errors.js";
import { checkMembers } from "../kernel/members.js";
import { incarnationOf, parseCheckpoint } from "../journal/checkpoint.js";
import type { Checkpoint } from "../journal/checkpoint.js";
import { entryId, EntryProblem, parseEntry } from "../journal/entry.js";
import { parseVerifierKey } from "../journal/note-keys.js";
import { noteString, verifyNote } from "../journal/note.js";
import { parseAddCheckpoint, parseTlogProof } from "../journal/proof-file.js";
import type { AddCheckpoint, TlogProof } from "../journal/proof-file.js";
import { verifyConsistency, verifyInclusion } from "./proofs.js";

/** What the caller of `checkProof` knows from elsewhere. @public */
export interface ProofEvidence {
  /** The verifier key that must have signed the checkpoint inside the proof. */
  readonly key?: string;
  /** The bytes of the entry, for a proof that it is in the journal. */
  readonly entry?: string | Uint8Array;
  /** The checkpoint that was kept, for a proof that the journal still begins with it. */
  readonly from?: string | Uint8Array;
}

/** One check: `unchecked` when the caller did not bring what it takes. @public */
export interface ProofCheck {
  readonly check: "signature" | "inclusion" | "consistency";
  readonly result: "ok" | "FAIL" | "unchecked";
  readonly message: string;
}

/** What a proof shows. @public */
export interface ProofReport {
  readonly kind: "inclusion" | "consistency";
  /** `VERIFIED`: all of it; `FAILED`: something is wrong; `UNDECIDED`: nothing is, and not everything could be checked. */
  readonly verdict: "VERIFIED" | "FAILED" | "UNDECIDED";
  /** As the command ends: 0, 1 or 3. */
  readonly exitCode: 0 | 1 | 3;
  /** The position that is proved to be in the journal; null in a proof of consistency. */
  readonly position: number | null;
  /** The size that the journal is proved to begin with; null in a proof of inclusion. */
  readonly from: number | null;
  /** The checkpoint inside the proof; the root is 64 hex digits. */
  readonly checkpoint: { readonly origin: string; readonly size: number; readonly root: string };
  readonly checks: readonly ProofCheck[];
}

/** Checks a C2SP `tlog-proof@v1`, as `prove` makes it, or a proof of consistency in the form of an `add-checkpoint`.
 *  `PROOF_INVALID` and `NOTE_INVALID` when it is none of these; `INVALID_ARGUMENT` for a key that is none. @public */
export function checkProof(proof: string | Uint8Array, evidence: ProofEvidence = {}): ProofReport {
  const text = noteString(proof);
  checkMembers(evidence, "evidence", ["key", "entry", "from"]);
  const key = evidence.key === undefined ? null : parseVerifierKey(evidence.key, "evidence.key");
  const parsed = text.startsWith("old ") ? parseAddCheckpoint(text) : parseTlogProof(text);
  const checkpoint = parseCheckpoint(parsed.checkpoint);
  const signature = attempt("signature", () =>
    key === null ? null : checkSignature(parsed.checkpoint, checkpoint, key.name, key.text),
  );
  const shown =
    "index" in parsed
      ? attempt("inclusion", () => checkInclusion(parsed, checkpoint, evidence.entry))
      : attempt("consistency", () => checkConsistency(parsed, checkpoint, evidence.from));
  return conclude(parsed, checkpoint, [signature, shown]);
}

function conclude(
  parsed: TlogProof | AddCheckpoint,
  { origin, size, root }: Checkpoint,
  checks: readonly ProofCheck[],
): ProofReport {
  const failed = checks.some(({ result }) => result === "FAIL");
  const verdict = failed ? "FAILED" : checks.every(({ result }) => result === "ok") ? "VERIFIED" : "UNDECIDED";
  const [position, from] = "index" in parsed ? [parsed.index, null] : [null, parsed.oldSize];
  return {
    kind: position === null ? "consistency" : "inclusion",
    verdict,
    exitCode: failed ? 1 : verdict === "VERIFIED" ? 0 : 3,
    position,
    from,
    checkpoint: { origin, size, root: hexOf(root) },
    checks,
  };
}

const missing = {
  signature: "no key was given: whoever made the proof may have made the checkpoint too",
  inclusion: "no entry was given: nothing is shown of an event",
  consistency: "no checkpoint that was kept was given: nothing is shown of the journal that it was of",
};

/** `act` answers what is right, or null when the caller did not bring what it takes. */
function attempt(check: ProofCheck["check"], act: () => string | null): ProofCheck {
  try {
    const message = act();
    return message === null
      ? { check, result: "unchecked", message: missing[check] }
      : { check, result: "ok", message };
  } catch (error) {
    if (!(error instanceof LedgerError || error instanceof EntryProblem)) throw error;
    return { check, result: "FAIL", message: error.message };
  }
}

/** A key signs for the journal of its name alone. */
function checkSignature(note: string, { origin }: Checkpoint, name: string, key: string): string {
  if (!note.includes("\n\n")) throw wrong(`the checkpoint in the proof must be signed by ${name}, found it unsigned`);
  verifyNote(note, [key]);
  if (incarnationOf(origin, name) === null)
    throw wrong(`a checkpoint that ${name} signs must be of its journal, found ${origin}`);
  return `of ${key}`;
}

function checkInclusion(
  { index, proof }: TlogProof,
  { size, root }: Checkpoint,
  entry: ProofEvidence["entry"],
): string | null {
  if (entry === undefined) return null;
  const id = entryId(entry);
  verifyInclusion({ leafHash: Buffer.from(id, "hex"), index, size, proof, root });
  const { seq } = parseEntry(entry);
  if (seq !== index) throw wrong(`the entry must say that it is #${index}, found #${seq}`);
  return `${id} is #${index} of ${size}`;
}

function checkConsistency(
  { oldSize, proof }: AddCheckpoint,
  now: Checkpoint,
  from: ProofEvidence["from"],
): string | null {
  if (from === undefined) return null;
  const kept = parseCheckpoint(from);
  if (kept.size !== oldSize)
    throw wrong(`the proof must begin at ${kept.size} entries, as the checkpoint does, found ${oldSize}`);
  if (!mayBeOneJournal(now.origin, kept.origin))
    throw wrong(`both checkpoints must be of one journal, found ${kept.origin} and ${now.origin}`);
  verifyConsistency({ size1: oldSize, root1: kept.root, size2: now.size, root2: now.root, proof });
  return `the ${now.size} entries begin with those ${oldSize}`;
}

/** Whether `a/2` is a journal or the second incarnation of `a`, only their tree can tell. */
function mayBeOneJournal(one: string, other: string): boolean {
  const origins = (line: string): string[] => [line, line.replace(/\/[1-9][0-9]*$/, "")];
  return origins(one).some((origin) => origins(other).includes(origin));
}

function wrong(message: string): LedgerError {
  return new LedgerError("PROOF_INVALID", message, { details: { reason: "context" } });
}
