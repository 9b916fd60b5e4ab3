/** Leaves for trees in tests: ids of entries that stand for nothing. */
import type { ReadHashes } from "../../src/journal/proof.js";
import { idOf, rootOf } from "./second-implementation.js";

export interface Leaves {
  /** Hex digits, as the product has them. */
  readonly ids: readonly string[];
  /** Bytes, as the second implementation has them. */
  readonly leaves: readonly Buffer[];
}

export function treeOf(entries: number | readonly Uint8Array[]): Leaves {
  const all =
    typeof entries === "number" ? Array.from({ length: entries }, (_, at) => Buffer.from(`entry ${at}`)) : entries;
  const ids = all.map((entry) => idOf(entry));
  return { ids, leaves: ids.map((id) => Buffer.from(id, "hex")) };
}

/** A stored tree: what `nodes` and `ids` of a store would hand out, made level by level and naively. */
export function storedTree(ids: readonly string[]): { readonly read: ReadHashes } {
  const levels: string[][] = [[...ids]];
  for (let below = levels[0]!; below.length >= 256; below = levels.at(-1)!) {
    const full = Array.from({ length: Math.floor(below.length / 256) }, (_, n) => below.slice(n * 256, n * 256 + 256));
    levels.push(full.map((hashes) => rootOf(hashes.map((hash) => Buffer.from(hash, "hex"))).toString("hex")));
  }
  return {
    read: (level, from, limit) => Promise.resolve(levels[level]?.slice(from, from + limit) ?? []),
  };
}
