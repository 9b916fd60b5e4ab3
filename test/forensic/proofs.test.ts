import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { entryId, merkleRoot, verifyConsistency, verifyInclusion } from "../../src/forensic/index.js";
import type { ConsistencyProof, InclusionProof } from "../../src/forensic/index.js";
import { acceptsConsistency, acceptsInclusion, idOf, rootOf } from "../journal/second-implementation.js";
import { pathOf, proofOf } from "../journal/second-tree.js";
import { treeOf } from "../journal/trees.js";
import { refusalOf } from "../kernel/refusal.js";

const { leaves } = treeOf(200);
const roots = Array.from({ length: 201 }, (_, size) => rootOf(leaves.slice(0, size)));
const empty = Buffer.from("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "hex");

const inclusion = (index: number, size: number): InclusionProof => ({
  leafHash: leaves[index]!,
  index,
  size,
  proof: pathOf(index, leaves.slice(0, size)),
  root: roots[size]!,
});
const consistency = (size1: number, size2: number): ConsistencyProof => ({
  size1,
  root1: roots[size1]!,
  size2,
  root2: roots[size2]!,
  proof: proofOf(size1, leaves.slice(0, size2)),
});

/** Is it accepted? Whatever is not must be refused with a code. */
function accepts(check: () => void): boolean {
  let proved = false;
  try {
    check();
    proved = true;
  } catch {
    expect(["PROOF_INVALID", "INVALID_ARGUMENT"]).toContain(refusalOf(check).code);
  }
  return proved;
}
const included = (proof: InclusionProof): boolean => accepts(() => verifyInclusion(proof));
const consistent = (proof: ConsistencyProof): boolean => accepts(() => verifyConsistency(proof));
const reasonOf = (check: () => void): unknown => refusalOf(check).details["reason"];

function flipped(hash: Uint8Array, bit: number): Buffer {
  const copy = Buffer.from(hash);
  copy[Math.floor(bit / 8) % 32]! ^= 1 << (bit % 8);
  return copy;
}

/** Every way to bend a list of hashes that the attacks name; those that change nothing are left out. */
function bent(proof: readonly Uint8Array[], at: number): Uint8Array[][] {
  const place = proof.length === 0 ? 0 : at % proof.length;
  const list = [...proof];
  const reordered = [...list.slice(0, place), ...list.slice(place).reverse()];
  return [
    list.map((hash, each) => (each === place ? flipped(hash, at) : hash)),
    list.toSpliced(place, 1),
    list.slice(0, -1),
    list.slice(1),
    [...list, Buffer.alloc(32)],
    [...list, leaves[0]!],
    [Buffer.alloc(32), ...list],
    list.toSpliced(place, 0, list[place] ?? empty),
    list.toReversed(),
    reordered,
    list.map((hash, each) => (each === place ? hash.subarray(1) : hash)),
    list.map((hash, each) => (each === place ? Buffer.concat([hash, Buffer.of(0)]) : hash)),
  ].filter(
    (each) => each.length !== list.length || each.some((hash, where) => Buffer.compare(hash, list[where]!) !== 0),
  );
}

const sizes = fc.integer({ min: 1, max: 200 });

describe("an inclusion proof", () => {
  test("of each entry of each small tree is accepted", () => {
    for (let size = 1; size <= 40; size++) {
      for (let index = 0; index < size; index++) expect(included(inclusion(index, size))).toBe(true);
    }
  });

  test("is accepted, and none that was bent is", () => {
    fc.assert(
      fc.property(sizes, fc.nat(), fc.nat(), fc.nat(255), (size, where, at, bit) => {
        const proof = inclusion(where % size, size);
        const { index } = proof;
        expect(included(proof)).toBe(true);

        for (const hashes of bent(proof.proof, at)) expect(included({ ...proof, proof: hashes })).toBe(false);
        expect(included({ ...proof, root: flipped(proof.root, bit) })).toBe(false);
        expect(included({ ...proof, leafHash: flipped(proof.leafHash, bit) })).toBe(false);
        const elsewhere = at % size;
        if (elsewhere !== index) {
          expect(included({ ...proof, index: elsewhere })).toBe(false);
          expect(included({ ...proof, leafHash: leaves[elsewhere]! })).toBe(false);
        }
        const other = (at % 200) + 1;
        if (other !== size) expect(included({ ...proof, size: other, root: roots[other]! })).toBe(false);
      }),
    );
  });

  test("of any form is judged as the second implementation judges it", () => {
    const hash = fc.constantFrom(...leaves.slice(0, 8), ...roots.slice(1, 8));
    fc.assert(
      fc.property(
        fc.nat(8),
        fc.nat(8),
        fc.array(hash, { maxLength: 4 }),
        hash,
        hash,
        (index, size, proof, leaf, root) => {
          const ours = included({ leafHash: leaf, index, size, proof, root });
          expect(ours).toBe(acceptsInclusion(leaf, index, size, proof, root));
          // What is random is hardly ever right: a true one, bent by chance, is.
          if (index < size) {
            const likely = proof.length % 2 === 0 ? pathOf(index, leaves.slice(0, size)) : proof;
            const tree = { leafHash: leaves[index]!, index, size, proof: likely, root: roots[size]! };
            expect(included(tree)).toBe(acceptsInclusion(tree.leafHash, index, size, likely, tree.root));
          }
        },
      ),
    );
  });

  test("T36 that stops one level early, at either end, is refused by its length", () => {
    const whole = inclusion(5, 8);
    const upper = { ...whole, proof: whole.proof.slice(1), leafHash: rootOf(leaves.slice(4, 6)) };
    const lower = { ...whole, proof: whole.proof.slice(0, -1), root: rootOf(leaves.slice(4, 8)) };

    for (const stopped of [upper, lower]) expect(reasonOf(() => verifyInclusion(stopped))).toBe("length");
  });

  test("T36 that presents a node as the leaf is refused at any index of the tree", () => {
    const node = rootOf(leaves.slice(4, 6));
    const proof = pathOf(5, leaves.slice(0, 8)).slice(1);

    for (let index = 0; index < 8; index++)
      for (const hashes of [proof, [Buffer.alloc(32), ...proof], [node, ...proof]])
        expect(included({ leafHash: node, index, size: 8, proof: hashes, root: roots[8]! })).toBe(false);
  });

  test("T36 of an entry whose bytes are a node's is a proof of that entry alone", () => {
    const [left, right] = [leaves[4]!, leaves[5]!];
    const bytes = Buffer.concat([Buffer.of(1), left, right]);

    expect(entryId(bytes)).toBe(idOf(bytes));
    expect(Buffer.from(entryId(bytes), "hex").equals(rootOf([left, right]))).toBe(false);
  });
});

describe("a consistency proof", () => {
  test("of each two small trees is accepted", () => {
    for (let size2 = 1; size2 <= 40; size2++)
      for (let size1 = 1; size1 <= size2; size1++) expect(consistent(consistency(size1, size2))).toBe(true);
  });

  test("is accepted, and none that was bent is", () => {
    fc.assert(
      fc.property(sizes, sizes, fc.nat(), fc.nat(255), (one, another, at, bit) => {
        const proof = consistency(Math.min(one, another), Math.max(one, another));
        const { size1, size2 } = proof;
        expect(consistent(proof)).toBe(true);

        for (const hashes of bent(proof.proof, at)) expect(consistent({ ...proof, proof: hashes })).toBe(false);
        expect(consistent({ ...proof, root1: flipped(proof.root1, bit) })).toBe(false);
        expect(consistent({ ...proof, root2: flipped(proof.root2, bit) })).toBe(false);
        const other = (at % 200) + 1;
        if (other !== size1) expect(consistent({ ...proof, size1: other, root1: roots[other]! })).toBe(false);
        if (other !== size2) expect(consistent({ ...proof, size2: other, root2: roots[other]! })).toBe(false);
        if (size1 !== size2) expect(consistent({ ...proof, root1: proof.root2, root2: proof.root1 })).toBe(false);
      }),
    );
  });

  test("with a tree that is no prefix cannot be made: one entry was changed, and every proof of the second tree fails", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 60 }), fc.nat(), fc.nat(), (size2, where, at) => {
        const size1 = 1 + (where % (size2 - 1));
        const forged = leaves.slice(0, size2).with(at % size1, Buffer.alloc(32, 9));

        const proof = proofOf(size1, forged);
        const claim = { size1, root1: roots[size1]!, size2, root2: rootOf(forged), proof };

        expect(consistent(claim)).toBe(false);
        expect(consistent({ ...claim, proof: proofOf(size1, leaves.slice(0, size2)) })).toBe(false);
      }),
    );
  });

  test("of any form is judged as the second implementation judges it", () => {
    const hash = fc.constantFrom(...leaves.slice(0, 8), ...roots.slice(1, 8));
    const size = fc.integer({ min: 1, max: 8 });
    fc.assert(
      fc.property(size, size, fc.array(hash, { maxLength: 4 }), hash, hash, (size1, size2, proof, one, another) => {
        fc.pre(size1 <= size2);
        const likely = proof.length % 2 === 0 ? proofOf(size1, leaves.slice(0, size2)) : proof;
        const tries = [
          [one, another, proof],
          [roots[size1]!, roots[size2]!, likely],
          [roots[size1]!, another, likely],
          [one, roots[size2]!, likely],
        ] as const;

        for (const [root1, root2, hashes] of tries)
          expect(consistent({ size1, root1, size2, root2, proof: hashes })).toBe(
            acceptsConsistency(size1, root1, size2, root2, hashes),
          );
      }),
    );
  });

  test("of a tree with itself is its root and no hashes; of no entries, SHA-256 of nothing", () => {
    const short = Buffer.from("twelve bytes");

    expect(consistent({ size1: 7, root1: roots[7]!, size2: 7, root2: roots[7]!, proof: [] })).toBe(true);
    expect(consistent({ size1: 7, root1: roots[7]!, size2: 7, root2: roots[6]!, proof: [] })).toBe(false);
    expect(consistent({ size1: 7, root1: roots[7]!, size2: 7, root2: roots[7]!, proof: [roots[7]!] })).toBe(false);
    // Two roots that are only compared may be anything; of no entries there is one root.
    expect(consistent({ size1: 1, root1: short, size2: 1, root2: short, proof: [] })).toBe(true);
    expect(consistent({ size1: 0, root1: short, size2: 0, root2: short, proof: [] })).toBe(false);
    expect(consistent({ size1: 0, root1: empty, size2: 0, root2: empty, proof: [] })).toBe(true);
    expect(consistent({ size1: 0, root1: empty, size2: 0, root2: short, proof: [] })).toBe(false);
    expect(consistent({ size1: 0, root1: empty, size2: 0, root2: empty, proof: [empty] })).toBe(false);
  });
});

