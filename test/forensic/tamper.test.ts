/** The mutation harness: each attack at each place, and what must be said of it. The expected findings are exact: one edit
 *  gives one or two of them, never thousands. */
import { describe, expect, test } from "vitest";
import { entryId } from "../../src/forensic/index.js";
import { fieldsOf } from "../../src/testing/raw-journal.js";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { codesOf, countOf, edit, editCovered, editSealed, journalRows, otherRows, places, replaceCovered, row, setColumns, verifyRows } from "./journal.js";

/** Applies a change to a fresh journal and says what is found, with the first bad position and the exit code. */
async function attack(change: (rows: RawRows) => void): Promise<{ readonly found: string[]; readonly firstBad: number | null; readonly exitCode: number }> {
  const rows = journalRows();
  change(rows);
  const report = await verifyRows(rows);
  expect(report.checked.entries).toBe(rows.entries.length);
  return { found: codesOf(report), firstBad: report.firstBad, exitCode: report.exitCode };
}

const last = 339;
const everywhere = [0, 1, ...places, last];

test("the journal that is attacked is in order before", async () => {
  const report = await verifyRows(journalRows());

  expect(report.findings).toEqual([]);
  expect(report).toMatchObject({ verdict: "OK", exitCode: 0, firstBad: null, size: 340, checked: { entries: 340, streams: 13, contents: 14, causes: 14 } });
});

