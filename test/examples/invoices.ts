import { defineProjection } from "runledger/projections";
import type { Projection } from "runledger/projections";

interface Line {
  readonly text: string;
  readonly amount: number;
}

interface Invoice {
  readonly customer: string;
  open: number;
  readonly lines: Line[];
}

/** What the events hold, by their types; without it `data` is anything. */
interface InvoiceEvents {
  readonly "invoice.drawn": { readonly invoice: string; readonly customer: string };
  readonly "invoice.lineAdded": { readonly invoice: string; readonly line: Line };
  readonly "invoice.paid": { readonly invoice: string };
}

export const invoices: Projection<Invoice> = defineProjection<Invoice, InvoiceEvents>()({
  name: "invoice",
  version: 1,
  indexes: { open: (invoice) => (invoice.open > 0 ? [invoice.customer, invoice.open] : null) },
  on: {
    "invoice.drawn": {
      key: ({ data }) => data.invoice,
      apply: (_, { data }) => ({ customer: data.customer, open: 0, lines: [] }),
    },
    "invoice.lineAdded": {
      key: ({ data }) => data.invoice,
      apply(invoice, { data }) {
        invoice?.lines.push(data.line);
        if (invoice) invoice.open += data.line.amount;
      },
    },
    "invoice.paid": { key: ({ data }) => data.invoice, apply: () => null },
  },
});
