import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verify } from "../../src/forensic/index.js";
import type { RawContent, RawEntry } from "../../src/journal/raw-reader.js";
import { eventData, eventTypes, keys, labels, metas, streamNames } from "../../src/testing/arbitraries.js";
import { arrayRawReader } from "../../src/testing/array-raw-reader.js";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { RawJournal } from "../../src/testing/raw-journal.js";
import type { RawEvent } from "../../src/testing/raw-journal.js";
import { journalRows, start, verifyRows } from "./journal.js";

/** The columns that are copies of what the entry says, or can be computed from it. `skew` is neither: it tells the writer how
 *  far its clock was behind, nothing outside attests it, and only its bounds can be checked. */
const entryColumns = ["id", "stream", "rev", "before", "type", "at"] as const satisfies readonly (keyof RawEntry)[];
const contentColumns = [
  "n",
  "digest",
  "media",
  "salt",
  "bytes",
  "plain",
] as const satisfies readonly (keyof RawContent)[];

/** Another value of the same kind: one bit of bytes or of text, another number. */
function changed(value: unknown, where: number): unknown {
  if (typeof value === "number") return value + 1 + (where % 3);
  const bytes = Buffer.from(value as string | Uint8Array);
  const at = where % bytes.length;
  bytes[at] = (bytes[at] ?? 0) ^ (1 << (where % 8));
  return typeof value === "string" && !bytes.toString().includes("\ufffd") ? bytes.toString() : bytes;
}

function canChange(value: unknown): boolean {
  return typeof value === "number" || ((typeof value === "string" || value instanceof Uint8Array) && value.length > 0);
}

describe("whatever is changed is found", () => {
  test("T01 one bit of any stored entry, at its position", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(339), fc.nat(), async (position, where) => {
        const rows = journalRows();
        const row = rows.entries[position] as RawEntry;
        rows.entries[position] = { ...row, entry: changed(row.entry, where) };
        const report = await verifyRows(rows);
        expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1, firstBad: position });
        expect(report.findings[0]?.code).toBe("E_ID");
      }),
    );
  });

  test("T16 any column of any entry", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(339), fc.constantFrom(...entryColumns), fc.nat(), async (position, column, where) => {
        const rows = journalRows();
        const row = rows.entries[position] as RawEntry;
        fc.pre(canChange(row[column]));
        rows.entries[position] = { ...row, [column]: changed(row[column], where) };
        const report = await verifyRows(rows);
        expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1, firstBad: position });
      }),
    );
  });

  test("T15 any byte of any stored content, and any of its columns", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(13), fc.constantFrom(...contentColumns), fc.nat(), async (index, column, where) => {
        const rows = journalRows();
        const row = rows.contents[index] as RawContent;
        fc.pre(canChange(row[column]));
        rows.contents[index] = { ...row, [column]: changed(row[column], where) };
        rows.contents.sort((left, right) => Number(left.n) - Number(right.n));
        const report = await verifyRows(rows);
        expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1 });
      }),
    );
  });

  test("any row of any table dropped, doubled or changed with its neighbour", async () => {
    const tables = ["entries", "streams", "types", "contents", "streamPages"] as const;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...tables),
        fc.nat(),
        fc.constantFrom("drop", "double", "swap"),
        async (table, where, how) => {
          const rows = journalRows();
          const list = rows[table] as unknown[];
          const at = where % list.length;
          if (how === "swap") {
            fc.pre(at + 1 < list.length);
            [list[at], list[at + 1]] = [list[at + 1], list[at]];
          } else list.splice(at, how === "drop" ? 1 : 0, ...(how === "drop" ? [] : [list[at]]));
          fc.pre(how !== "swap" || table === "entries" || table === "contents"); // the order of the others says nothing
          fc.pre(!(how === "drop" && table === "entries" && at === 339)); // a tail that was cut: only a checkpoint tells
          const report = await verifyRows(rows);
          expect(report.verdict).not.toBe("OK");
          expect(report.exitCode).toBe(1);
        },
      ),
    );
  });
});

describe("whatever is in order is accepted", () => {
  const events = (data: fc.Arbitrary<object>): fc.Arbitrary<RawEvent> =>
    fc
      .record(
        {
          stream: streamNames(fc.constantFrom("run", "job")),
          type: eventTypes(fc.constantFrom("run", "job")).filter((type) => type.length <= 128),
          data,
          tv: fc.integer({ min: 1, max: 3 }),
          actor: labels(),
          command: keys(),
          corr: keys(),
          fence: fc.tuple(keys(), fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1 })),
          meta: metas(),
        },
        { requiredKeys: ["stream", "type"] },
      )
      .map((event) => event as RawEvent);
  const histories = fc.array(fc.tuple(fc.nat(10_000), fc.array(events(eventData()), { minLength: 1, maxLength: 4 })), {
    maxLength: 12,
  });

  test("any history, with the cheap step and without", async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const journal = new RawJournal(start);
        let at = start;
        for (const [step, tx] of history) journal.append((at += step), tx);
        const report = await verifyRows(journal.rows);
        expect(report.findings).toEqual([]);
        expect(report).toMatchObject({ verdict: "OK", checked: { entries: journal.next } });
      }),
    );
  });
});

test("two changes at once never hide each other", async () => {
  const change = fc.tuple(fc.nat(339), fc.constantFrom("entry", ...entryColumns), fc.nat());
  await fc.assert(
    fc.asyncProperty(change, change, async ([one, oneColumn, oneWhere], [two, twoColumn, twoWhere]) => {
      fc.pre(one !== two);
      const rows: RawRows = journalRows();
      for (const [position, column, where] of [
        [one, oneColumn, oneWhere],
        [two, twoColumn, twoWhere],
      ] as const) {
        const row = rows.entries[position] as RawEntry;
        fc.pre(canChange(row[column]));
        rows.entries[position] = { ...row, [column]: changed(row[column], where) };
      }
      const report = await verify(arrayRawReader(rows));
      const positions = new Set(report.findings.map(({ position }) => position));
      expect([...positions]).toEqual(expect.arrayContaining([one, two]));
    }),
  );
});
