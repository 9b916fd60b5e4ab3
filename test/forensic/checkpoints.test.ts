/** What checkpoints from outside, stored ones and keys make of a journal in order. */
import { describe, expect, test } from "vitest";
import { formatReport, verify } from "../../src/forensic/index.js";
import type { VerifyOptions } from "../../src/forensic/index.js";
import { formatCheckpoint } from "../../src/journal/checkpoint.js";
import { emptyRoot } from "../../src/journal/merkle.js";
import { signNote } from "../../src/journal/note.js";
import { arrayRawReader } from "../../src/testing/array-raw-reader.js";
import { codesOf, journalRows, verifyRows } from "./journal.js";
import {
  checkpointOf,
  kept,
  key,
  keyOf,
  origin,
  signedRows,
  storeCheckpoints,
  stranger,
  vkey,
} from "./signed-journal.js";

const name = `${origin}+${key.verifier.id}`;

function infoLines(text: string): string[] {
  return text.split("\n").filter((line) => line.startsWith("info"));
}

describe("a journal in order", () => {
  test("without anything from outside rests on its file alone, stored checkpoints or not", async () => {
    const report = await verifyRows(signedRows());

    expect(report).toMatchObject({
      verdict: "OK",
      exitCode: 0,
      anchored: { to: null, unanchored: 340, at: null, signatures: null },
      signed: null,
      checked: { checkpoints: 3 },
    });
    expect(formatReport(report)).toContain("ok        checkpoint 3 stored, 0 given: all of them fit\n");
    expect(formatReport(report)).toContain(
      "info      anchored   no checkpoint from outside: 340 events rest on this ledger alone\n",
    );
  });

  test("is anchored by a checkpoint from outside, and says what rests on the ledger alone and how old that is", async () => {
    const head = 1767225600000 + 314_000;
    const report = await verifyRows(signedRows(), { from: kept(300), now: head + 3 * 86_400_000 });

    expect(report).toMatchObject({ verdict: "OK", exitCode: 0, signed: null, checked: { checkpoints: 4 } });
    expect(report.anchored).toMatchObject({ to: 299, unanchored: 40, signatures: "unchecked" });
    expect(infoLines(formatReport(report)).slice(-2)).toEqual([
      "info      anchored   to #299 by checkpoint given with --from, its signature not checked for want of a key; 40 later events rest on this ledger alone",
      expect.stringMatching(
        /^info {6}age {8}#299 is of 2026-01-01T00:04:\d\d\.000Z, the head \d+ seconds later, [23] days ago$/,
      ),
    ]);
  });

  test("with a key says whose signature was verified, of those given and those stored", async () => {
    const report = await verifyRows(signedRows(), { from: kept(300), keys: [vkey] });

    expect(report).toMatchObject({
      verdict: "OK",
      signed: { to: 329, by: name },
      anchored: { signatures: "verified" },
    });
    expect(formatReport(report)).toContain(`info      signed     to #329 by ${name}\n`);
    expect(formatReport(report)).toContain(
      "info      anchored   to #299 by checkpoint given with --from; 40 later events rest on this ledger alone\n",
    );
  });

  test("is anchored by the three lines alone, and by the largest of several", async () => {
    const bare = await verifyRows(signedRows(), { from: [kept(340, []), kept(1), kept(256)] });

    expect(bare.anchored).toMatchObject({ to: 339, unanchored: 0, signatures: "none" });
    expect(formatReport(bare)).toContain("to #339 by checkpoint given with --from; nothing came later\n");
  });

  test.each([1, 2, 255, 256, 257, 339, 340])("is anchored by a checkpoint of %i", async (size) => {
    const report = await verifyRows(signedRows(), { from: kept(size), keys: [vkey] });

    expect(report).toMatchObject({ verdict: "OK", findings: [], anchored: { to: size - 1, unanchored: 340 - size } });
  });

  test("is anchored without a look at the signature as long as no key is given, and not with one", async () => {
    const signature = kept(256).slice(kept(256).indexOf("\n\n"));
    const from = kept(300, []).trimEnd() + signature;

    expect(await verifyRows(signedRows(), { from })).toMatchObject({
      verdict: "OK",
      anchored: { to: 299, signatures: "unchecked" },
    });
    expect(codesOf(await verifyRows(signedRows(), { from, keys: [vkey] }))).toEqual(["E_CHECKPOINT_SIG"]);
  });

  test("is not anchored by a checkpoint of nothing", async () => {
    const nothing = formatCheckpoint({ origin, size: 0, root: Buffer.from(emptyRoot, "hex") });
    const other = formatCheckpoint({ origin, size: 0, root: Buffer.alloc(32) });

    expect(await verifyRows(signedRows(), { from: nothing })).toMatchObject({ verdict: "OK", anchored: { to: null } });
    expect(codesOf(await verifyRows(signedRows(), { from: other }))).toEqual(["E_INCONSISTENT"]);
  });
});

