/** A source of numbers from 0 to below 1: the same seed, the same numbers. @public */
export function seededNumbers(seed: number): () => number {
  // Xorshift over 32 bits, whose one fixed point is 0.
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** A source of bytes for `openLedger(…, { testing: { randomBytes } })`: the same seed, the same nonces, ids and salts. @public */
export function seededBytes(seed = 1): (size: number) => Uint8Array {
  const next = seededNumbers(seed);
  return (size) => Uint8Array.from({ length: size }, () => Math.floor(next() * 256));
}
