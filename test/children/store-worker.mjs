/** A worker thread opens the store, writes, and throws without closing. usage: store-worker.mjs PATH */
import { writeSync } from "node:fs";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { openSqliteStore } from "../../dist/src/store/sqlite/store.js";
import { append, write } from "../../dist/src/testing/store-histories.js";

if (isMainThread) {
  const [path] = process.argv.slice(2);
  const store = await openSqliteStore(path);
  await write(store, { streams: ["main/1"] });
  const worker = new Worker(new URL(import.meta.url), { workerData: path });
  const error = await new Promise((resolve) => worker.once("error", resolve));
  await new Promise((resolve) => worker.once("exit", resolve));
  writeSync(1, `${JSON.stringify({ error: error.message })}\n`);
  await write(store, { streams: ["main/1"] });
  await store.close();
  writeSync(1, `${JSON.stringify({ closed: true })}\n`);
} else {
  const store = await openSqliteStore(workerData);
  await write(store, { streams: ["worker/1"] });
  await store.snapshot();
  const transaction = await store.begin();
  await append(transaction, { streams: ["worker/1"] });
  throw new Error("the worker gives up");
}
