import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  consistencyRanges,
  inclusionRanges,
  proveConsistency,
  proveInclusion,
  rootAt,
  storedSubtrees,
} from "../../src/journal/proof.js";
import { acceptsConsistency, acceptsInclusion, rootOf } from "./second-implementation.js";
import { storedTree, treeOf } from "./trees.js";

const last = Number.MAX_SAFE_INTEGER;
const bytes = (hashes: readonly string[]): Buffer[] => hashes.map((hash) => Buffer.from(hash, "hex"));

describe("proofs out of a stored tree", () => {
  const { ids, leaves } = treeOf(700);
  const stored = storedTree(ids);

  test("an entry of any tree is proved, and the second implementation accepts it", async () => {
    const size = fc.integer({ min: 1, max: 700 });
    await fc.assert(
      fc.asyncProperty(size, fc.nat(), async (n, at) => {
        const index = at % n;
        const subtree = storedSubtrees(stored.read);

        const proof = bytes(await proveInclusion(index, n, subtree));

        const root = rootOf(leaves.slice(0, n));
        expect((await rootAt(n, subtree)) === root.toString("hex")).toBe(true);
        expect(acceptsInclusion(leaves[index]!, index, n, proof, root)).toBe(true);
      }),
    );
  });

  test("any prefix of any tree is proved, and the second implementation accepts it", async () => {
    const size = fc.integer({ min: 1, max: 700 });
    await fc.assert(
      fc.asyncProperty(size, size, async (one, other) => {
        const [m, n] = [Math.min(one, other), Math.max(one, other)];

        const proof = bytes(await proveConsistency(m, n, storedSubtrees(stored.read)));

        const roots = [rootOf(leaves.slice(0, m)), rootOf(leaves.slice(0, n))] as const;
        expect(acceptsConsistency(m, roots[0], n, roots[1], proof)).toBe(true);
      }),
    );
  });

  test("the root of no entries is had without a read", async () => {
    expect(await rootAt(0, () => Promise.reject(new Error("nothing is read")))).toBe(rootOf([]).toString("hex"));
  });

  test("a node that is missing or is no hash is damage, told with its place", async () => {
    const cut = storedSubtrees(async (level, from, limit) => (await stored.read(level, from, limit)).slice(0, 1));
    await expect(rootAt(513, cut)).rejects.toMatchObject({
      code: "STORE_DAMAGED",
      details: { level: 1, from: 0, expected: 2, found: 1 },
    });

    const broken = storedSubtrees(async (level, from, limit) =>
      (await stored.read(level, from, limit)).map((hash) => hash.slice(2)),
    );
    await expect(proveInclusion(3, 513, broken)).rejects.toMatchObject({ code: "STORE_DAMAGED" });
  });
});

describe("a proof or a root of a million entries", () => {
  // A tree where every hash is the same but for its level: enough to count reads.
  const hash = "5a".repeat(32);
  const counting = (size: number) => {
    const reads: string[] = [];
    let hashes = 0;
    const subtree = storedSubtrees(async (level, from, limit) => {
      reads.push(`${level}/${from / 256}`);
      const there = Math.min(limit, Math.floor(size / 256 ** level) - from);
      hashes += there;
      return await Promise.resolve(Array.from({ length: there }, () => hash));
    });
    return { reads, subtree, hashes: () => hashes };
  };

  test("reads each tile once, and only those along its way", async () => {
    for (const size of [1_000_000, 999_999, 1_048_576, 65_536 * 3 - 1]) {
      for (const ask of [
        (tree: ReturnType<typeof counting>) => rootAt(size, tree.subtree),
        (tree: ReturnType<typeof counting>) => proveInclusion(123_456, size, tree.subtree),
        (tree: ReturnType<typeof counting>) => proveConsistency(123_457, size, tree.subtree),
      ]) {
        const tree = counting(size);
        await ask(tree);
        expect(new Set(tree.reads).size).toBe(tree.reads.length);
        expect(tree.reads.length).toBeLessThanOrEqual(6);
        expect(tree.hashes()).toBeLessThanOrEqual(6 * 256);
      }
    }
  });
});

describe("the ranges of a proof", () => {
  test("are disjoint and, with what is proved, the whole tree, up to 2^53 - 1", () => {
    const size = fc.oneof(
      fc.integer({ min: 1, max: 300 }),
      fc.maxSafeNat().map((n) => Math.max(1, n)),
      fc.constant(last),
    );
    fc.assert(
      fc.property(size, fc.maxSafeNat(), (n, at) => {
        const index = at % n;
        const ranges = inclusionRanges(index, n);
        const sum = [...ranges, { from: index, to: index + 1 }].sort((left, right) => left.from - right.from);
        expect(sum[0]?.from).toBe(0);
        expect(sum.at(-1)?.to).toBe(n);
        for (const [place, range] of sum.entries()) if (place > 0) expect(range.from).toBe(sum[place - 1]?.to);
        expect(ranges.length).toBeLessThanOrEqual(53);

        const prefix = consistencyRanges(index + 1, n);
        const head = prefix[0]?.to === index + 1 ? 0 : 1;
        expect(prefix.length + head).toBeLessThanOrEqual(54);
        expect(prefix.filter(({ from, to }) => from < index + 1 && to > index + 1)).toEqual([]);
      }),
    );
  });

  test("of the last entry of the largest tree are its 53 - 1 left siblings", () => {
    expect(inclusionRanges(last - 1, last)).toHaveLength(52);
    expect(inclusionRanges(0, last)).toHaveLength(53);
    expect(consistencyRanges(last - 1, last)).toHaveLength(53);
    expect(consistencyRanges(last, last)).toEqual([]);
    expect(consistencyRanges(2 ** 52, last)).toEqual([{ from: 2 ** 52, to: last }]);
  });
});