describe("bytes", () => {
  test("T01 one bit of an entry, at each byte", async () => {
    const length = String(row(journalRows(), 175).entry).length;
    // Every sixth byte in the short run; which ones, the seed says.
    const step = process.env.RUNLEDGER_LONG === "1" ? 1 : 6;
    for (let at = Number(process.env.RUNLEDGER_SEED) % step; at < length; at += step) {
      const { found, firstBad, exitCode } = await attack((rows) => {
        const bytes = Buffer.from(String(row(rows, 175).entry));
        bytes[at] = (bytes[at] ?? 0) ^ (1 << at % 8);
        setColumns(rows, 175, { entry: bytes });
      });
      expect(found[0], String(at)).toBe("E_ID#175");
      expect(found.length, found.join()).toBeLessThanOrEqual(2);
      expect({ firstBad, exitCode }).toEqual({ firstBad: 175, exitCode: 1 });
    }
  });

  test.each(everywhere)("T01 one digit of the data of #%d", async (position) => {
    const { found, exitCode } = await attack((rows) => edit(rows, position, (fields) => (fields["data"] = { ...(fields["data"] as object), zzz: 1 })));

    expect(found).toEqual([`E_ID#${position}`]);
    expect(exitCode).toBe(1);
  });

  test.each([0, 1, ...places])("T02 an entry and its own id: #%d is found by the one after it", async (position) => {
    const { found, firstBad, exitCode } = await attack((rows) => editSealed(rows, position, (fields) => (fields["data"] = { ...(fields["data"] as object), zzz: 1 })));

    expect(found).toEqual([`E_PREV#${position + 1}`]);
    expect({ firstBad, exitCode }).toEqual({ firstBad: position + 1, exitCode: 1 });
  });

  test("T02 the last entry and its id: no chain can tell, and the report says that all of it rests on the file", async () => {
    const rows = journalRows();
    editSealed(rows, last, (fields) => (fields["data"] = { line: "forged" }));
    const report = await verifyRows(rows);

    expect(report.verdict).toBe("OK");
    expect(report.anchored).toEqual({ to: null, unanchored: 340 });
    expect(report.lines.find(({ check }) => check === "anchored")?.message).toContain("340 events rest on this file alone");
  });

  test.each(everywhere)("T43 another spelling of #%d, sealed and covered", async (position) => {
    const { found, exitCode } = await attack((rows) => replaceCovered(rows, position, (entry) => entry.replace('"tv":1', '"tv": 1')));

    expect(found).toEqual([`E_CANON#${position}`]);
    expect(exitCode).toBe(1);
  });

  test.each([
    ["FF", [0xff]],
    ["F0", [0xf0]],
    ["ED A0 80", [0xed, 0xa0, 0x80]],
  ])("T59 the bytes EF BF BD replaced by %s", async (_, bytes) => {
    for (const position of places) {
      const { found, exitCode } = await attack((rows) => {
        editCovered(rows, position, (fields) => (fields["data"] = { text: "\ufffd" }));
        const text = Buffer.from(String(row(rows, position).entry));
        const at = text.indexOf(Buffer.from("\ufffd"));
        setColumns(rows, position, { entry: Buffer.concat([text.subarray(0, at), Buffer.from(bytes), text.subarray(at + 3)]) });
      });
      expect(found).toEqual([`E_ID#${position}`, `E_CANON#${position}`]);
      expect(exitCode).toBe(1);
    }
  });

  test("T59 the same with an id that belongs to the changed bytes, and all later entries hashed afresh", async () => {
    const { found } = await attack((rows) => {
      replaceCovered(rows, 175, (entry) => {
        const text = Buffer.from(entry);
        text[text.indexOf("line 175")] = 0xff;
        return text;
      });
    });

    expect(found).toEqual(["E_CANON#175"]);
  });

  test("an entry that really holds U+FFFD is in order", async () => {
    const { found } = await attack((rows) => editCovered(rows, 175, (fields) => (fields["data"] = { text: "\ufffd" })));

    expect(found).toEqual([]);
  });

  const notCanonical: readonly string[] = ["-0", "1.0", "1e400", "9007199254740993", "NaN", "01", '"\\u00e9"', '"\\ud800"', '"\\/"', '{"a":1,"a":1}', '{"b":1,"a":1}', '{"__proto__":1}', `${"[".repeat(128)}${"]".repeat(128)}`];
  test.each(notCanonical)("T43 T44 T45 stored data that no writer writes: %s", async (value) => {
    const { found } = await attack((rows) => replaceCovered(rows, 175, (entry) => entry.replace('"line":175', () => `"line":${value}`)));

    expect(found).toEqual(["E_CANON#175"]);
  });

  test.each(["5e-324", "1e+21", "0.1", "9007199254740991", `${"[".repeat(127)}${"]".repeat(127)}`])("T45 stored data at the edge of what is allowed: %s", async (value) => {
    const { found } = await attack((rows) => replaceCovered(rows, 175, (entry) => entry.replace('"line":175', () => `"line":${value}`)));

    expect(found).toEqual([]);
  });

  test.each([
    ["100,000 levels of nesting", `{"a":${"[".repeat(100_000)}`],
    ["a million members", `{${Array.from({ length: 1_000_000 }, (_, index) => `"k${index}":0`).join()}}`],
    ["a string of 100 MB", `{"a":"${"x".repeat(100_000_000)}"}`],
    ["nothing", ""],
    ["a lone brace", "{"],
    ["another value", "null"],
  ])("T44 stored as an entry: %s", async (_, text) => {
    const { found, exitCode } = await attack((rows) => setColumns(rows, 175, { entry: text }));

    expect(found[0]).toBe("E_ID#175");
    expect(found.length).toBeLessThanOrEqual(2);
    expect(exitCode).toBe(1);
  });

  test("T46 names that are twins after normalisation are two streams, and stored exactly", async () => {
    const { found } = await attack((rows) => replaceCovered(rows, 175, (entry) => entry.replace("line 175", "é e\u0301 \u202e\u0000".replace("\u0000", "\\u0000"))));

    expect(found).toEqual([]);
  });

  test.each(places)("T35 #%d taken for something else: bytes of a tree node, text of a checkpoint", async (position) => {
    const node = Buffer.concat([Buffer.from([1]), Buffer.alloc(32, 7), Buffer.alloc(32, 9)]);
    const note = `testing/tampered\n340\n${Buffer.alloc(32, 7).toString("base64")}\n`;
    for (const bytes of [node, Buffer.from(note)]) {
      const { found } = await attack((rows) => replaceCovered(rows, position, () => bytes));
      expect(found).toEqual([`E_CANON#${position}`]);
    }
  });

  test("T35 a content whose bytes are those of an entry has another digest than that entry", () => {
    const rows = journalRows();
    const { entry, id } = row(rows, 40);
    const digests = rows.contents.map(({ digest }) => digest);

    expect(entryId(String(entry))).toBe(id);
    expect(digests).not.toContain(id);
  });
});

