/** Reads a ledger and keeps its snapshot until it is told to end (SIGTERM). usage: store-holder.mjs PATH */
import { writeSync } from "node:fs";
import { openSqliteStore } from "../../dist/src/store/sqlite/store.js";

const store = await openSqliteStore(process.argv[2], { readOnly: true });
await store.snapshot();
const alive = setInterval(() => {}, 1_000);
process.once("SIGTERM", () => {
  void store.close().then(() => clearInterval(alive));
});
writeSync(1, "holding\n");
