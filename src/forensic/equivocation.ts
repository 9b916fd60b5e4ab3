/** Two checkpoints that one signer has signed and that cannot both be true: the proof that a journal has two histories, for
 *  whoever has the key, without either ledger. */
import type { RawReader } from "../journal/raw-reader.js";
import type { VerifierKey } from "../journal/note-keys.js";
import { namesOf, signersOf, storedCheckpoints } from "./noted-checkpoint.js";
import type { NotedCheckpoint } from "./noted-checkpoint.js";

/** Two checkpoints of one size with different roots: whoever signed both has told two histories. @public */
export interface Equivocation {
  readonly size: number;
  /** The notes, as they can be shown to anybody. */
  readonly a: string;
  readonly b: string;
  /** Who signed both: names and key ids. */
  readonly signers: string;
  /** Were the signatures verified, under keys that were given? */
  readonly verified: boolean;
}

/** The smallest two that are stored in both; null when there are none. */
export async function findEquivocation(
  a: RawReader,
  b: AsyncIterable<NotedCheckpoint>,
  keys: readonly VerifierKey[],
): Promise<Equivocation | null> {
  const mine = storedCheckpoints(a);
  try {
    let one = await mine.next();
    for await (const other of b) {
      while (one.done !== true && one.value.size < other.size) one = await mine.next();
      if (one.done === true) return null;
      const found = equivocationOf(one.value, other, keys);
      if (found !== null) return found;
    }
    return null;
  } finally {
    await mine.return();
  }
}

function equivocationOf(a: NotedCheckpoint, b: NotedCheckpoint, keys: readonly VerifierKey[]): Equivocation | null {
  if (a.size !== b.size || a.origin !== b.origin || a.root === b.root) return null;
  const signers =
    keys.length === 0
      ? a.signatures.filter((mine) => b.signatures.some(({ name, id }) => name === mine.name && id === mine.id))
      : signersOf(a, keys).signers.filter((key) => signersOf(b, keys).signers.includes(key));
  if (signers.length === 0) return null;
  return { size: a.size, a: a.note, b: b.note, signers: namesOf(signers), verified: keys.length > 0 };
}
