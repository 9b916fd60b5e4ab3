/** Opens a ledger that cannot be read in place, in the way that is asked for, and stays. usage: copy-reader.mjs PATH store|raw */
import { writeSync } from "node:fs";
import { openSqliteRawReader } from "../../dist/src/store/sqlite/raw-reader.js";
import { openSqliteStore } from "../../dist/src/store/sqlite/store.js";

const [path, way] = process.argv.slice(2);
const opened = way === "raw" ? await openSqliteRawReader(path) : await openSqliteStore(path, { readOnly: true });
setInterval(() => {}, 1_000);
process.once("SIGTERM", () => void opened.close().then(() => process.exit(0)));
writeSync(1, "reading\n");