describe("T37", () => {
  const good = inclusion(5, 11);
  const prefix = consistency(5, 11);
  const wrongNumbers: readonly (readonly [string, unknown])[] = [
    ["negative", -1],
    ["1e3 as text", "1e3"],
    ["with a leading zero", "05"],
    ["a digit as text", "5"],
    ["2^53", 2 ** 53],
    ["2^64", 2 ** 64],
    ["2^64 as BigInt", 2n ** 64n],
    ["half", 4.5],
    ["NaN", Number.NaN],
    ["infinite", Infinity],
    ["missing", undefined],
    ["null", null],
  ];

  test.each(wrongNumbers)("T37 an index or a size that is %s", (_what, value) => {
    const number = value as number;
    for (const field of ["index", "size"])
      expect(refusalOf(() => verifyInclusion({ ...good, [field]: number })).code).toBe("INVALID_ARGUMENT");
    for (const field of ["size1", "size2"])
      expect(refusalOf(() => verifyConsistency({ ...prefix, [field]: number })).code).toBe("INVALID_ARGUMENT");
  });

  test("T37 an index that is the size or above it, and a size of 0", () => {
    for (const index of [11, 12, Number.MAX_SAFE_INTEGER])
      expect(reasonOf(() => verifyInclusion({ ...good, index }))).toBe("place");
    expect(reasonOf(() => verifyInclusion({ ...good, index: 0, size: 0, proof: [], root: empty }))).toBe("place");
    expect(reasonOf(() => verifyConsistency({ ...prefix, size1: 0, root1: empty, proof: [] }))).toBe("place");
    expect(reasonOf(() => verifyConsistency({ ...prefix, size1: 11, size2: 5 }))).toBe("place");
  });

  test("T37 a hash of 31 or 33 bytes, in the proof and beside it", () => {
    for (const length of [0, 31, 33, 64]) {
      const wrong = Buffer.alloc(length, 7);
      for (const field of ["leafHash", "root"])
        expect(reasonOf(() => verifyInclusion({ ...good, [field]: wrong }))).toBe("hash");
      for (const field of ["root1", "root2"])
        expect(reasonOf(() => verifyConsistency({ ...prefix, [field]: wrong }))).toBe("hash");
      for (let at = 0; at < good.proof.length; at++)
        expect(reasonOf(() => verifyInclusion({ ...good, proof: good.proof.with(at, wrong) }))).toBe("hash");
      for (let at = 0; at < prefix.proof.length; at++)
        expect(reasonOf(() => verifyConsistency({ ...prefix, proof: prefix.proof.with(at, wrong) }))).toBe("hash");
    }
  });

  test("T37 a proof that is truncated or extended, at either end", () => {
    for (const check of [
      (change: (proof: readonly Uint8Array[]) => Uint8Array[]) =>
        verifyInclusion({ ...good, proof: change(good.proof) }),
      (change: (proof: readonly Uint8Array[]) => Uint8Array[]) =>
        verifyConsistency({ ...prefix, proof: change(prefix.proof) }),
    ]) {
      expect(reasonOf(() => check((proof) => proof.slice(1)))).toBe("length");
      expect(reasonOf(() => check((proof) => proof.slice(0, -1)))).toBe("length");
      expect(reasonOf(() => check(() => []))).toBe("length");
      expect(reasonOf(() => check((proof) => [...proof, proof[0]!]))).toBe("length");
      expect(reasonOf(() => check((proof) => [proof[0]!, ...proof]))).toBe("length");
      expect(reasonOf(() => check(() => Array<Uint8Array>(1_000_000).fill(empty)))).toBe("length");
    }
  });

  test("T37 a proof in the wrong order", () => {
    expect(reasonOf(() => verifyInclusion({ ...good, proof: good.proof.toReversed() }))).toBe("root");
    expect(reasonOf(() => verifyConsistency({ ...prefix, proof: prefix.proof.toReversed() }))).toBe("root");
  });

  test("T37 things that are no hashes, no list, or a list with a hole", () => {
    const hole = Array<Uint8Array>(good.proof.length);
    hole[0] = good.proof[0]!;
    for (const proof of [undefined, null, "", {}, hole, good.proof.map((hash) => Buffer.from(hash).toString("hex"))])
      expect(refusalOf(() => verifyInclusion({ ...good, proof: proof as Uint8Array[] })).code).toBe("INVALID_ARGUMENT");
    for (const root of [undefined, null, "ab".repeat(32), [...good.root]] as unknown[])
      expect(refusalOf(() => verifyInclusion({ ...good, root: root as Buffer })).code).toBe("INVALID_ARGUMENT");
  });

  test("T37 a message names what was expected and what was found", () => {
    expect(refusalOf(() => verifyInclusion({ ...good, index: 11 })).message).toBe(
      "index must be below the size, 11, found 11",
    );
    expect(refusalOf(() => verifyInclusion({ ...good, proof: [] })).message).toBe("proof must have 4 hashes, found 0");
  });
});

test("T37 nothing at all is an argument that is missing, not a fault of the program", () => {
  for (const check of [verifyInclusion, verifyConsistency, merkleRoot] as ((value?: unknown) => unknown)[])
    for (const value of [undefined, null, 7]) expect(refusalOf(() => check(value)).code).toBe("INVALID_ARGUMENT");
});

describe("a root over leaf hashes", () => {
  test("is that of the second implementation, from any iterable", () => {
    expect(merkleRoot([])).toEqual(empty);
    expect(merkleRoot(leaves.slice(0, 77))).toEqual(roots[77]);
    expect(merkleRoot(new Set(leaves))).toEqual(roots[200]);
    expect(merkleRoot([Uint8Array.from(leaves[0]!)])).toEqual(leaves[0]);
  });

  test("is not made of what is no hash", () => {
    for (const wrong of [Buffer.alloc(31), "ab".repeat(32), undefined])
      expect(refusalOf(() => merkleRoot([leaves[0]!, wrong as Buffer]))).toMatchObject({
        code: "INVALID_ARGUMENT",
        details: { path: "leafHashes[1]" },
      });
  });
});
