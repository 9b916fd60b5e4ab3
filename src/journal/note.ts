/** Signed notes, C2SP `signed-note`: text, an empty line, and lines of signatures, which are a set. FORMAT.md section 9.
 *  A note that cannot be read is `NOTE_INVALID`; one that can is told from one that its signers vouch for: no known
 *  signer is `SIGNER_UNKNOWN`, a wrong signature of a known one `SIGNATURE_INVALID`.
 *  Invariant: what a note says is worth nothing before it was verified. */
import { types } from "node:util";
import { decodeBase64, encodeBase64 } from "../kernel/base64.js";
import { describe, invalid, LedgerError, limit } from "../kernel/errors.js";
import { noteBytesMax, noteNameUnitsMax, noteSignaturesMax } from "../kernel/limits.js";
import { isList } from "../kernel/members.js";
import { isKeyName, parseVerifierKey } from "./note-keys.js";
import type { SignerKey, VerifierKey } from "./note-keys.js";

/** A note, read and not verified. */
export interface Note {
  /** What is signed, its final newline included. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** A line of a note: whose signature it claims to be. */
export interface NoteSignature {
  readonly name: string;
  /** 8 hex digits. */
  readonly id: string;
  readonly signature: Uint8Array;
}

/** A known signer whose signature was verified. @public */
export interface VerifiedSigner {
  /** The name of the key. */
  readonly name: string;
  /** The key id, 8 hex digits. */
  readonly id: string;
  /** The verifier key, as it was given. */
  readonly key: string;
}

/** Checks a note against the only keys that are trusted, and answers which of them signed it, in the order of `vkeys`.
 *  Lines of other signers, of other algorithms (cosignatures) too, are ignored; one wrong signature of a known signer
 *  refuses the note, wherever it stands. It says nothing about the text but that they signed it.
 *  Errors: `NOTE_INVALID`, `SIGNATURE_INVALID`, `SIGNER_UNKNOWN`; `LIMIT_EXCEEDED` for more than 100 signatures,
 *  1,000,000 bytes or 1,024 units of a name; `INVALID_ARGUMENT` for a key that is none, or two keys that share name and id. @public */
export function verifyNote(text: string | Uint8Array, vkeys: readonly string[]): VerifiedSigner[] {
  const keys = parseVerifierKeys(vkeys, "vkeys");
  const note = parseNote(text);
  const message = Buffer.from(note.text);
  const verified = new Set<VerifierKey>();
  for (const { name, id, signature } of note.signatures) {
    const key = keys.find((known) => known.name === name && known.id === id);
    if (key === undefined) continue;
    if (!key.verify(message, signature))
      throw new LedgerError("SIGNATURE_INVALID", `the signature of ${name}+${id} must be of this note, found another`, {
        details: { name, id },
      });
    verified.add(key);
  }
  if (verified.size > 0)
    return keys.filter((key) => verified.has(key)).map(({ name, id, text: key }) => ({ name, id, key }));
  const [expected, found] = [names(keys), names(note.signatures)];
  throw new LedgerError("SIGNER_UNKNOWN", `the note must be signed by one of ${expected}, found ${found}`, {
    details: { expected: keys.map(({ name, id }) => `${name}+${id}`) },
  });
}

/** Signs text and writes the note. The text must be what a note can carry and end in a newline. */
export function signNote(text: string, signers: readonly SignerKey[]): string {
  if (signers.length === 0) throw invalid("signers", "at least one", signers);
  if (signers.length > noteSignaturesMax) throw limit("note", "signatures", noteSignaturesMax, signers.length);
  // What DSSE signs starts so; a key may serve both.
  if (!isNoteText(text) || text.startsWith("DSSEv1"))
    throw invalid("text", "lines without control characters, each ended by a newline", text);
  const message = Buffer.from(text);
  const lines = signers.map(({ verifier, sign }) => {
    const signature = Buffer.concat([Buffer.from(verifier.id, "hex"), sign(message)]);
    return `— ${verifier.name} ${encodeBase64(signature)}\n`;
  });
  return `${text}\n${lines.join("")}`;
}

/** Takes a note apart, strictly: one note has one spelling. */
export function parseNote(note: string | Uint8Array): Note {
  const all = noteString(note);
  if (!isNoteText(all)) throw malformed("lines without control characters, each ended by a newline", all);
  const cut = all.lastIndexOf("\n\n");
  if (cut < 0) throw malformed("a text and an empty line before its signatures", all);
  const lines = all.slice(cut + 2, -1).split("\n");
  if (lines.length > noteSignaturesMax) throw limit("note", "signatures", noteSignaturesMax, lines.length);
  return { text: all.slice(0, cut + 1), signatures: lines.map(parseSignature) };
}

/** The text of a note, or of what should be one, from text or bytes. */
export function noteString(note: string | Uint8Array): string {
  const bytes = typeof note === "string" ? Buffer.byteLength(note) : types.isUint8Array(note) ? note.byteLength : null;
  if (bytes === null) throw invalid("note", "text or bytes", note);
  if (bytes > noteBytesMax) throw limit("note", "bytes", noteBytesMax, bytes);
  if (typeof note === "string") return note;
  try {
    return decoder.decode(note);
  } catch {
    throw malformed("UTF-8", note);
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The refusal of a note, or of a checkpoint, that is not of its format. */
export function malformed(expected: string, found: unknown): LedgerError {
  const shown = describe(found);
  return new LedgerError("NOTE_INVALID", `the note must have ${expected}, found ${shown}`, {
    details: { expected, found: shown },
  });
}

function isNoteText(text: string): boolean {
  return text.endsWith("\n") && text.isWellFormed() && !/[\u0000-\u0009\u000b-\u001f]/.test(text);
}

function parseSignature(line: string): NoteSignature {
  const [, name = "", encoded = ""] = /^— ([^ ]+) ([^ ]+)$/.exec(line) ?? [];
  const bytes = decodeBase64(encoded);
  if (name.length > noteNameUnitsMax) throw limit("note name", "UTF-16 units", noteNameUnitsMax, name.length);
  if (!isKeyName(name) || bytes === null || bytes.length <= 4)
    throw malformed("lines of a dash, a name and a signature in base64 behind its last empty line", line);
  return { name, id: bytes.toString("hex", 0, 4), signature: bytes.subarray(4) };
}

/** Reads a list of verifier keys; `INVALID_ARGUMENT` for one that is none, and for two that share name and id. */
export function parseVerifierKeys(vkeys: unknown, path: string): VerifierKey[] {
  if (!isList(vkeys)) throw invalid(path, "an array of verifier keys", vkeys);
  const keys = new Map<string, VerifierKey>();
  for (const [at, vkey] of vkeys.entries()) {
    const key = parseVerifierKey(vkey, `${path}[${at}]`);
    const other = keys.get(`${key.name}+${key.id}`);
    // Nobody can say which of the two a line means; short ids are easily made to collide.
    if (other !== undefined && other.text !== key.text)
      throw invalid(`${path}[${at}]`, "a key whose name and id no other key has", `${key.name}+${key.id}`);
    keys.set(`${key.name}+${key.id}`, key);
  }
  return [...keys.values()];
}

function names(keys: readonly { readonly name: string; readonly id: string }[]): string {
  const shown = [...new Set(keys.slice(0, 5).map(({ name, id }) => `${name}+${id}`))].join(", ");
  return shown === "" ? "no key" : `${shown}${keys.length > 5 ? " and others" : ""}`;
}
