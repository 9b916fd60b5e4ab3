/** Makes tables of documents and drops them, for ever; says so once some are there. usage: table-maker.mjs PATH */
import { writeSync } from "node:fs";
import { openSqliteStore } from "../../dist/src/store/sqlite/store.js";

const [path] = process.argv.slice(2);
const store = await openSqliteStore(path, { busyTimeoutMs: 60_000 });
const row = { name: "thing", version: 1, status: "following", position: -1, entryId: null, error: null };
for (let n = 0; ; n++) {
  const transaction = await store.begin();
  const indexes = Array.from({ length: n % 3 }, (_, index) => `by${index}`);
  const id = await transaction.addProjection({ ...row, indexes });
  await transaction.putDocuments(id, [{ key: "a", seq: 0, text: "{}", indexes: indexes.map(() => null) }]);
  if (id > 3) await transaction.dropProjection(id - 3);
  await transaction.commit();
  if (n === 5) writeSync(1, "made\n");
  await new Promise((resolve) => setImmediate(resolve));
}
