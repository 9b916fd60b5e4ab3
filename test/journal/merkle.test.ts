import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  CompactRange,
  completeSubtrees,
  emptyRoot,
  merkleRoot,
  nodeHash,
  splitOf,
  tileRoot,
} from "../../src/journal/merkle.js";
import { rootOf } from "./second-implementation.js";
import { treeOf } from "./trees.js";

const last = Number.MAX_SAFE_INTEGER;

/** What a range keeps must be what the naive tree has at these places. */
function expectSubtrees(range: CompactRange, leaves: readonly Buffer[]): void {
  for (const { level, index, hash } of range.subtrees()) {
    const width = 2 ** level;
    expect(hash).toBe(rootOf(leaves.slice(index * width, (index + 1) * width)).toString("hex"));
  }
}

describe("a root", () => {
  test("of nothing is SHA-256 of no bytes, of one entry its id", () => {
    expect(merkleRoot([])).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect(emptyRoot).toBe(merkleRoot([]));
    expect(merkleRoot(["ab".repeat(32)])).toBe("ab".repeat(32));
  });

  test("of the inputs of RFC 6962's reference tree is the published one", () => {
    const inputs = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];

    expect(merkleRoot(treeOf(inputs.map((hex) => Buffer.from(hex, "hex"))).ids)).toBe(
      "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    );
  });

  test("of any size is the naive one", () => {
    const { ids, leaves } = treeOf(300);

    for (let size = 0; size <= 300; size++)
      expect(merkleRoot(ids.slice(0, size))).toBe(rootOf(leaves.slice(0, size)).toString("hex"));
  });

  test("of a full tile is that of its 256 hashes, wherever they came from", () => {
    const { ids } = treeOf(512);

    for (const hashes of [ids.slice(0, 256), ids.slice(256), ids.slice(0, 256)])
      expect(tileRoot(hashes)).toBe(merkleRoot(hashes));
  });

  test("of a tile that is not full, or has a hash that is none, is not made", () => {
    const { ids } = treeOf(257);

    expect(() => tileRoot(ids.slice(0, 255))).toThrow("256 hashes");
    expect(() => tileRoot(ids)).toThrow("256 hashes");
    for (const bad of ["", "ab".repeat(31), "zz".repeat(32)])
      expect(() => tileRoot([...ids.slice(0, 200), bad, ...ids.slice(201, 256)])).toThrow("64 hex digits");
  });

  test("is not made from a hash that is none", () => {
    for (const bad of ["", "ab".repeat(31), "zz".repeat(32)])
      expect(() => nodeHash(bad, "ab".repeat(32))).toThrow("64 hex digits");
  });
});

describe("a range of entries", () => {
  test("keeps the largest complete subtrees, wherever it starts, and joins with the one behind it", () => {
    const { ids, leaves } = treeOf(600);
    const cut = fc.nat(600);
    fc.assert(
      fc.property(cut, cut, cut, (...cuts) => {
        const [begin, middle, end] = cuts.sort((left, right) => left - right);
        const ranges = [new CompactRange(begin), new CompactRange(middle)] as const;
        for (const id of ids.slice(begin, middle)) ranges[0].append(id);
        for (const id of ids.slice(middle, end)) ranges[1].append(id);
        ranges[0].join(structuredClone(ranges[1].subtrees()));

        expect(ranges[0]).toMatchObject({ begin, end });
        expectSubtrees(ranges[0], leaves);
        const whole = new CompactRange();
        for (const id of ids.slice(0, begin)) whole.append(id);
        whole.join(ranges[0].subtrees());
        expect(whole.root()).toBe(rootOf(leaves.slice(0, end)).toString("hex"));
      }),
    );
  });

  test("takes roots of complete subtrees in place of their leaves", () => {
    const { ids, leaves } = treeOf(1_000);
    const range = new CompactRange();
    for (let at = 0; at < 768; at += 256) range.append(merkleRoot(ids.slice(at, at + 256)), 8);
    for (const id of ids.slice(768)) range.append(id);

    expect(range.root()).toBe(rootOf(leaves).toString("hex"));
  });

  test("has a root when it is a subtree, complete or not", () => {
    const { ids, leaves } = treeOf(300);
    const range = new CompactRange(256);
    for (const id of ids.slice(256)) range.append(id);
    expect(range.root()).toBe(rootOf(leaves.slice(256)).toString("hex"));

    const other = new CompactRange(255);
    for (const id of ids.slice(255)) other.append(id);
    expect(() => other.root()).toThrow("only a range that is a subtree has a root");
  });

  test("joins with nothing that starts elsewhere", () => {
    const behind = new CompactRange(8);
    behind.append("ab".repeat(32));

    expect(() => new CompactRange(7).join(behind.subtrees())).toThrow("where the one before it ends");
    expect(() => new CompactRange(6).append("ab".repeat(32), 2)).toThrow("a multiple of its width");
  });

  test("ends at 2^53 - 1 and not behind it", () => {
    const range = new CompactRange();
    for (let level = 52; level >= 0; level--) range.append("ab".repeat(32), level);

    expect(range.end).toBe(last);
    expect(range.subtrees()).toHaveLength(53);
    expect(() => range.append("ab".repeat(32))).toThrow("at most 2^53 - 1 entries");
  });

  test("merges beyond 32 and 52 bits as it does below", () => {
    for (const start of [2 ** 31 - 1, 2 ** 32 - 1, 2 ** 52 - 1]) {
      const range = new CompactRange(start - 2);
      for (const byte of ["00", "01", "02", "03", "04", "05"]) range.append(byte.repeat(32));

      expect(range.subtrees().map(({ level, index }) => index * 2 ** level)).toEqual(
        completeSubtrees(start - 2, start + 4).map(({ level, index }) => index * 2 ** level),
      );
      expect(range.subtrees().at(-2)).toEqual({
        level: 1,
        index: (start + 1) / 2,
        hash: nodeHash("03".repeat(32), "04".repeat(32)),
      });
    }
  });
});

test("a tree of two or more splits at the largest power of two below its size", () => {
  expect([2, 3, 4, 5, 2 ** 52, 2 ** 52 + 1, last].map(splitOf)).toEqual([1, 2, 2, 4, 2 ** 51, 2 ** 52, 2 ** 52]);
});
