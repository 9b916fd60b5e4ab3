/** Many callers at once, each of whom writes one event behind another, for ever; says of each that was acknowledged which it was.
 *  Says "ready" when it is open. usage: crowd.mjs URL NAME CALLERS */
import { writeSync } from "node:fs";
import { openLedger } from "../../dist/src/index.js";

const [url, name, callers] = process.argv.slice(2);
const ledger = await openLedger(url);
writeSync(1, "ready\n");

async function call(caller) {
  for (let n = 1; ; n++) {
    const stream = `crowd/${name}-${caller}`;
    await ledger.append(stream, [{ type: "crowd.heard", data: { n } }]);
    writeSync(1, `${stream} ${n}\n`);
  }
}

await Promise.all(Array.from({ length: Number(callers) }, (_, caller) => call(caller)));
