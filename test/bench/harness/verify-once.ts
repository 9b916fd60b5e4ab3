/** Verifies a ledger once and says the most memory that its process took. usage: verify-once.js PATH WORKERS */
import { openLedger } from "../../../src/index.js";

const [path = "", workers = "1"] = process.argv.slice(2);
let progressed = 0;
const ledger = await openLedger(path, { readOnly: true });
const { verdict } = await ledger.verify({ workers: Number(workers), onProgress: () => progressed++ });
await ledger.close();
if (verdict !== "OK") throw new Error(`the ledger must verify, found ${verdict}`);
console.log(JSON.stringify({ peakMiB: Math.round(process.resourceUsage().maxRSS / 1_024), progressed }));