describe("format", () => {
  test.each([
    ["older", 0],
    ["newer", 2],
    ["text", "1"],
    ["absent", undefined],
  ])("T33 v of one entry %s and sealed: nothing can be decided", async (_, v) => {
    for (const position of places) {
      const { found, exitCode } = await attack((rows) => editCovered(rows, position, (fields) => (fields["v"] = v)));
      expect(found).toEqual([`E_FORMAT_VERSION#${position}`]);
      expect(exitCode).toBe(3);
    }
  });

  test("T33 v of all entries set to 2 and sealed: nothing can be decided, and the report stays short", async () => {
    const rows = journalRows();
    for (let position = 0; position < 340; position++) {
      const prev = position === 0 ? "0".repeat(64) : row(rows, position - 1).id;
      editSealed(rows, position, (fields) => Object.assign(fields, { v: 2, prev }));
    }
    const report = await verifyRows(rows);

    expect(report).toMatchObject({ verdict: "UNDECIDED", exitCode: 3, firstBad: 0, failures: 340, findingsOmitted: 240 });
    expect(countOf(report, "E_FORMAT_VERSION")).toBe(100);
  });

  test("T33 v of one entry changed and not sealed is tampering, not another format", async () => {
    const { found, exitCode } = await attack((rows) => edit(rows, 175, (fields) => (fields["v"] = 2)));

    expect(found).toEqual(["E_ID#175"]);
    expect(exitCode).toBe(1);
  });

  test("T33 the format of the first entry is one that nobody knows", async () => {
    const { found, exitCode } = await attack((rows) => editCovered(rows, 0, (fields) => (fields["data"] = { ...(fields["data"] as object), format: 2 })));

    expect(found).toEqual(["E_FORMAT_VERSION#0"]);
    expect(exitCode).toBe(3);
  });

  test.each(["id", "stream", "rev", "type", "at", "skew"] as const)("T33 the column %s nulled, for one row and for all", async (column) => {
    for (const positions of [[0], [175], [last], Array.from({ length: 340 }, (_, index) => index)]) {
      const rows = journalRows();
      for (const position of positions) setColumns(rows, position, { [column]: null });
      const report = await verifyRows(rows, { findingsMax: 1_000 });
      expect(codesOf(report)).toEqual(positions.map((position) => `E_COLUMN#${position}`));
      expect(report.exitCode).toBe(1);
    }
  });

  test.each([
    ["a member nobody knows", "extra", 1],
    ["data that is a list", "data", []],
    ["no type", "type", undefined],
    ["a type without an area", "type", "said"],
    ["a stream without a kind", "stream", "long"],
    ["a null actor", "actor", null],
    ["a time before 1970", "at", -1],
    ["a time beyond a Date", "at", 8.64e15 + 1],
    ["half a millisecond", "at", 0.5],
    ["text for a time", "at", "2026-01-01"],
  ])("T29 E_FORMAT: %s", async (_, field, value) => {
    const { found, exitCode } = await attack((rows) => editCovered(rows, 175, (fields) => (fields[field] = value)));

    expect(found).toEqual(["E_FORMAT#175"]);
    expect(exitCode).toBe(1);
  });

  test.each([
    ["another type", { type: "journal.began" }, "E_GENESIS#0"],
    ["another stream", { stream: "journal/other" }, "E_GENESIS#0"],
    ["no origin", { data: { engine: "0.1.0", format: 1, incarnation: 1, nonce: "AA==" } }, "E_GENESIS#0"],
    ["an origin with a space", { data: { engine: "0.1.0", format: 1, incarnation: 1, nonce: "AA==", origin: "a b" } }, "E_GENESIS#0"],
    ["another incarnation", { data: { engine: "0.1.0", format: 1, incarnation: 2, nonce: "AA==", origin: "a" } }, "E_GENESIS#0"],
    ["a prev", { prev: "1".repeat(64) }, "E_PREV#0"],
  ])("a first entry with %s does not open a journal", async (_, change, code) => {
    const { found, exitCode } = await attack((rows) => editCovered(rows, 0, (fields) => Object.assign(fields, change)));

    expect(found).toContain(code);
    expect(exitCode).toBe(1);
  });

  test.each([
    ["a second journal.opened", 1, { type: "journal.opened", data: {} }, "E_JOURNAL_EVENT#1"],
    ["a type nobody knows", 1, { type: "journal.closed", data: {} }, "E_JOURNAL_EVENT#1"],
    ["a host's event", 1, { type: "order.placed" }, "E_JOURNAL_EVENT#1"],
    ["an area without kinds", 1, { data: { area: "order", open: true } }, "E_JOURNAL_EVENT#1"],
    ["an incarnation that does not grow", 1, { type: "journal.restored", data: { incarnation: 1 } }, "E_JOURNAL_EVENT#1"],
    ["an event of the journal on another stream", 175, { type: "journal.attested" }, "E_JOURNAL_EVENT#175"],
    ["an area defined on another stream", 175, { type: "area.defined" }, "E_JOURNAL_EVENT#175"],
    ["another stream of the journal's kind", 175, { stream: "journal/other" }, "E_JOURNAL_EVENT#175"],
  ])("on the journal's own stream: %s", async (_, position, change, code) => {
    const { found, exitCode } = await attack((rows) => editCovered(rows, position, (fields) => Object.assign(fields, change)));

    expect(found).toContain(code);
    expect(exitCode).toBe(1);
  });
});

