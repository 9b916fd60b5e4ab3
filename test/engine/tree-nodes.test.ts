/** The nodes that a batch completes are those of the tree, however the entries were cut into batches. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { completedNodes } from "../../src/engine/tree-nodes.js";
import { merkleRoot } from "../../src/journal/merkle.js";
import type { TreeNode } from "../../src/journal/store.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { sha256Hex } from "../../src/kernel/digest.js";
import { asyncMemoryStore } from "../../src/testing/async-memory-store.js";
import { read } from "../../src/testing/store-histories.js";

const ids = Array.from({ length: 256 * 257 + 3 }, (_, position) => sha256Hex(String(position)));

/** A tree as a store would keep it, with what was asked of it. */
class Kept {
  readonly nodes: TreeNode[] = [];
  readonly asked: number[] = [];
  size = 0;

  async append(count: number): Promise<readonly TreeNode[]> {
    const added = ids.slice(this.size, this.size + count);
    const nodes = await completedNodes(
      {
        ids: async (from, limit) => {
          this.asked.push(limit);
          return ids.slice(from, Math.min(from + limit, this.size));
        },
        nodes: async (level, from, limit) => {
          this.asked.push(limit);
          const hashes = this.nodes.filter((node) => node.level === level).map(({ hash }) => hash);
          return hashes.slice(from, from + limit);
        },
      },
      this.size,
      added,
    );
    this.size += added.length;
    this.nodes.push(...nodes);
    return nodes;
  }

  /** Each complete subtree, hashed anew. */
  expected(): TreeNode[] {
    const found: TreeNode[] = [];
    for (const level of [1, 2]) {
      const width = 256 ** level;
      for (let n = 0; (n + 1) * width <= this.size; n++)
        found.push({ level, n, hash: merkleRoot(ids.slice(n * width, (n + 1) * width)) });
    }
    return found;
  }
}

const byPlace = (one: TreeNode, other: TreeNode): number => one.level - other.level || one.n - other.n;

test("in any batches the same nodes come, and at most 255 hashes a level are read for one", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 200, max: 900 })), {
        minLength: 1,
        maxLength: 12,
      }),
      async (counts) => {
        const kept = new Kept();
        for (const count of counts) await kept.append(count);

        expect(kept.nodes.sort(byPlace)).toEqual(kept.expected());
        expect(Math.max(0, ...kept.asked)).toBeLessThan(256);
      },
    ),
  );
});

test.each([
  ["one step", [256 * 257 + 3]],
  ["an entry before the edge and one behind it", [65_535, 2]],
  ["steps of 1,000", Array<number>(67).fill(1_000)],
  ["the edge of level 1 and of level 2 at once", [65_280, 255, 1]],
] as const)("a node of level 2 is completed in %s", async (_, counts) => {
  const kept = new Kept();
  for (const count of counts) await kept.append(count);

  expect(kept.nodes.filter(({ level }) => level === 2)).toHaveLength(1);
  expect([...kept.nodes].sort(byPlace)).toEqual(kept.expected());
});

test("a batch that crosses no multiple of 256 reads nothing", async () => {
  const kept = new Kept();
  await kept.append(256);
  kept.asked.length = 0;

  expect(await kept.append(255)).toEqual([]);
  expect(kept.asked).toEqual([]);
});

test("hashes that are missing or are none make no node", async () => {
  const none = { ids: async () => ids.slice(0, 254), nodes: async () => [] };
  await expect(completedNodes(none, 255, ids.slice(255, 256))).rejects.toMatchObject({ code: "STORE_DAMAGED" });
  const broken = { ids: async () => [...ids.slice(0, 254), "ab"], nodes: async () => [] };
  await expect(completedNodes(broken, 255, ids.slice(255, 256))).rejects.toMatchObject({
    code: "STORE_DAMAGED",
    details: { level: 0, from: 0, expected: 255, found: 254 },
  });
});

test.each([
  ["memory", () => createMemoryStore()],
  ["a store that loses replies", () => asyncMemoryStore(Number(process.env.RUNLEDGER_SEED), { delayMsMax: 0 })],
] as const)("a ledger on %s leaves the nodes of its entries, whoever appended together", async (_, make) => {
  const store = make();
  const ledger = await openLedger(store);
  for (let round = 0; round < 4; round++) {
    await Promise.all(
      Array.from({ length: 60 }, (__, caller) =>
        ledger.append(
          `a/${caller}`,
          Array.from({ length: 1 + (caller % 5) }, () => ({ type: "a.b", data: {} })),
        ),
      ),
    );
  }

  await read(store, async (reads) => {
    const nodes = await reads.nodes(1, 0, 100);
    expect(nodes).toHaveLength(Math.floor(721 / 256));
    for (const [n, hash] of nodes.entries()) expect(hash).toBe(merkleRoot(await reads.ids(n * 256, 256)));
  });
  await ledger.close();
});
