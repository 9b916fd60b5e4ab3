/** Names the content of event #1 again and again, until it is told that it is erased. usage: copier.mjs PATH STREAM */
import { writeSync } from "node:fs";
import { openLedger } from "../../dist/src/index.js";

const [path, stream] = process.argv.slice(2);
const say = (value) => writeSync(1, `${JSON.stringify(value)}\n`);

const ledger = await openLedger(path, { busyTimeoutMs: 60_000 });
const [first] = await ledger.read({ from: 1, limit: 1 }).toArray();
const positions = [];
for (;;) {
  try {
    const { position } = await ledger.append(stream, [{ type: "note.copied", data: { text: first.data.text } }]);
    positions.push(position);
    if (positions.length === 20) say({ copying: true });
  } catch (error) {
    say({ code: error.code, erasedBy: error.details.erasedBy, positions });
    break;
  }
}
await ledger.close();
