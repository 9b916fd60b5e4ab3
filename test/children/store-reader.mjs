/** Reads a ledger as a user who may not write to its directory; says what it saw. usage: store-reader.mjs PATH */
import { writeFileSync, writeSync } from "node:fs";
import { openSqliteRawReader } from "../../dist/src/store/sqlite/raw-reader.js";
import { openSqliteStore } from "../../dist/src/store/sqlite/store.js";

const [path] = process.argv.slice(2);
// Permissions mean nothing to root.
if (process.getuid() === 0) {
  process.setgroups([]);
  process.setgid(65_534);
  process.setuid(65_534);
}
const codeOf = async (act) => {
  try {
    await act();
    return "ok";
  } catch (error) {
    return error.code;
  }
};

const writable = await codeOf(() => writeFileSync(`${path}.new`, ""));
const store = await openSqliteStore(path, { readOnly: true });
const snapshot = await store.snapshot();
const entries = (await snapshot.entries(0, 100)).length;
const { copied } = await store.health();
await store.close();
const reader = await openSqliteRawReader(path);
const raw = { entries: await reader.entryCount(), copied: reader.copied, problems: await reader.problems() };
await reader.close();
const write = await codeOf(() => openSqliteStore(path));
writeSync(1, JSON.stringify({ writable, store: { entries, copied }, raw, write }));
