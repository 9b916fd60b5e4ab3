/** Rows that are operational may be lost or damaged: then they are said to be, and the journal goes on. */
import { expect, test } from "vitest";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { operate, read, readAll, write } from "../../src/testing/store-histories.js";
import { closedLedger, sql } from "./place.js";

const claim = { holder: "h", generation: 1, tokenHash: "0".repeat(64), acquiredAt: 1, expiresAt: 2 };
const row = { name: "mail", position: 2, id: "1".repeat(64), incarnation: 1, generation: 1, claim };

async function withConsumer(): Promise<string> {
  const path = await closedLedger();
  const store = await openSqliteStore(path);
  await operate(store, async (transaction) => {
    await transaction.putConsumer(row);
    await transaction.putConsumer({ ...row, name: "other" });
  });
  await store.close();
  return path;
}

test.each([
  `{"holder":"h"`,
  "",
  "5",
  "null",
  "[]",
  "{}",
  `{"holder":1}`,
  JSON.stringify({ ...claim, expiresAt: "2" }),
  JSON.stringify(claim).replace(`"expiresAt":2`, `"expiresAt":1e999`),
  JSON.stringify({ ...claim, expiresAt: 1e300 }),
  JSON.stringify({ ...claim, acquiredAt: -1.5 }),
  JSON.stringify({ ...claim, generation: 0 }),
  JSON.stringify({ ...claim, generation: 2 ** 32 }),
  JSON.stringify({ ...claim, tokenHash: "h" }),
  JSON.stringify({ ...claim, holder: "h".repeat(513) }),
  JSON.stringify({ ...claim, holder: "\u001b[31m" }),
])("a claim that reads %j is damage that names the consumer, and hinders nobody else", async (text) => {
  const path = await withConsumer();
  sql(path, `UPDATE consumers SET claim = '${text}' WHERE name = 'mail'`);

  const store = await openSqliteStore(path);

  const asked = read(store, (reads) => reads.consumer("mail"));
  await expect(asked).rejects.toMatchObject({ code: "STORE_DAMAGED", details: { consumer: "mail" } });
  await expect(read(store, (reads) => reads.consumers())).rejects.toMatchObject({ code: "STORE_DAMAGED" });
  expect(await read(store, (reads) => reads.consumer("other"))).toMatchObject({ name: "other", claim });
  await operate(store, (transaction) => transaction.putConsumer({ ...row, claim: null }));
  expect(await read(store, (reads) => reads.consumer("mail"))).toMatchObject({ position: 2, claim: null });
  await store.close();
});

test("a ledger whose checkpoints and consumers were deleted goes on, and lost nothing else", async () => {
  const path = await withConsumer();
  sql(path, "DELETE FROM consumers; DELETE FROM checkpoints");

  const store = await openSqliteStore(path);
  await write(store, { streams: ["a/1"] });

  expect(await readAll(store)).toHaveLength(4);
  expect(await read(store, (reads) => reads.consumers())).toEqual([]);
  await store.close();
});
