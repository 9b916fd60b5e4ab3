import { expect, test } from "vitest";
import { defineEvents } from "../../src/index.js";
import { describeStores, open } from "./fixture.js";

const invoiceV1 = defineEvents(
  "invoice",
  { open: true, kinds: ["invoice", "invoice-line"] },
  { "invoice.sent": { parse: checkSent } },
);
const invoiceV2 = defineEvents(
  "invoice",
  { open: true, kinds: ["invoice", "invoice-line"] },
  { "invoice.sent": { version: 2, upcast: { 1: (data) => ({ ...data, currency: "EUR" }) } }, "invoice.paid": {} },
);
const invoiceClosed = defineEvents(
  "invoice",
  { open: false, kinds: ["invoice", "invoice-line"] },
  { "invoice.sent": {} },
);

function checkSent(data: unknown): object {
  if (typeof data !== "object" || data === null || !("amount" in data)) throw new Error("amount is missing");
  return data;
}

describeStores("areas", (openOne, openStoreOf) => {
  test("need no definition at first", async () => {
    const ledger = await openOne();
    await ledger.append("anything/1", [{ type: "some.thing", data: { free: true } }]);
    expect((await ledger.status()).size).toBe(2);
  });

  test("need one when the ledger is opened strict", async () => {
    const ledger = await openOne({ strict: true, events: [invoiceV1] });
    await expect(ledger.append("anything/1", [{ type: "some.thing" }])).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    await ledger.append("invoice/1", [{ type: "invoice.sent", data: { amount: 1 } }]);
  });

  test("are recorded before their first event, in the same append, and once", async () => {
    const ledger = await openOne({ events: [invoiceV1] });

    const first = await ledger.append("invoice/1", [{ type: "invoice.sent", data: { amount: 1 } }]);
    await ledger.append("invoice-line/1", [{ type: "invoice.sent", data: { amount: 2 } }]);

    expect([first.first, first.count, first.revision, first.ids.length]).toEqual([1, 2, 1, 1]);
    const events = await ledger.read({ from: 1 }).toArray();
    expect(events.map((event) => [event.type, event.stream, event.revision, event.tx.first])).toEqual([
      ["area.defined", "journal/main", 2, 1],
      ["invoice.sent", "invoice/1", 1, 1],
      ["invoice.sent", "invoice-line/1", 1, 3],
    ]);
    expect(events[0]!.data).toEqual({ area: "invoice", kinds: ["invoice", "invoice-line"], open: true });
  });

  test("are not recorded by an append that is refused", async () => {
    const ledger = await openOne({ events: [invoiceV1] });
    await expect(
      ledger.append("invoice/1", [{ type: "invoice.sent", data: { amount: 1 } }], { expected: 4 }),
    ).rejects.toMatchObject({ code: "REVISION_CONFLICT" });
    await ledger.append("invoice/1", [{ type: "invoice.sent", data: { amount: 1 } }]);
    expect((await ledger.read().toArray()).map((event) => event.type)).toEqual([
      "journal.opened",
      "area.defined",
      "invoice.sent",
    ]);
  });

  test("check the data of their events, own their stream kinds and know their types", async () => {
    const ledger = await openOne({ events: [invoiceV1] });
    await expect(ledger.append("invoice/1", [{ type: "invoice.sent", data: {} }])).rejects.toThrow("amount is missing");
    await expect(ledger.append("invoice/1", [{ type: "invoice.burnt", data: {} }])).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    await expect(ledger.append("other/1", [{ type: "invoice.sent", data: { amount: 1 } }])).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    await expect(ledger.append("invoice/1", [{ type: "other.thing" }])).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    expect((await ledger.status()).size).toBe(1);
  });

  test("that are closed are not written by append", async () => {
    const ledger = await openOne({ events: [invoiceClosed] });
    await expect(ledger.append("invoice/1", [{ type: "invoice.sent" }])).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    expect((await ledger.status()).size).toBe(1);
  });

  test("that another program recorded are respected by one without the definition", async () => {
    const store = await openStoreOf();
    const writer = await open(store, { events: [invoiceV1] });
    await writer.append("invoice/1", [{ type: "invoice.sent", data: { amount: 1 } }]);
    const other = await open(store);

    await other.append("invoice/1", [{ type: "invoice.sent", data: { unchecked: true } }]);
    await expect(other.append("invoice-line/1", [{ type: "foreign.thing" }])).rejects.toMatchObject({
      code: "SCHEMA_UNKNOWN",
    });
  });

  test("cannot be opened again once they were recorded with other kinds", async () => {
    const store = await openStoreOf();
    const writer = await open(store, { events: [invoiceV1] });
    await writer.append("invoice/1", [{ type: "invoice.sent", data: { amount: 1 } }]);
    const changed = await open(store, { events: [defineEvents("invoice", { open: true }, { "invoice.sent": {} })] });

    await expect(changed.append("invoice/1", [{ type: "invoice.sent" }])).rejects.toMatchObject({
      code: "SCHEMA_UNKNOWN",
      details: { area: "invoice" },
    });
    expect((await writer.status()).size).toBe(3);
  });

  test("upcast what older programs wrote, on every read path", async () => {
    const store = await openStoreOf();
    const old = await open(store, { events: [invoiceV1] });
    await old.append("invoice/1", [{ type: "invoice.sent", data: { amount: 1 } }]);
    const current = await open(store, { events: [invoiceV2] });
    await current.append("invoice/1", [{ type: "invoice.sent", data: { amount: 2, currency: "SEK" } }]);

    const expected = [
      [2, { amount: 1, currency: "EUR" }],
      [2, { amount: 2, currency: "SEK" }],
    ];
    expect((await current.readStream("invoice/1").toArray()).map((event) => [event.version, event.data])).toEqual(
      expected,
    );
    expect(
      (await current.read({ types: ["invoice.sent"] }).toArray()).map((event) => [event.version, event.data]),
    ).toEqual(expected);
    expect((await old.readStream("invoice/1").toArray()).map((event) => event.version)).toEqual([1, 2]);
  });

  test("let a reader say what happens to events that it does not know", async () => {
    const store = await openStoreOf();
    const writer = await open(store, { events: [invoiceV2] });
    await writer.append("invoice/1", [{ type: "invoice.sent", data: {} }, { type: "invoice.paid" }]);
    const reader = await open(store, { events: [invoiceV1] });

    expect((await reader.readStream("invoice/1").toArray()).length).toBe(2);
    expect(await reader.readStream("invoice/1", { unknown: "ignore" }).toArray()).toEqual([]);
    expect((await writer.read({ unknown: "error" }).toArray()).map(({ type }) => type)).toEqual([
      "journal.opened",
      "area.defined",
      "invoice.sent",
      "invoice.paid",
    ]);
    await expect(reader.readStream("invoice/1", { unknown: "error" }).toArray()).rejects.toMatchObject({
      code: "SCHEMA_UNKNOWN",
      details: { type: "invoice.sent", version: 2 },
    });
    const shown = await reader
      .readStream("invoice/1", {
        unknown: (event) => (event.type === "invoice.paid" ? { ...event, data: { known: false } } : null),
      })
      .toArray();
    expect(shown.map((event) => event.data)).toEqual([{ known: false }]);
  });
});