describe("order", () => {
  test.each([0, 1, ...places])("T09 #%d dropped", async (position) => {
    const { found, firstBad, exitCode } = await attack((rows) => rows.entries.splice(position, 1));

    expect(found).toEqual([`E_SEQ_GAP#${position}`]);
    expect({ firstBad, exitCode }).toEqual({ firstBad: position, exitCode: 1 });
  });

  test("T09 many dropped at once, inside tx and across the edge of a page", async () => {
    const { found } = await attack((rows) => rows.entries.splice(171, 100));

    expect(found).toEqual(["E_SEQ_GAP#171"]);
  });

  test.each(places)("T10 #%d dropped and the others renumbered, text and all", async (position) => {
    const rows = journalRows();
    rows.entries.splice(position, 1);
    for (let at = position; at < rows.entries.length; at++) {
      edit(rows, at, (fields) => Object.assign(fields, { seq: at, tx: [(fields["tx"] as number[])[0]! - 1, (fields["tx"] as number[])[1]] }));
      setColumns(rows, at, { seq: at });
    }
    const report = await verifyRows(rows);

    expect(codesOf(report).slice(0, 2)).toEqual([`E_ID#${position}`, `E_PREV#${position}`]);
    expect(report).toMatchObject({ firstBad: position, exitCode: 1 });
  });

  test.each(places)("T10 #%d dropped, the others renumbered and each sealed alone", async (position) => {
    const rows = journalRows();
    rows.entries.splice(position, 1);
    for (let at = position; at < rows.entries.length; at++) {
      editSealed(rows, at, (fields) => Object.assign(fields, { seq: at, tx: [(fields["tx"] as number[])[0]! - 1, (fields["tx"] as number[])[1]] }));
      setColumns(rows, at, { seq: at });
    }
    const report = await verifyRows(rows);

    expect(codesOf(report)[0]).toBe(`E_PREV#${position}`);
    expect(report).toMatchObject({ firstBad: position, exitCode: 1 });
  });

  test.each([1, ...places])("T11 #%d and the next one change their places", async (position) => {
    const { found, firstBad } = await attack((rows) => {
      const [one, two] = [row(rows, position), row(rows, position + 1)];
      rows.entries[position] = { ...two, seq: position };
      rows.entries[position + 1] = { ...one, seq: position + 1 };
    });

    expect(found).toEqual([`E_SEQ#${position}`, `E_SEQ#${position + 1}`]);
    expect(firstBad).toBe(position);
  });

  test.each(places)("T11 #%d and the two behind it rotate", async (position) => {
    const { found, firstBad } = await attack((rows) => {
      const three = [row(rows, position + 1), row(rows, position + 2), row(rows, position)];
      three.forEach((each, index) => (rows.entries[position + index] = { ...each, seq: position + index }));
    });

    expect(found[0]).toBe(`E_SEQ#${position}`);
    expect(new Set(found.map((code) => code.split("#")[0]))).toEqual(new Set(["E_SEQ"]));
    expect(firstBad).toBe(position);
  });

  test.each(places)("T12 the bytes of #%d once more, right behind it, the others moved on", async (position) => {
    const { found, firstBad } = await attack((rows) => {
      rows.entries.splice(position + 1, 0, row(rows, position));
      rows.entries.forEach((each, seq) => (rows.entries[seq] = { ...each, seq }));
    });

    expect(found[0]).toBe(`E_SEQ#${position + 1}`);
    expect(found.length).toBeLessThanOrEqual(3);
    expect(firstBad).toBe(position + 1);
  });

  test("T12 the bytes of an early entry once more, at the end", async () => {
    const { found } = await attack((rows) => rows.entries.push({ ...row(rows, 40), seq: 340 }));

    expect(found).toEqual(["E_SEQ#340"]);
  });

  test.each(places)("T12 #%d once more under a new position with the same revision, sealed and covered", async (position) => {
    const { found, firstBad } = await attack((rows) => {
      const twin = row(rows, position);
      rows.entries.splice(position + 1, 0, twin);
      rows.entries.splice(position + 2);
      editSealed(rows, position + 1, (fields) => Object.assign(fields, { seq: position + 1, tx: [position + 1, 1], prev: twin.id }));
      setColumns(rows, position + 1, { seq: position + 1, before: position });
      rows.streams = rows.streams.map((stream) => (stream.name === "log/long" ? { ...stream, rev: fieldsOf(twin).rev, seq: position + 1 } : stream));
    });

    expect(found).toContain(`E_REV#${position + 1}`);
    expect(firstBad).toBe(position + 1);
  });

  test.each(places)("T13 an event forged in place of #%d, with an id and a link of its own", async (position) => {
    const { found } = await attack((rows) => editSealed(rows, position, (fields) => (fields["data"] = { forged: true })));

    expect(found).toEqual([`E_PREV#${position + 1}`]);
  });

  test.each(places)("T13 an event forged behind #%d, the others renumbered and sealed one by one", async (position) => {
    const rows = journalRows();
    const forged = row(rows, position);
    rows.entries.splice(position + 1, 0, forged);
    editSealed(rows, position + 1, (fields) => Object.assign(fields, { stream: "log/forged", rev: 1, data: {}, prev: forged.id }));
    for (let at = position + 1; at < rows.entries.length; at++) {
      const by = at === position + 1 ? 1 : 1;
      editSealed(rows, at, (fields) => Object.assign(fields, { seq: at, tx: [(fields["tx"] as number[])[0]! + by, (fields["tx"] as number[])[1]] }));
      setColumns(rows, at, { seq: at });
    }
    const report = await verifyRows(rows);

    expect(codesOf(report)).toContain(`E_PREV#${position + 2}`);
    expect(report.exitCode).toBe(1);
  });

  test.each(places)("T14 #%d taken from another journal", async (position) => {
    const { found, firstBad } = await attack((rows) => (rows.entries[position] = { ...row(otherRows(), position), stream: row(rows, position).stream, type: row(rows, position).type }));

    expect(found[0]).toBe(`E_PREV#${position}`);
    expect(found).toContain(`E_PREV#${position + 1}`);
    expect(firstBad).toBe(position);
  });

  test.each(places)("T14 everything from #%d on taken from another journal", async (position) => {
    const rows = journalRows();
    const other = otherRows();
    for (let at = position; at < 340; at++) rows.entries[at] = row(other, at);
    const report = await verifyRows(rows);

    expect(codesOf(report)[0]).toBe(`E_PREV#${position}`);
    expect(countOf(report, "E_PREV")).toBe(1);
    expect(report.exitCode).toBe(1);
  });
});

