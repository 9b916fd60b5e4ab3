/** Checkpoints, C2SP `tlog-checkpoint` without extension lines: what a journal was at one size, in three lines that a note
 *  can sign. FORMAT.md section 9.
 *  Invariant: a checkpoint that we write has no white space in its first line, so that nothing else a key signs is one. */
import { decodeBase64, encodeBase64 } from "../kernel/base64.js";
import { invalid, limit } from "../kernel/errors.js";
import { noteNameUnitsMax } from "../kernel/limits.js";
import { isKeyName } from "./note-keys.js";
import { malformed, noteString, parseNote } from "./note.js";

/** What a journal was at one size. @public */
export interface Checkpoint {
  /** The first line: the journal's origin, from incarnation 2 on with `/` and the incarnation behind it. */
  readonly origin: string;
  /** How many entries. */
  readonly size: number;
  /** The root of the tree of these entries, 32 bytes. */
  readonly root: Uint8Array;
}

/** The three lines: the text of a note, still unsigned. */
export function formatCheckpoint({ origin, size, root }: Checkpoint): string {
  if (!isKeyName(origin) || origin.startsWith("DSSEv1")) throw invalid("origin", "without white space or +", origin);
  if (!Number.isSafeInteger(size) || size < 0) throw invalid("size", "a whole number from 0 to 2^53 - 1", size);
  if (root.length !== 32) throw invalid("root", "32 bytes", root.length);
  return `${origin}\n${size}\n${encodeBase64(root)}\n`;
}

/** Reads a checkpoint, signed or not, from a note or from its text alone. It verifies nothing: `verifyNote` does. Foreign
 *  origins are read too; compare. Errors: `NOTE_INVALID`, for extension lines too; `LIMIT_EXCEEDED` as for notes. @public */
export function parseCheckpoint(text: string | Uint8Array): Checkpoint {
  const all = noteString(text);
  const body = all.includes("\n\n") ? parseNote(all).text : all;
  const [origin = "", size = "", root = "", ...rest] = body.split("\n");
  if (origin === "" || !origin.isWellFormed() || /[\u0000-\u001f]/.test(origin))
    throw malformed("the origin of a journal in its first line", origin);
  if (origin.length > noteNameUnitsMax) throw limit("note origin", "UTF-16 units", noteNameUnitsMax, origin.length);
  const count = parseCount(size);
  if (count === null) throw malformed("a size from 0 to 2^53 - 1 without leading zeros in its second line", size);
  const bytes = decodeBase64(root);
  if (bytes?.length !== 32) throw malformed("a root of 32 bytes in base64 in its third line", root);
  if (rest.length !== 1 || rest[0] !== "") throw malformed("three lines, each ended by a newline", rest.join("\n"));
  return { origin, size: count, root: bytes };
}

/** The first line of the checkpoints of an incarnation. */
export function checkpointOrigin(origin: string, incarnation: number): string {
  return incarnation === 1 ? origin : `${origin}/${incarnation}`;
}

/** Which incarnation of a journal a checkpoint with this first line is of; null when it is of another journal. The journal's
 *  origin must be known: `a/2` is the first incarnation of one journal and the second of another. */
export function incarnationOf(line: string, origin: string): number | null {
  if (line === origin) return 1;
  const incarnation = line.startsWith(`${origin}/`) ? parseCount(line.slice(origin.length + 1)) : null;
  return incarnation !== null && incarnation >= 2 ? incarnation : null;
}

/** Reads a size or an index: decimal digits without leading zeros, at most 2^53 − 1; null for any other text. */
export function parseCount(text: string): number | null {
  if (!/^(0|[1-9][0-9]{0,15})$/.test(text)) return null;
  const count = Number(text);
  return Number.isSafeInteger(count) ? count : null;
}
