import { describe, expect, test } from "vitest";
import { checkProof } from "../../src/forensic/index.js";
import type { ProofEvidence } from "../../src/forensic/index.js";
import { formatCheckpoint } from "../../src/journal/checkpoint.js";
import { signNote } from "../../src/journal/note.js";
import { formatAddCheckpoint, formatTlogProof } from "../../src/journal/proof-file.js";
import { RawJournal } from "../../src/testing/raw-journal.js";
import { keyOf } from "../journal/keys.js";
import { idOf, rootOf } from "../journal/second-implementation.js";
import { pathOf, proofOf } from "../journal/second-tree.js";
import { refusalOf } from "../kernel/refusal.js";

const origin = "example.com/orders";
const key = keyOf(origin, 1);
const vkey = key.verifier.text;
const entries = entriesOf(12);
const leaves = entries.map((entry) => idOf(Buffer.from(entry))).map((id) => Buffer.from(id, "hex"));

function entriesOf(count: number): string[] {
  const journal = new RawJournal(1_700_000_000_000, origin);
  while (journal.next < count) journal.append(1_700_000_000_000, [{ stream: "order/1", type: "order.moved" }]);
  return journal.rows.entries.map(({ entry }) => String(entry));
}

function checkpoint(size: number, line = origin): string {
  return formatCheckpoint({ origin: line, size, root: rootOf(leaves.slice(0, size)) });
}

function inclusion(index: number, size: number, note = signNote(checkpoint(size), [key])): string {
  return formatTlogProof({ index, proof: pathOf(index, leaves.slice(0, size)), checkpoint: note });
}

function consistency(from: number, size: number, note = signNote(checkpoint(size), [key])): string {
  return formatAddCheckpoint({ oldSize: from, proof: proofOf(from, leaves.slice(0, size)), checkpoint: note });
}

function judged(proof: string, evidence: ProofEvidence): string {
  const { verdict, exitCode, checks } = checkProof(proof, evidence);
  return [verdict, exitCode, ...checks.map(({ check, result }) => `${check} ${result}`)].join(", ");
}

describe("a proof that an event is in the journal", () => {
  test("is verified with the key and the bytes of the entry", () => {
    const report = checkProof(inclusion(4, 9), { key: vkey, entry: entries[4]! });

    expect(report).toMatchObject({ kind: "inclusion", verdict: "VERIFIED", exitCode: 0, position: 4, from: null });
    expect(report.checkpoint).toEqual({ origin, size: 9, root: rootOf(leaves.slice(0, 9)).toString("hex") });
  });

  test("shows nothing of what was not brought", () => {
    const proof = inclusion(4, 9);
    expect(judged(proof, {})).toBe("UNDECIDED, 3, signature unchecked, inclusion unchecked");
    expect(judged(proof, { key: vkey })).toBe("UNDECIDED, 3, signature ok, inclusion unchecked");
    expect(judged(proof, { entry: entries[4]! })).toBe("UNDECIDED, 3, signature unchecked, inclusion ok");
    expect(judged(inclusion(4, 9, checkpoint(9)), { entry: entries[4]! })).toMatch(/^UNDECIDED/);
  });

  test("fails for another event, place, size, key or signature", () => {
    const evidence = { key: vkey, entry: entries[4]! };
    const [wrongPlace, wrongSignature] = [
      "FAILED, 1, signature ok, inclusion FAIL",
      "FAILED, 1, signature FAIL, inclusion ok",
    ];
    expect(judged(inclusion(4, 9), { ...evidence, entry: entries[5]! })).toBe(wrongPlace);
    expect(judged(inclusion(4, 9), { ...evidence, entry: `${entries[4]}\n` })).toBe(wrongPlace);
    expect(judged(inclusion(5, 9), evidence)).toBe(wrongPlace);
    expect(judged(inclusion(4, 9, signNote(checkpoint(8), [key])), evidence)).toBe(wrongPlace);
    expect(judged(inclusion(4, 9, checkpoint(9)), evidence)).toBe(wrongSignature);
    expect(judged(inclusion(4, 9), { ...evidence, key: keyOf(origin, 2).verifier.text })).toBe(wrongSignature);
    expect(judged(inclusion(4, 9).replace(/(m?)[A-Za-z](\S*)\n$/, "$1A$2\n"), evidence)).toBe(wrongSignature);
  });

  test("says so when its checkpoint is not signed", () => {
    const { checks } = checkProof(inclusion(4, 9, checkpoint(9)), { key: vkey, entry: entries[4]! });

    expect(checks[0]).toEqual({
      check: "signature",
      result: "FAIL",
      message: `the checkpoint in the proof must be signed by ${origin}, found it unsigned`,
    });
  });

  test("fails when the key signs for another journal", () => {
    const other = keyOf("example.com/other", 1);
    const proof = inclusion(4, 9, signNote(checkpoint(9), [other]));

    expect(judged(proof, { key: other.verifier.text, entry: entries[4]! })).toBe(
      "FAILED, 1, signature FAIL, inclusion ok",
    );
  });

  test("is of any incarnation that the key signs for", () => {
    const proof = inclusion(4, 9, signNote(checkpoint(9, `${origin}/3`), [key]));

    expect(judged(proof, { key: vkey, entry: entries[4]! })).toBe("VERIFIED, 0, signature ok, inclusion ok");
  });

  test("fails for an entry that says it is another", () => {
    const swapped = [leaves[0]!, leaves[2]!, leaves[1]!];
    const note = signNote(formatCheckpoint({ origin, size: 3, root: rootOf(swapped) }), [key]);
    const proof = formatTlogProof({ index: 1, proof: pathOf(1, swapped), checkpoint: note });

    expect(judged(proof, { key: vkey, entry: entries[2]! })).toBe("FAILED, 1, signature ok, inclusion FAIL");
  });
});

