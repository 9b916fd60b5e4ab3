/** RFC 6962 section 2.1 as it stands there, by recursion over all leaves, and once more over trees that are too large to
 *  have all their leaves. It shares no code with `src`. */
import { createHash } from "node:crypto";
import { rootOf } from "./second-implementation.js";

/** `PATH(m, D[n])`. */
export function pathOf(m: number, leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length === 1) return [];
  const k = below(leaves.length);
  return m < k
    ? [...pathOf(m, leaves.slice(0, k)), rootOf(leaves.slice(k))]
    : [...pathOf(m - k, leaves.slice(k)), rootOf(leaves.slice(0, k))];
}

/** `PROOF(m, D[n])`. */
export function proofOf(m: number, leaves: readonly Buffer[], whole = true): Buffer[] {
  if (m === leaves.length) return whole ? [] : [rootOf(leaves)];
  const k = below(leaves.length);
  return m <= k
    ? [...proofOf(m, leaves.slice(0, k), whole), rootOf(leaves.slice(k))]
    : [...proofOf(m - k, leaves.slice(k), false), rootOf(leaves.slice(0, k))];
}

function below(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

/** A tree of any size where all leaves are equal but some: the root of `size` leaves from `from` on. */
export class SparseTree {
  readonly #special: ReadonlyMap<bigint, Buffer>;
  readonly #equal: Buffer[] = [Buffer.alloc(32, 0xee)];

  constructor(special: readonly number[]) {
    this.#special = new Map(special.map((at) => [BigInt(at), node(Buffer.from(`special ${at}`), Buffer.alloc(0))]));
  }

  root(from: bigint, size: bigint): Buffer {
    if (![...this.#special.keys()].some((at) => at >= from && at < from + size)) return this.#uniform(size);
    if (size === 1n) return this.#special.get(from)!;
    const k = 1n << BigInt((size - 1n).toString(2).length - 1);
    return node(this.root(from, k), this.root(from + k, size - k));
  }

  leaf(at: number): Buffer {
    return this.root(BigInt(at), 1n);
  }

  /** The root of `size` equal leaves. */
  #uniform(size: bigint): Buffer {
    const level = size.toString(2).length - 1;
    while (this.#equal.length <= level) this.#equal.push(node(this.#equal.at(-1)!, this.#equal.at(-1)!));
    const full = this.#equal[level]!;
    return size === 1n << BigInt(level) ? full : node(full, this.#uniform(size - (1n << BigInt(level))));
  }
}

function node(left: Buffer, right: Buffer): Buffer {
  return createHash("sha256").update(Buffer.of(1)).update(left).update(right).digest();
}
