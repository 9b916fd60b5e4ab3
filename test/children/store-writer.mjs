/** Appends `count` entries to its own stream, one transaction each, as the store's port asks; reads before it writes.
 *  usage: store-writer.mjs PATH NAME COUNT */
import { writeSync } from "node:fs";
import { openShared } from "./open-shared.mjs";
import { append } from "../../dist/src/testing/store-histories.js";

const [path, name, count] = process.argv.slice(2);
const store = await openShared(path, { busyTimeoutMs: 60_000 });
writeSync(1, "open\n");
for (let n = 0; n < Number(count); n++) {
  const transaction = await store.begin();
  const [head] = await transaction.streamHeads([`own/${name}`]);
  if ((head?.rev ?? 0) !== n) throw new Error(`expected revision ${n}, found ${head?.rev}`);
  await new Promise((resolve) => setImmediate(resolve));
  const { seq } = await append(transaction, { streams: [`own/${name}`, "shared/1"] });
  await transaction.commit();
  writeSync(1, `${JSON.stringify({ name, n, seq })}\n`);
}
await store.close();
