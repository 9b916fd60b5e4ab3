/** Erases two of three contents and kills itself at the k-th call of the fault seam from then on; says what it was told on
 *  stdout. With k = 0 it ends by itself and prints every step that it passed. usage: eraser.mjs PATH K */
import { writeSync } from "node:fs";
import { content, openLedger } from "../../dist/src/index.js";

const [path, killAt] = process.argv.slice(2);
let calls = -1;
const faults = (step, moment) => {
  if (calls < 0) return;
  calls++;
  if (killAt === "0") say({ step: `${step} ${moment}` });
  if (calls === Number(killAt)) process.kill(process.pid, "SIGKILL");
};
const say = (value) => writeSync(1, `${JSON.stringify(value)}\n`);

const ledger = await openLedger(path, { testing: { faults } });
const texts = ["gone: short", "gone: long ".repeat(20_000), "kept: long ".repeat(2_000)];
for (let n = 0; n < 3; n++) await ledger.append("a/1", [{ type: "note.counted", data: { n } }]);
await ledger.append("a/1", [{ type: "note.written", data: { texts: texts.map((text) => content(text)) } }]);
const [event] = await ledger.readStream("a/1", { from: 4 }).toArray();
const digests = event.data.texts.map(({ $content }) => $content);
calls = 0;
const { position, scrubbed } = await ledger.erase(digests.slice(0, 2), { reason: "crash" });
say({ acknowledged: position, scrubbed });
await ledger.close();
say({ closed: true });
