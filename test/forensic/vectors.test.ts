import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  merkleRoot,
  parseCheckpoint,
  verifyConsistency,
  verifyInclusion,
  verifyNote,
} from "../../src/forensic/index.js";
import { CompactRange, nodeHash } from "../../src/journal/merkle.js";
import { parseSignerKey, parseVerifierKey } from "../../src/journal/note-keys.js";
import { signNote } from "../../src/journal/note.js";
import { parseAddCheckpoint } from "../../src/journal/proof-file.js";
import { proveConsistency, proveInclusion, storedSubtrees } from "../../src/journal/proof.js";
import { idOf } from "../journal/second-implementation.js";
import { storedTree } from "../journal/trees.js";
import { findVectors, hasVectors, readVector } from "../kernel/vectors.js";
import { refusalOf } from "../kernel/refusal.js";

const json = (path: string): unknown => JSON.parse(readVector(path).toString());
const bytes = (base64: string): Buffer => Buffer.from(base64, "base64");

/** Is it accepted? What is refused must be refused with a code. */
function accepts(check: () => unknown): boolean {
  try {
    check();
    return true;
  } catch {
    return !["PROOF_INVALID", "INVALID_ARGUMENT"].includes(refusalOf(check).code);
  }
}

describe("RFC 6962", () => {
  const suite = "rfc6962/transparency-dev-merkle";

  test.skipIf(!hasVectors("rfc6962"))("T37 rfc6962/roots.json: leaves, nodes and roots of the reference tree", () => {
    const { leafInputsHex, rootBySizeHex, nodeHashesByLevelHex } = json("rfc6962/roots.json") as {
      readonly leafInputsHex: readonly string[];
      readonly rootBySizeHex: readonly string[];
      readonly nodeHashesByLevelHex: readonly (readonly string[])[];
    };
    const ids = leafInputsHex.map((hex) => idOf(Buffer.from(hex, "hex")));
    expect(nodeHashesByLevelHex[0]).toEqual(ids);

    const range = new CompactRange();
    for (const [size, root] of rootBySizeHex.entries()) {
      const leaves = ids.slice(0, size).map((id) => Buffer.from(id, "hex"));
      expect(merkleRoot(leaves).toString("hex")).toBe(root);
      expect(range.root()).toBe(root);
      if (size < ids.length) range.append(ids[size]!);
    }
    for (const [level, hashes] of nodeHashesByLevelHex.entries()) {
      const parents = nodeHashesByLevelHex[level + 1] ?? [];
      for (const [at, parent] of parents.entries()) {
        const right = hashes[2 * at + 1];
        if (right !== undefined) expect(nodeHash(hashes[2 * at]!, right)).toBe(parent);
      }
    }
  });

  test.skipIf(!hasVectors("rfc6962"))("T37 rfc6962 inclusion: all 98 cases", () => {
    interface Case {
      readonly leafIdx: number;
      readonly treeSize: number;
      readonly root: string;
      readonly leafHash: string;
      readonly proof: readonly string[] | null;
      readonly wantErr: boolean;
    }
    const files = findVectors(`${suite}/inclusion`);
    expect(files).toHaveLength(98);

    const wrong = files.filter((name) => {
      const { leafIdx, treeSize, root, leafHash, proof, wantErr } = json(`${suite}/inclusion/${name}`) as Case;
      const claim = {
        leafHash: bytes(leafHash),
        index: leafIdx,
        size: treeSize,
        proof: (proof ?? []).map(bytes),
        root: bytes(root),
      };
      return accepts(() => verifyInclusion(claim)) === wantErr;
    });
    expect(wrong).toEqual([]);
  });

  test.skipIf(!hasVectors("rfc6962"))("T37 rfc6962 consistency: all 98 cases", () => {
    interface Case {
      readonly size1: number;
      readonly size2: number;
      readonly root1: string;
      readonly root2: string;
      readonly proof: readonly string[] | null;
      readonly wantErr: boolean;
    }
    const files = findVectors(`${suite}/consistency`);
    expect(files).toHaveLength(98);

    const wrong = files.filter((name) => {
      const { size1, size2, root1, root2, proof, wantErr } = json(`${suite}/consistency/${name}`) as Case;
      const claim = { size1, root1: bytes(root1), size2, root2: bytes(root2), proof: (proof ?? []).map(bytes) };
      return accepts(() => verifyConsistency(claim)) === wantErr;
    });
    expect(wrong).toEqual([]);
  });
});