describe("an anchor that is required", () => {
  test("and is not there: in order, and not enough", async () => {
    const report = await verifyRows(signedRows(), { keys: [vkey], requireAnchor: true });

    expect(report).toMatchObject({ verdict: "UNANCHORED", exitCode: 4, signed: { to: 329 } });
    expect(formatReport(report)).toContain(
      "verdict   UNANCHORED in order by itself, and no checkpoint from outside vouches for it; 340 entries checked\n",
    );
  });

  test("and is there", async () => {
    expect(await verifyRows(signedRows(), { from: kept(1), requireAnchor: true })).toMatchObject({ exitCode: 0 });
  });

  test("does not outweigh what is wrong", async () => {
    const rows = signedRows();
    rows.entries.splice(175, 1);

    expect(await verifyRows(rows, { requireAnchor: true })).toMatchObject({ verdict: "TAMPERED", exitCode: 1 });
  });
});

describe("keys that are given", () => {
  test("and nothing is signed by them: cannot decide", async () => {
    const report = await verifyRows(signedRows(), { keys: [stranger.verifier.text] });

    expect(codesOf(report)).toEqual(["W_CHECKPOINT_MISSING"]);
    expect(report).toMatchObject({ verdict: "UNDECIDED", exitCode: 3, signed: null });
    expect(formatReport(report)).toContain(
      "verdict   UNDECIDED  no checkpoint is signed by a key that was given; 340 entries checked\n",
    );
  });

  test("let no other checkpoint anchor, given or not", async () => {
    const unsigned = await verifyRows(signedRows(), { from: kept(300, []), keys: [vkey] });
    const strange = await verifyRows(signedRows(), { from: kept(300, [key]), keys: [stranger.verifier.text] });

    expect(codesOf(unsigned)).toEqual(["W_CHECKPOINT_UNSIGNED"]);
    expect(unsigned).toMatchObject({ verdict: "OK", anchored: { to: null }, signed: { to: 329 } });
    expect(codesOf(strange)).toEqual(["W_CHECKPOINT_UNSIGNED", "W_CHECKPOINT_MISSING"]);
    expect(strange).toMatchObject({ exitCode: 3, anchored: { to: null }, signed: null });
  });

  test("accept a checkpoint that others signed too, whoever they are", async () => {
    const note = kept(300, [stranger, key, keyOf(8, "witness.example")]);
    const report = await verifyRows(signedRows(), { from: note, keys: [vkey] });

    expect(report).toMatchObject({ verdict: "OK", findings: [], anchored: { to: 299, signatures: "verified" } });
  });
});

describe("a checkpoint from outside that is refused", () => {
  const text = formatCheckpoint({ origin: "testing/other", size: 300, root: Buffer.alloc(32) });

  test.each([
    ["is no checkpoint", "hello\n", "E_CHECKPOINT"],
    ["has an extension line", kept(300, []) + "more\n", "E_CHECKPOINT"],
    ["has no last newline", kept(300, []).trimEnd(), "E_CHECKPOINT"],
    ["has Windows line ends", kept(300).replaceAll("\n", "\r\n"), "E_CHECKPOINT"],
    ["is of another journal", text, "E_CHECKPOINT_ORIGIN"],
    ["is of another journal, and signed", signNote(text, [key]), "E_CHECKPOINT_ORIGIN"],
    ["is of another incarnation", kept(300).replace(origin, `${origin}/2`), "E_CHECKPOINT_ORIGIN"],
    ["has a signature of another text", kept(300).replace("\n300\n", "\n301\n"), "E_CHECKPOINT_SIG"],
  ])("because it %s", async (_, from, code) => {
    const report = await verifyRows(signedRows(), { from, keys: [vkey] });

    expect(codesOf(report)).toEqual([code]);
    expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1, anchored: { to: null }, signed: { to: 329 } });
  });

  test("is named by its number where several were given", async () => {
    const report = await verifyRows(signedRows(), { from: [kept(300), "hello\n"] });

    expect(report.findings.map(({ where }) => where)).toEqual(["given checkpoint 2"]);
    expect(report.anchored.to).toBe(299);
  });
});

