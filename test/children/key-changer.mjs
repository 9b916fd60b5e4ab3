/** Changes the key of a ledger and kills itself at the k-th call of the fault seam; with k = 0 it ends by itself and says
 *  how many calls there were, and what its ledger file and log hold. usage: key-changer.mjs PATH OLD NEW K */
import { readFileSync, writeSync } from "node:fs";
import { openLedger } from "../../dist/src/index.js";

const [path, key, newKey, killAt] = process.argv.slice(2);
let calls = 0;
let counting = false;
const faults = () => {
  if (counting && ++calls === Number(killAt)) process.kill(process.pid, "SIGKILL");
};

const ledger = await openLedger(path, { key, testing: { faults } });
await ledger.append("order/1", [{ type: "order.placed" }, { type: "order.paid" }]);
await ledger.checkpoint();
counting = true;
const { size } = await ledger.changeKey(newKey);
const files = path.endsWith(".ledger")
  ? [path, `${path}-wal`].map((file) => readFileSync(file).toString("base64"))
  : [];
await ledger.close();
writeSync(1, `${JSON.stringify({ calls, size, files })}\n`);
