/** Verifies a ledger as a user who may not write to its directory. usage: ledger-verifier.mjs PATH */
import { writeSync } from "node:fs";
import { openLedger } from "../../dist/src/index.js";

const [path] = process.argv.slice(2);
// Permissions mean nothing to root.
if (process.getuid() === 0) {
  process.setgroups([]);
  process.setgid(65_534);
  process.setuid(65_534);
}
const ledger = await openLedger(path, { readOnly: true });
const { verdict, exitCode, checked } = await ledger.verify();
await ledger.close();
writeSync(1, JSON.stringify({ verdict, exitCode, entries: checked.entries }));
