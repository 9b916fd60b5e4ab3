/** Appends one event to a journal in PostgreSQL. usage: postgres-appender.mjs URL */
import { openLedger } from "../../dist/src/index.js";

const ledger = await openLedger(process.argv[2]);
await ledger.append("a/1", [{ type: "thing.happened", data: {} }]);
await ledger.close();
