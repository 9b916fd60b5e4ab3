/** One of two versions of a program that keeps the stock of the example: the second has another shape of its documents, and an
 *  area more. It sends commands for a while, looks whether what it reads has its own shape, and verifies deep at the end.
 *  usage: stock-version.mjs PATH VERSION MS SEED */
import { writeSync } from "node:fs";
import { accept, defineCommand, defineEvents, openLedger, refuse } from "../../dist/src/index.js";
import { defineProjection, replay } from "../../dist/projections/index.js";
import { seededNumbers } from "../../dist/src/testing/index.js";
import { area, receive, reserve, stock, stockEvents } from "../examples/stock.mjs";

const [path, version, ms, seed] = process.argv.slice(2);

/** What is reserved is one number here, and what is free is found from what is there. */
const stock2 = defineProjection()({
  name: "stock",
  version: 2,
  indexes: { byReserved: ({ reserved }) => [reserved] },
  on: {
    "stock.received": {
      key: ({ data }) => data.item,
      apply: (item = { there: 0, reserved: 0 }, { data }) => ({ ...item, there: item.there + data.count }),
    },
    "stock.reserved": {
      key: ({ data }) => data.item,
      apply: (item, { data }) => ({ ...item, reserved: item.reserved + data.count }),
    },
  },
});
const reserve2 = defineCommand("stock.reserve", {
  reads: [({ item }) => ({ item: stock2.get(item) })],
  decide({ item }, input) {
    const free = item === null ? 0 : item.there - item.reserved;
    if (free < input.count) return refuse("OUT_OF_STOCK", { free });
    return accept([{ stream: `stock/${input.item}`, type: "stock.reserved", data: input }], {
      left: free - input.count,
    });
  },
});
const returns = defineEvents("returns", { open: false }, { "returns.taken": {} });
const takeBack = defineCommand("returns.take", {
  areas: ["returns", "stock"],
  decide: (_, { item, count }) =>
    accept([
      { stream: `returns/${item}`, type: "returns.taken", data: { item, count } },
      { stream: `stock/${item}`, type: "stock.received", data: { item, count } },
    ]),
});

const programs = {
  1: { area, stock, reserve, has: ({ free, reserved }) => Number.isInteger(free) && Array.isArray(reserved) },
  2: {
    area: { events: [stockEvents, returns], projections: [stock2], commands: [receive, reserve2, takeBack] },
    stock: stock2,
    reserve: reserve2,
    has: ({ there, reserved }) => Number.isInteger(there) && Number.isInteger(reserved),
  },
};
const program = programs[version];
const ledger = await openLedger(path, { ...program.area, busyTimeoutMs: 60_000 });
const next = seededNumbers(Number(seed));
const said = { accepted: 0, refused: 0, mixed: 0 };
const until = Date.now() + Number(ms);

for (let number = 0, now = Date.now(); now < until || number < 20; number++, now = Date.now()) {
  // Each second has items of its own: the first version keeps every order of an item in its document, and one that grows for
  // a minute is folded for many.
  const item = `item ${Math.floor(now / 1_000)} ${Math.floor(next() * 5)}`;
  const count = 1 + Math.floor(next() * 4);
  const draw = next();
  const wish =
    draw < 0.4
      ? receive({ item, count })
      : draw < 0.6 && version === "2"
        ? takeBack({ item, count })
        : program.reserve({ item, count, order: `${version}.${seed}.${number}` });
  try {
    await ledger.execute(wish, number % 2 === 0 ? {} : { id: `${version}.${seed}.${number}` });
    said.accepted++;
  } catch (error) {
    if (error.code !== "OUT_OF_STOCK") throw error;
    said.refused++;
  }
  if (number % 10 === 0) {
    const { documents } = await ledger.projection(program.stock).find();
    said.mixed += documents.filter(({ document }) => !program.has(document)).length;
  }
}

const replayed = (await replay([program.stock], ledger.read())).projection(program.stock);
const { position, digest } = await ledger.projection(program.stock).digest();
const { verdict, findings } = await ledger.verify({ level: "deep" });
await ledger.close();
const same = replayed.position === position ? replayed.digest().digest === digest : null;
writeSync(1, `${JSON.stringify({ ...said, same, verdict, findings })}\n`);