describe("C2SP", () => {
  test.skipIf(!hasVectors("c2sp"))("T38 c2sp/signed-note.json: every note is judged, and signing is byte-equal", () => {
    const { skey, goodVkeys, badVkeys, cases } = json("c2sp/signed-note.json") as {
      readonly skey: string;
      readonly goodVkeys: readonly string[];
      readonly badVkeys: readonly string[];
      readonly cases: readonly {
        readonly desc: string;
        readonly vkeys: readonly string[];
        readonly noteB64: string;
        readonly expect: "ok" | "unverified" | "invalid-signature" | "malformed";
        readonly verified?: readonly string[];
      }[];
    };
    const codes = {
      unverified: "SIGNER_UNKNOWN",
      "invalid-signature": "SIGNATURE_INVALID",
      malformed: "NOTE_INVALID",
    };
    expect(cases).toHaveLength(14);
    for (const { desc, vkeys, noteB64, expect: verdict, verified } of cases) {
      const check = () => verifyNote(bytes(noteB64), vkeys);
      if (verdict === "ok")
        expect(
          check().map(({ name }) => name),
          desc,
        ).toEqual(verified);
      else expect(refusalOf(check).code, desc).toBe(codes[verdict]);
    }
    for (const vkey of goodVkeys) expect(parseVerifierKey(vkey, "key").text).toBe(vkey);
    for (const vkey of badVkeys) expect(refusalOf(() => parseVerifierKey(vkey, "key")).code).toBe("INVALID_ARGUMENT");

    const first = bytes(cases[0]!.noteB64).toString();
    expect(signNote(first.slice(0, first.indexOf("\n\n") + 1), [parseSignerKey(skey, "key")])).toBe(first);
  });

  test.skipIf(!hasVectors("c2sp"))("c2sp/sumdb-add-checkpoint.json: the checkpoint of a foreign log verifies", () => {
    const { vkey, origin, steps } = json("c2sp/sumdb-add-checkpoint.json") as {
      readonly vkey: string;
      readonly origin: string;
      readonly steps: readonly { readonly requestBodyB64: string }[];
    };
    for (const { requestBodyB64 } of steps) {
      const { oldSize, proof, checkpoint } = parseAddCheckpoint(bytes(requestBodyB64));

      expect([oldSize, proof]).toEqual([0, []]);
      expect(verifyNote(checkpoint, [vkey]).map(({ name }) => name)).toEqual(["sum.golang.org"]);
      expect(parseCheckpoint(checkpoint)).toMatchObject({ origin, size: 35_225_469 });
    }
  });

  test.skipIf(!hasVectors("tlog-tiles"))(
    "tlog-tiles: a whole log of 15 entries, with every checkpoint, tile and bundle",
    async () => {
      const log = "tlog-tiles/tessera-testdata-log";
      const vkey = readVector("tlog-tiles/vkey.txt").toString().trim();
      const tile = (size: number): Buffer => readVector(`${log}/tile/0/000.p/${size}`);
      const all = Array.from({ length: 15 }, (_, at) => tile(15).subarray(at * 32, at * 32 + 32));
      const roots: Buffer[] = [];

      for (let size = 0; size <= 15; size++) {
        const note = readVector(`${log}/checkpoint.${size}`);
        expect(verifyNote(note, [vkey])).toHaveLength(1);
        const checkpoint = parseCheckpoint(note);
        expect(checkpoint).toMatchObject({ origin: "example.com/log/testdata", size });
        expect(merkleRoot(all.slice(0, size)).equals(checkpoint.root)).toBe(true);
        roots.push(Buffer.from(checkpoint.root));
        if (size === 0) continue;
        expect(tile(size).equals(tile(15).subarray(0, size * 32))).toBe(true);
        expect(bundleIds(readVector(`${log}/tile/entries/000.p/${size}`))).toEqual(
          all.slice(0, size).map((hash) => hash.toString("hex")),
        );
      }

      const subtree = storedSubtrees(storedTree(all.map((hash) => hash.toString("hex"))).read);
      for (let size2 = 1; size2 <= 15; size2++) {
        for (let size1 = 1; size1 <= size2; size1++) {
          const [index, root] = [size1 - 1, roots[size2]!];
          const entry = (await proveInclusion(index, size2, subtree)).map((hash) => Buffer.from(hash, "hex"));
          verifyInclusion({ leafHash: all[index]!, index, size: size2, proof: entry, root });
          const prefix = (await proveConsistency(size1, size2, subtree)).map((hash) => Buffer.from(hash, "hex"));
          verifyConsistency({ size1, root1: roots[size1]!, size2, root2: root, proof: prefix });
        }
      }
      expect(verifyNote(readVector(`${log}/checkpoint`), [vkey])).toHaveLength(1);
    },
  );
});

/** The ids of the entries in a bundle: each a 16-bit length and bytes. */
function bundleIds(bundle: Buffer): string[] {
  const ids = [];
  for (let at = 0; at < bundle.length; at += 2 + bundle.readUInt16BE(at))
    ids.push(idOf(bundle.subarray(at + 2, at + 2 + bundle.readUInt16BE(at))));
  return ids;
}

test.skipIf(!hasVectors("ed25519"))("ed25519/wycheproof-ed25519_test.json: all 151 signatures are judged", () => {
  const { testGroups } = json("ed25519/wycheproof-ed25519_test.json") as {
    readonly testGroups: readonly {
      readonly publicKey: { readonly pk: string };
      readonly tests: readonly {
        readonly tcId: number;
        readonly msg: string;
        readonly sig: string;
        readonly result: "valid" | "invalid";
      }[];
    }[];
  };
  let count = 0;
  for (const { publicKey, tests } of testGroups) {
    const key = Buffer.concat([Buffer.of(1), Buffer.from(publicKey.pk, "hex")]);
    const id = createHash("sha256").update("wycheproof\n").update(key).digest("hex").slice(0, 8);
    const verifier = parseVerifierKey(`wycheproof+${id}+${key.toString("base64")}`, "key");
    for (const { tcId, msg, sig, result } of tests) {
      count += 1;
      const [message, signature] = [Buffer.from(msg, "hex"), Buffer.from(sig, "hex")];
      expect(verifier.verify(message, signature), `case ${tcId}`).toBe(result === "valid");
    }
  }
  expect(count).toBe(151);
});
