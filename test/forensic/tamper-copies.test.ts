/** The mutation harness, what the store keeps beside the entries: columns, tables, contents. */
import { describe, expect, test } from "vitest";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { fieldsOf } from "../../src/testing/raw-journal.js";
import {
  attack,
  codesOf,
  countOf,
  edit,
  editCovered,
  journalRows,
  last,
  places,
  replaceCovered,
  row,
  setColumns,
  verifyRows,
} from "./journal.js";

describe("revisions and columns", () => {
  test.each([
    ["the same revision twice", (rev: number) => rev - 1],
    ["a gap", (rev: number) => rev + 1],
    ["−1", () => -1],
    ["0", () => 0],
    ["2^53", () => 2 ** 53],
    ["text", () => "5"],
  ])("T30 a forged revision: %s", async (_, forge) => {
    for (const position of places) {
      const rows = journalRows();
      const { rev } = fieldsOf(row(rows, position));
      replaceCovered(rows, position, (entry) => entry.replace(`"rev":${rev},`, `"rev":${JSON.stringify(forge(rev))},`));
      const report = await verifyRows(rows);
      expect(codesOf(report)[0]).toBe(`E_REV#${position}`);
      expect(report.failures).toBeLessThanOrEqual(3);
      expect(report.exitCode).toBe(1);
    }
  });

  test.each([0, 1, 175, 256, last])(
    "T16 each column of #%d, changed to another value and to another type",
    async (position) => {
      const original = row(journalRows(), position);
      const others = {
        stream: 99,
        rev: Number(original.rev) + 1,
        before: original.before === null ? 0 : Number(original.before) - 1,
        type: 99,
        at: Number(original.at) + 1,
        skew: -1,
      };
      for (const [column, value] of Object.entries(others)) {
        const { found } = await attack((rows) => setColumns(rows, position, { [column]: value }));
        expect(found, column).toEqual([`E_COLUMN#${position}`]);
        for (const wrong of [String(original[column as "rev"]), 7.5, Buffer.from("7"), 2 ** 53]) {
          const { found: wrongType } = await attack((rows) => setColumns(rows, position, { [column]: wrong }));
          expect(wrongType, `${column} ${String(wrong)}`).toEqual([`E_TYPE#${position}`]);
        }
      }
    },
  );

  test("T16 a skew that is within its bounds is accepted, and one beyond the time is not", async () => {
    const { at } = row(journalRows(), 175);
    const within = await attack((rows) => setColumns(rows, 175, { skew: at }));
    const beyond = await attack((rows) => setColumns(rows, 175, { skew: Number(at) + 1 }));

    expect(within.found).toEqual([]);
    expect(beyond.found).toEqual(["E_COLUMN#175"]);
  });

  test.each([0, ...places, last])("T16 the id of #%d alone", async (position) => {
    const { found } = await attack((rows) => setColumns(rows, position, { id: "0".repeat(64) }));
    expect(found).toEqual([`E_ID#${position}`]);

    const { found: wrongType } = await attack((rows) => setColumns(rows, position, { id: 7 }));
    expect(wrongType).toEqual([`E_TYPE#${position}`]);
  });

  test.each([
    ["a name", { name: "log/other" }],
    ["a name that is none", { name: "long" }],
    ["a name of another type", { name: 7 }],
    ["a revision", { rev: 2 }],
    ["a position", { seq: 1 }],
    ["a number", { id: 77 }],
    ["a revision of another type", { rev: "310" }],
  ])("T16 the row of a stream with another value: %s", async (_, change) => {
    const { found, exitCode } = await attack(
      (rows) =>
        (rows.streams = rows.streams.map((stream) =>
          stream.name === "order/170" ? { ...stream, ...change } : stream,
        )),
    );

    expect(found.length).toBeGreaterThan(0);
    expect(found.length).toBeLessThanOrEqual(3);
    for (const code of found) expect(code).toMatch(/^E_(COLUMN|TYPE)/);
    expect(exitCode).toBe(1);
  });

  test("T16 the row of a stream taken away, put twice, or of a stream that never was", async () => {
    const without = await attack((rows) => (rows.streams = rows.streams.filter(({ name }) => name !== "order/170")));
    const twice = await attack((rows) => rows.streams.push({ id: 90, name: "log/long", rev: 1, seq: 1 }));
    const never = await attack((rows) => rows.streams.push({ id: 90, name: "log/never", rev: 1, seq: 1 }));

    expect(without.found).toEqual(["E_COLUMN#171", "E_COLUMN"]);
    expect(twice.found).toEqual(["E_COLUMN"]);
    expect(never.found).toEqual(["E_COLUMN"]);
  });

  test.each([
    ["renamed", (rows: RawRows) => (rows.types[2] = { id: 3, name: "order.other" })],
    ["renamed to nothing", (rows: RawRows) => (rows.types[2] = { id: 3, name: "" })],
    ["that nobody uses", (rows: RawRows) => rows.types.push({ id: 90, name: "order.never" })],
    ["put twice", (rows: RawRows) => rows.types.push({ id: 90, name: "order.placed" })],
  ])("T16 a type %s", async (_, change) => {
    const { found, exitCode } = await attack((rows) => void change(rows));

    expect(found[0]).toMatch(/^E_COLUMN/);
    expect(exitCode).toBe(1);
  });

  test.each([
    [
      "one position",
      (rows: RawRows) =>
        (rows.streamPages[0] = { ...rows.streamPages[0]!, seqs: rows.streamPages[0]!.seqs!.with(200, 9) }),
    ],
    ["its number", (rows: RawRows) => (rows.streamPages[0] = { ...rows.streamPages[0]!, page: 1 })],
    ["its stream", (rows: RawRows) => (rows.streamPages[0] = { ...rows.streamPages[0]!, stream: 1 })],
    ["its size", (rows: RawRows) => (rows.streamPages[0] = { ...rows.streamPages[0]!, seqs: null })],
    ["that it is there", (rows: RawRows) => rows.streamPages.pop()],
    ["that it is there twice", (rows: RawRows) => rows.streamPages.push({ ...rows.streamPages[0]!, page: 1 })],
  ])("T16 a page of positions with a change of %s", async (_, change) => {
    const { found, exitCode } = await attack((rows) => void change(rows));

    expect(found.length).toBeGreaterThan(0);
    for (const code of found) expect(code).toBe("E_COLUMN");
    expect(exitCode).toBe(1);
  });
});

