import { describe, expect, test } from "vitest";
import { verifyConsistency, verifyInclusion } from "../../src/forensic/index.js";
import type { ConsistencyProof, InclusionProof } from "../../src/forensic/index.js";
import { proveConsistency, proveInclusion, rootAt } from "../../src/journal/proof.js";
import type { SubtreeRoot } from "../../src/journal/proof.js";
import { acceptsConsistency, acceptsInclusion } from "../journal/second-implementation.js";
import { SparseTree } from "../journal/second-tree.js";
import { refusalOf } from "../kernel/refusal.js";

function refuses(proof: InclusionProof): void {
  expect(refusalOf(() => verifyInclusion(proof)).code).toBe("PROOF_INVALID");
}

function refusesPrefix(proof: ConsistencyProof): void {
  expect(refusalOf(() => verifyConsistency(proof)).code).toBe("PROOF_INVALID");
}

describe("trees of up to 2^53 - 1 entries", () => {
  const last = Number.MAX_SAFE_INTEGER;
  const large = [2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 52, 2 ** 52 + 1, last - 1, last];
  // Leaves that differ from all others: the ends, and both sides of where a bit is carried.
  const special = [0, 1, ...large.flatMap((size) => [size - 3, size - 2, size - 1])];
  const tree = new SparseTree(special);
  const subtree: SubtreeRoot = (level, index) =>
    Promise.resolve(tree.root(BigInt(index) << BigInt(level), 1n << BigInt(level)).toString("hex"));
  const bytes = (hashes: readonly string[]): Buffer[] => hashes.map((hash) => Buffer.from(hash, "hex"));

  test("have the root of the second implementation", async () => {
    for (const size of large) expect(await rootAt(size, subtree)).toBe(tree.root(0n, BigInt(size)).toString("hex"));
  });

  test("prove their entries, first and last, and nothing else", async () => {
    for (const size of large) {
      const root = tree.root(0n, BigInt(size));
      for (const index of special.filter((at) => at < size)) {
        const proof = bytes(await proveInclusion(index, size, subtree));
        const claim = { leafHash: tree.leaf(index), index, size, proof, root };

        verifyInclusion(claim);
        expect(acceptsInclusion(claim.leafHash, index, size, proof, root)).toBe(true);
        refuses({ ...claim, leafHash: Buffer.alloc(32, 1) });
        refuses({ ...claim, index: index === 0 ? 1 : index - 1 });
        if (index + 1 < size) refuses({ ...claim, index: index + 1 });
      }
    }
  });

  test("prove their prefixes, and nothing else", async () => {
    for (const size2 of large) {
      for (const size1 of [1, 2 ** 31 - 1, 2 ** 31, 2 ** 52 - 1, 2 ** 52, size2 - 1].filter((size) => size < size2)) {
        const [root1, root2] = [tree.root(0n, BigInt(size1)), tree.root(0n, BigInt(size2))];
        const proof = bytes(await proveConsistency(size1, size2, subtree));

        verifyConsistency({ size1, root1, size2, root2, proof });
        expect(acceptsConsistency(size1, root1, size2, root2, proof)).toBe(true);
        refusesPrefix({ size1, root1: root2, size2, root2, proof });
        refusesPrefix({ size1, root1, size2, root2: root1, proof });
      }
    }
  });
});
