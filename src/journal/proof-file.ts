/** Proofs as files: C2SP `tlog-proof@v1` for an entry, and the body of a `tlog-witness` `add-checkpoint` for a prefix.
 *  Each carries the checkpoint that it proves something of, as it is. FORMAT.md section 8.
 *  Reading one checks its form alone; whether it proves anything is for `verifyNote` and the two functions that check. */
import { types } from "node:util";
import { decodeBase64, encodeBase64 } from "../kernel/base64.js";
import { describe, invalid, LedgerError } from "../kernel/errors.js";
import { proofHashesMax } from "../kernel/limits.js";
import { parseCheckpoint, parseCount } from "./checkpoint.js";
import { noteString } from "./note.js";

/** That an entry is in the tree of a checkpoint. */
export interface TlogProof {
  readonly index: number;
  readonly proof: readonly Uint8Array[];
  /** The checkpoint as it is: a note, or its text alone. */
  readonly checkpoint: string;
}

/** That the tree of `oldSize` entries is where that of a checkpoint begins. At 0 there is nothing to prove. */
export interface AddCheckpoint {
  readonly oldSize: number;
  readonly proof: readonly Uint8Array[];
  readonly checkpoint: string;
}

const firstLine = "c2sp.org/tlog-proof@v1";

export function formatTlogProof({ index, proof, checkpoint }: TlogProof): string {
  return `${firstLine}\nindex ${count(index, "index")}\n${lines(proof)}\n${checkpoint}`;
}

/** Reads a `tlog-proof@v1`. Its `extra` line, which vouches for nothing, is left out. Errors: `PROOF_INVALID`,
 *  `NOTE_INVALID` for the checkpoint inside, `LIMIT_EXCEEDED` as for notes. */
export function parseTlogProof(text: string | Uint8Array): TlogProof {
  const { head, checkpoint } = takeApart(text);
  const [first, ...rest] = head;
  if (first !== firstLine) throw malformed(`the first line ${firstLine}`, first);
  if (rest[0]?.startsWith("extra ") === true) {
    if (decodeBase64(rest[0].slice("extra ".length)) === null) throw malformed("extra data in base64", rest[0]);
    rest.shift();
  }
  return { index: parseNumber(rest.shift(), "index"), proof: parseHashes(rest), checkpoint };
}

export function formatAddCheckpoint({ oldSize, proof, checkpoint }: AddCheckpoint): string {
  return `old ${count(oldSize, "oldSize")}\n${lines(proof)}\n${checkpoint}`;
}

/** Reads `old N`, hashes, an empty line and a checkpoint. Errors as above. */
export function parseAddCheckpoint(text: string | Uint8Array): AddCheckpoint {
  const { head, checkpoint } = takeApart(text);
  const [first, ...rest] = head;
  const oldSize = parseNumber(first, "old");
  if (oldSize === 0 && rest.length > 0) throw malformed("no hashes behind old 0", rest.length);
  return { oldSize, proof: parseHashes(rest), checkpoint };
}

/** The lines before the first empty one, and the checkpoint behind it. */
function takeApart(text: string | Uint8Array): { readonly head: readonly string[]; readonly checkpoint: string } {
  const all = noteString(text);
  const cut = all.indexOf("\n\n");
  if (cut < 0) throw malformed("an empty line before its checkpoint", all);
  const checkpoint = all.slice(cut + 2);
  parseCheckpoint(checkpoint);
  return { head: all.slice(0, cut).split("\n"), checkpoint };
}

function parseNumber(line: string | undefined, word: string): number {
  const number = line?.startsWith(`${word} `) === true ? parseCount(line.slice(word.length + 1)) : null;
  if (number === null) throw malformed(`a line "${word} N", N from 0 to 2^53 - 1 without leading zeros`, line);
  return number;
}

function parseHashes(found: readonly string[]): Buffer[] {
  if (found.length > proofHashesMax) throw malformed(`at most ${proofHashesMax} hashes`, found.length);
  return found.map((line) => {
    const hash = decodeBase64(line);
    if (hash?.length !== 32) throw malformed("hashes of 32 bytes in base64, one a line", line);
    return hash;
  });
}

function count(value: number, path: string): number {
  if (!Number.isSafeInteger(value) || value < 0) throw invalid(path, "a whole number from 0 to 2^53 - 1", value);
  return value;
}

function lines(proof: readonly Uint8Array[]): string {
  const wrong = proof.findIndex((hash) => !types.isUint8Array(hash) || hash.length !== 32);
  if (wrong >= 0) throw invalid(`proof[${wrong}]`, "a hash of 32 bytes", proof[wrong]);
  return proof.map((hash) => `${encodeBase64(hash)}\n`).join("");
}

function malformed(expected: string, found: unknown): LedgerError {
  const shown = describe(found);
  return new LedgerError("PROOF_INVALID", `the proof must have ${expected}, found ${shown}`, {
    details: { reason: "malformed", expected, found: shown },
  });
}
