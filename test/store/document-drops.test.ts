/** Dropping a table of documents takes no time for each of its pages, and what is erased behind it is overwritten all the same. */
import { expect, test } from "vitest";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { document, newRow } from "../../src/testing/store-documents.js";
import { operate, read, write } from "../../src/testing/store-histories.js";
import { startChild } from "../processes/child.js";
import { ByteTrace, noise } from "./byte-trace.js";
import { freshPath } from "./place.js";

test("a dropped table leaves its pages as they are, and contents that are erased leave nothing", async () => {
  const path = freshPath();
  const store = await openSqliteStore(path);
  const bytes = noise("a content", 20_000);
  const row = { n: 1, digest: "ab".repeat(32), media: "text/plain", salt: noise("salt", 32), bytes, plain: null };
  await write(store, { streams: ["a/1"], rows: [row] });
  const large = Array.from({ length: 2_000 }, (_, index) =>
    document(`${index}`, [], `{"text":"${"x".repeat(1_000)}"}`),
  );
  await operate(store, async (transaction) => {
    await transaction.putDocuments(await transaction.addProjection(newRow("large")), large);
  });
  await store.close();
  const again = await openSqliteStore(path);

  await operate(again, (transaction) => transaction.dropProjection(1));
  const { wal } = await again.health();
  await write(again, { streams: ["a/1"], erase: [1] });
  expect(await again.scrub()).toBe(true);

  expect(wal?.bytes).toBeLessThan(200_000);
  const trace = new ByteTrace();
  trace.add("content", bytes);
  expect(trace.remnants(path)).toEqual([]);
  await again.close();
});

test("whoever opens a file while tables come and go finds each with its row", async () => {
  const path = freshPath();
  await (await openSqliteStore(path)).close();
  const child = startChild("table-maker.mjs", [path]);
  await child.line("made");

  for (let round = 0; round < 60; round++) {
    const store = await openSqliteStore(path, { readOnly: round % 2 === 0, busyTimeoutMs: 60_000 });
    const raw = await store.raw();
    expect(await raw.problems("schema")).toEqual([]);
    for (const { id } of await raw.projections()) expect(await raw.documents(Number(id), null, 10)).toHaveLength(1);
    await raw.close();
    await read(store, async (reads) => {
      for (const { id } of await reads.projections()) expect(await reads.documentsByKey(id, null, 10)).toHaveLength(1);
    });
    await store.close();
  }

  child.process.kill("SIGKILL");
  await child.finished;
});
