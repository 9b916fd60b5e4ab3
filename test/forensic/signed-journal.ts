/** The journal that is attacked, with a key of its own and three stored checkpoints, and what somebody keeps outside. */
import { checkpointOrigin, formatCheckpoint } from "../../src/journal/checkpoint.js";
import { merkleRoot } from "../../src/journal/merkle.js";
import { formatSignerKey, parseSignerKey } from "../../src/journal/note-keys.js";
import type { SignerKey } from "../../src/journal/note-keys.js";
import { signNote } from "../../src/journal/note.js";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { copyOf, makeJournal } from "./journal.js";

export const origin = "testing/tampered";

/** A key by its number. */
export function keyOf(number: number, name: string = origin): SignerKey {
  return parseSignerKey(formatSignerKey(name, Buffer.alloc(32, number)), "key");
}

/** The journal's key, and somebody else's. */
export const key: SignerKey = keyOf(1);
export const vkey: string = key.verifier.text;
export const stranger: SignerKey = keyOf(9);

/** The root of the first entries, by the ids in their rows. */
export function rootAt(rows: RawRows, size: number): string {
  return merkleRoot(rows.entries.slice(0, size).map(({ id }) => String(id)));
}

/** A checkpoint of the rows as they stand, signed by whoever is named. */
export function checkpointOf(
  rows: RawRows,
  size: number,
  signers: readonly SignerKey[] = [key],
  incarnation = 1,
): string {
  const root = Buffer.from(rootAt(rows, size), "hex");
  const text = formatCheckpoint({ origin: checkpointOrigin(origin, incarnation), size, root });
  return signers.length === 0 ? text : signNote(text, signers);
}

/** Where the stored checkpoints are: early, at the edge of a tile, and near the end. */
export const storedSizes: readonly number[] = [100, 256, 330];

const template = makeJournal(vkey);
storeCheckpoints(template, [key]);

/** Puts checkpoints of the rows as they stand in place of those stored. */
export function storeCheckpoints(rows: RawRows, signers: readonly SignerKey[], sizes = storedSizes): void {
  rows.checkpoints = sizes
    .filter((size) => size <= rows.entries.length)
    .map((size) => ({ size, note: checkpointOf(rows, size, signers) }));
}

/** The rows, to be changed. */
export function signedRows(): RawRows {
  return copyOf(template);
}

/** What was kept outside: a checkpoint of the rows before anybody changed them. */
export function kept(size: number, signers: readonly SignerKey[] = [key]): string {
  return checkpointOf(template, size, signers);
}
