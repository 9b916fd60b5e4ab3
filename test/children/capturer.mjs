/** Captures lines in calls of several sizes, and kills itself at the k-th call of the fault seam; says what was acknowledged.
 *  With k = 0 it ends by itself, and prints every step that it passed. usage: capturer.mjs PATH K */
import { openLedger } from "../../dist/src/index.js";
import { killAt, say } from "./kill-at.mjs";

const [path, k] = process.argv.slice(2);
const faults = killAt(k);

const ledger = await openLedger(path, { testing: { faults } });
const { revision } = await ledger.runs.create({ runId: "r1" });
await ledger.sessions.bind({ runId: "r1", expectedRevision: revision });
say({ bound: true });
let from = 1;
for (const count of [1, 200, 201, 1_000]) {
  const records = Array.from({ length: count }, (_, index) => ({ type: "stdout", payload: `line ${from + index}` }));
  const { events } = await ledger.sessions.appendEvents({ runId: "r1", from, records });
  say({ events });
  from += count;
}
await ledger.sessions.finish({ runId: "r1", status: "complete", expectedRevision: revision });
say({ finished: true });
await ledger.close();
say({ closed: true });
