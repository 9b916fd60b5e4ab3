/** Keys for tests of notes: everybody has them. */
import { formatSignerKey, parseSignerKey } from "../../src/journal/note-keys.js";
import type { SignerKey } from "../../src/journal/note-keys.js";

/** The key whose seed is this number, as 32 bytes. */
export function keyOf(name: string, number: number): SignerKey {
  const seed = Buffer.alloc(32);
  seed.writeUInt32BE(number, 28);
  return parseSignerKey(formatSignerKey(name, seed), "key");
}
