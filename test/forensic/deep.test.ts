import { describe, expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import type { EventHandler } from "../../projections/define-projection.js";
import { formatReport } from "../../src/forensic/index.js";
import type { DocumentFault, Finding, VerifyReport } from "../../src/forensic/index.js";
import { defineEvents } from "../../src/index.js";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { RawJournal } from "../../src/testing/raw-journal.js";
import { codesOf, edit, editCovered, start, verifyRows } from "./journal.js";
import { addDocuments, editDocument, editText, orderRows, orders, verifyDeep } from "./orders.js";

/** The keys of a table, in order: the first, one in the middle, the last. */
function placesIn(rows: RawRows, table: number): string[] {
  const keys = rows.documents.filter((row) => row.table === table).map(({ key }) => String(key));
  return [keys[0]!, keys[Math.floor(keys.length / 2)]!, keys.at(-1)!];
}

/** The one finding of a report that is in order otherwise. */
function onlyFinding(report: VerifyReport): Finding {
  expect(report).toMatchObject({ verdict: "DERIVED", exitCode: 1, failures: 1, firstBad: null });
  expect(report.reason).toBe("the journal itself is in order");
  return report.findings[0]!;
}

function expectFault(finding: Finding, fault: DocumentFault, key: string | null): void {
  expect(finding.document).toMatchObject({ fault, key });
}

test("a ledger whose documents are what the events fold to is in order, and says how much was compared", async () => {
  const report = await verifyDeep(orderRows());

  expect(report).toMatchObject({ verdict: "OK", exitCode: 0, checked: { receipts: 5, tables: 2, documents: 47 } });
  expect(formatReport(report)).toMatch(/ok +documents +47 documents of 2 tables/);
  expect(formatReport(report)).toMatch(/ok +receipts +5 receipts/);
});

test("other levels look at no documents", async () => {
  const rows = orderRows();
  rows.documents = [];

  expect(await verifyRows(rows)).toMatchObject({ verdict: "OK", checked: { receipts: 0, tables: 0, documents: 0 } });
});

describe("T23 a document row", () => {
  test.each([0, 1, 2])("edited is found with its path and the event that set it (place %i)", async (place) => {
    const rows = orderRows();
    const key = placesIn(rows, 2)[place]!;
    editText(rows, 2, key, (text) => text.replace(/"total":\d+/, '"total":123456'));

    const finding = onlyFinding(await verifyDeep(rows));
    expect(finding).toMatchObject({ code: "E_PROJECTION", have: "123456", document: { path: "/total", table: 2 } });
    expectFault(finding, "changed", key);
    // Whatever came behind it left the total alone.
    const [added, placed] = ["order.lineAdded", "order.placed"].map((type) =>
      rows.entries.findLast(
        ({ entry }) => String(entry).includes(`"stream":"${key}"`) && String(entry).includes(`"type":"${type}"`),
      ),
    );
    expect(finding).toMatchObject({ stream: key, position: (added ?? placed)?.seq });
  });

  test.each([0, 1, 2])("deleted is found with the event that changed it last (place %i)", async (place) => {
    const rows = orderRows();
    const key = placesIn(rows, 2)[place]!;
    const { seq } = rows.documents.find((row) => row.key === key)!;
    rows.documents = rows.documents.filter((row) => row.key !== key);

    const finding = onlyFinding(await verifyDeep(rows));
    expect(finding).toMatchObject({ code: "E_PROJECTION", position: seq, stream: key });
    expectFault(finding, "missing", key);
  });

  test.each(["order/", "order/27x", "zzz"])("added is found, and no event explains it (%s)", async (key) => {
    const rows = orderRows();
    rows.documents.push({ ...rows.documents.find((row) => row.key === "order/2")!, key });

    const finding = onlyFinding(await verifyDeep(rows));
    expect(finding).toMatchObject({ code: "E_PROJECTION", position: null });
    expectFault(finding, "extra", key);
  });

  test("put back after an event removed it is explained by that event", async () => {
    const rows = orderRows();
    rows.documents.push({ ...rows.documents.find((row) => row.key === "order/2")!, key: "order/5" });

    const finding = onlyFinding(await verifyDeep(rows));
    expect(rows.entries[finding.position!]?.entry).toContain('"type":"order.cancelled"');
  });

  test("names the path as a JSON pointer, and the last event that changed what stands there", async () => {
    const rows = orderRows();
    editText(rows, 2, "order/7", (text) => text.replace('"sku":"sku/6~é"', '"sku":"other"'));

    const finding = onlyFinding(await verifyDeep(rows));
    // The first line of the order, although others were added later.
    expect(finding).toMatchObject({ position: 46, revision: 2, want: '"sku/6~é"', have: '"other"' });
    expect(finding.document?.path).toBe("/lines/0/sku");
  });

  test("with a member more, or one less, is found", async () => {
    const rows = orderRows();
    editText(rows, 2, "order/7", (text) => text.replace("{", '{"a/b~c":1,'));
    editText(rows, 2, "order/8", (text) => text.replace(/,"open":(true|false)/, ""));

    const { findings } = await verifyDeep(rows);
    expect(findings).toMatchObject([
      { want: "nothing", have: "1", document: { key: "order/7", path: "/a~1b~0c" } },
      { have: "nothing", document: { key: "order/8", path: "/open" } },
    ]);
  });

  test.each([
    ["no text", "{", "no JSON"],
    ["bytes that are no text", Buffer.from('{"total":"\xff"}', "latin1"), "no JSON"],
    ["NULL", null, "no JSON"],
    ["a number", 7, "no JSON"],
    ["another value", "[]", "differs"],
  ])("that holds %s is found", async (_, text, says) => {
    const rows = orderRows();
    editDocument(rows, 2, "order/7", { text });

    const finding = onlyFinding(await verifyDeep(rows));
    expectFault(finding, "changed", "order/7");
    expect(finding.message).toContain(says);
  });

  test.each([
    ["with a blank", (text: string) => text.replace(":", ": ")],
    ["with a member twice", (text: string) => text.replace("{", '{"open":3,')],
    ["with an escape", (text: string) => text.replace('"open"', String.raw`"\u006fpen"`)],
  ])("that says the same %s is found", async (_, change) => {
    const rows = orderRows();
    editText(rows, 2, "order/7", change);

    expectFault(onlyFinding(await verifyDeep(rows)), "changed", "order/7");
  });

  test("that says the same in another order of members is the same document", async () => {
    const rows = orderRows();
    editText(rows, 2, "order/7", (text) => {
      const { total, lines, open } = JSON.parse(text) as { total: number; lines: object; open: boolean };
      return JSON.stringify({ open, lines, total });
    });

    expect(await verifyDeep(rows)).toMatchObject({ verdict: "OK" });
  });

  test("that names another event as its last is found", async () => {
    const rows = orderRows();
    const { seq } = rows.documents.find((row) => row.key === "order/7")!;
    editDocument(rows, 2, "order/7", { seq: 46 });

    const finding = onlyFinding(await verifyDeep(rows));
    expect(finding).toMatchObject({ position: seq, want: `#${String(seq)}`, have: "#46" });
    expectFault(finding, "seq", "order/7");
  });

  test.each([
    ["order/7", null],
    ["order/7", Buffer.from([4, 128, 0, 0, 0, 0, 0, 0, 1, 0])],
    ["order/12", Buffer.from([4, 128, 0, 0, 0, 0, 0, 0, 1, 0])],
    ["order/7", "text"],
  ])("whose index bytes were edited is found (%s, %s)", async (key, bytes) => {
    const rows = orderRows();
    editDocument(rows, 2, key, { indexes: [bytes] });

    const finding = onlyFinding(await verifyDeep(rows));
    expectFault(finding, "index", key);
    expect(finding.message).toContain("index open");
  });

  test("is listed up to the limit, the rest is counted", async () => {
    const rows = orderRows();
    rows.documents = rows.documents.filter((row) => row.table === 1);
    const report = await verifyDeep(rows, { findingsMax: 3 });

    expect(report.findings).toHaveLength(3);
    for (const finding of report.findings) expect(finding.position).not.toBeNull();
    expect(report).toMatchObject({ failures: 42, findingsOmitted: 39 });
  });
});

describe("T26 the stored place of a receipt", () => {
  test.each([0, 1, 2])("edited, deleted or added is E_RECEIPT (place %i)", async (place) => {
    const key = placesIn(orderRows(), 1)[place]!;
    const edited = orderRows();
    editText(edited, 1, key, (text) => text.replace(/\d+/, "12"));
    const deleted = orderRows();
    deleted.documents = deleted.documents.filter((row) => row.key !== key);
    const added = orderRows();
    added.documents.push({ ...added.documents[place]!, key: "shop/c-9" });

    for (const [rows, fault, at] of [
      [edited, "changed", key],
      [deleted, "missing", key],
      [added, "extra", "shop/c-9"],
    ] as const) {
      const finding = onlyFinding(await verifyDeep(rows));
      expect(finding).toMatchObject({ code: "E_RECEIPT", check: "receipts" });
      expectFault(finding, fault, at);
    }
  });
});

/** Changes the last receipt and hashes everything behind it afresh. */
function forge(change: (fields: Record<string, unknown>) => void): RawRows {
  const rows = orderRows();
  editCovered(rows, rows.entries.length - 1, change);
  rows.projections = [];
  rows.folded = [];
  rows.documents = [];
  return rows;
}

describe("receipts in the journal", () => {
  test("T31 a second one of the same client and id is E_COMMAND_CONFLICT, and names the first", async () => {
    const rows = forge((fields) => {
      fields["command"] = "c-2";
      (fields["data"] as Record<string, unknown>)["id"] = "c-2";
    });
    const report = await verifyDeep(rows);

    expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1, firstBad: rows.entries.length - 1 });
    expect(codesOf(report)).toEqual([`E_COMMAND_CONFLICT#${rows.entries.length - 1}`]);
    expect(report.findings[0]?.message).toContain(
      `"c-2" of client shop has its receipt at #${rows.entries.length - 7}`,
    );
  });

  test("T27 one that was never issued is seen by who kept a checkpoint, and by nobody else", async () => {
    const { root, size, origin } = await verifyDeep(orderRows());
    const checkpoint = `${origin}\n${size}\n${Buffer.from(root!, "hex").toString("base64")}\n`;
    const rows = forge((fields) => {
      (fields["data"] as Record<string, unknown>)["result"] = { refunded: 1_000 };
    });

    expect(await verifyDeep(rows)).toMatchObject({ verdict: "OK", anchored: { to: null } });
    const report = await verifyDeep(rows, { from: checkpoint });
    expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1 });
    expect(codesOf(report)).toEqual(["E_INCONSISTENT"]);
  });

  test.each([
    ["another stream", (fields: Record<string, unknown>) => (fields["stream"] = "order/x"), "one of kind client"],
    ["a client that is none", (fields: Record<string, unknown>) => (fields["stream"] = "client/1 2"), "client"],
    ["another command", (fields: Record<string, unknown>) => (fields["command"] = "c-9"), "its id"],
    ["another version", (fields: Record<string, unknown>) => (fields["tv"] = 2), "version"],
    [
      "an unknown member",
      (fields: Record<string, unknown>) => ((fields["data"] as Record<string, unknown>)["more"] = 1),
      "no members but",
    ],
    [
      "no outcome",
      (fields: Record<string, unknown>) => delete (fields["data"] as Record<string, unknown>)["outcome"],
      "outcome",
    ],
    ["another type", (fields: Record<string, unknown>) => (fields["type"] = "order.placed"), "hold receipt.recorded"],
  ])("one with %s is none that the engine writes", async (_, change, says) => {
    const report = await verifyDeep(forge((fields) => void change(fields)));
    const finding = report.findings.find(({ code }) => code === "E_JOURNAL_EVENT");

    expect(report.verdict).toBe("TAMPERED");
    expect(finding?.message).toContain(says);
  });

  test("one that is not the last entry of its tx, or a refusal that is not alone, is none that the engine writes", async () => {
    const journal = new RawJournal(start, "testing/receipts");
    const receipt = (id: string, more: object): { stream: string; type: string; command: string; data: object } => ({
      stream: "client/a",
      type: "receipt.recorded",
      command: id,
      data: { id, name: "x.y", fingerprint: "ab".repeat(32), salt: journal.content("s".repeat(32)), ...more },
    });
    const event = { stream: "x/1", type: "x.happened" };
    const refusal = { code: "NO", details: {}, message: "no" };
    journal.append(start, [receipt("c-1", { outcome: "accepted" }), event]);
    journal.append(start, [event, receipt("c-2", { outcome: "refused", refusal })]);
    journal.append(start, [receipt("c-3", { outcome: "refused", refusal })]);

    expect(codesOf(await verifyDeep(journal.rows))).toEqual(["E_JOURNAL_EVENT#1", "E_JOURNAL_EVENT#4"]);
  });
});

