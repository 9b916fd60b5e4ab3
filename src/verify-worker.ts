/** What a thread of `verify-workers.ts` runs: it opens the ledger at the location that it is given, proves the ranges that
 *  it is sent, one after the other, and ends when it is told to.
 *  Invariant: it answers each range in the order of asking, or is gone. */
import { parentPort, workerData } from "node:worker_threads";
import { RangeProver } from "./forensic/ranges-prover.js";
import type { EntryRange } from "./forensic/ranges.js";
import { invariant } from "./kernel/errors.js";
import { openRawReader } from "./open-raw-reader.js";

const port = parentPort;
invariant(port !== null, "this module runs in a thread of its own");
const reader = await openRawReader(workerData as string); // as verify-workers.ts sends it
// A copy is of another moment, and may be of another size.
invariant(!reader.copied, "ranges are proved where the ledger is");
await reader.problems("schema"); // rows of a sound schema are read in fewer values
const prover = await RangeProver.open(reader);

let last = Promise.resolve();
let ended = false;
port.on("message", (range: EntryRange | null) => {
  ended ||= range === null;
  last = last.then(() => (range === null ? end() : answer(range)));
});

async function answer(range: EntryRange): Promise<void> {
  if (ended) return;
  const proof = await prover.prove(range);
  port!.postMessage(proof); // oxlint-disable-line unicorn/require-post-message-target-origin -- a thread, no window
}

async function end(): Promise<void> {
  await reader.close();
  port!.close();
}
