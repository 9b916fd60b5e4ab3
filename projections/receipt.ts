/** Which commands were answered: one document for each id that a client sent, under the key `<client>/<id>`. */
import { clientOf, receiptType } from "../src/journal/events/receipt.js";
import { defineProjection } from "./define-projection.js";
import type { Projection } from "./define-projection.js";

/** Where the receipt of a command stands. What was answered is in that entry and in its tx. @public */
export interface ReceiptPlace {
  readonly position: number;
}

/** The receipts of commands that carried an id. The first of an id stands, whatever comes behind it. @public */
export const receipts: Projection<ReceiptPlace> = defineProjection<ReceiptPlace>()({
  name: "receipt",
  version: 1,
  on: {
    [receiptType]: {
      key: ({ stream, data }) => receiptKey(clientOf(stream), data["id"] as string), // as `parseReceipt` lets it through
      apply: (place, { position }) => place ?? { position },
    },
  },
});

/** The key of an id of a client; a client's name has no slash. */
export function receiptKey(client: string, id: string): string {
  return `${client}/${id}`;
}
