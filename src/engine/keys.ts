/** The signer keys that a ledger was given, as text or as the path of a file.
 *  Invariant: nothing of a key is ever in an error, whatever was given in its place. Source: decision 0013. */
import { invalid, LedgerError } from "../kernel/errors.js";
import { parseOrigin } from "../kernel/names.js";
import { parseSignerKey } from "../journal/note-keys.js";
import type { SignerKey } from "../journal/note-keys.js";
import { readKeyFile } from "./key-file.js";

/** Reads a signer key. `ledger` is the file whose directory must not hold the key's; null when there is none. */
export async function loadSigner(key: unknown, path: string, ledger: string | null): Promise<SignerKey> {
  if (typeof key !== "string" || key === "")
    throw secret(path, typeof key === "string" ? "an empty string" : describeKind(key));
  const text = mayBeKey(key) ? key : (await readKeyFile(key, ledger)).replace(/\r?\n$/, "");
  return parseSigner(text, path);
}

function parseSigner(text: string, path: string): SignerKey {
  let signer: SignerKey;
  try {
    signer = parseSignerKey(text, path);
  } catch {
    // Its message may quote what looks like a name and is part of the key.
    throw secret(path, describeText(text));
  }
  parseOrigin(signer.verifier.name, `${path} name`);
  return signer;
}

/** Refuses a key that is another journal's: a checkpoint is signed in the name of its origin. */
export function checkKeyName(signer: SignerKey, origin: string, path: string): void {
  if (signer.verifier.name !== origin)
    throw invalid(path, `a key with the name of the journal, ${origin}`, signer.verifier.name);
}

/** Is it key material, or what may have been some before it was damaged, rather than the path of a file? When in doubt it
 *  is not looked for on disk, because a path that is not there is shown to the caller. */
export function mayBeKey(value: string): boolean {
  return /PRIVATE\+?KEY|-----|\+[0-9a-f]{8}\+|[\0\r\n]/i.test(value) || /^[A-Za-z0-9+/=_-]{40,}$/.test(value.trim());
}

function describeText(text: string): string {
  if (text.includes("-----BEGIN")) return "a key in PEM form";
  if (text.startsWith("PRIVATE+KEY+")) return "one that is damaged or cut short";
  if (/^[^+\s]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+$/.test(text)) return "a verifier key, which cannot sign";
  return "something else";
}

function describeKind(value: unknown): string {
  return value === null ? "null" : typeof value;
}

function secret(path: string, found: string): LedgerError {
  const expected = "a signer key (PRIVATE+KEY+…) or the path of a file that holds one";
  return new LedgerError("INVALID_ARGUMENT", `${path} must be ${expected}, found ${found}`, {
    details: { path, expected, found },
    hint: "`runledger keygen` makes one",
  });
}
