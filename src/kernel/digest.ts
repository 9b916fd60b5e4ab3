/** SHA-256 in the shapes the format needs. Strings are hashed as their UTF-8 bytes. */
import { createHash, hash } from "node:crypto";

/** SHA-256 of text or bytes, as 64 lower-case hex digits. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash("sha256", data, "hex");
}

/** SHA-256 over several pieces, as hex; strings count as UTF-8. */
export function sha256HexOf(pieces: Iterable<string | Uint8Array>): string {
  const digest = createHash("sha256");
  for (const piece of pieces) digest.update(piece);
  return digest.digest("hex");
}

/** Bytes of a hash as hex. */
export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

const digestPattern = /^[0-9a-f]{64}$/;

/** Is it a SHA-256 in the form the format stores: 64 lower-case hex digits? */
export function isDigest(value: unknown): value is string {
  return typeof value === "string" && digestPattern.test(value);
}
