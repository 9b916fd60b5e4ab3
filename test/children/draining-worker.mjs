/** Works on the run queue until SIGTERM, and says on stdout what it does. MODE says what its handler does: "quick" returns, "hold"
 *  waits for its signal, "block" blocks the event loop until the file FLAG is there.
 *  usage: draining-worker.mjs PATH HOLDER LEASE_MS MODE [FLAG] */
import { existsSync, writeSync } from "node:fs";
import { openLedger } from "../../dist/src/index.js";

const [path, holder, leaseMs, mode, flag] = process.argv.slice(2);
const say = (...words) => writeSync(1, `${words.join(" ")}\n`);
process.on("unhandledRejection", (error) => say("unheard", error?.message));
const ledger = await openLedger(path);
const worker = ledger.worker({
  queue: {},
  holder,
  leaseMs: Number(leaseMs),
  drainMs: 100,
  signals: ["SIGTERM"],
  async handle(job, signal) {
    say("claimed", job.runId, job.item.generation);
    if (mode === "block") while (!existsSync(flag));
    if (mode !== "hold") return;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    say("aborted", signal.reason.code, signal.reason.details.why);
    throw signal.reason;
  },
  onError: (error, { doing }) => say("error", doing, error.code ?? error.message),
});
say("ready");
await worker.stopped;
await ledger.close();
say("stopped");
