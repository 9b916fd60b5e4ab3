/** Writes entries and documents, one transaction each, and kills itself at the k-th call of the fault seam; says which of them
 *  were acknowledged. With k = 0 it ends by itself and prints every step that it passed. usage: document-crasher.mjs PATH K */
import { append } from "../../dist/src/testing/store-histories.js";
import { killAt, say } from "./kill-at.mjs";
import { openShared } from "./open-shared.mjs";

const [path, k] = process.argv.slice(2);
const faults = killAt(k);
const row = (version, indexes) => ({
  name: "thing",
  version,
  indexes,
  status: "following",
  position: -1,
  entryId: null,
  error: null,
});

const store = await openShared(path, { faults });
const tables = new Map();
for (let n = 0; n < 9; n++) {
  const transaction = await store.begin();
  const { id } = await append(transaction, { streams: ["a/1"] });
  if (n % 3 === 0) {
    const indexes = n === 3 ? [] : ["by"];
    tables.set(await transaction.addProjection(row(n + 1, indexes)), indexes);
  }
  if (n === 5) {
    await transaction.dropProjection(1);
    tables.delete(1);
  }
  for (const [table, indexes] of tables) {
    const at = indexes.map(() => Buffer.from(`${9 - n}`));
    await transaction.putDocuments(table, [
      { key: `d${n % 4}`, seq: n, text: `{"n":${n}}`, indexes: at },
      { key: `d${(n + 2) % 4}`, seq: n, text: null, indexes: [] },
    ]);
  }
  await transaction.putFolded({ position: n, entryId: id, tables: [...tables.keys()] });
  await transaction.commit();
  say({ acknowledged: n });
}
await store.close();
say({ closed: true });