describe("contents", () => {
  test("T15 the blobs of two contents swapped: each is named, at the event that names it", async () => {
    const { found, firstBad, exitCode } = await attack((rows) => {
      const [one, two] = [rows.contents[1]!, rows.contents[5]!];
      rows.contents[1] = { ...one, media: two.media, salt: two.salt, bytes: two.bytes };
      rows.contents[5] = { ...two, media: one.media, salt: one.salt, bytes: one.bytes };
    });

    expect(found).toEqual(["E_CONTENT_DIGEST#4", "E_CONTENT_DIGEST#7"]);
    expect({ firstBad, exitCode }).toEqual({ firstBad: 4, exitCode: 1 });
  });

  test.each(["media", "salt", "bytes"] as const)("T15 one byte of %s of each content", async (column) => {
    for (const index of journalRows().contents.keys()) {
      const content = journalRows().contents[index]!;
      const value = content[column];
      if (content.erased !== null || (value as string).length === 0) continue;
      const { found } = await attack((rows) => {
        const changed = Buffer.from(value as string);
        changed[changed.length - 1] = changed[changed.length - 1]! ^ 1;
        rows.contents[index] = { ...content, [column]: column === "media" ? changed.toString() : changed };
      });
      expect(found[0]).toMatch(/^E_CONTENT_DIGEST#/);
    }
  });

  test("T16 a blob and its digest in the column replaced: the copy differs from the entry", async () => {
    const { found } = await attack((rows) => {
      const other = rows.contents[1]!;
      rows.contents[5] = { ...other, n: 6 };
    });

    expect(found).toEqual(["E_COLUMN#7", "E_CONTENT_DIGEST#7"]);
  });

  test("T16 the digest in the column alone, and the plain hash alone", async () => {
    const { found } = await attack((rows) => (rows.contents[2] = { ...rows.contents[2]!, digest: "0".repeat(64) }));
    const { found: plain } = await attack(
      (rows) => (rows.contents[2] = { ...rows.contents[2]!, plain: "0".repeat(64) }),
    );

    expect(found).toEqual(["E_COLUMN#5"]);
    expect(plain).toEqual(["E_COLUMN#5"]);
  });

  test("T17 a blob deleted without an erasure, first, in the middle and last", async () => {
    const positions = [3, 4, 5, 6, 7, 7];
    for (const [index, position] of positions.entries()) {
      const { found } = await attack((rows) => rows.contents.splice(index, 1));
      expect(found).toEqual([`E_CONTENT_MISSING#${position}`]);
    }
    const { found } = await attack((rows) => rows.contents.pop());
    expect(found).toEqual(["E_CONTENT_MISSING#330"]);
  });

  test("T17 all blobs deleted", async () => {
    const rows = journalRows();
    rows.contents = [];
    const report = await verifyRows(rows);

    expect(countOf(report, "E_CONTENT_MISSING")).toBe(14);
    expect(report.firstBad).toBe(3);
  });

  test("a content that says it was erased, and no event did", async () => {
    const { found } = await attack(
      (rows) =>
        (rows.contents[1] = { ...rows.contents[1]!, media: null, salt: null, bytes: null, plain: null, erased: 11 }),
    );

    expect(found).toEqual(["E_ERASURE#4"]);
  });

  test.each([
    ["another position", { erased: 12 }],
    ["bytes that are left", { bytes: Buffer.from("to be forgotten") }],
    ["a salt that is left", { salt: Buffer.alloc(32) }],
  ])("an erased content with %s", async (_, change) => {
    const { found } = await attack((rows) => (rows.contents[6] = { ...rows.contents[6]!, ...change }));

    expect(found).toEqual(["E_ERASURE#10"]);
  });

  test.each([
    ["of no content", { digests: ["ab".repeat(32)], reason: "x" }],
    ["of nothing", { digests: [], reason: "x" }],
    ["of something that is no digest", { digests: ["all"], reason: "x" }],
  ])("T18 an erasure %s", async (_, data) => {
    const { found } = await attack((rows) => editCovered(rows, 11, (fields) => (fields["data"] = data)));

    expect(found).toContain("E_ERASURE#11");
  });

  test("T18 an erasure of a content that only a later entry names", async () => {
    const { found } = await attack((rows) =>
      editCovered(rows, 11, (fields) => (fields["data"] = { digests: [rows.contents[7]?.digest], reason: "x" })),
    );

    expect(found).toContain("E_ERASURE#11");
  });

  test("T18 a changed erasure explains what it erased", async () => {
    const { found } = await attack((rows) =>
      edit(rows, 11, (fields) => (fields["data"] = { digests: ["ab".repeat(32)], reason: "x" })),
    );

    expect(found).toEqual(["E_ID#11"]);
  });

  test("T19 a content restored after its erasure is a warning", async () => {
    const restored = {
      media: "text/plain;charset=utf-8",
      salt: Buffer.alloc(32, 7),
      bytes: Buffer.from("to be forgotten"),
      plain: null,
      erased: null,
    };
    const { found, exitCode } = await attack((rows) => (rows.contents[6] = { ...rows.contents[6]!, ...restored }));

    expect(found).toEqual(["W_ERASED_PRESENT#10"]);
    expect(exitCode).toBe(0);
  });

  test.each([
    [
      "a digest of another content",
      (reference: Record<string, unknown>) => (reference["$content"] = "ab".repeat(32)),
      "E_CONTENT_DIGEST#4",
    ],
    ["another size", (reference: Record<string, unknown>) => (reference["bytes"] = 4), "E_CONTENT_BYTES#4"],
    ["a number that is left out", (reference: Record<string, unknown>) => (reference["n"] = 3), "E_CONTENT_NUMBER#4"],
    ["a number far away", (reference: Record<string, unknown>) => (reference["n"] = 2 ** 50), "E_CONTENT_NUMBER#4"],
    ["number 0", (reference: Record<string, unknown>) => (reference["n"] = 0), "E_CONTENT_REFERENCE#4"],
    ["a member more", (reference: Record<string, unknown>) => (reference["m"] = 0), "E_CONTENT_REFERENCE#4"],
    [
      "the number of another content",
      (reference: Record<string, unknown>) => (reference["n"] = 1),
      "E_CONTENT_REFERENCE#4",
    ],
  ])("a reference with %s, sealed and covered", async (_, change, code) => {
    const { found, exitCode } = await attack((rows) =>
      editCovered(rows, 4, (fields) => {
        const reference = { ...(fields["data"] as { text: Record<string, unknown> }).text };
        change(reference);
        fields["data"] = { text: reference };
      }),
    );

    expect(found).toContain(code);
    expect(exitCode).toBe(1);
  });

  test("a content that no entry names", async () => {
    const { found } = await attack((rows) => rows.contents.push({ ...rows.contents[1]!, n: 15 }));

    expect(found).toEqual(["E_CONTENT_UNKNOWN"]);
  });

  test.each([
    ["n", "2"],
    ["media", 7],
    ["salt", "salt"],
    ["bytes", "bytes"],
  ])("T47 a content with a %s of another type", async (column, value) => {
    const { found } = await attack((rows) => (rows.contents[1] = { ...rows.contents[1]!, [column]: value }));

    expect(found[0]).toMatch(/^E_TYPE/);
  });
});
