/** A page of a stream: where its revisions stand in the journal. Written when full. */

/** Revisions a page: revision r stands on page ⌊(r − 1) / 256⌋. */
export const revisionsPerPage = 256;
const pageBytes: number = revisionsPerPage * 8;

/** Each position as 8 bytes, big-endian. */
export function encodePage(seqs: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(seqs.length * 8);
  for (const [index, seq] of seqs.entries()) bytes.writeBigUInt64BE(BigInt(seq), index * 8);
  return bytes;
}

/** The positions of a full page; null when the bytes are not one. */
export function decodePage(bytes: unknown): number[] | null {
  if (!(bytes instanceof Uint8Array) || bytes.length !== pageBytes) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const seqs: number[] = [];
  for (let offset = 0; offset < bytes.length; offset += 8) {
    // Two halves instead of a BigInt: positions are below 2^53, and anything above is not one.
    const high = view.getUint32(offset);
    if (high > 0x1f_ffff) return null;
    seqs.push(high * 0x1_0000_0000 + view.getUint32(offset + 4));
  }
  return seqs;
}
