import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Roots, TreeWalk } from "../../src/forensic/tree.js";
import type { TreePart } from "../../src/forensic/tree.js";
import { emptyRoot, merkleRoot } from "../../src/journal/merkle.js";
import { sha256Hex } from "../../src/kernel/digest.js";

const ids: readonly string[] = Array.from({ length: 1_100 }, (_, seq) => sha256Hex(`entry ${seq}`));

/** The part from one position to another, with the sizes that somebody asks for. */
function walk(first: number, end: number, sizes: readonly number[] = []): TreePart {
  const tree = new TreeWalk(first, Float64Array.from(sizes));
  for (let seq = first; seq < end; seq++) tree.add(seq, ids[seq]!, seq * 10);
  return tree.part();
}

function rootAt(size: number): string {
  return merkleRoot(ids.slice(0, size));
}

describe("the tree of a pass", () => {
  test.each([0, 1, 2, 255, 256, 257, 511, 512, 513, 1_024, 1_100])("of %i entries has their root", (size) => {
    expect(new Roots([walk(0, size)]).root()).toBe(rootAt(size));
  });

  test("has the root of every size that was asked for, and the time of its last entry", () => {
    const sizes = Array.from({ length: 1_100 }, (_, index) => index + 1);
    const roots = new Roots([walk(0, 1_100, sizes)]);

    for (const size of sizes) expect(roots.rootAt(size)).toEqual({ root: rootAt(size), at: (size - 1) * 10 });
    expect(roots.root()).toBe(rootAt(1_100));
  });

  test("has no root of a size that nobody asked for, nor of one behind its end", () => {
    const roots = new Roots([walk(0, 300, [256, 299, 301])]);

    expect(roots.rootAt(257)).toBeNull();
    expect(roots.rootAt(299)?.root).toBe(rootAt(299));
    expect(roots.rootAt(301)).toBeNull();
  });

  test("of parts that start at multiples of 256 is that of the whole, wherever the cuts and the sizes are", () => {
    const multiples = fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { maxLength: 4 });
    const sizes = fc.uniqueArray(fc.integer({ min: 1, max: 1_100 }), { maxLength: 8 });
    fc.assert(
      fc.property(multiples, sizes, fc.integer({ min: 1_025, max: 1_100 }), (cuts, asked, end) => {
        const edges = [0, ...cuts.sort((a, b) => a - b).map((cut) => cut * 256), end];
        asked.sort((a, b) => a - b);
        const parts = edges.slice(1).map((edge, index) => structuredClone(walk(edges[index]!, edge, asked)));
        const roots = new Roots(parts);

        for (const size of asked) expect(roots.rootAt(size)?.root ?? null).toBe(size <= end ? rootAt(size) : null);
        expect(roots.root()).toBe(rootAt(end));
      }),
    );
  });

  test("ends before an entry that is missing, or has no id, in this part and in the next ones", () => {
    const gap = new TreeWalk(0, Float64Array.from([5, 7]));
    for (const seq of [0, 1, 2, 3, 4, 6, 7]) gap.add(seq, ids[seq]!, 0);
    const unknown = new TreeWalk(0, Float64Array.from([5, 7]));
    for (const seq of [0, 1, 2, 3, 4, 5, 6, 7]) unknown.add(seq, seq === 5 ? null : ids[seq]!, 0);

    for (const tree of [gap, unknown]) {
      const roots = new Roots([tree.part(), walk(256, 300, [300])]);
      expect(roots.end).toBe(5);
      expect(roots.root()).toBe(rootAt(5));
      expect(roots.rootAt(5)?.root).toBe(rootAt(5));
      expect(roots.rootAt(7)).toBeNull();
      expect(roots.rootAt(300)).toBeNull();
    }
  });

  test("of nothing is the root of nothing", () => {
    expect(new Roots([]).root()).toBe(emptyRoot);
  });
});
