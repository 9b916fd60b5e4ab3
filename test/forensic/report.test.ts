import { describe, expect, test } from "vitest";
import { findingKinds, formatReport, verify } from "../../src/forensic/index.js";
import type { VerifyOptions } from "../../src/forensic/index.js";
import { merkleRoot } from "../../src/journal/merkle.js";
import { LedgerError } from "../../src/kernel/errors.js";
import type { RawReader } from "../../src/journal/raw-reader.js";
import { arrayRawReader, emptyRows } from "../../src/testing/array-raw-reader.js";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { RawJournal } from "../../src/testing/raw-journal.js";
import { codesOf, edit, editCovered, editSealed, journalRows, row, setColumns, start, verifyRows } from "./journal.js";

const noRows = emptyRows();

describe("the report as text", () => {
  test("of a journal in order", async () => {
    const report = await verifyRows(journalRows());
    const text = formatReport(report);

    expect(text)
      .toBe(`journal   testing/tampered   format 1   340 events   head ${String(row(journalRows(), 339).id).slice(0, 12)}
ok        store      identifiers, tables, types and pages
ok        genesis    #0 opens the journal, 3 events of its own
ok        bytes      340 entries canonical, 340 ids
ok        chain      #0..#339
ok        tx         every tx is whole
ok        streams    13 streams without a gap
ok        columns    every copy equals its entry, 1 page of positions
ok        causes     14 causes found earlier
ok        content    13 contents hashed
ok        tree       root ${report.root?.slice(0, 12)}… of 340 entries, 1 stored node
ok        clock      the time never falls
info      erased     1 content, authorised at #11
info      anchored   no checkpoint from outside: 340 events rest on this ledger alone
verdict   OK         340 entries checked
`);
  });

  test("of a journal that was changed names the event, what was wanted, what was found, and what to do", async () => {
    const rows = journalRows();
    rows.contents[1] = { ...rows.contents[1]!, bytes: Buffer.from("changed") };
    const lines = formatReport(await verifyRows(rows)).split("\n");

    const want = String(rows.contents[1].digest).slice(0, 12);
    expect(lines.find((line) => line.startsWith("FAIL"))).toMatch(
      new RegExp(`^FAIL      content    #4 note/1@2 content 2   E_CONTENT_DIGEST   want ${want}… have [0-9a-f]{12}…: `),
    );
    expect(lines).toContain("verdict   TAMPERED   1 finding, first at #4; 340 entries checked");
    expect(lines).toContain("next      runledger show '#4' · runledger log '#0..#9'");
    expect(lines).toContain("ok        chain      #0..#339");
  });

  test("lists as many findings as were asked for and counts the rest", async () => {
    const rows = journalRows();
    for (let position = 0; position < 340; position++) setColumns(rows, position, { skew: -1 });
    const report = await verifyRows(rows, { findingsMax: 2 });

    expect(report.findings).toHaveLength(2);
    expect(report).toMatchObject({ failures: 340, findingsOmitted: 338, firstBad: 0 });
    expect(formatReport(report)).toContain("FAIL      columns    and 338 more like these");
  });

  test("T46 nothing that is stored reaches the terminal as more than text", async () => {
    const hostile = "\u001b[2J\u009b31m\u202e\u2066\u200b\u2028\u0007\r\n";
    const rows = journalRows();
    editCovered(rows, 175, (fields) => Object.assign(fields, { stream: "log/\u202e\u009b", actor: "\u202e", rev: 1 }));
    rows.streams.push({ id: 90, name: `log/${hostile}`, rev: 1, seq: 1 });
    rows.types.push({ id: 90, name: hostile });
    setColumns(rows, 40, { id: hostile });
    rows.contents[1] = { ...rows.contents[1]!, digest: hostile };
    rows.problems.push({ code: "E_SCHEMA", where: hostile, message: hostile });
    const reader: RawReader = {
      ...arrayRawReader(rows),
      evidence: async () => [{ name: `/tmp/${hostile}`, bytes: 1, sha256: "0".repeat(64) }],
    };
    const text = formatReport(await verify(reader));

    expect(text.split("\n").length).toBeGreaterThan(8);
    for (const line of text.split("\n")) expect(line).toMatch(/^[^\p{C}\p{Zl}\p{Zp}]*$/u);
    expect(text).toContain("\\u{1b}[2J");
    expect(text).toContain("\\u{202e}");
  });

  test("of files says their hashes, whether a copy was read, and whether they are as they were", async () => {
    const files = [{ name: "state.ledger", bytes: 4_096, sha256: "5d".repeat(32) }];
    const still: RawReader = { ...arrayRawReader(journalRows()), copied: true, evidence: async () => files };
    const moving: RawReader = {
      ...arrayRawReader(journalRows()),
      evidence: async () => files,
      unchanged: async () => false,
    };

    expect(formatReport(await verify(still))).toContain(
      `file      state.ledger sha256 ${"5d".repeat(32)}   (read from a private copy, unchanged by this run)`,
    );
    expect(formatReport(await verify(moving))).toContain("(changed while this run read it)");
    expect(formatReport(await verify(still, { evidence: false }))).not.toContain("\nfile ");
  });
});