describe("T52 a reducer that gives another document each time", () => {
  const kept = new Map<string, number>();
  let calls = 0;
  const dishonest: readonly (readonly [string, (stream: string) => unknown])[] = [
    ["the clock", () => Date.now()],
    ["a date", () => new Date().toISOString()],
    ["randomness", () => Math.random()],
    ["a count of its calls", () => ++calls],
    ["the order of a map that it keeps", (stream) => [...kept.set(stream, 1).keys()].slice(-3)],
  ];

  test.each(dishonest)("L03 is found: %s", async (_, value) => {
    const projection = defineProjection<{ seen: { value: unknown } }>()({
      name: "dishonest",
      version: 1,
      on: {
        "order.closed": {
          key: ({ stream }) => stream,
          apply: (_document, { stream }) => ({ seen: { value: value(stream) } }),
        },
      },
    });
    const rows = orderRows();
    addDocuments(rows, [projection]);
    kept.clear(); // as in another process
    const finding = onlyFinding(await verifyDeep(rows, { projections: [orders, projection] }));

    expect(finding).toMatchObject({ code: "E_NONDETERMINISM", class: "drift", stream: "order/3" });
    expect(rows.entries[finding.position!]?.entry).toContain("order.closed");
    expect(finding.document).toMatchObject({ fault: "reducer", projection: "dishonest", key: "order/3" });
    expect(finding.document?.path).toMatch(/^\/seen\/value(\/\d)?$/);
  });

  test("the clock is found in the shortest of journals, each time", async () => {
    const now = defineProjection<{ at: number }>()({
      name: "now",
      version: 1,
      on: { "x.happened": { key: () => "x", apply: () => ({ at: Date.now() }) } },
    });
    const journal = new RawJournal(start, "testing/now");
    journal.append(start, [{ stream: "x/1", type: "x.happened" }]);
    for (let time = 0; time < 20; time++)
      expect(codesOf(await verifyDeep(journal.rows, { projections: [now] }))).toEqual(["E_NONDETERMINISM#1"]);
  });

  test("is found without a table too, and in the choice of the document and in failing", async () => {
    let count = 0;
    let folded = 0;
    const named = (name: string, key: () => string | null, apply: () => object): typeof orders =>
      defineProjection<object>()({ name, version: 1, on: { "order.closed": { key, apply } } }) as never;
    const keys = named(
      "keys",
      () => `k${++count}`,
      () => ({}),
    );
    const fails = named(
      "fails",
      () => "k",
      () => {
        if (++folded > 1) throw new Error("once is enough");
        return { folded: true };
      },
    );
    const { findings } = await verifyDeep(orderRows(), { projections: [keys, fails] });

    expect(findings.filter(({ code }) => code === "E_NONDETERMINISM")).toMatchObject([
      { document: { projection: "keys", table: null } },
      { document: { projection: "fails", table: null } },
    ]);
  });

  test("its table is not compared, the others are", async () => {
    const random = defineProjection<object>()({
      name: "orders",
      version: 1,
      indexes: { open: () => null },
      on: { "order.placed": { key: ({ stream }) => stream, apply: () => ({ total: Math.random() }) } },
    });
    const report = await verifyDeep(orderRows(), { projections: [random] });

    expect(codesOf(report)).toEqual(["E_NONDETERMINISM#1"]);
    expect(report.checked).toMatchObject({ tables: 1, documents: 5 });
  });

  test("a reducer that was changed since it wrote is E_PROJECTION at what differs first", async () => {
    const changed = defineProjection<{ total: number; open: boolean }>()({
      name: "orders",
      version: 1,
      indexes: { open: ({ open, total }) => (open ? [total] : null) },
      on: {
        ...(Object.fromEntries(orders.on) as unknown as Record<string, EventHandler<never>>),
        "order.closed": { key: ({ stream }) => stream, apply: (order) => void (order!.total += 1) },
      },
    });
    const { findings, verdict } = await verifyDeep(orderRows(), { projections: [changed] });

    expect(verdict).toBe("DERIVED");
    expect(findings.map(({ code, document }) => [code, document?.key, document?.path])).toEqual(
      ["order/12", "order/21", "order/3", "order/30", "order/39"].map((key) => ["E_PROJECTION", key, "/open"]),
    );
  });

  test("a reducer that fails where its table goes on is E_PROJECTION at that event", async () => {
    const failing = defineProjection<object>()({
      name: "orders",
      version: 1,
      indexes: { open: () => null },
      on: {
        ...(Object.fromEntries(orders.on) as unknown as Record<string, EventHandler<never>>),
        "order.closed": {
          key: ({ stream }) => stream,
          apply: () => {
            throw new Error("a closed order");
          },
        },
      },
    });
    const finding = onlyFinding(await verifyDeep(orderRows(), { projections: [failing] }));

    expect(finding).toMatchObject({ code: "E_PROJECTION", stream: "order/3", document: { fault: "reducer" } });
    expect(finding.message).toContain("a closed order");
  });
});

