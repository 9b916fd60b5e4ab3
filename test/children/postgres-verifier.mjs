/** Verifies the journal at an address with two threads, however small it is, and says what came of it.
 *  usage: postgres-verifier.mjs ADDRESS */
import { writeSync } from "node:fs";
import { openRawReader, verifyWorkers } from "../../dist/src/index.js";
import { verify } from "../../dist/src/forensic/index.js";

const [address] = process.argv.slice(2);
const start = verifyWorkers(address, 3);
let proved = 0;
const workers = () => {
  const threads = start(1_000_000);
  return {
    count: threads.count,
    rangeEntries: 100,
    gapEntriesMax: 0,
    close: () => threads.close(),
    prove: async (range) => {
      const proof = await threads.prove(range);
      proved++;
      return proof;
    },
  };
};
const reader = await openRawReader(address);
const report = await verify(reader, { level: "full", workers });
await reader.close();
writeSync(1, `${JSON.stringify({ proved, report })}\n`);
