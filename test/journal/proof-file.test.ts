import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseCheckpoint, verifyConsistency, verifyInclusion, verifyNote } from "../../src/forensic/index.js";
import { formatCheckpoint } from "../../src/journal/checkpoint.js";
import { signNote } from "../../src/journal/note.js";
import {
  formatAddCheckpoint,
  formatTlogProof,
  parseAddCheckpoint,
  parseTlogProof,
} from "../../src/journal/proof-file.js";
import { refusalOf } from "../kernel/refusal.js";
import { keyOf } from "./keys.js";
import { rootOf } from "./second-implementation.js";
import { pathOf, proofOf } from "./second-tree.js";
import { treeOf } from "./trees.js";

const key = keyOf("example.com/orders", 1);
const { leaves } = treeOf(11);
const root = rootOf(leaves);
const bare = formatCheckpoint({ origin: "example.com/orders", size: 11, root });
const checkpoint = signNote(bare, [key]);
const proof = pathOf(5, leaves);
const file = formatTlogProof({ index: 5, proof, checkpoint });
const prefix = proofOf(5, leaves);
const body = formatAddCheckpoint({ oldSize: 5, proof: prefix, checkpoint });
const codeOf = (act: () => unknown): string => refusalOf(act).code;

describe("a tlog-proof", () => {
  test("is a line that names it, the index, the hashes, and the checkpoint as it is", () => {
    const lines = proof.map((hash) => `${hash.toString("base64")}\n`).join("");

    expect(file).toBe(`c2sp.org/tlog-proof@v1\nindex 5\n${lines}\n${checkpoint}`);
    expect(parseTlogProof(file)).toEqual({ index: 5, proof, checkpoint });
    expect(parseTlogProof(Buffer.from(file))).toEqual({ index: 5, proof, checkpoint });
  });

  test("is all that is needed to check an entry, beside a key", () => {
    const read = parseTlogProof(file);

    expect(verifyNote(read.checkpoint, [key.verifier.text])).toHaveLength(1);
    const { size, root: signed } = parseCheckpoint(read.checkpoint);
    verifyInclusion({ leafHash: leaves[5]!, index: read.index, size, proof: read.proof, root: signed });
  });

  test("of the only entry has no hashes, and a journal without a key signs none", () => {
    const only = formatCheckpoint({ origin: "a", size: 1, root: leaves[0]! });

    expect(formatTlogProof({ index: 0, proof: [], checkpoint: only })).toBe(
      `c2sp.org/tlog-proof@v1\nindex 0\n\na\n1\n${leaves[0]!.toString("base64")}\n`,
    );
    expect(parseTlogProof(`c2sp.org/tlog-proof@v1\nindex 0\n\n${only}`)).toEqual({
      index: 0,
      proof: [],
      checkpoint: only,
    });
  });

  test("may have extra data, which is left out", () => {
    expect(parseTlogProof(file.replace("index", "extra AAEC\nindex"))).toEqual(parseTlogProof(file));
    expect(parseTlogProof(file.replace("index", "extra \nindex"))).toEqual(parseTlogProof(file));
    expect(codeOf(() => parseTlogProof(file.replace("index", "extra AAE\nindex")))).toBe("PROOF_INVALID");
    expect(codeOf(() => parseTlogProof(file.replace("index", "extra AA==\nextra AA==\nindex")))).toBe("PROOF_INVALID");
  });

  test.each([
    ["nothing", ""],
    ["another version", file.replace("@v1", "@v2")],
    ["no first line", file.slice(file.indexOf("\n") + 1)],
    ["line ends of another system", file.replaceAll("\n", "\r\n")],
    ["one such line end", file.replace("index 5\n", "index 5\r\n")],
    ["no index", file.replace("index 5\n", "")],
    ["the index negative", file.replace("index 5", "index -1")],
    ["the index 1e3", file.replace("index 5", "index 1e3")],
    ["a leading zero", file.replace("index 5", "index 05")],
    ["the index 2^53", file.replace("index 5", "index 9007199254740992")],
    ["the index 2^64", file.replace("index 5", "index 18446744073709551616")],
    ["two spaces", file.replace("index 5", "index  5")],
    ["a space behind the index", file.replace("index 5", "index 5 ")],
    ["the index in other digits", file.replace("index 5", "index ٥")],
    ["a hash of 31 bytes", file.replace("index 5\n", `index 5\n${Buffer.alloc(31).toString("base64")}\n`)],
    ["a hash of 33 bytes", file.replace("index 5\n", `index 5\n${Buffer.alloc(33).toString("base64")}\n`)],
    ["a hash in hexadecimal", file.replace("index 5\n", `index 5\n${"ab".repeat(32)}\n`)],
    [
      "a hash in url-safe base64",
      file.replace("index 5\n", `index 5\n${Buffer.alloc(32, 0xff).toString("base64url")}=\n`),
    ],
    ["a hash that is not canonical", file.replace("index 5\n", `index 5\n${"A".repeat(42)}B=\n`)],
    ["64 hashes", file.replace("index 5\n", `index 5\n${`${Buffer.alloc(32).toString("base64")}\n`.repeat(60)}`)],
    ["no empty line", file.replace("\n\nexample.com", "\nexample.com")],
    ["no checkpoint", file.slice(0, file.indexOf("\n\n") + 2)],
  ])("T37 with %s is refused", (_what, bad) => {
    expect(bad).not.toBe(file);
    expect(["PROOF_INVALID", "NOTE_INVALID"]).toContain(codeOf(() => parseTlogProof(bad)));
  });

  test("T37 around a checkpoint that is none is refused as such", () => {
    expect(codeOf(() => parseTlogProof(file.replace("\n11\n", "\n011\n")))).toBe("NOTE_INVALID");
    expect(codeOf(() => parseTlogProof(file.slice(0, -1)))).toBe("NOTE_INVALID");
    expect(codeOf(() => parseTlogProof("c2sp.org/tlog-proof@v1\nindex 0\n"))).toBe("PROOF_INVALID");
    expect(codeOf(() => parseTlogProof(`${file}${"x".repeat(1_000_000)}`))).toBe("LIMIT_EXCEEDED");
    expect(codeOf(() => parseTlogProof(Buffer.concat([Buffer.of(0xff), Buffer.from(file)])))).toBe("NOTE_INVALID");
  });

  test("is not written of what is none", () => {
    for (const wrong of [{ index: -1 }, { index: 1.5 }, { index: 2 ** 53 }, { proof: [Buffer.alloc(31)] }])
      expect(codeOf(() => formatTlogProof({ index: 5, proof, checkpoint, ...wrong }))).toBe("INVALID_ARGUMENT");
  });
});

