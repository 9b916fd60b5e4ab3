/** Appends events one behind another to a stream of its own, and then so many to one that another process writes to as well
 *  (`thing/both`), each with the revision that it expects; after a conflict, with the one that it was told. Says what it was told of
 *  each. Begins when the other one has begun. usage: expecter.mjs PLACE OWN OTHER COUNT */
import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { openLedger } from "../../dist/src/index.js";

const [place, own, other, count] = process.argv.slice(2);
const ledger = await openLedger(place, { busyTimeoutMs: 60_000 });

async function append(stream, expected) {
  try {
    const { revision } = await ledger.append(stream, [{ type: "thing.happened" }], { expected });
    writeSync(1, `${JSON.stringify({ stream, expected, revision })}\n`);
    return { revision, isDone: true };
  } catch (error) {
    const { code, details } = error;
    writeSync(1, `${JSON.stringify({ stream, expected, code, actual: details?.actual })}\n`);
    const isAhead = details?.actual > (expected === "none" ? 0 : expected);
    if (code !== "REVISION_CONFLICT" || !isAhead) throw error;
    return { revision: details.actual, isDone: false };
  }
}

let known = (await append(own, "none")).revision;
while ((await ledger.readStream(other, { limit: 1 }).toArray()).length === 0) await sleep(5);
for (let done = 1; done < Number(count); done++) known = (await append(own, known)).revision;

known = "none";
for (let done = 0; done < Number(count);) {
  const { revision, isDone } = await append("thing/both", known);
  known = revision;
  if (isDone) done++;
}
await ledger.close();