describe("tables", () => {
  test("whose code is not here are listed as not checked, and nothing is said to be in order of them", async () => {
    const report = await verifyDeep(orderRows(), { projections: [] });

    expect(report).toMatchObject({ verdict: "OK", exitCode: 0, checked: { tables: 1, documents: 5 } });
    expect(codesOf(report)).toEqual(["W_PROJECTION_UNKNOWN"]);
    expect(formatReport(report)).toMatch(/warn +documents +table 2 orders@1 +W_PROJECTION_UNKNOWN/);
    expect(formatReport(report)).toMatch(/ok +documents +5 documents of 1 table /);
  });

  test("of a version whose code is not here are not checked by the code of another", async () => {
    const rows = orderRows();
    rows.projections[1] = { ...rows.projections[1]!, version: 2 };

    expect(codesOf(await verifyDeep(rows))).toEqual(["W_PROJECTION_UNKNOWN"]);
  });

  test("that meet an event which this program does not know are not checked", async () => {
    const events = [defineEvents("order", { open: true }, { "order.placed": {}, "order.lineAdded": {} })];
    const report = await verifyDeep(orderRows(), { events });

    expect(codesOf(report)).toEqual(["W_PROJECTION_UNKNOWN"]);
    expect(report.findings[0]?.message).toContain("knows no such type");
  });

  test("are folded from upcast events", async () => {
    const journal = new RawJournal(start, "testing/upcast");
    journal.append(start, [{ stream: "x/1", type: "x.set", data: { euros: 3 } }]);
    const events = [
      defineEvents(
        "x",
        { open: true },
        {
          "x.set": { version: 2, upcast: { 1: (data) => ({ cents: Number(data["euros"]) * 100 }) } },
        },
      ),
    ];
    const x = defineProjection<{ cents: number }>()({
      name: "x",
      version: 1,
      on: { "x.set": { key: ({ stream }) => stream, apply: (_, { data }) => ({ cents: data["cents"] as number }) } },
    });
    const { rows } = journal;
    const [id, seq] = [rows.entries[1]?.id, 1];
    rows.projections.push({
      id: 1,
      name: "x",
      version: 1,
      indexes: "[]",
      status: "following",
      position: 1,
      entryId: id,
      error: null,
    });
    rows.documents.push({ table: 1, key: "x/1", seq, text: '{"cents":300}', indexes: [] });

    expect(await verifyDeep(rows, { projections: [x], events })).toMatchObject({ verdict: "OK" });
  });

  test("that stand at an earlier position are compared as of there", async () => {
    const rows = orderRows();
    rows.projections = [];
    rows.documents = [];
    rows.folded = [];
    addDocuments(rows, [orders], 150);

    expect(await verifyDeep(rows)).toMatchObject({ verdict: "OK", checked: { tables: 1, documents: 40 } });
    const { entries } = rows;
    rows.projections[0] = { ...rows.projections[0]!, position: 151, entryId: entries[151]?.id };
    expect(codesOf(await verifyDeep(rows))).toEqual(["E_PROJECTION#151"]);
  });

  test("that were never folded, at position -1, hold nothing", async () => {
    const rows = orderRows();
    rows.projections = [{ ...rows.projections[1]!, position: -1, entryId: null }];
    rows.folded = [];
    rows.documents = [];
    expect(await verifyDeep(rows)).toMatchObject({ verdict: "OK", checked: { tables: 1, documents: 0 } });

    rows.documents = orderRows().documents.filter((row) => row.key === "order/7");
    expectFault(onlyFinding(await verifyDeep(rows)), "extra", "order/7");
  });

  test("that stopped before an event are compared up to there, and say why", async () => {
    const rows = orderRows();
    rows.projections = [];
    rows.documents = [];
    addDocuments(rows, [orders], 150);
    const error = JSON.stringify({ message: "\u001b[31m no \u001b[0m" });
    rows.projections[0] = { ...rows.projections[0]!, status: "failed", error };
    rows.folded = [];
    const report = await verifyDeep(rows);

    expect(report).toMatchObject({ verdict: "OK", checked: { documents: 40 } });
    expect(codesOf(report)).toEqual(["W_PROJECTION_FAILED"]);
    expect(formatReport(report)).not.toContain("\u001b");
    editText(rows, 1, "order/7", (text) => text.replace("true", "false"));
    expect(codesOf(await verifyDeep(rows))).toEqual(["W_PROJECTION_FAILED", "E_PROJECTION#7"]);
  });

  test("with other indexes than the projection declares are found", async () => {
    const rows = orderRows();
    rows.projections[1] = { ...rows.projections[1]!, indexes: '["other"]' };

    expectFault(onlyFinding(await verifyDeep(rows)), "table", null);
  });

  test.each([
    ["id", 0],
    ["name", null],
    ["version", 1.5],
    ["indexes", "[3]"],
    ["indexes", "{"],
    ["status", "resting"],
    ["position", "7"],
    ["position", -2],
    ["entryId", "00"],
    ["entryId", null],
    ["error", "{}"],
    ["id", 1],
  ])("whose row has a bad %s (%j) are found and not compared", async (column, value) => {
    const rows = orderRows();
    rows.projections[1] = { ...rows.projections[1]!, [column]: value };
    const report = await verifyDeep(rows);

    expect(report).toMatchObject({ verdict: "DERIVED", checked: { tables: 1 } });
    expect(report.findings[0]).toMatchObject({ code: "E_PROJECTION", document: { fault: "table" } });
  });

  test("that claim a position beyond the last entry, or another entry than stands there, are found", async () => {
    const beyond = orderRows();
    beyond.folded = [{ ...beyond.folded[0]!, position: 298 }];
    const other = orderRows();
    other.folded = [{ ...other.folded[0]!, entryId: "ab".repeat(32) }];
    const own = orderRows();
    own.projections[1] = { ...own.projections[1]!, position: 12 };

    for (const [rows, says] of [
      [beyond, "beyond the last entry"],
      [other, "another entry than #297"],
      [own, "another entry than #12"],
    ] as const) {
      const finding = onlyFinding(await verifyDeep(rows));
      expectFault(finding, "position", null);
      expect(finding.message).toContain(says);
    }
  });

  test.each([
    [{ position: "297" }, "the position of the mark"],
    [{ entryId: null }, "the entry_id of the mark"],
    [{ tables: "1,2" }, "the tables of the mark"],
    [{ tables: "[0]" }, "the tables of the mark"],
    [{ tables: "[1,2,3]" }, "a table that is not there"],
  ])("in whose mark %j is edited are found", async (columns, says) => {
    const rows = orderRows();
    rows.folded = [{ ...rows.folded[0]!, ...columns }];

    const finding = onlyFinding(await verifyDeep(rows));
    expectFault(finding, "position", null);
    expect(finding.message).toContain(says);
  });

  test("whose mark goes back to where their documents were others are found", async () => {
    const rows = orderRows();
    rows.folded = [{ ...rows.folded[0]!, position: 290, entryId: rows.entries[290]?.id }];
    const { findings } = await verifyDeep(rows);

    expect(findings.map(({ message }) => message)).toContain(
      "the row of the table must not be ahead of the mark that it is listed in",
    );
    expect(findings.some(({ document }) => document?.fault === "extra")).toBe(true);
  });
});

