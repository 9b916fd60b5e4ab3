/** Verifies a ledger with a large capture and reads it back, and says how much memory that held outside the heap, which its
 *  starter bounds. usage: node --expose-gc capture-reader.mjs PATH */
import { createHash } from "node:crypto";
import { writeSync } from "node:fs";
import { openLedger } from "../../dist/src/index.js";

const [path] = process.argv.slice(2);
let outsideMax = 0;
const look = () => {
  // Buffers of the first are let go of beside it, and are gone with the second.
  globalThis.gc();
  globalThis.gc();
  const { external, arrayBuffers } = process.memoryUsage();
  outsideMax = Math.max(outsideMax, external, arrayBuffers);
};
const timer = setInterval(look, 20);
const ledger = await openLedger(path, { readOnly: true });
const { verdict, findings } = await ledger.verify({ level: "deep" });
const hash = createHash("sha256");
let records = 0;
let bytes = 0;
for await (const record of ledger.sessions.events("r1")) {
  records++;
  bytes += record.content.bytes.length;
  hash.update(record.content.bytes);
  look();
}
clearInterval(timer);
await ledger.close();
writeSync(1, JSON.stringify({ verdict, findings, records, bytes, sha256: hash.digest("hex"), outsideMax }));
