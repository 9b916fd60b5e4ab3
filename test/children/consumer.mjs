/** Works through the events of `thing/1` as the consumer "mailer", and says on stdout what it was handed and what was
 *  acknowledged. With K it kills itself at the k-th point: calls of the fault seam, and each batch before and after it is
 *  handed out; with 0 it prints every point that it passed and ends when it has caught up. Its clock is ahead by AHEAD ms.
 *  usage: consumer.mjs PATH K AHEAD */
import { writeSync } from "node:fs";
import { openLedger, systemClock } from "../../dist/src/index.js";

const [path, killAt, ahead] = process.argv.slice(2);
const say = (value) => writeSync(1, `${JSON.stringify(value)}\n`);
let began = false;
let points = 0;
const point = (step, moment) => {
  if (!began) return;
  points++;
  if (killAt === "0") say({ step, moment });
  if (points === Number(killAt)) process.kill(process.pid, "SIGKILL");
};
const clock = { ...systemClock, now: () => Date.now() + Number(ahead) };
const ledger = await openLedger(path, { clock, acceptClockStep: true, testing: { faults: point } });
began = true;
let last = null;
const subscription = ledger.subscribe({ consumer: "mailer", streams: ["thing/1"], batch: 3 });
for await (const { entries, caughtUp } of subscription) {
  if (last !== null) say({ acknowledged: last });
  point("hand out", "before");
  last = entries.map((event) => event.position);
  say({ handed: last });
  point("hand out", "after");
  if (caughtUp && entries.length === 0) break;
  if (caughtUp) void leaveBehind(last.at(-1));
}
say({ acknowledged: last });
await ledger.close();

/** Leaves once the next step, which waits for more, has acknowledged this position. */
async function leaveBehind(position) {
  while ((await ledger.status()).consumers[0].position < position) await new Promise((done) => setTimeout(done, 5));
  await subscription.return();
}
