/** Runs a small workload and kills itself at the k-th call of the fault seam; says what was acknowledged on stdout.
 *  With k = 0 it ends by itself and prints every step that it passed. usage: crasher.mjs PATH K */
import { content, openLedger } from "../../dist/src/index.js";
import { killAt, say } from "./kill-at.mjs";

const [path, k] = process.argv.slice(2);
const faults = killAt(k);

const ledger = await openLedger(path, { testing: { faults } });
let key = 0;
const append = async (stream, count, body) => {
  const mine = ++key;
  const events = Array.from({ length: count }, (_, n) => ({
    type: "thing.happened",
    data: { key: mine, n, count, ...(body ? { body: content(body) } : {}) },
  }));
  const { first, position } = await ledger.append(stream, events);
  say({ acknowledged: mine, first, position, count });
};
await append("a/1", 1);
await Promise.all([append("a/1", 3), append("b/1", 2, "x".repeat(3_000)), append("a/1", 1, "short")]);
await append("a/1", 300);
for (let n = 0; n < 4; n++) await append("c/1", 400, `text ${n}`);
const { size } = await ledger.checkpoint();
say({ checkpoint: size });
const [{ data }] = await ledger.readStream("c/1", { limit: 1 }).toArray();
const { $content } = data.body;
await ledger.erase([$content], { reason: "asked for" });
say({ erased: $content });
await ledger.close();
say({ closed: true });
