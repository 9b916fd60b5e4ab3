/** Connections that are not used are given back to the server, which has them for all journals together. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { openPostgresStore } from "../../src/postgres.js";
import type { Store } from "../../src/journal/store.js";
import { DatabaseClock } from "../../src/store/postgres/clock.js";
import { parsePostgresLocation } from "../../src/store/postgres/location.js";
import { SnapshotPool } from "../../src/store/postgres/snapshots.js";
import { JournalIdentity } from "../../src/store/postgres/identity.js";
import { statementsOn } from "../../src/store/postgres/statements.js";
import type { PostgresTransaction } from "../../src/store/postgres/transaction.js";
import { Writer } from "../../src/store/postgres/writer.js";
import { write } from "../../src/testing/store-histories.js";
import { onCleanup } from "../engine/fixture.js";
import { ask, journalUrl, schemaOf, serverUrl } from "./place.js";

const idleMs = 150;

/** The parts of a store whose connections go early, and how many connections there are. */
async function parts() {
  const url = new URL(journalUrl());
  const name = schemaOf(url.href);
  url.searchParams.set("application_name", name);
  await (await openLedger(url.href)).close();
  const { config, schema, shown } = parsePostgresLocation(url.href);
  const connecting = { config, timeoutMs: 10_000 };
  const journal = { shown, schema, statements: statementsOn(schema), identity: new JournalIdentity(shown) };
  const clock = new DatabaseClock();
  const count = async (): Promise<number> =>
    (await ask(serverUrl(), "SELECT 1 FROM pg_stat_activity WHERE application_name = $1", [name])).length;
  return { options: { journal, connecting, clock, faults: undefined, idleMs }, count, url: url.href };
}

test("connections that read go when they were not used for a while; one in use stays, and what it sees does not move", async () => {
  const { options, count } = await parts();
  const pool = new SnapshotPool(options);
  onCleanup(() => pool.close());
  const snapshots = await Promise.all(Array.from({ length: 4 }, () => pool.take()));
  await expect.poll(count).toBe(4);
  const [held, ...others] = snapshots;

  for (const each of others) await each.release();

  await expect.poll(count).toBe(1);
  expect((await held!.head())?.seq).toBe(0);
  await held!.release();
  await expect.poll(count).toBe(0);
  const again = await pool.take();
  expect((await again.head())?.seq).toBe(0);
  await again.release();
});

test("a connection that is used again and again stays, while those beside it go", async () => {
  const { options, count } = await parts();
  const pool = new SnapshotPool(options);
  onCleanup(() => pool.close());
  for (const each of await Promise.all(Array.from({ length: 3 }, () => pool.take()))) await each.release();

  const used = async (): Promise<number> => {
    await (await pool.take()).release();
    return count();
  };

  await expect.poll(used).toBe(1);
  for (let round = 0; round < 20; round++) {
    expect(await used()).toBeLessThanOrEqual(1);
    await new Promise((resolve) => setTimeout(resolve, idleMs / 10));
  }
});

test("the connection that writes goes when nothing was written for a while, and comes back for the next batch", async () => {
  const { options, count } = await parts();
  const writer = new Writer(options, null);
  onCleanup(() => writer.close());
  for (let round = 0; round < 2; round++) {
    const transaction = await writer.begin([]);
    await expect.poll(count).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 2 * idleMs));
    expect((await transaction.head())?.seq).toBe(0);
    await transaction.rollback();

    await expect.poll(count).toBe(0);
  }
});

test("the connection that is asked aside goes when nothing was asked on it for a while, however steadily its writer goes on", async () => {
  const { options, count, url } = await parts();
  const other = await openPostgresStore(url);
  await write(other, { streams: ["busy/1", "busy/2", "busy/3"] });
  await other.close();
  const writer = new Writer({ ...options, idleMs: 2_000 }, null);
  onCleanup(() => writer.close());
  // What writes asks no more of a store than this.
  const store = { begin: () => writer.begin([]), reset: () => writer.reset() } as unknown as Store;
  const goOn = async (): Promise<number> => {
    await write(store, { streams: ["own/1"] });
    return count();
  };
  const assumed = async (): Promise<PostgresTransaction> => {
    for (;;) {
      const transaction = writer.assume();
      if (transaction !== null) return transaction;
      await write(store, { streams: ["own/1"] });
    }
  };
  // A stream that was taken for new and was there has the next ones asked for aside.
  const wrong = await assumed();
  await wrong.streamHeads(["busy/1"]);
  await expect(wrong.check()).rejects.toMatchObject({ code: "STORE_BUSY" });
  await wrong.rollback();

  const askAside = async (stream: string): Promise<number> => {
    const transaction = await assumed();
    expect(await transaction.streamHeads([stream])).toMatchObject([{ rev: 1 }]);
    const there = await count();
    await transaction.rollback();
    return there;
  };
  expect(await askAside("busy/2")).toBe(2);

  await expect.poll(goOn).toBe(1);

  expect(await askAside("busy/3")).toBe(2);
});

test("a connection that is on its way when the store is closed does not outlive it", async () => {
  const { options, count } = await parts();
  const pool = new SnapshotPool({ ...options, idleMs: 60_000 });
  const taking = pool.take().then((snapshot) => snapshot.release());
  await new Promise(setImmediate); // it is asked for

  await pool.close();

  await expect(taking).rejects.toMatchObject({ code: "CLOSED" });
  await expect.poll(count).toBe(0);
});
