import { expect, test } from "vitest";
import type { LedgerEvent } from "../../src/index.js";
import { replay } from "../../projections/index.js";
import { receiptKey, receipts } from "../../projections/receipt.js";

const recorded = (position: number, client: string, id: string): LedgerEvent => ({
  position,
  id: String(position).padStart(64, "0"),
  stream: `client/${client}`,
  revision: 1,
  type: "receipt.recorded",
  version: 1,
  data: { id, name: "a.b", fingerprint: "0".repeat(64), outcome: "accepted" },
  at: position,
  tx: { first: position, count: 1 },
});

test("each id of each client has a place of its own", async () => {
  const events = [recorded(1, "default", "c1"), recorded(2, "web", "c1"), recorded(3, "default", "web/c1")];

  const { projection } = await replay([receipts], events);

  const { documents } = projection(receipts).find({});
  expect(documents.map(({ key, document }) => [key, document])).toEqual([
    [receiptKey("default", "c1"), { position: 1 }],
    [receiptKey("default", "web/c1"), { position: 3 }],
    [receiptKey("web", "c1"), { position: 2 }],
  ]);
});

test("the first receipt of an id stands, whatever somebody wrote behind it", async () => {
  const { projection } = await replay([receipts], [recorded(1, "web", "c1"), recorded(2, "web", "c1")]);

  expect(projection(receipts).get("web/c1")).toEqual({ position: 1 });
});
