/** Keeps the stock of the example on each store, and prints the head and the digest that it leaves: what another environment
 *  must repeat. Clock and randomness are given.
 *  usage: stock-digest.mjs SEED PLACE … */
import { writeSync } from "node:fs";
import { openLedger } from "../../dist/src/index.js";
import { asyncMemoryStore, manualClock, seededBytes, seededNumbers } from "../../dist/src/testing/index.js";
import { area, receive, reserve, stock } from "../examples/stock.mjs";

const [seed, ...places] = process.argv.slice(2);

for (const place of ["memory:", asyncMemoryStore(Number(seed)), ...places]) {
  const next = seededNumbers(Number(seed));
  const ledger = await openLedger(place, {
    ...area,
    origin: "test/stock",
    clock: manualClock(),
    testing: { randomBytes: seededBytes(1) },
  });
  for (let number = 0; number < 100; number++) {
    const input = { item: `item ${Math.floor(next() * 4)}`, count: 1 + Math.floor(next() * 5) };
    const wish = number % 3 === 0 ? receive(input) : reserve({ ...input, order: `${number}` });
    try {
      await ledger.execute(wish, { id: `${number}` });
    } catch (error) {
      if (error.code !== "OUT_OF_STOCK") throw error;
    }
  }
  const { digest } = await ledger.projection(stock).digest();
  const then = await (await ledger.at((await ledger.status()).head.position)).projection(stock).digest();
  const { verdict } = await ledger.verify({ level: "deep" });
  writeSync(1, `${(await ledger.status()).head.id} ${digest} ${then.digest} ${verdict}\n`);
  await ledger.close();
}