describe("entries that are not in order", () => {
  test("are folded up to the first of them, and tables beyond it are not compared", async () => {
    const rows = orderRows();
    edit(rows, 200, (fields) => (fields["at"] = start));
    const report = await verifyDeep(rows);

    expect(report).toMatchObject({ verdict: "TAMPERED", firstBad: 200, checked: { tables: 0 } });
    expect(codesOf(report)).toEqual(["E_ID#200"]);
    expect(formatReport(report)).toMatch(
      /info +documents +0 documents of 0 tables .*; nothing was folded from #200 on/,
    );
  });

  test("leave tables that stand before them to be compared", async () => {
    const rows = orderRows();
    rows.projections = [];
    rows.documents = [];
    rows.folded = [];
    addDocuments(rows, [orders], 150);
    rows.entries.splice(200, 1);

    expect(await verifyDeep(rows)).toMatchObject({ verdict: "TAMPERED", checked: { tables: 1, documents: 40 } });
    rows.entries.splice(120, 1);
    expect(await verifyDeep(rows)).toMatchObject({ verdict: "TAMPERED", checked: { tables: 0, documents: 0 } });
  });

  test("T02 the last one edited and sealed again, which the chain cannot show, contradicts its documents", async () => {
    const rows = orderRows();
    editCovered(rows, 296, (fields) => (fields["type"] = "order.closed"));
    rows.folded = [{ ...rows.folded[0]!, entryId: rows.entries.at(-1)?.id }];
    rows.entries[296] = { ...rows.entries[296]!, type: rows.types.find(({ name }) => name === "order.closed")?.id };
    rows.projections = rows.projections.map((row) => ({ ...row, entryId: rows.entries.at(-1)?.id }));

    expect(await verifyRows(rows)).toMatchObject({ verdict: "OK" });
    expect(await verifyDeep(rows)).toMatchObject({ verdict: "DERIVED" });
  });
});

describe("options", () => {
  const reader = orderRows();

  test.each([
    [{ level: "deeper" as never }, 'options.level must be "quick", "full" or "deep"'],
    [{ projections: orders as never }, "options.projections must be a list"],
    [{ projections: [{} as never] }, "options.projections must be projections made by defineProjection"],
    [{ projections: [orders, orders] }, "options.projections must be one of each name and version"],
    [{ events: {} as never }, "options.events must be a list"],
    [{ events: [null as never] }, "options.events must be definitions made by defineEvents"],
  ])("that are none are refused: %o", async (options, says) => {
    await expect(verifyDeep(reader, options)).rejects.toThrow(says);
  });

  test("with the name of a projection of this package are refused", async () => {
    const receipt = defineProjection<object>()({
      name: "receipt",
      version: 7,
      on: { "x.y": { key: () => null, apply: () => null } },
    });
    await expect(verifyDeep(reader, { projections: [receipt] })).rejects.toThrow("does not use itself");
  });
});
