/** Stores contents, erases the first of them and kills itself at a step of it. The contents are those of `noise`.
 *  usage: store-eraser.mjs PATH STEP MOMENT */
import { createHash } from "node:crypto";
import { writeSync } from "node:fs";
import { openSqliteStore } from "../../dist/src/store/sqlite/store.js";
import { write } from "../../dist/src/testing/store-histories.js";

const [path, killStep, killMoment] = process.argv.slice(2);
const noise = (name, size) => createHash("shake256", { outputLength: size }).update(name).digest();
let erasing = false;
const store = await openSqliteStore(path, {
  faults: (step, moment) => {
    if (erasing && step === killStep && moment === killMoment) process.kill(process.pid, "SIGKILL");
  },
});
const snapshot = await store.snapshot();
const n = ((await snapshot.head())?.contents ?? 0) + 1;
await snapshot.release();
const rows = ["erased", "kept"].map((name, index) => ({
  n: n + index,
  digest: noise(`digest of ${name}`, 32).toString("hex"),
  media: "text/plain",
  salt: noise(`salt of ${name}`, 32),
  bytes: noise(name, 20_000),
  plain: noise(`plain of ${name}`, 32).toString("hex"),
}));
await write(store, { streams: ["a/1"], rows });
erasing = true;
await write(store, { streams: ["a/1"], erase: [n] });
writeSync(1, `${JSON.stringify({ scrubbed: await store.scrub() })}\n`);
await store.close();
