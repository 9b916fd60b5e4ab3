/** Two ledgers side by side: the same, one ahead, parted; and who signed for both. */
import { describe, expect, test } from "vitest";
import { forkCheck, verifyNote } from "../../src/forensic/index.js";
import type { ForkCheckOptions, ForkReport } from "../../src/forensic/index.js";
import type { SignerKey } from "../../src/journal/note-keys.js";
import { LedgerError } from "../../src/kernel/errors.js";
import { arrayRawReader } from "../../src/testing/array-raw-reader.js";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { copyOf, editCovered, last, otherRows, row, setColumns } from "./journal.js";
import { checkpointOf, kept, key, rootAt, signedRows, storeCheckpoints, stranger, vkey } from "./signed-journal.js";

function check(a: RawRows, b: RawRows | string, options: ForkCheckOptions = {}): Promise<ForkReport> {
  return forkCheck(arrayRawReader(a), typeof b === "string" ? b : arrayRawReader(b), options);
}

/** The rows as they were at a size. */
function first(size: number): RawRows {
  const rows = signedRows();
  return { ...rows, entries: rows.entries.slice(0, size) };
}

/** The journal put back to a size, and written on otherwise, with the same key. */
function parted(size: number): RawRows {
  const rows = signedRows();
  for (let position = size; position <= last; position++)
    editCovered(rows, position, (fields) => (fields["actor"] = `other ${position}`));
  storeCheckpoints(rows, [key]);
  return rows;
}

describe("two ledgers", () => {
  test("that are the same", async () => {
    const report = await check(signedRows(), signedRows());

    expect(report).toMatchObject({
      verdict: "SAME",
      exitCode: 0,
      common: { position: 339, id: row(signedRows(), 339).id },
      equivocation: null,
    });
    expect(report.a).toEqual({
      location: "arrays",
      origin: "testing/tampered",
      size: 340,
      head: row(signedRows(), 339).id,
      root: rootAt(signedRows(), 340),
    });
    expect(report.b).toEqual(report.a);
  });

  test.each([1, 255, 256, 257, 300, 339])("of which one ends after %d entries", async (size) => {
    const common = { position: size - 1, id: row(signedRows(), size - 1).id };

    expect(await check(signedRows(), first(size))).toMatchObject({ verdict: "PREFIX", exitCode: 0, common });
    expect(await check(first(size), signedRows())).toMatchObject({
      verdict: "PREFIX",
      reason: `a is where b begins: b has ${340 - size} more`,
      exitCode: 0,
      common,
    });
  });

  test.each([1, 100, 255, 256, 257, 338, 339])("T21 that part at #%d", async (position) => {
    const [a, b] = [signedRows(), parted(position)];
    const report = await check(a, b);

    expect(report).toMatchObject({
      verdict: "FORKED",
      exitCode: 1,
      common: { position: position - 1, id: row(a, position - 1).id },
      reason: `#${position} is ${String(row(a, position).id)} in a and ${String(row(b, position).id)} in b`,
      a: { head: row(a, 339).id, root: rootAt(a, 340) },
      b: { head: row(b, 339).id, root: rootAt(b, 340) },
    });
  });

  test("that part at the first entry, under one name", async () => {
    const other = parted(1);
    editCovered(
      other,
      0,
      (fields) => ((fields["data"] as Record<string, unknown>)["nonce"] = "BBBBBBBBBBBBBBBBBBBBBA=="),
    );

    expect(await check(signedRows(), other)).toMatchObject({ verdict: "FORKED", exitCode: 1, common: null });
  });

  test("that are of two journals", async () => {
    expect(await check(signedRows(), otherRows())).toMatchObject({
      verdict: "UNRELATED",
      exitCode: 3,
      reason: "a is testing/tampered, b is testing/other",
    });
  });

  test("whose rows claim ids that their bytes do not have are compared by their bytes", async () => {
    const forged = signedRows();
    const other = parted(300);
    for (let position = 300; position <= last; position++)
      forged.entries[position] = { ...row(other, position), id: row(signedRows(), position).id };

    expect(await check(signedRows(), forged)).toMatchObject({ verdict: "FORKED", common: { position: 299 } });
  });
});

describe("what cannot be decided", () => {
  test.each<[string, (rows: RawRows) => unknown, string]>([
    ["has no entries", (rows) => rows.entries.splice(0), "b has no entries that can be read"],
    [
      "does not open a journal",
      (rows) => setColumns(rows, 0, { entry: "{}" }),
      "the first entry of b does not open a journal",
    ],
    ["lacks an entry", (rows) => rows.entries.splice(175, 1), "b cannot be read behind #174: #175 is missing"],
    [
      "has an entry that is none",
      (rows) => setColumns(rows, 175, { entry: 7 }),
      "b cannot be read behind #174: #175 is no entry",
    ],
  ])("a ledger that %s", async (_, change, reason) => {
    const rows = copyOf(signedRows());
    change(rows);

    expect(await check(signedRows(), rows)).toMatchObject({ verdict: "UNDECIDED", exitCode: 3, reason });
    expect((await check(rows, signedRows())).reason).toBe(reason.replaceAll(/\bb\b/g, "a"));
  });

  test("damaged pages behind the place where they part do not hide it", async () => {
    const onEntry = (seq: unknown): void => {
      if (seq === 320) throw new LedgerError("STORE_DAMAGED", "a page cannot be read");
    };
    const damaged = arrayRawReader(parted(100), { onEntry });
    const whole = arrayRawReader(signedRows());
    const unread = await forkCheck(whole, arrayRawReader(signedRows(), { onEntry }));

    expect(unread).toMatchObject({ verdict: "UNDECIDED", exitCode: 3 });
    expect(unread.reason).toContain("a page cannot be read");
    expect(unread.common?.position).toBe(319);
    expect(await forkCheck(whole, damaged)).toMatchObject({ verdict: "FORKED", exitCode: 1, common: { position: 99 } });
  });
});