describe("an add-checkpoint body", () => {
  test("is the old size, the hashes, and the checkpoint as it is", () => {
    const lines = prefix.map((hash) => `${hash.toString("base64")}\n`).join("");

    expect(body).toBe(`old 5\n${lines}\n${checkpoint}`);
    expect(parseAddCheckpoint(body)).toEqual({ oldSize: 5, proof: prefix, checkpoint });
  });

  test("is all that is needed to check a prefix, beside a key and the old root", () => {
    const read = parseAddCheckpoint(body);

    expect(verifyNote(read.checkpoint, [key.verifier.text])).toHaveLength(1);
    const { size: size2, root: root2 } = parseCheckpoint(read.checkpoint);
    const root1 = rootOf(leaves.slice(0, 5));
    verifyConsistency({ size1: read.oldSize, root1, size2, root2, proof: read.proof });
  });

  test("from 0 has nothing to prove", () => {
    expect(parseAddCheckpoint(formatAddCheckpoint({ oldSize: 0, proof: [], checkpoint }))).toEqual({
      oldSize: 0,
      proof: [],
      checkpoint,
    });
  });

  test.each([
    ["nothing", ""],
    ["another word", body.replace("old", "size")],
    ["a leading zero", body.replace("old 5", "old 05")],
    ["a negative size", body.replace("old 5", "old -5")],
    ["the size 1e3", body.replace("old 5", "old 1e3")],
    ["the size 2^64", body.replace("old 5", "old 18446744073709551616")],
    ["no size", body.replace("old 5\n", "")],
    ["hashes behind old 0", body.replace("old 5", "old 0")],
    ["a hash of 31 bytes", body.replace("old 5\n", `old 5\n${Buffer.alloc(31).toString("base64")}\n`)],
    ["line ends of another system", body.replaceAll("\n", "\r\n")],
    ["no empty line", body.replace("\n\nexample.com", "\nexample.com")],
  ])("T37 with %s is refused", (_what, bad) => {
    expect(bad).not.toBe(body);
    expect(["PROOF_INVALID", "NOTE_INVALID"]).toContain(codeOf(() => parseAddCheckpoint(bad)));
  });
});

describe("T38 a proof with a checkpoint that says more than there is", () => {
  test("T38 a size larger than the data has no last entry and no prefix to prove", () => {
    const read = parseTlogProof(
      formatTlogProof({ index: 5, proof, checkpoint: formatCheckpoint({ origin: "a", size: 12, root }) }),
    );
    const { size } = parseCheckpoint(read.checkpoint);

    // The root is that of 11 entries, and somebody signed that it is of 12.
    const last = { leafHash: leaves[10]!, index: 11, size, proof: pathOf(10, leaves), root };
    expect(codeOf(() => verifyInclusion(last))).toBe("PROOF_INVALID");
    const grown = { size1: 11, root1: root, size2: size, root2: root, proof: proofOf(11, [...leaves, leaves[0]!]) };
    expect(codeOf(() => verifyConsistency(grown))).toBe("PROOF_INVALID");
  });
});

test("any byte of a proof file changed proves nothing more", () => {
  const bytes = Buffer.from(file);
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const tampered = Buffer.from(bytes);
      tampered[at] = tampered[at]! ^ change;
      const check = (): void => {
        const read = parseTlogProof(tampered);
        verifyNote(read.checkpoint, [key.verifier.text]);
        const { size, root: signed } = parseCheckpoint(read.checkpoint);
        verifyInclusion({ leafHash: leaves[5]!, index: read.index, size, proof: read.proof, root: signed });
      };

      expect(["PROOF_INVALID", "NOTE_INVALID", "SIGNATURE_INVALID", "SIGNER_UNKNOWN"]).toContain(codeOf(check));
    }),
  );
});
