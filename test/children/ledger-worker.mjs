/** A worker thread opens the ledger, appends, and throws without closing. usage: ledger-worker.mjs PATH */
import { writeSync } from "node:fs";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { openLedger } from "../../dist/src/index.js";

if (isMainThread) {
  const [path] = process.argv.slice(2);
  const ledger = await openLedger(path);
  await ledger.append("main/1", [{ type: "main.began" }]);
  const worker = new Worker(new URL(import.meta.url), { workerData: path });
  const error = await new Promise((resolve) => worker.once("error", resolve));
  await ledger.append("main/1", [{ type: "main.wentOn" }]);
  await ledger.close();
  writeSync(1, `${JSON.stringify({ error: error.message })}\n`);
} else {
  const ledger = await openLedger(workerData);
  await ledger.append("worker/1", [{ type: "worker.began" }]);
  void ledger.append("worker/1", [{ type: "worker.wentOn" }]).catch(() => {});
  throw new Error("the worker gives up");
}
