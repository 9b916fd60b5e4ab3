/** The mutation harness, what is said of one entry: its bytes and its format. What must be found is exact: one edit gives one
 *  or two findings, never thousands. */
import { describe, expect, test } from "vitest";
import { verify } from "../../src/forensic/index.js";
import type { RawReader } from "../../src/journal/raw-reader.js";
import { arrayRawReader } from "../../src/testing/array-raw-reader.js";
import { fieldsOf, RawJournal } from "../../src/testing/raw-journal.js";
import {
  attack,
  codesOf,
  countOf,
  edit,
  editCovered,
  editSealed,
  everywhere,
  journalRows,
  last,
  places,
  replaceCovered,
  row,
  setColumns,
  start,
  verifyRows,
} from "./journal.js";

test("the journal that is attacked is in order before", async () => {
  const report = await verifyRows(journalRows());

  expect(report.findings).toEqual([]);
  expect(report).toMatchObject({
    verdict: "OK",
    exitCode: 0,
    firstBad: null,
    size: 340,
    checked: { entries: 340, streams: 13, contents: 14, causes: 14 },
  });
});

describe("bytes", () => {
  test("T01 one bit of an entry, at each byte", async () => {
    const length = String(row(journalRows(), 175).entry).length;
    // Every sixth byte in the short run; which ones, the seed says.
    const step = process.env.RUNLEDGER_LONG === "1" ? 1 : 6;
    for (let at = Number(process.env.RUNLEDGER_SEED) % step; at < length; at += step) {
      const { found, firstBad, exitCode } = await attack((rows) => {
        const bytes = Buffer.from(String(row(rows, 175).entry));
        bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
        setColumns(rows, 175, { entry: bytes });
      });
      expect(found[0], String(at)).toBe("E_ID#175");
      expect(found.length, found.join()).toBeLessThanOrEqual(2);
      expect({ firstBad, exitCode }).toEqual({ firstBad: 175, exitCode: 1 });
    }
  });

  test.each(everywhere)("T01 one digit of the data of #%d", async (position) => {
    const { found, exitCode } = await attack((rows) =>
      edit(rows, position, (fields) => (fields["data"] = { ...(fields["data"] as object), zzz: 1 })),
    );

    expect(found).toEqual([`E_ID#${position}`]);
    expect(exitCode).toBe(1);
  });

  test.each([0, 1, ...places])("T02 an entry and its own id: #%d is found by the one after it", async (position) => {
    const { found, firstBad, exitCode } = await attack((rows) =>
      editSealed(rows, position, (fields) => (fields["data"] = { ...(fields["data"] as object), zzz: 1 })),
    );

    expect(found).toEqual([`E_PREV#${position + 1}`]);
    expect({ firstBad, exitCode }).toEqual({ firstBad: position + 1, exitCode: 1 });
  });

  test("T02 the last entry and its id: no chain can tell, and the report says that all of it rests on the file", async () => {
    const rows = journalRows();
    editSealed(rows, last, (fields) => (fields["data"] = { line: "forged" }));
    const report = await verifyRows(rows);

    expect(report.verdict).toBe("OK");
    expect(report.anchored).toMatchObject({ to: null, unanchored: 340 });
    expect(report.lines.find(({ check }) => check === "anchored")?.message).toContain(
      "340 events rest on this ledger alone",
    );
  });

  test.each(everywhere)("T43 another spelling of #%d, sealed and covered", async (position) => {
    const { found, exitCode } = await attack((rows) =>
      replaceCovered(rows, position, (entry) => entry.replace('"tv":1', '"tv": 1')),
    );

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
        setColumns(rows, position, {
          entry: Buffer.concat([text.subarray(0, at), Buffer.from(bytes), text.subarray(at + 3)]),
        });
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

  const notCanonical: readonly string[] = [
    "-0",
    "1.0",
    "1e400",
    "9007199254740993",
    "NaN",
    "01",
    '"\\u00e9"',
    '"\\ud800"',
    '"\\/"',
    '{"a":1,"a":1}',
    '{"b":1,"a":1}',
    '{"__proto__":1}',
    `${"[".repeat(128)}${"]".repeat(128)}`,
  ];
  test.each(notCanonical)("T43 T44 T45 stored data that no writer writes: %s", async (value) => {
    const { found } = await attack((rows) =>
      replaceCovered(rows, 175, (entry) => entry.replace('"line":175', () => `"line":${value}`)),
    );

    expect(found).toEqual(["E_CANON#175"]);
  });

  test.each(["5e-324", "1e+21", "0.1", "9007199254740991", `${"[".repeat(127)}${"]".repeat(127)}`])(
    "T45 stored data at the edge of what is allowed: %s",
    async (value) => {
      const { found } = await attack((rows) =>
        replaceCovered(rows, 175, (entry) => entry.replace('"line":175', () => `"line":${value}`)),
      );

      expect(found).toEqual([]);
    },
  );

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
    const { found } = await attack((rows) =>
      replaceCovered(rows, 175, (entry) =>
        entry.replace("line 175", "é e\u0301 \u202e\u0000".replace("\u0000", "\\u0000")),
      ),
    );

    expect(found).toEqual([]);
  });

  test.each(places)(
    "T35 #%d taken for something else: bytes of a tree node, text of a checkpoint",
    async (position) => {
      const node = Buffer.concat([Buffer.from([1]), Buffer.alloc(32, 7), Buffer.alloc(32, 9)]);
      const note = `testing/tampered\n340\n${Buffer.alloc(32, 7).toString("base64")}\n`;
      for (const bytes of [node, Buffer.from(note)]) {
        const { found } = await attack((rows) => replaceCovered(rows, position, () => bytes));
        expect(found).toEqual([`E_CANON#${position}`]);
      }
    },
  );

  test("T35 a content whose bytes are those of an entry is in order under its own digest, and not under the entry's id", async () => {
    const stored = async (named: (digest: string, id: string) => string): Promise<string[]> => {
      const journal = new RawJournal(start, "testing/roles");
      journal.append(start + 1, [{ stream: "log/1", type: "log.said", data: { line: 1 } }]);
      const { entry, id } = row(journal.rows, 1);
      const reference = journal.content(String(entry), "application/json");
      const $content = named(reference.$content, String(id));
      journal.rows.contents[0] = { ...journal.rows.contents[0]!, digest: $content };
      journal.append(start + 2, [{ stream: "log/1", type: "log.said", data: { text: { ...reference, $content } } }]);
      return codesOf(await verifyRows(journal.rows));
    };

    expect(await stored((digest) => digest)).toEqual([]);
    expect(await stored((_, id) => id)).toEqual(["E_CONTENT_DIGEST#2"]);
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

    expect(report).toMatchObject({
      verdict: "UNDECIDED",
      exitCode: 3,
      firstBad: 0,
      failures: 340,
      findingsOmitted: 240,
    });
    expect(countOf(report, "E_FORMAT_VERSION")).toBe(100);
  });

  test("T33 v of one entry changed and not sealed is tampering, not another format", async () => {
    const { found, exitCode } = await attack((rows) => edit(rows, 175, (fields) => (fields["v"] = 2)));

    expect(found).toEqual(["E_ID#175"]);
    expect(exitCode).toBe(1);
  });

  test("T33 the format of the first entry is one that nobody knows", async () => {
    const { found, exitCode } = await attack((rows) =>
      editCovered(rows, 0, (fields) => (fields["data"] = { ...(fields["data"] as object), format: 2 })),
    );

    expect(found).toEqual(["E_FORMAT_VERSION#0"]);
    expect(exitCode).toBe(3);
  });

  test.each(["id", "stream", "rev", "type", "at", "skew"] as const)(
    "T33 the column %s nulled, for one row and for all",
    async (column) => {
      for (const positions of [[0], [175], [last], Array.from({ length: 340 }, (_, index) => index)]) {
        const rows = journalRows();
        for (const position of positions) setColumns(rows, position, { [column]: null });
        const report = await verifyRows(rows, { findingsMax: 1_000 });
        expect(codesOf(report)).toEqual(positions.map((position) => `E_COLUMN#${position}`));
        expect(report.exitCode).toBe(1);
      }
    },
  );

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
    [
      "an origin with a space",
      { data: { engine: "0.1.0", format: 1, incarnation: 1, nonce: "AA==", origin: "a b" } },
      "E_GENESIS#0",
    ],
    [
      "another incarnation",
      { data: { engine: "0.1.0", format: 1, incarnation: 2, nonce: "AA==", origin: "a" } },
      "E_GENESIS#0",
    ],
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
    [
      "an incarnation that does not grow",
      1,
      { type: "journal.restored", data: { incarnation: 1 } },
      "E_JOURNAL_EVENT#1",
    ],
    ["an event of the journal on another stream", 175, { type: "journal.attested" }, "E_JOURNAL_EVENT#175"],
    ["an area defined on another stream", 175, { type: "area.defined" }, "E_JOURNAL_EVENT#175"],
    ["another stream of the journal's kind", 175, { stream: "journal/other" }, "E_JOURNAL_EVENT#175"],
  ])("on the journal's own stream: %s", async (_, position, change, code) => {
    const { found, exitCode } = await attack((rows) =>
      editCovered(rows, position, (fields) => Object.assign(fields, change)),
    );

    expect(found).toContain(code);
    expect(exitCode).toBe(1);
  });

  test.each([
    ["a host's event on the journal's stream", 1, { type: "order.placed", tv: 1, data: {} }],
    ["an event of the journal on a host's stream", 175, { type: "area.defined", data: {} }],
    ["a stream of the journal's kind", 171, { stream: "journal/other" }],
  ])("%s, with the copies that belong to it", async (_, position, change) => {
    const { found } = await attack((rows) => {
      editCovered(rows, position, (fields) => Object.assign(fields, change));
      const { stream, type } = fieldsOf(row(rows, position));
      if (stream === "journal/other")
        rows.streams = rows.streams.map((each) => (each.name === "order/170" ? { ...each, name: stream } : each));
      setColumns(rows, position, { type: rows.types.find((each) => each.name === type)?.id });
    });

    expect(found).toContain(`E_JOURNAL_EVENT#${position}`);
  });

  test("T59 a reader that hands over text with U+FFFD is asked for the bytes", async () => {
    const rows = journalRows();
    editCovered(rows, 175, (fields) => (fields["data"] = { text: "\ufffd" }));
    const shown = String(row(rows, 175).entry);
    const bytes = Buffer.from(shown);
    const at = bytes.indexOf(Buffer.from("\ufffd"));
    setColumns(rows, 175, {
      entry: Buffer.concat([bytes.subarray(0, at), Buffer.from([0xff]), bytes.subarray(at + 3)]),
    });
    const honest = arrayRawReader(rows);
    const careless: RawReader = {
      ...honest,
      entries: async (after, limit, asBytes) =>
        (await honest.entries(after, limit, asBytes)).map((each) =>
          each.seq === 175 && asBytes !== true ? { ...each, entry: shown } : each,
        ),
    };

    expect(codesOf(await verify(careless))).toEqual(["E_ID#175", "E_CANON#175"]);
  });
});
