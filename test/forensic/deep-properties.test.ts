import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import { verify } from "../../src/forensic/index.js";
import type { VerifyReport } from "../../src/forensic/index.js";
import type { RawDocument } from "../../src/journal/raw-reader.js";
import { eventData } from "../../src/testing/arbitraries.js";
import { arrayRawReader } from "../../src/testing/array-raw-reader.js";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { RawJournal } from "../../src/testing/raw-journal.js";
import { start } from "./journal.js";
import { addDocuments } from "./orders.js";

interface Thing {
  n: number;
  last?: object;
  seen: object[];
}

/** Whatever is said of a thing goes into its document. */
const things = defineProjection<Thing>()({
  name: "things",
  version: 1,
  indexes: {
    size: ({ seen }) => [seen.length],
    named: ({ n, last }) => (n % 2 === 0 ? null : [last === undefined ? "none" : Object.keys(last).join("\0"), n]),
  },
  on: {
    "thing.said": {
      key: ({ stream }) => stream,
      apply: (thing, { data }): Thing => {
        if (thing === undefined) return { n: 1, seen: [], last: data };
        thing.n++;
        thing.last = data;
        if (thing.seen.length < 5) thing.seen.push(data);
        return thing;
      },
    },
    "thing.kept": { key: ({ stream }) => stream, apply: () => {} },
    "thing.forgotten": { key: ({ stream }) => stream, apply: () => null },
  },
});

type Step = readonly [thing: number, type: string, data: object];

const histories = fc.array(
  fc.tuple(
    fc.nat(5),
    fc.constantFrom("thing.said", "thing.said", "thing.said", "thing.kept", "thing.forgotten"),
    eventData(),
  ),
  { minLength: 1, maxLength: 30 },
);

function rowsOf(history: readonly Step[]): RawRows {
  const journal = new RawJournal(start, "testing/things");
  for (const [thing, type, data] of history)
    journal.append(start, [{ stream: `thing/${thing}`, type, ...(type === "thing.said" ? { data } : {}) }]);
  addDocuments(journal.rows, [things]);
  return journal.rows;
}

function verifyThings(rows: RawRows): Promise<VerifyReport> {
  return verify(arrayRawReader(rows), { level: "deep", projections: [things] });
}

const columns = ["key", "seq", "text", "size", "named"] as const;

/** Another value in one column of a stored document. */
function mutate(row: RawDocument, column: (typeof columns)[number], where: number): RawDocument {
  if (column === "key") return { ...row, key: `${String(row.key)}${where % 10}` };
  if (column === "seq") return { ...row, seq: Number(row.seq) + 1 + (where % 9) };
  if (column === "text") return { ...row, text: flip(Buffer.from(String(row.text)), where) };
  const at = column === "size" ? 0 : 1;
  const bytes = row.indexes[at];
  const other = bytes instanceof Uint8Array ? (where % 5 === 0 ? null : flip(Buffer.from(bytes), where)) : Buffer.of(1);
  return { ...row, indexes: row.indexes.map((each, index) => (index === at ? other : each)) };
}

/** One bit of bytes. */
function flip(bytes: Buffer, where: number): Buffer {
  const at = where % bytes.length;
  bytes[at] = (bytes[at] ?? 0) ^ (1 << (where % 8));
  return bytes;
}

describe("documents", () => {
  test("of any history are what it folds to", async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        expect(await verifyThings(rowsOf(history))).toMatchObject({ verdict: "OK", findings: [] });
      }),
    );
  });

  test("T23 of which one bit or column was changed, whatever it is, are found and named", async () => {
    await fc.assert(
      fc.asyncProperty(
        histories,
        fc.nat(),
        fc.constantFrom(...columns),
        fc.nat(),
        async (history, which, column, where) => {
          const rows = rowsOf(history);
          fc.pre(rows.documents.length > 0);
          const at = which % rows.documents.length;
          const before = rows.documents[at]!;
          rows.documents[at] = { ...mutate(before, column, where), table: 1 };
          const report = await verifyThings(rows);

          expect(report).toMatchObject({ verdict: "DERIVED", exitCode: 1, firstBad: null });
          expect(report.findings.map(({ document }) => document?.key)).toContain(before.key);
        },
      ),
    );
  });

  test("T23 of which some were taken away or doubled under another key are found, one finding each", async () => {
    await fc.assert(
      fc.asyncProperty(
        histories,
        fc.infiniteStream(fc.constantFrom("keep", "drop", "double")),
        async (history, how) => {
          const rows = rowsOf(history);
          const done = rows.documents.map((row) => ({ row, what: String(how.next().value) }));
          rows.documents = done.flatMap(({ row, what }) =>
            what === "drop" ? [] : what === "double" ? [row, { ...row, key: `${String(row.key)}~` }] : [row],
          );
          const faults = done.filter(({ what }) => what !== "keep").length;

          expect(await verifyThings(rows)).toMatchObject({
            failures: faults,
            verdict: faults === 0 ? "OK" : "DERIVED",
          });
        },
      ),
    );
  });

  test("are explained by the event that changed what differs, for whichever line of a document that is", async () => {
    await fc.assert(
      fc.asyncProperty(histories, fc.nat(), async (history, which) => {
        const rows = rowsOf(history);
        const deep = rows.documents.filter(({ text }) => (JSON.parse(String(text)) as Thing).seen.length > 0);
        fc.pre(deep.length > 0);
        const row = deep[which % deep.length]!;
        const thing = JSON.parse(String(row.text)) as Thing;
        const line = which % thing.seen.length;
        thing.seen[line] = { changed: "by hand" };
        rows.documents[rows.documents.indexOf(row)] = { ...row, text: JSON.stringify(thing) };
        const { findings } = await verifyThings(rows);

        // The events of the thing since it was there: the first makes it, each that says something adds a line.
        const own = rows.entries.filter(({ entry }) => String(entry).includes(`"stream":"${String(row.key)}"`));
        const alive = own.slice(own.findLastIndex(({ entry }) => String(entry).includes("thing.forgotten")) + 1);
        const said = alive.filter(({ entry }) => String(entry).includes(`"type":"thing.said"`));
        expect(findings).toMatchObject([{ code: "E_PROJECTION", position: said[line + 1]?.seq }]);
        expect(findings[0]?.document?.path).toMatch(new RegExp(`^/seen/${line}/`));
      }),
    );
  });
});
