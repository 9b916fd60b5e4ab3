/** Appends `count` events one after the other or `width` at a time, and says each acknowledged position on stdout.
 *  usage: appender.mjs PATH NAME COUNT STREAM [WIDTH] */
import { writeSync } from "node:fs";
import { openLedger } from "../../dist/src/index.js";

const [path, name, count, stream, width = "1"] = process.argv.slice(2);
const ledger = await openLedger(path, { busyTimeoutMs: 60_000 });
writeSync(1, "open\n");
let next = 0;
const worker = async () => {
  while (next < Number(count)) {
    const n = next++;
    const { position, ids, revision } = await ledger.append(stream, [{ type: "thing.happened", data: { name, n } }]);
    writeSync(1, `${JSON.stringify({ name, n, position, revision, id: ids[0] })}\n`);
  }
};
await Promise.all(Array.from({ length: Number(width) }, worker));
await ledger.close();
