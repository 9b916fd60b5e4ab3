/** Verifies a ledger with threads and says what came of it. Something may happen to it at the first progress.
 *  usage: range-verifier.mjs PATH WORKERS [kill | abort | throw] */
import { writeSync } from "node:fs";
import { openLedger } from "../../dist/src/index.js";

const [path, workers, accident] = process.argv.slice(2);
const threads = [];
let ended = 0;
process.on("worker", (thread) => {
  threads.push(thread);
  thread.once("exit", () => ended++);
});
const stop = new AbortController();
const progress = [];
const accidents = {
  kill: () => threads[0].terminate(),
  abort: () => stop.abort("enough"),
  throw: () => {
    throw new Error("a hook that throws");
  },
};
const ledger = await openLedger(path, { readOnly: true });
let outcome;
try {
  const report = await ledger.verify({
    workers: Number(workers),
    signal: stop.signal,
    onProgress: ({ phase, done, total }) => {
      if (phase === "entries") progress.push([done, total]);
      if (progress.length === 1) accidents[accident]?.();
    },
  });
  outcome = { report };
} catch (error) {
  outcome = { error: String(error.code ?? error.message) };
}
// No thread outlives the verification, but for the news of it.
await new Promise((resolve) => setImmediate(resolve));
const peakMiB = Math.round(process.resourceUsage().maxRSS / 1024);
writeSync(1, `${JSON.stringify({ ...outcome, threads: threads.length, ended, progress, peakMiB })}\n`);
await ledger.close();