describe("the verdict", () => {
  test("J04 nothing checked is never in order: it says so, and how much was checked", async () => {
    for (const options of [{}, { level: "quick" }] as const) {
      const report = await verifyRows(noRows, options);
      expect(report).toMatchObject({
        verdict: "UNDECIDED",
        exitCode: 3,
        reason: "nothing to check",
        size: 0,
        head: null,
        checked: { entries: 0 },
      });
      expect(formatReport(report)).toContain("verdict   UNDECIDED  nothing to check; 0 entries checked");
      expect(formatReport(report)).not.toContain("\nok ");
    }
  });

  test("J04 tables with rows but without entries are not in order either", async () => {
    const rows = { ...journalRows(), entries: [] };
    const report = await verifyRows(rows);

    expect(report.exitCode).toBe(1);
    expect(report.checked.entries).toBe(0);
  });

  test("T47 what the store says of itself comes first, and no content outweighs it", async () => {
    const rows = journalRows();
    rows.problems.push({ code: "E_SCHEMA", where: "entries", message: "entries must be a table, found a view" });
    rows.problems.push({ code: "E_TYPE", where: "entries 7", message: "seq must be an integer, found text" });
    edit(rows, 40, (fields) => (fields["data"] = {}));
    const report = await verifyRows(rows);

    expect(codesOf(report)).toEqual(["E_SCHEMA", "E_TYPE", "E_ID#40"]);
    expect(report.exitCode).toBe(1);
  });

  test.each([
    ["seq is text", { seq: "175" }, ["E_TYPE", "E_SEQ_GAP#175"]],
    ["seq is a fraction", { seq: 175.5 }, ["E_TYPE", "E_SEQ_GAP#175"]],
    ["seq is below 0", { seq: -1 }, ["E_TYPE", "E_SEQ_GAP#175"]],
    ["entry is a number", { entry: 7 }, ["E_TYPE#175"]],
    ["entry is NULL", { entry: null }, ["E_TYPE#175"]],
    ["rev is text", { rev: "161" }, ["E_TYPE#175"]],
  ])("T47 %s", async (_, columns, codes) => {
    const rows = journalRows();
    setColumns(rows, 175, columns);
    const report = await verifyRows(rows);

    expect(codesOf(report)).toEqual(codes);
    expect(report.exitCode).toBe(1);
  });

  test("T49 a store that does not hold together is corrupt, not tampered with, and salvage is suggested", async () => {
    const rows = journalRows();
    rows.problems.push({ code: "E_CORRUPT", where: "file", message: "page 7 is not used" });
    setColumns(rows, 40, { id: "0".repeat(64) });
    const report = await verifyRows(rows);

    expect(report).toMatchObject({ verdict: "CORRUPT", exitCode: 1, firstBad: 40 });
    expect(report.next[0]).toBe("runledger salvage -o NEW");
  });

  test.each([0, 1, 175, 339])(
    "T49 a page that cannot be read at #%d: how far it got, corruption, salvage",
    async (position) => {
      const onEntry = (seq: unknown): void => {
        if (seq === position)
          throw new LedgerError("STORE_DAMAGED", "reading failed: the file's pages do not hold together");
      };
      const report = await verify(arrayRawReader(journalRows(), { onEntry }));

      expect(report).toMatchObject({ verdict: "CORRUPT", exitCode: 1, firstBad: position, size: 340 });
      expect(codesOf(report)).toEqual([`E_CORRUPT#${position}`]);
      expect(report.findings[0]?.message).toContain(
        position === 0 ? "no entry could be read" : `read up to #${position - 1}`,
      );
      expect(report.next[0]).toBe("runledger salvage -o NEW");
    },
  );

  test("a store that cannot be had decides nothing: its error is thrown as it is", async () => {
    const busy = new LedgerError("STORE_BUSY", "locked");
    const reader: RawReader = { ...arrayRawReader(journalRows()), entries: async () => Promise.reject(busy) };

    await expect(verify(reader)).rejects.toBe(busy);
  });

  test("a reader that never comes to an end is stopped", async () => {
    const reader = arrayRawReader(journalRows());
    const stuck: RawReader = {
      ...reader,
      entries: async () => Array.from({ length: 1_000 }, () => row(journalRows(), 0)),
    };
    const report = await verify(stuck);

    expect(report.exitCode).toBe(1);
  });

  test("every code has a check and a sentence", () => {
    for (const [code, { sentence, check }] of Object.entries(findingKinds)) {
      expect(code).toMatch(/^[EW]_[A-Z_]+$/);
      expect(sentence.length).toBeGreaterThan(10);
      expect(check).toMatch(/^[a-z]+$/);
    }
  });
});

