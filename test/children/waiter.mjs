/** Waits for one event as a consumer and ends without closing anything; with "leave" it asks for none.
 *  usage: waiter.mjs PATH wait|leave */
import { writeSync } from "node:fs";
import { openLedger } from "../../dist/src/index.js";

const [path, what] = process.argv.slice(2);
const ledger = await openLedger(path);
const subscription = ledger.subscribe({ from: "head", consumer: what, leaseMs: 60_000 });
await subscription.next();
writeSync(1, "live\n");
if (what === "wait") {
  const { value } = await subscription.next();
  writeSync(1, `handed ${value.entries.length}\n`);
}
