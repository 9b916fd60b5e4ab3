/** What a checkpoint is to say and who must sign it, read from one snapshot.
 *  Invariant: no draft contradicts a checkpoint that is stored: a key that signed two histories of one journal proves
 *  nothing any more. The largest stored one and the last two up to the size are held against the tree. */
import { invalid, LedgerError } from "../kernel/errors.js";
import { formatCheckpoint, parseCheckpoint } from "../journal/checkpoint.js";
import type { Checkpoint } from "../journal/checkpoint.js";
import type { KeyEpoch } from "../journal/epochs.js";
import { verifyNote } from "../journal/note.js";
import { rootAt } from "../journal/proof.js";
import type { SubtreeRoot } from "../journal/proof.js";
import type { StoredCheckpoint, StoreReads } from "../journal/store.js";
import type { OwnEvents } from "./own-events.js";
import { rolledBack } from "./rolled-back.js";
import { storedTree } from "./stored-tree.js";

export interface CheckpointDraft {
  readonly size: number;
  /** The three lines that are signed. */
  readonly text: string;
  /** The verifier keys that must have signed it; none when the journal has no key. */
  readonly keys: readonly string[];
  /** The note that is stored for this size with all these signatures; null when there is none. */
  readonly stored: string | null;
}

/** Drafts the checkpoint of a size, or of all entries. */
export async function draftCheckpoint(
  reads: StoreReads,
  own: OwnEvents,
  wanted: number | null,
): Promise<CheckpointDraft> {
  const entries = await countEntries(reads);
  const size = wanted ?? entries;
  if (size > entries) throw invalid("options.size", `at most ${entries}, as many as there are entries`, size);
  await own.readOn(reads);
  const tree = storedTree(reads);
  const below = await reads.checkpoints(size, 2);
  for (const stored of new Map(
    [...(await reads.checkpoints(null, 1)), ...below].map((each) => [each.size, each]),
  ).values())
    await checkStored(stored, own, tree, entries);

  const keys = keysOf(
    own.epochs.keyOf(size),
    below.find((each) => each.size < size),
  );
  const same = below.find((each) => each.size === size);
  const stored = same !== undefined && keys.every((key) => isSignedBy(same.note, key)) ? same.note : null;
  return { size, text: formatCheckpoint(await checkpointOf(size, own, tree)), keys, stored };
}

/** Was the key changed without the checkpoint that both keys sign? `largest` is the last one made up to the size in question. */
export function isUnfinished({ key, previous, since }: KeyEpoch, largest: StoredCheckpoint | undefined): boolean {
  return previous !== null && previous !== key && (largest === undefined || largest.size <= since);
}

function keysOf(epoch: KeyEpoch, before: StoredCheckpoint | undefined): string[] {
  const keys = isUnfinished(epoch, before) ? [epoch.key, epoch.previous] : [epoch.key];
  return keys.filter((key) => key !== null);
}

/** How many entries a snapshot shows: one at least. */
export async function countEntries(reads: StoreReads): Promise<number> {
  const head = await reads.head();
  if (head === null) throw new LedgerError("STORE_DAMAGED", "the journal must have its first entry, found none");
  return head.seq + 1;
}

/** What the journal is at a size, as far as its stored tree says. */
export async function checkpointOf(size: number, own: OwnEvents, tree: SubtreeRoot): Promise<Checkpoint> {
  return { origin: own.epochs.lineOf(size), size, root: Buffer.from(await rootAt(size, tree), "hex") };
}

/** Refuses to go on when a stored checkpoint is none of this journal as it stands. */
export async function checkStored(
  { size, note }: StoredCheckpoint,
  own: OwnEvents,
  tree: SubtreeRoot,
  entries: number,
): Promise<void> {
  if (size > entries) throw rolledBack("entries", size, entries);
  const problem =
    size < 1 ? "a size below 1" : problemOf(note, await checkpointOf(size, own, tree), own.epochs.keyOf(size).key);
  if (problem === null) return;
  throw new LedgerError(
    "STORE_DAMAGED",
    `the checkpoint that is stored for ${size} entries must be of this journal and signed by its key, found ${problem}`,
    {
      details: { size, found: problem },
      hint: "nothing more is signed until this is settled; run `runledger verify` on it",
    },
  );
}

function problemOf(note: string, expected: Checkpoint, key: string | null): string | null {
  let found: Checkpoint;
  try {
    found = parseCheckpoint(note);
  } catch (error) {
    if (error instanceof LedgerError) return "text that is no checkpoint";
    throw error;
  }
  if (found.origin !== expected.origin) return "another origin";
  if (found.size !== expected.size) return "another size";
  if (!Buffer.from(found.root).equals(expected.root)) return "another root";
  return key === null || isSignedBy(note, key) ? null : "no signature of it";
}

function isSignedBy(note: string, key: string): boolean {
  try {
    return verifyNote(note, [key]).length === 1;
  } catch (error) {
    if (error instanceof LedgerError) return false;
    throw error;
  }
}