describe("the root", () => {
  test("is that of the ids of all entries", async () => {
    const rows = journalRows();

    expect((await verifyRows(rows)).root).toBe(merkleRoot(rows.entries.map(({ id }) => String(id))));
  });

  test.each([
    ["an entry is missing", (rows: RawRows) => rows.entries.splice(175, 1)],
    ["an entry cannot be read", (rows: RawRows) => setColumns(rows, 175, { entry: 7 })],
    ["an entry is of another format", (rows: RawRows) => editSealed(rows, 175, (fields) => (fields["v"] = 0))],
  ])("is not known when %s", async (_, change) => {
    const rows = journalRows();
    change(rows);
    const report = await verifyRows(rows);

    expect(report.root).toBeNull();
    expect(formatReport(report)).toContain(
      "info      tree       no root: what is at #175 is missing or cannot be read",
    );
  });

  test("is not computed by a quick verification, nor of nothing", async () => {
    expect((await verifyRows(journalRows(), { level: "quick" })).root).toBeNull();
    expect((await verifyRows(noRows)).root).toBeNull();
  });
});

describe("quick", () => {
  test("looks at the first entry and the last 256 and says how many that were", async () => {
    const report = await verifyRows(journalRows(), { level: "quick" });

    expect(report).toMatchObject({
      verdict: "OK",
      exitCode: 0,
      checked: { entries: 257 },
      size: 340,
      head: { position: 339 },
    });
    expect(report.next).toEqual(["runledger verify --full"]);
    expect(formatReport(report)).toContain("quick: 257 of 340 entries looked at");
  });

  test.each([
    ["the first entry", 0, "E_ID#0"],
    ["an entry near the end", 337, "E_ID#337"],
    ["the last entry", 339, "E_ID#339"],
  ])("finds a change of %s", async (_, position, code) => {
    const rows = journalRows();
    edit(rows, position, (fields) => (fields["data"] = {}));

    expect(codesOf(await verifyRows(rows, { level: "quick" }))).toEqual([code]);
  });

  test("finds a broken link, a column, a cut tx and a gap near the end", async () => {
    const [link, column, cut, gap, early] = [journalRows(), journalRows(), journalRows(), journalRows(), journalRows()];
    editSealed(link, 300, (fields) => (fields["data"] = {}));
    setColumns(column, 300, { rev: 1 });
    cut.entries.splice(322);
    gap.entries.splice(300, 1);
    early.entries.splice(40, 1);

    expect(codesOf(await verifyRows(link, { level: "quick" }))).toEqual(["E_PREV#301"]);
    expect(codesOf(await verifyRows(column, { level: "quick" }))).toEqual(["E_COLUMN#300"]);
    expect(codesOf(await verifyRows(cut, { level: "quick" }))).toEqual(["E_TX_INCOMPLETE#321"]);
    expect(codesOf(await verifyRows(gap, { level: "quick" }))).toContain("E_SEQ_GAP#300");
    expect(codesOf(await verifyRows(early, { level: "quick" }))).toEqual(["E_SEQ_GAP#339"]);
  });

  test("of a short journal looks at all of it", async () => {
    const journal = new RawJournal(start);
    const alone = await verifyRows(journal.rows, { level: "quick" });
    journal.append(start, [{ stream: "a/1", type: "a.b" }]);

    expect(alone).toMatchObject({ verdict: "OK", checked: { entries: 1 } });
    expect(await verifyRows(journal.rows, { level: "quick" })).toMatchObject({
      verdict: "OK",
      checked: { entries: 2 },
    });
  });
});

describe("options", () => {
  test.each([
    [{ level: "deeper" }, "options.level"],
    [{ findingsMax: 0 }, "options.findingsMax"],
    [{ findingsMax: 1.5 }, "options.findingsMax"],
    [{ now: Number.NaN }, "options.now"],
    [{ deep: true }, "options"],
  ])("%j is refused", async (options, path) => {
    await expect(verify(arrayRawReader(journalRows()), options as VerifyOptions)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      details: { path },
    });
  });

  test("a signal stops it", async () => {
    await expect(verify(arrayRawReader(journalRows()), { signal: AbortSignal.abort("enough") })).rejects.toMatchObject({
      code: "ABORTED",
    });
  });

  test("progress is told, up to the end", async () => {
    const seen: string[] = [];
    await verify(arrayRawReader(journalRows()), {
      onProgress: ({ phase, done, total }) => seen.push(`${phase} ${done}/${total}`),
    });

    expect(seen).toEqual(["entries 340/340", "contents 14/14"]);
  });
});
