/** Asks a ledger for so many things, each one event, and says what it was told of each, as a line of JSON: `done`, `refused` or
 *  `in doubt`. Says "ready" when it is open. Whatever else is thrown ends it. usage: wisher.mjs URL NAME WISHES BUSY_TIMEOUT_MS */
import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { openLedger } from "../../dist/src/index.js";

const [url, name, wishes, busyTimeoutMs] = process.argv.slice(2);
const ledger = await openLedger(url, { busyTimeoutMs: Number(busyTimeoutMs) });
writeSync(1, "ready\n");

async function outcomeOf(wish) {
  try {
    await ledger.append(`wish/${name}`, [{ type: "wish.granted", data: { wish } }]);
    return "done";
  } catch (error) {
    if (error.code === "STORE_IN_DOUBT") return "in doubt";
    if (error.code === "STORE_UNAVAILABLE" || error.code === "STORE_BUSY") return "refused";
    throw error;
  }
}

for (let n = 0; n < Number(wishes); n++) {
  const wish = `${name}-${n}`;
  writeSync(1, `${JSON.stringify({ wish, events: 1, outcome: await outcomeOf(wish) })}\n`);
  await sleep(5);
}
await ledger.close();
