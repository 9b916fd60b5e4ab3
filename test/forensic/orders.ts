/** A journal with the documents of a host's projection and of receipts, as rows to be changed: 40 orders in 300 entries, of
 *  which some were cancelled, and five receipts. */
import { BulkTable } from "../../projections/bulk.js";
import { defineProjection } from "../../projections/define-projection.js";
import type { AnyProjection, Projection } from "../../projections/define-projection.js";
import { eventOf } from "../../projections/event-of.js";
import { indexKey } from "../../projections/index-key.js";
import { receipts } from "../../projections/receipt.js";
import { verify } from "../../src/forensic/index.js";
import type { VerifyOptions, VerifyReport } from "../../src/forensic/index.js";
import { receiptStream, receiptType } from "../../src/journal/events/receipt.js";
import { arrayRawReader } from "../../src/testing/array-raw-reader.js";
import type { RawRows } from "../../src/testing/array-raw-reader.js";
import { fieldsOf, RawJournal } from "../../src/testing/raw-journal.js";
import { copyOf, start } from "./journal.js";

/** An order, as its events leave it. */
export interface Order {
  readonly total: number;
  readonly lines: readonly { readonly sku: string; readonly count: number }[];
  readonly open: boolean;
}

type Draft<T> = { -readonly [Name in keyof T]: T[Name] extends readonly (infer E)[] ? E[] : T[Name] };

/** The orders of a shop; cancelled ones are gone. */
export const orders: Projection<Order> = defineProjection<Order>()({
  name: "orders",
  version: 1,
  indexes: { open: ({ open, total }) => (open ? [total] : null) },
  on: {
    "order.placed": { key: ({ stream }) => stream, apply: () => ({ total: 0, lines: [], open: true }) },
    "order.lineAdded": {
      key: ({ stream }) => stream,
      apply: (order, { data }) => {
        const { lines } = order as Draft<Order>;
        lines.push({ sku: data["sku"] as string, count: data["count"] as number });
        (order as Draft<Order>).total += data["count"] as number;
      },
    },
    "order.closed": {
      key: ({ stream }) => stream,
      apply: (order) => {
        (order as Draft<Order>).open = false;
      },
    },
    "order.cancelled": { key: ({ stream }) => stream, apply: () => null },
  },
});

/** A journal of orders. Each order is placed, has lines added in turn with its neighbours, and is closed, cancelled or
 *  neither. */
export function orderJournal(): RawJournal {
  const journal = new RawJournal(start, "testing/orders");
  let at = start;
  const append = (stream: string, type: string, data: object = {}): void => {
    journal.append((at += 1_000), [{ stream, type, data }]);
  };
  for (let order = 1; order <= 40; order++) append(`order/${order}`, "order.placed");
  for (let line = 1; journal.next < 280; line++)
    append(`order/${1 + (line % 40)}`, "order.lineAdded", { sku: `sku/${line % 7}~é`, count: line });
  for (let order = 3; order <= 40; order += 9) append(`order/${order}`, "order.closed");
  for (let order = 5; order <= 40; order += 12) append(`order/${order}`, "order.cancelled");
  for (let id = 1; id <= 5; id++) {
    const salt = journal.content("s".repeat(32));
    const [stream, type] = [`order/${id + 50}`, "order.placed"];
    const command = `c-${id}`;
    const data = { id: command, name: "order.place", fingerprint: "ab".repeat(32), salt, outcome: "accepted" };
    journal.append((at += 1_000), [
      { stream, type, command },
      { stream: receiptStream("shop"), type: receiptType, command, data },
    ]);
  }
  return journal;
}

/** Adds tables of documents as a writer keeps them: folded to the end, and listed in the mark. */
export function addDocuments(
  rows: RawRows,
  projections: readonly AnyProjection[],
  until = rows.entries.length - 1,
): void {
  for (const projection of projections) {
    const id = rows.projections.length + 1;
    const entryId = rows.entries[until]?.id;
    const indexes = JSON.stringify([...projection.indexes.keys()]);
    const { name, version } = projection;
    rows.projections.push({ id, name, version, indexes, status: "following", position: until, entryId, error: null });
    const table = new BulkTable(projection);
    for (const row of rows.entries.slice(0, until + 1)) {
      const event = eventOf(fieldsOf(row), new Map());
      if ("unknown" in event) table.foldUnknown(event);
      else table.fold(event);
    }
    const found = [...table.changes()].sort(([left], [right]) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
    for (const [key, { document, changed }] of found) {
      if (document === null) continue;
      const bytes = [...projection.indexes.values()].map((tupleOf) => {
        const tuple = tupleOf(document);
        return tuple === null ? null : indexKey(tuple, key);
      });
      rows.documents.push({ table: id, key, seq: changed, text: JSON.stringify(document), indexes: bytes });
    }
  }
  if (until === rows.entries.length - 1)
    rows.folded = [
      {
        position: until,
        entryId: rows.entries[until]?.id,
        tables: JSON.stringify(rows.projections.map(({ id }) => id)),
      },
    ];
}

const template = orderJournal().rows;
addDocuments(template, [receipts, orders]);

/** The rows of the journal, to be changed. Table 1 has the receipts, table 2 the orders. */
export function orderRows(): RawRows {
  return copyOf(template);
}

/** Verifies rows at the deep level, with the code of the orders unless other code is given. */
export function verifyDeep(rows: RawRows, options: VerifyOptions = {}): Promise<VerifyReport> {
  return verify(arrayRawReader(rows), { level: "deep", projections: [orders], ...options });
}

/** Changes a stored document of a table. */
export function editDocument(rows: RawRows, table: number, key: string, columns: object): void {
  const at = rows.documents.findIndex((row) => row.table === table && row.key === key);
  const row = rows.documents[at];
  if (row === undefined) throw new Error(`no document ${key}`);
  rows.documents[at] = { ...row, ...columns };
}

/** Changes what a stored document says. */
export function editText(rows: RawRows, table: number, key: string, change: (text: string) => string): void {
  const row = rows.documents.find((each) => each.table === table && each.key === key);
  editDocument(rows, table, key, { text: change(String(row?.text)) });
}
