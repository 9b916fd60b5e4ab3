/** A small area for tests of receipts: orders that are placed, noted and paid. */
import { accept, content, defineCommand, defineEvents, refuse } from "../../src/index.js";
import type { LedgerOptions } from "../../src/index.js";
import { defineProjection } from "../../projections/define-projection.js";

export interface Order {
  readonly total: number;
  notes: number;
}

export interface PlaceInput {
  readonly order: string;
  readonly total: number;
  readonly lines?: object;
  readonly note?: unknown;
}

export const orderEvents = defineEvents("order", { open: false }, { "order.placed": {}, "order.noted": {} });

export const orders = defineProjection<Order>()({
  name: "order",
  version: 1,
  on: {
    "order.placed": {
      key: ({ stream }) => stream,
      apply: (_, { data }) => ({ total: data["total"] as number, notes: 0 }),
    },
    "order.noted": { key: ({ stream }) => stream, apply: (order) => void order!.notes++ },
  },
});

/** Accepts an order once and answers with an id that it mints; refuses it the second time. */
export const place = defineCommand("order.place", {
  reads: [(input: PlaceInput) => ({ order: orders.get(`order/${input.order}`) })],
  decide: ({ order }, input, context) => {
    const { order: name, total, note } = input;
    if (order !== null)
      return refuse(
        "ALREADY_PLACED",
        { order: name, total: order.total },
        { message: `order ${name} is placed already` },
      );
    const data = { total, ...(note === undefined ? {} : { note }) };
    return accept([{ stream: `order/${name}`, type: "order.placed", data }], {
      number: context.newId(),
      at: context.at,
    });
  },
});

/** Notes something without an answer; how often it was noted shows in the document. */
export const note = defineCommand("order.note", {
  decide: (_, { order, text }: { readonly order: string; readonly text: unknown }, context) => {
    const said = context.content(text);
    return accept([
      { stream: `order/${order}`, type: "order.noted", data: { text: said } },
      { stream: `order/${order}`, type: "order.noted", data: { text: said } },
    ]);
  },
});

/** Writes nothing and answers what it is asked to. */
export const echo = defineCommand("order.echo", {
  decide: (_, input: { readonly answer?: unknown }) => accept([], input.answer),
});

/** Answers with the content that it recorded. */
export const keep = defineCommand("order.keep", {
  decide: (_, { order, text }: { readonly order: string; readonly text: string }) => {
    const kept = content(text);
    return accept([{ stream: `order/${order}`, type: "order.placed", data: { total: 0, kept } }], { kept });
  },
});

/** Refuses for the moment, refuses for good, or throws, as it is told. */
export const fail = defineCommand("order.fail", {
  decide: (_, { how }: { readonly how: "busy" | "moment" | "throw" | "good"; readonly secret?: unknown }) => {
    if (how === "busy") return refuse("RATE_LIMITED", { limit: 1 });
    if (how === "moment") return refuse("NO_STAFF", {}, { transient: true });
    if (how === "throw") throw new Error("as told");
    return refuse("NEVER", { why: ["so"] }, { message: "never at all" });
  },
});

export const withOrders: LedgerOptions = {
  events: [orderEvents],
  commands: [place, note, echo, keep, fail],
  projections: [orders],
};
