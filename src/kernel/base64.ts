/** Base64 of RFC 4648 section 4, padded, in the one spelling that bytes have. */

/** The bytes; null for any other text: another alphabet, white space, missing padding, bits behind the last byte. */
export function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : null;
}

export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
