/** Appends to so many journals by turns, with so many callers, for so many ms, when it is told to.
 *  usage: appender.js URL FIRST COUNT CALLERS MS */
import { once } from "node:events";
import { jobEvent, jobStream } from "../harness/events.js";
import { callers } from "../harness/rounds.js";
import { openJournals } from "./journals.js";

const [url = "", first = "0", count = "1", callerCount = "1", ms = "1000"] = process.argv.slice(2);
const ledgers = await openJournals(url, Number(first), Number(count));
let next = 0;
const append = async (caller: number): Promise<unknown> => {
  const index = next++;
  return ledgers[index % ledgers.length]!.append(jobStream(caller), [jobEvent(index)]);
};
// Each journal has its connection before it is measured.
for (const [index, ledger] of ledgers.entries()) await ledger.append(jobStream(index), [jobEvent(index)]);
await callers(Number(callerCount), 500, append);
process.send?.("ready");
await once(process, "message");
const { operations, elapsedMs } = await callers(Number(callerCount), Number(ms), append);
process.send?.({ operations, elapsedMs });
await Promise.all(ledgers.map((ledger) => ledger.close()));
process.disconnect?.();