describe("a proof that the journal begins with a checkpoint", () => {
  test("is verified with the key and the checkpoint that was kept", () => {
    for (let from = 1; from <= 12; from++) {
      const report = checkProof(consistency(from, 12), { key: vkey, from: checkpoint(from) });
      expect(report).toMatchObject({ kind: "consistency", verdict: "VERIFIED", exitCode: 0, position: null, from });
    }
  });

  test("shows nothing of what was not brought", () => {
    expect(judged(consistency(5, 12), {})).toBe("UNDECIDED, 3, signature unchecked, consistency unchecked");
    expect(judged(consistency(5, 12), { key: vkey })).toBe("UNDECIDED, 3, signature ok, consistency unchecked");
  });

  test("fails for another size, root or journal", () => {
    const failed = "FAILED, 1, signature ok, consistency FAIL";
    const rewritten = formatCheckpoint({ origin, size: 5, root: leaves[0]! });
    for (const from of [checkpoint(6), checkpoint(4), rewritten, checkpoint(5, "example.com/other"), "nonsense\n"])
      expect(judged(consistency(5, 12), { key: vkey, from })).toBe(failed);
    expect(judged(consistency(4, 12).replace("old 4", "old 5"), { key: vkey, from: checkpoint(5) })).toBe(failed);
  });

  test("goes across incarnations", () => {
    for (const [then, now] of [
      [origin, `${origin}/2`],
      [`${origin}/2`, `${origin}/5`],
    ] as const) {
      const proof = consistency(5, 12, signNote(checkpoint(12, now), [key]));
      expect(judged(proof, { key: vkey, from: checkpoint(5, then) })).toBe("VERIFIED, 0, signature ok, consistency ok");
    }
  });
});

test("what is no proof is refused, and so is a key that is none", () => {
  for (const text of ["", "nonsense", checkpoint(3), inclusion(1, 3).replace("@v1", "@v2"), "old 1\n\n"])
    expect(refusalOf(() => checkProof(text)).code).toMatch(/^(PROOF|NOTE)_INVALID$/);
  expect(refusalOf(() => checkProof(inclusion(1, 3), { key: "nonsense" })).code).toBe("INVALID_ARGUMENT");
});