describe("stored checkpoints", () => {
  test.each<[string, unknown, string]>([
    ["that are no text", Buffer.from("x"), "E_TYPE"],
    ["that are no checkpoints", "hello\n", "E_CHECKPOINT"],
    ["of another journal", kept(256).replace(origin, "testing/other"), "E_CHECKPOINT_ORIGIN"],
    ["of another size than their row", kept(255), "E_COLUMN"],
    ["with a signature of another text, though no key was given", kept(256).replace("\n256\n", "\n255\n"), "E_COLUMN"],
  ])("%s", async (_, note, code) => {
    const rows = signedRows();
    rows.checkpoints[1] = { size: 256, note };
    const report = await verifyRows(rows);

    expect(codesOf(report)[0]).toBe(code);
    expect(report.exitCode).toBe(1);
  });

  test("that were lost cost nothing but what they say", async () => {
    const rows = signedRows();
    rows.checkpoints = [];

    expect(await verifyRows(rows)).toMatchObject({ verdict: "OK", findings: [] });
    expect(await verifyRows(rows, { from: kept(300), keys: [vkey] })).toMatchObject({ verdict: "OK", findings: [] });
  });

  test("by the thousand are each compared", async () => {
    const rows = signedRows();
    storeCheckpoints(
      rows,
      [key],
      Array.from({ length: 300 }, (_, index) => index + 20),
    );

    expect(await verifyRows(rows)).toMatchObject({ verdict: "OK", checked: { checkpoints: 300 } });
  });
});

describe("a quick verification", () => {
  test("looks at size and signature of what was given and of the last one stored, and says that it compares no root", async () => {
    const report = await verifyRows(signedRows(), { level: "quick", from: kept(300), keys: [vkey] });

    expect(report).toMatchObject({ verdict: "OK", anchored: { to: null }, signed: null, checked: { checkpoints: 0 } });
    expect(formatReport(report)).toContain(
      "info      checkpoint 3 stored, 1 given: 4 not compared, a quick verification computes no root\n",
    );
  });

  test("finds a journal that is shorter, a signature that is wrong, and one that is missing", async () => {
    const shorter = signedRows();
    shorter.checkpoints.push({ size: 341, note: kept(340).replace("\n340\n", "\n341\n") });
    const unsigned = signedRows();
    storeCheckpoints(unsigned, [stranger]);

    const quick: VerifyOptions = { level: "quick" };
    expect(codesOf(await verifyRows(shorter, quick))).toEqual(["E_CHECKPOINT_SIG"]);
    expect(codesOf(await verifyRows(unsigned, { ...quick, keys: [vkey] }))).toEqual(["W_CHECKPOINT_MISSING"]);
    shorter.checkpoints = [];
    shorter.entries.splice(330);
    expect(codesOf(await verifyRows(shorter, { ...quick, from: kept(340) }))).toContain("E_SHORTER_THAN_CHECKPOINT");
  });
});

describe("options", () => {
  test.each([
    [{ from: 7 }, "options.from"],
    [{ from: [7] }, "options.from[0]"],
    [{ keys: vkey }, "options.keys"],
    [{ keys: ["testing/tampered+00000000+AQ=="] }, "options.keys[0]"],
    [{ keys: [vkey, vkey.slice(0, -2)] }, "options.keys[1]"],
    [{ requireAnchor: 1 }, "options.requireAnchor"],
  ])("%j is refused", async (options, path) => {
    await expect(verify(arrayRawReader(journalRows()), options as VerifyOptions)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      details: { path },
    });
  });

  test("a checkpoint of the rows as they stand is what was kept", () => {
    expect(checkpointOf(signedRows(), 300)).toBe(kept(300));
  });
});
