/** What anybody can check without the journal: a root, that an entry is in a tree, that a tree is where another begins.
 *  Hashes are bytes here, as they are in files. Nothing is returned: what does not throw is proved. */
import { types } from "node:util";
import { hexOf } from "../kernel/digest.js";
import { describe, invalid, LedgerError } from "../kernel/errors.js";
import { checkObject, isList } from "../kernel/members.js";
import { emptyRoot, merkleRoot as rootOf, nodeHash } from "../journal/merkle.js";
import { consistencyRanges, inclusionRanges } from "../journal/proof.js";

/** That an entry is in a tree. @public */
export interface InclusionProof {
  /** The id of the entry, 32 bytes. Compute it from the entry's bytes (`entryId`): a proof for an id that somebody else
   *  computed says nothing about an entry. */
  readonly leafHash: Uint8Array;
  /** The position of the entry. */
  readonly index: number;
  /** The number of entries in the tree. */
  readonly size: number;
  /** The hashes, from the sibling of the leaf up. */
  readonly proof: readonly Uint8Array[];
  /** The root of the tree. It does not say how many entries it is of: take size and root out of one checkpoint. */
  readonly root: Uint8Array;
}

/** That the smaller tree is where the larger one begins. @public */
export interface ConsistencyProof {
  /** The number of entries of the smaller tree. */
  readonly size1: number;
  /** Its root: size and root out of one checkpoint. */
  readonly root1: Uint8Array;
  /** The number of entries of the larger tree. */
  readonly size2: number;
  readonly root2: Uint8Array;
  /** The hashes, from the deepest up. */
  readonly proof: readonly Uint8Array[];
}

/** The root of the tree over leaf hashes (ids), each of 32 bytes; over none it is SHA-256 of no bytes.
 *  `INVALID_ARGUMENT` for a hash of another length. @public */
export function merkleRoot(leafHashes: Iterable<Uint8Array>): Buffer {
  return Buffer.from(rootOf(leaves(leafHashes)), "hex");
}

/** Checks that an entry stands at `index` of the tree of `size` entries with this root. `PROOF_INVALID` when the proof does
 *  not show it, whatever the reason (`details.reason`: `place`, `length`, `hash` or `root`); `INVALID_ARGUMENT` for an
 *  index or size that is no whole number from 0 to 2^53 − 1. @public */
export function verifyInclusion(inclusion: InclusionProof): void {
  checkObject(inclusion, "inclusion", "an inclusion proof");
  const { leafHash, index, size, proof, root } = inclusion;
  checkCount(index, "index");
  checkCount(size, "size");
  if (index >= size) throw unproved("place", `index must be below the size, ${size}`, index);
  const ranges = inclusionRanges(index, size);
  const hashes = proofHashes(proof, ranges.length);
  let hash = hashOf(leafHash, "leafHash");
  for (const [at, { from }] of ranges.entries())
    hash = from < index ? nodeHash(hashes[at]!, hash) : nodeHash(hash, hashes[at]!);
  checkRoot(hash, hashOf(root, "root"), "root");
}

/** Checks that the tree of `size1` entries with `root1` is where the tree of `size2` entries with `root2` begins: that
 *  nothing was changed or taken away. Nothing is consistent with a tree of no entries but itself: there would be nothing
 *  to prove. Errors as for `verifyInclusion`. @public */
export function verifyConsistency(consistency: ConsistencyProof): void {
  checkObject(consistency, "consistency", "a consistency proof");
  const { size1, root1, size2, root2, proof } = consistency;
  checkCount(size1, "size1");
  checkCount(size2, "size2");
  if (size1 > size2) throw unproved("place", `size1 must not be above size2, ${size2}`, size1);
  if (size1 === size2) {
    proofHashes(proof, 0);
    if (size1 === 0) checkRoot(hashOf(root1, "root1"), emptyRoot, "root1");
    // Two roots of one size are compared and not hashed.
    checkRoot(hexOf(bytesOf(root2, "root2")), hexOf(bytesOf(root1, "root1")), "root2");
    return;
  }
  if (size1 === 0) throw unproved("place", "size1 must be 1 or more, unless both are 0", size1);
  const ranges = consistencyRanges(size1, size2);
  const hashes = proofHashes(proof, ranges.length);
  // The first hash is in both trees; it is the first root itself where that is a complete subtree of the second tree.
  let older = hashOf(root1, "root1");
  if (ranges[0]!.to === size1) older = hashes[0]!;
  let newer = older;
  for (const [at, { from, to }] of ranges.entries()) {
    if (to === size1) continue;
    if (from >= size1) newer = nodeHash(newer, hashes[at]!);
    else [older, newer] = [nodeHash(hashes[at]!, older), nodeHash(hashes[at]!, newer)];
  }
  checkRoot(older, hashOf(root1, "root1"), "root1");
  checkRoot(newer, hashOf(root2, "root2"), "root2");
}

function* leaves(hashes: Iterable<Uint8Array>): Generator<string> {
  let at = 0;
  if (typeof (hashes as Partial<Iterable<unknown>> | null)?.[Symbol.iterator] !== "function")
    throw invalid("leafHashes", "a list of hashes", hashes);
  for (const hash of hashes) {
    if (!isHash(hash)) throw invalid(`leafHashes[${at}]`, "32 bytes", hash);
    yield hexOf(hash);
    at++;
  }
}

function checkCount(value: number, path: string): void {
  if (!Number.isSafeInteger(value) || value < 0) throw invalid(path, "a whole number from 0 to 2^53 - 1", value);
}

/** The hashes of a proof, exactly as many as the two sizes ask for: no shorter or longer way leads to the same root. */
function proofHashes(proof: readonly Uint8Array[], count: number): string[] {
  if (!isList(proof)) throw invalid("proof", "an array of hashes", proof);
  if (proof.length !== count) throw unproved("length", `proof must have ${count} hashes`, proof.length);
  return Array.from(proof, (hash: unknown, at) => hashOf(hash, `proof[${at}]`));
}

function hashOf(value: unknown, path: string): string {
  const bytes = bytesOf(value, path);
  if (bytes.length !== 32) throw unproved("hash", `${path} must have 32 bytes`, bytes.length);
  return hexOf(bytes);
}

function bytesOf(value: unknown, path: string): Uint8Array {
  if (!types.isUint8Array(value)) throw invalid(path, "bytes", value);
  return value;
}

function checkRoot(computed: string, root: string, path: string): void {
  if (computed !== root) throw unproved("root", `${path} must be ${computed}, as the proof has it`, root);
}

function isHash(value: unknown): value is Uint8Array {
  return types.isUint8Array(value) && value.length === 32;
}

function unproved(reason: "place" | "length" | "hash" | "root", expected: string, found: unknown): LedgerError {
  const shown = typeof found === "string" ? found.slice(0, 64) : describe(found);
  return new LedgerError("PROOF_INVALID", `${expected}, found ${shown}`, {
    details: { reason, expected, found: shown },
  });
}
