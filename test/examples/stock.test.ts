/** The example of an area of a host's own: short, and held to every law through the published functions, as a host would. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Store } from "../../src/index.js";
import type { StoreFixture } from "../../src/testing/index.js";
import { journalUrl, ledgerPath, runSeed } from "../engine/fixture.js";
import {
  area,
  asyncMemoryStore,
  describeCommands,
  describeProjection,
  openLedger,
  openPostgresStore,
  openSqliteStore,
  receive,
  reserve,
  stock,
  stockEvents,
  stockPath,
} from "./stock-area.js";

const items = fc.constantFrom("pen", "ink", "constructor");
const counts = fc.integer({ min: 1, max: 5 });
const orders = fc.constantFrom("1", "2", "__proto__");

describeProjection(
  "the stock of the example",
  {
    projection: stock,
    events: [stockEvents],
    histories: fc
      .array(fc.record({ item: items, count: counts, order: orders }), { maxLength: 20 })
      .map((reservations) => [
        // What was never received cannot be reserved: the command sees to it, and the reducer may count on it.
        ...["pen", "ink", "constructor"].map((item) => ({
          stream: `stock/${item}`,
          type: "stock.received",
          data: { item, count: 100 },
        })),
        ...reservations.map((data) => ({ stream: `stock/${data.item}`, type: "stock.reserved", data })),
      ]),
  },
  { describe, test },
);

async function opening(open: () => Store | Promise<Store>): Promise<StoreFixture> {
  const store = await open();
  return { store, dispose: () => store.close() };
}

let opened = 0;
const stores = {
  memory: null,
  "async memory": () => asyncMemoryStore(runSeed + ++opened),
  sqlite: () => openSqliteStore(ledgerPath()),
  postgres: () => openPostgresStore(journalUrl()),
};

for (const [name, open] of Object.entries(stores))
  describeCommands(
    `the stock of the example on ${name}`,
    {
      ...area,
      ...(open === null ? {} : { open: () => opening(open) }),
      ...(process.env["RUNLEDGER_LONG"] === "1"
        ? {}
        : { numRuns: name === "memory" ? 10 : name === "postgres" ? 1 : 3 }),
      wishes: fc.oneof(
        fc.record({ item: items, count: counts }).map(receive),
        fc.record({ item: items, count: counts, order: orders }).map(reserve),
      ),
    },
    { describe, test: (title, body) => test(title, body) },
  );

test("the example has fewer than 60 lines, and does what its first lines say", async () => {
  expect(readFileSync(stockPath, "utf8").split("\n").length).toBeLessThan(60);

  const ledger = await openLedger("memory:", area);
  await ledger.execute(receive({ item: "pen", count: 10 }));
  await ledger.execute(receive({ item: "ink", count: 9 }));
  const { result, adopted } = await ledger.execute(reserve({ item: "pen", count: 7, order: "7" }), { id: "order 7" });
  const again = await ledger.execute(reserve({ item: "pen", count: 7, order: "7" }), { id: "order 7" });
  const scarce = await ledger.projection(stock).find({ index: "byFree", range: { lt: 5 } });

  expect([result, adopted]).toEqual([{ left: 3 }, false]);
  expect([again.result, again.adopted]).toEqual([{ left: 3 }, true]);
  expect(scarce.documents.map(({ key }) => key)).toEqual(["pen"]);
  await expect(ledger.execute(reserve({ item: "pen", count: 4, order: "8" }))).rejects.toMatchObject({
    code: "OUT_OF_STOCK",
    details: { free: 3, wanted: 4 },
  });
  await expect(ledger.execute(reserve({ item: "pen", count: 1, order: "7" }))).rejects.toMatchObject({
    code: "ALREADY_RESERVED",
  });
  expect(await ledger.verify()).toMatchObject({ verdict: "OK" });
  await ledger.close();
});
