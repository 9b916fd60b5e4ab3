/** The keys of signed notes, as text: verifier keys, which anybody may have, and signer keys, which nobody else may see.
 *  Ed25519 alone; other algorithms are other people's keys. FORMAT.md section 9.
 *  Invariant: no message, no property and no printed form holds a private key. */
import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { decodeBase64, encodeBase64 } from "../kernel/base64.js";
import { sha256HexOf } from "../kernel/digest.js";
import { invalid, LedgerError } from "../kernel/errors.js";
import { nameUnitsMax } from "../kernel/limits.js";

/** A key that checks signatures. Name and id together find its lines in a note. */
export interface VerifierKey {
  readonly name: string;
  /** 8 hex digits. Short: it finds a key and vouches for nothing. */
  readonly id: string;
  /** The key as text: `name+id+base64`. */
  readonly text: string;
  readonly verify: (message: Uint8Array, signature: Uint8Array) => boolean;
}

/** A key that signs. */
export interface SignerKey {
  readonly verifier: VerifierKey;
  readonly sign: (message: Uint8Array) => Buffer;
}

const ed25519 = 1;
// What stands around the 32 bytes of a key in DER.
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex");
const spki = Buffer.from("302a300506032b6570032100", "hex");

/** Is it a name that a key may have in a note: not empty, no white space, no `+`? */
export function isKeyName(name: string): boolean {
  return name !== "" && name.isWellFormed() && !/[\p{White_Space}\u0000-\u001f+]/u.test(name);
}

/** Reads `name+id+base64`; `INVALID_ARGUMENT` when it is no Ed25519 key, or its id is not its own. */
export function parseVerifierKey(text: unknown, path: string): VerifierKey {
  const expected = "a verifier key: name, key id and Ed25519 key in base64, joined by +";
  if (typeof text !== "string") throw invalid(path, expected, text);
  if (text.startsWith("PRIVATE")) throw secret(path, expected); // the wrong one of a pair
  const [, name = "", id = "", encoded = ""] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(text) ?? [];
  const publicKey = readKey(encoded);
  if (publicKey === null) throw invalid(path, expected, text);
  const key = verifierKey(checkName(name, path), publicKey);
  if (key.id !== id) throw invalid(`${path} key id`, `that of its key, ${key.id}`, id);
  return key;
}

/** Reads `PRIVATE+KEY+name+id+base64`; `INVALID_ARGUMENT` as above, and without a word of what was found. */
export function parseSignerKey(text: unknown, path: string): SignerKey {
  const [, name = "", id = "", encoded = ""] =
    /^PRIVATE\+KEY\+([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(typeof text === "string" ? text : "") ?? [];
  const seed = readKey(encoded);
  if (seed === null)
    throw secret(path, "a signer key: PRIVATE, KEY, name, key id and Ed25519 seed in base64, joined by +");
  // A name that is none may be a part of the key.
  if (!canSign(name)) throw secret(path, nameExpected);
  const key = signerKey(name, seed);
  if (key.verifier.id !== id) throw secret(path, "a signer key with the key id of its key");
  return key;
}

/** The text of a signer key, from a name and 32 random bytes. */
export function formatSignerKey(name: string, seed: Uint8Array): string {
  if (seed.length !== 32) throw secret("seed", "32 random bytes");
  const { verifier } = signerKey(checkName(name, "key name"), seed);
  return `PRIVATE+KEY+${name}+${verifier.id}+${encodeKey(seed)}`;
}

function signerKey(name: string, seed: Uint8Array): SignerKey {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: "der", type: "pkcs8" });
  const publicKey = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(spki.length);
  return { verifier: verifierKey(name, publicKey), sign: (message) => sign(null, message, key) };
}

function verifierKey(name: string, publicKey: Uint8Array): VerifierKey {
  const key = createPublicKey({ key: Buffer.concat([spki, publicKey]), format: "der", type: "spki" });
  const id = sha256HexOf([name, "\n", Uint8Array.of(ed25519), publicKey]).slice(0, 8);
  const text = `${name}+${id}+${encodeKey(publicKey)}`;
  return { name, id, text, verify: (message, signature) => verify(null, message, key, signature) };
}

const nameExpected = `named with 1 to ${nameUnitsMax} units, without white space or +, not DSSEv1…`;

function checkName(name: string, path: string): string {
  if (!canSign(name)) throw invalid(path, nameExpected, name);
  return name;
}

function canSign(name: string): boolean {
  // What a DSSE signature covers starts with this word: text that begins with a name must never be that.
  return name.length <= nameUnitsMax && isKeyName(name) && !name.startsWith("DSSEv1");
}

function readKey(encoded: string): Uint8Array | null {
  const bytes = decodeBase64(encoded);
  return bytes?.length === 33 && bytes[0] === ed25519 ? bytes.subarray(1) : null;
}

function encodeKey(key: Uint8Array): string {
  return encodeBase64(Buffer.concat([Uint8Array.of(ed25519), key]));
}

function secret(path: string, expected: string): LedgerError {
  return new LedgerError("INVALID_ARGUMENT", `${path} must be ${expected}; what was found is not shown`, {
    details: { path, expected },
  });
}
