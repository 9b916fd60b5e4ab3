/** Answers of the connection that is asked aside, and come when the transaction that asked is over. */
import { expect, test } from "vitest";
import { openPostgresStore } from "../../src/postgres.js";
import type { AssumedTransaction, Store } from "../../src/journal/store.js";
import { append, write } from "../../src/testing/store-histories.js";
import { onCleanup } from "../engine/fixture.js";
import { behindProxy, refusal } from "./place.js";

async function assumed(store: Store): Promise<AssumedTransaction> {
  for (;;) {
    const transaction = store.assume?.() ?? null;
    if (transaction !== null) return transaction;
    await write(store, { streams: ["own/1"] });
  }
}

async function opened(url: string): Promise<Store> {
  const store = await openPostgresStore(url);
  onCleanup(() => store.close());
  return store;
}

/** Has a store ask for streams of which it knows nothing, for one of them was not new. */
async function askAside(store: Store): Promise<void> {
  const transaction = await assumed(store);
  await transaction.streamHeads(["busy/1"]);
  expect(await refusal(transaction.check())).toMatchObject({ code: "STORE_BUSY" });
  await transaction.rollback();
}

test("a stream that was asked for aside is not taken for what it was when others have moved it, however late the answer comes", async () => {
  const { proxy, url, direct } = await behindProxy();
  const other = await opened(direct);
  await write(other, { streams: ["busy/1", "busy/2", "busy/2"] });
  const store = await opened(url);
  await askAside(store);

  const transaction = await assumed(store);
  const struck = proxy.cutWhen({ query: /FROM \(SELECT\) one\b/, moment: "answered", silent: true });
  const late = transaction.streamHeads(["busy/2"]).catch((error: unknown) => error);
  await struck;
  await write(other, { streams: ["busy/2"] });
  expect(await refusal(transaction.check())).toMatchObject({ code: "STORE_BUSY" });
  await transaction.rollback();

  const next = await store.begin();
  const heads = await next.streamHeads(["busy/2"]);
  expect(heads).toMatchObject([{ rev: 3 }]);
  proxy.restore();
  await late;
  expect(await next.streamHeads(["busy/2"])).toEqual(heads);
  await append(next, { streams: ["busy/2"] });
  await next.commit();
});

test("a stream that others have moved since the last commit here is not answered from aside as they left it", async () => {
  const { url, direct } = await behindProxy();
  const other = await opened(direct);
  await write(other, { streams: ["busy/1", "busy/2", "busy/2"] });
  const store = await opened(url);
  await askAside(store);

  const transaction = await assumed(store);
  await write(other, { streams: ["busy/2"] });
  expect(await refusal(transaction.streamHeads(["busy/2"]))).toMatchObject({ code: "STORE_BUSY" });
  await transaction.rollback();
});

test("when the connection that writes is lost, so is the one that is asked aside: the server may be another one then", async () => {
  const { proxy, url, direct } = await behindProxy();
  await write(await opened(direct), { streams: ["busy/1", "busy/2"] });
  const store = await opened(url);
  await askAside(store);

  const transaction = await assumed(store);
  const before = proxy.backends;
  await transaction.streamHeads(["busy/2"]);
  await transaction.rollback();
  const aside = proxy.backends.filter((backend) => !before.includes(backend));
  expect(aside).toHaveLength(1);
  await store.reset();
  await expect.poll(() => proxy.backends).not.toContain(aside[0]);
});
