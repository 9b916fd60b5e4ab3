import { defineEvents, openLedger } from "runledger";
import { replay } from "runledger/projections";
import { invoices } from "./invoices.js";

const types = { "invoice.drawn": {}, "invoice.lineAdded": {}, "invoice.paid": {} };
const events = [defineEvents("invoice", { open: true }, types)];
const ledger = await openLedger("memory:", { events, projections: [invoices] });
await ledger.append("invoice/17", [
  { type: "invoice.drawn", data: { invoice: "17", customer: "ann" } },
  { type: "invoice.lineAdded", data: { invoice: "17", line: { text: "pens", amount: 12 } } },
]);

const { projection } = await replay([invoices], ledger.read({ unknown: "error" }));
export const open = projection(invoices).get("17")?.open; // 12
export const digests = [projection(invoices).digest(), await ledger.projection(invoices).digest()]; // equal
await ledger.close();