describe("T21 two checkpoints of one size that one key signed", () => {
  test("are handed out, and prove it under the key", async () => {
    const { equivocation } = await check(signedRows(), parted(200), { keys: [vkey] });

    expect(equivocation).toMatchObject({ size: 256, verified: true, signers: `testing/tampered+${key.verifier.id}` });
    for (const note of [equivocation?.a, equivocation?.b]) expect(verifyNote(note ?? "", [vkey])).toHaveLength(1);
    expect(equivocation?.a).toBe(kept(256));
    expect(equivocation?.b).toBe(checkpointOf(parted(200), 256));
  });

  test("are said to be unverified without a key", async () => {
    expect((await check(signedRows(), parted(200))).equivocation).toMatchObject({ size: 256, verified: false });
  });

  test.each<[string, RawRows, ForkCheckOptions]>([
    ["nothing was signed behind the place where they part", parted(335), {}],
    ["another key signed the other", withCheckpoints(parted(200), [stranger]), {}],
    ["nobody signed", withCheckpoints(parted(200), []), {}],
    ["the key that is given signed neither", parted(200), { keys: [stranger.verifier.text] }],
    ["the signature is not of it", withForgedCheckpoint(parted(200)), { keys: [vkey] }],
    ["the other is of a later incarnation, restored on purpose", withIncarnation(parted(200), 2), { keys: [vkey] }],
    ["their sizes differ", withCheckpoints(parted(200), [key], [101, 257, 331]), {}],
  ])("are not there when %s", async (_, other, options) => {
    expect(await check(signedRows(), other, options)).toMatchObject({
      verdict: "FORKED",
      exitCode: 1,
      equivocation: null,
    });
  });
});

function withCheckpoints(rows: RawRows, signers: readonly SignerKey[], sizes?: readonly number[]): RawRows {
  storeCheckpoints(rows, signers, sizes);
  return rows;
}

function withForgedCheckpoint(rows: RawRows): RawRows {
  const before = kept(256);
  rows.checkpoints = [{ size: 256, note: checkpointOf(rows, 256, []) + before.slice(before.indexOf("\n\n") + 1) }];
  return rows;
}

function withIncarnation(rows: RawRows, incarnation: number): RawRows {
  rows.checkpoints = [{ size: 256, note: checkpointOf(rows, 256, [key], incarnation) }];
  return rows;
}

describe("a ledger and a checkpoint", () => {
  test("of the same journal", async () => {
    expect(await check(signedRows(), kept(340), { keys: [vkey] })).toMatchObject({ verdict: "SAME", exitCode: 0 });
    expect(await check(signedRows(), kept(300))).toMatchObject({
      verdict: "PREFIX",
      exitCode: 0,
      common: { position: 299, id: row(signedRows(), 299).id },
      b: { location: null, origin: "testing/tampered", size: 300, head: null, root: rootAt(signedRows(), 300) },
    });
  });

  test("T21 of one that went on otherwise, with the stored one that contradicts it", async () => {
    const report = await check(parted(200), kept(256), { keys: [vkey] });

    expect(report).toMatchObject({
      verdict: "FORKED",
      exitCode: 1,
      common: null,
      equivocation: { size: 256, b: kept(256), verified: true },
    });
  });

  test.each<[string, string, ForkCheckOptions, string, string]>([
    [
      "that covers more",
      kept(340),
      {},
      "UNDECIDED",
      "a has 320 entries that can be read, too few for a checkpoint of 340",
    ],
    [
      "of another journal",
      kept(300).replaceAll("testing/tampered", "testing/other"),
      {},
      "UNRELATED",
      "a is testing/tampered, the checkpoint is of testing/other",
    ],
    [
      "that no given key signed",
      kept(300),
      { keys: [stranger.verifier.text] },
      "UNDECIDED",
      "the checkpoint is signed by none of the given keys",
    ],
    [
      "with a signature of another text",
      kept(300).replace("\n300\n", "\n299\n"),
      { keys: [vkey] },
      "UNDECIDED",
      `the checkpoint's signature of testing/tampered+${key.verifier.id} is wrong`,
    ],
  ])("%s", async (_, note, options, verdict, reason) => {
    expect(await check(first(320), note, options)).toMatchObject({ verdict, reason, exitCode: 3, common: null });
  });

  test("that is none is refused", async () => {
    await expect(check(signedRows(), "hello\n")).rejects.toMatchObject({ code: "NOTE_INVALID" });
    await expect(check(signedRows(), kept(1), { keys: ["key"] })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

test("a signal stops it", async () => {
  for (const b of [signedRows(), kept(300)])
    await expect(check(signedRows(), b, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "ABORTED" });
});