describe("tx", () => {
  test.each([
    ["one entry short", 171],
    ["two entries short", 170],
    ["across the edge of a page", 271],
  ])("T07 the journal cut inside a tx, %s", async (_, lastKept) => {
    const rows = journalRows();
    rows.entries.splice(lastKept + 1);
    const report = await verifyRows(rows);

    expect(report.findings.find(({ code }) => code === "E_TX_INCOMPLETE")?.position).toBe(lastKept);
    expect(report.exitCode).toBe(1);
  });

  test("T07 cut inside a tx and gone on with another one", async () => {
    const { found } = await attack((rows) => editCovered(rows, 171, (fields) => (fields["tx"] = [171, 1])));

    expect(found).toEqual(["E_TX#171"]);
  });

  test.each([
    ["a larger count", 175, [175, 2], ["E_TX#176"]],
    ["an earlier first", 175, [174, 2], ["E_TX#175"]],
    ["a count of 0", 175, [175, 0], ["E_TX#175"]],
    ["a count beyond the limit", 175, [175, 10_001], ["E_TX#175"]],
    ["a first behind the entry", 175, [176, 2], ["E_TX#175"]],
    ["three numbers", 175, [175, 1, 1], ["E_TX#175"]],
    ["the last entry with a larger count", last, [last, 2], ["E_TX_INCOMPLETE#339"]],
  ])("a tx with %s", async (_, position, tx, codes) => {
    const { found } = await attack((rows) => editCovered(rows, position, (fields) => (fields["tx"] = tx)));

    expect(found).toEqual(codes);
  });

  test("entries of a tx with two times", async () => {
    const { found } = await attack((rows) => {
      const at = fieldsOf(row(rows, 171)).at + 1;
      editCovered(rows, 171, (fields) => (fields["at"] = at));
      setColumns(rows, 171, { at });
    });

    expect(found).toEqual(["E_TX#171", "W_CLOCK#172"]);
  });
});

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

  test.each([0, 1, 175, 256, last])("T16 each column of #%d, changed to another value and to another type", async (position) => {
    const original = row(journalRows(), position);
    const others = { stream: 99, rev: Number(original.rev) + 1, before: original.before === null ? 0 : Number(original.before) - 1, type: 99, at: Number(original.at) + 1, skew: -1 };
    for (const [column, value] of Object.entries(others)) {
      const { found } = await attack((rows) => setColumns(rows, position, { [column]: value }));
      expect(found, column).toEqual([`E_COLUMN#${position}`]);
      for (const wrong of [String(original[column as "rev"]), 7.5, Buffer.from("7"), 2 ** 53]) {
        const { found: wrongType } = await attack((rows) => setColumns(rows, position, { [column]: wrong }));
        expect(wrongType, `${column} ${String(wrong)}`).toEqual([`E_TYPE#${position}`]);
      }
    }
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
    const { found, exitCode } = await attack((rows) => (rows.streams = rows.streams.map((stream) => (stream.name === "order/170" ? { ...stream, ...change } : stream))));

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
    ["one position", (rows: RawRows) => (rows.streamPages[0] = { ...rows.streamPages[0]!, seqs: rows.streamPages[0]!.seqs!.with(200, 9) })],
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

describe("causes", () => {
  test.each([
    ["to itself", (rows: RawRows) => row(rows, 175).id],
    ["to a later entry", (rows: RawRows) => row(rows, 200).id],
    ["to no entry", () => "ab".repeat(32)],
  ])("T32 a cause %s", async (_, id) => {
    const { found, exitCode } = await attack((rows) => {
      const cause = id(rows);
      editCovered(rows, 175, (fields) => (fields["cause"] = cause));
    });

    expect(found[0]).toBe("E_CAUSE#175");
    expect(exitCode).toBe(1);
  });

  test("T32 a cause in the same tx", async () => {
    const { found } = await attack((rows) => {
      const cause = row(rows, 170).id;
      editCovered(rows, 171, (fields) => (fields["cause"] = cause));
    });

    expect(found).toEqual(["E_CAUSE#171"]);
  });
});

describe("time", () => {
  function setTime(rows: RawRows, position: number, at: number): void {
    editCovered(rows, position, (fields) => (fields["at"] = at));
    setColumns(rows, position, { at });
  }

  test.each(places)("T29 the time falls at #%d", async (position) => {
    const { found, exitCode } = await attack((rows) => setTime(rows, position, 1_000));

    expect(found[0]).toBe(`W_CLOCK#${position}`);
    expect(exitCode).toBe(0);
  });

  test.each(places)("T29 the time jumps by ten years at #%d", async (position) => {
    const at = Date.UTC(2036, 0, 1);
    const { found, exitCode } = await attack((rows) => setTime(rows, position, at));

    expect(found).toEqual([`W_CLOCK#${position}`, `W_CLOCK#${position + 1}`]);
    expect(exitCode).toBe(0);
  });

  test("T29 entries ahead of the clock of whoever verifies are a warning, at the first of them", async () => {
    const rows = journalRows();
    const now = Number(row(rows, 175).at) - 1;
    const report = await verifyRows(rows, { now });

    expect(codesOf(report)).toEqual(["W_CLOCK#175"]);
    expect(report.exitCode).toBe(0);
    expect(codesOf(await verifyRows(rows, { now: Number(row(rows, last).at) }))).toEqual([]);
  });

  test("T29 a leap second is no trouble: an hour that repeats a second is a time that stands still", async () => {
    const { found } = await attack((rows) => setTime(rows, 175, Number(row(rows, 174).at)));

    expect(found).toEqual([]);
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
    const { found: plain } = await attack((rows) => (rows.contents[2] = { ...rows.contents[2]!, plain: "0".repeat(64) }));

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
    const { found } = await attack((rows) => (rows.contents[1] = { ...rows.contents[1]!, media: null, salt: null, bytes: null, plain: null, erased: 11 }));

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

  test("T18 a changed erasure explains what it erased", async () => {
    const { found } = await attack((rows) => edit(rows, 11, (fields) => (fields["data"] = { digests: ["ab".repeat(32)], reason: "x" })));

    expect(found).toEqual(["E_ID#11"]);
  });

  test("T19 a content restored after its erasure is a warning", async () => {
    const restored = { media: "text/plain;charset=utf-8", salt: Buffer.alloc(32, 7), bytes: Buffer.from("to be forgotten"), plain: null, erased: null };
    const { found, exitCode } = await attack((rows) => (rows.contents[6] = { ...rows.contents[6]!, ...restored }));

    expect(found).toEqual(["W_ERASED_PRESENT#10"]);
    expect(exitCode).toBe(0);
  });

  test.each([
    ["a digest of another content", (reference: Record<string, unknown>) => (reference["$content"] = "ab".repeat(32)), "E_CONTENT_DIGEST#4"],
    ["another size", (reference: Record<string, unknown>) => (reference["bytes"] = 4), "E_CONTENT_BYTES#4"],
    ["a number that is left out", (reference: Record<string, unknown>) => (reference["n"] = 3), "E_CONTENT_NUMBER#4"],
    ["a number far away", (reference: Record<string, unknown>) => (reference["n"] = 2 ** 50), "E_CONTENT_NUMBER#4"],
    ["number 0", (reference: Record<string, unknown>) => (reference["n"] = 0), "E_CONTENT_REFERENCE#4"],
    ["a member more", (reference: Record<string, unknown>) => (reference["m"] = 0), "E_CONTENT_REFERENCE#4"],
    ["the number of another content", (reference: Record<string, unknown>) => (reference["n"] = 1), "E_CONTENT_REFERENCE#4"],
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
