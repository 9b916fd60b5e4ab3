/** A checkpoint with its signatures, read and not yet believed. */
import { parseCheckpoint } from "../journal/checkpoint.js";
import { parseNote } from "../journal/note.js";
import type { NoteSignature } from "../journal/note.js";
import type { VerifierKey } from "../journal/note-keys.js";
import type { RawCheckpoint, RawReader } from "../journal/raw-reader.js";
import { hexOf } from "../kernel/digest.js";
import { LedgerError } from "../kernel/errors.js";

const rowsPerRead = 256;

export interface NotedCheckpoint {
  /** All of it, as it was read. */
  readonly note: string;
  /** The first line. */
  readonly origin: string;
  readonly size: number;
  /** In hex. */
  readonly root: string;
  /** What is signed; empty when nothing is. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** Reads a checkpoint from a note, or from its three lines alone. */
export function readCheckpoint(note: string): NotedCheckpoint {
  const { origin, size, root } = parseCheckpoint(note);
  const { text, signatures } = note.includes("\n\n") ? parseNote(note) : { text: "", signatures: [] };
  return { note, origin, size, root: hexOf(root), text, signatures };
}

/** Reads it, or says why it is none. */
export function tryCheckpoint(note: string): NotedCheckpoint | LedgerError {
  try {
    return readCheckpoint(note);
  } catch (error) {
    if (error instanceof LedgerError) return error;
    throw error;
  }
}

/** The rows of stored checkpoints, whatever is in them, in the order of their sizes. */
export async function* checkpointRows(reader: RawReader): AsyncGenerator<RawCheckpoint, void, undefined> {
  for (let after: number | null = null; ;) {
    const rows: readonly RawCheckpoint[] = await reader.checkpoints(after, rowsPerRead);
    yield* rows;
    const last = rows.at(-1)?.size;
    if (rows.length < rowsPerRead || typeof last !== "number" || (after !== null && last <= after)) return;
    after = last;
  }
}

/** The stored checkpoints that are some. */
export async function* storedCheckpoints(reader: RawReader): AsyncGenerator<NotedCheckpoint, void, undefined> {
  for await (const { note } of checkpointRows(reader)) {
    const checkpoint = typeof note === "string" ? tryCheckpoint(note) : null;
    if (checkpoint !== null && !(checkpoint instanceof LedgerError)) yield checkpoint;
  }
}

/** Which of the keys signed it; or the first of them whose signature is wrong. */
export function signersOf(
  { text, signatures }: NotedCheckpoint,
  keys: readonly VerifierKey[],
): { readonly signers: readonly VerifierKey[]; readonly wrong: VerifierKey | null } {
  const message = Buffer.from(text);
  const signers = new Set<VerifierKey>();
  for (const { name, id, signature } of signatures)
    for (const key of keys) {
      if (key.name !== name || key.id !== id) continue;
      if (!key.verify(message, signature)) return { signers: [], wrong: key };
      signers.add(key);
    }
  return { signers: [...signers], wrong: null };
}

/** Keys and signature lines by their names, for messages. */
export function namesOf(signers: readonly { readonly name: string; readonly id: string }[]): string {
  const names = [...new Set(signers.map(({ name, id }) => `${name}+${id}`))];
  if (names.length === 0) return "none";
  return names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
}
