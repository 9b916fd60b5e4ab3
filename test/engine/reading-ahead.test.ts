/** How often a store is asked under the lock when each question is a round trip, alone and beside another writer. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LedgerError, queueCommands } from "../../src/index.js";
import type { Ledger, LedgerOptions, Store } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { accounts, bank, deposit, openAccount } from "./bank.js";
import { open } from "./fixture.js";
import { readsOf, remoteStore } from "./remote.js";
import type { Asked, RemoteStore } from "./remote.js";

/** Batches are cut by the watch of the host: it stands still, so that no busy machine splits one. */
beforeEach(() => void vi.spyOn(performance, "now").mockReturnValue(performance.now()));
afterEach(() => void vi.restoreAllMocks());

const names = Array.from({ length: 64 }, (_, n) => `account-${n}`);

async function two(options: LedgerOptions = {}): Promise<{ here: Ledger; there: Ledger; remote: RemoteStore }> {
  const store = createMemoryStore();
  const remote = remoteStore(store);
  const here = await open(remote.store, { ...bank, ...options });
  const there = await open(store, { ...bank, ...options });
  await Promise.all(names.map((account) => here.execute(openAccount({ account, owner: "ada" }))));
  remote.asked.length = 0;
  return { here, there, remote };
}

const all = async (ledger: Ledger): Promise<void> => {
  await Promise.all(names.map((account) => ledger.execute(deposit({ account, cents: 1 }))));
};

/** Of the batches that wrote. */
const batches = ({ asked }: RemoteStore): readonly Asked[] =>
  asked.filter(({ of, calls }) => of === "transaction" && calls.includes("append"));

describe("what is read ahead", () => {
  async function contended(meanwhile: () => Promise<void> | void): Promise<{ here: Ledger; there: Ledger }> {
    const store = createMemoryStore();
    let isReady = false;
    const remote = remoteStore(store, () => (isReady ? meanwhile() : undefined));
    const here = await open(remote.store, bank);
    const there = await open(store, bank);
    await here.execute(openAccount({ account: "a", owner: "ada" }));
    await there.execute(deposit({ account: "a", cents: 1 }));
    await here.execute(deposit({ account: "a", cents: 1 }));
    isReady = true;
    return { here, there };
  }

  test("is read again under the lock where others changed it in between", async () => {
    let deposits = 0;
    const ledgers = await contended(async () => {
      if (deposits++ === 0) await ledgers.there.execute(deposit({ account: "a", cents: 10 }));
    });

    await ledgers.here.execute(deposit({ account: "a", cents: 100 }));

    expect(await ledgers.there.projection(accounts).get("a")).toMatchObject({ balance: 112 });
    expect(await ledgers.here.projection(accounts).get("a")).toMatchObject({ balance: 112 });
  });

  test("is left out, and nobody waits, when readers have all snapshots there are", async () => {
    const store = createMemoryStore();
    let isTaken = false;
    const { store: remote, asked } = remoteStore(store);
    const crowded = Object.assign(Object.create(remote) as Store, {
      snapshot: async (waitMs?: number) => {
        if (isTaken && waitMs !== 0) return new Promise<never>(() => {});
        if (isTaken) throw new LedgerError("STORE_BUSY", "a snapshot must be free, found none");
        return remote.snapshot();
      },
    });
    const here = await open(crowded, bank);
    const there = await open(store, bank);
    await here.execute(openAccount({ account: "a", owner: "ada" }));
    await there.execute(deposit({ account: "a", cents: 1 }));
    await here.execute(deposit({ account: "a", cents: 1 }));
    asked.length = 0;
    isTaken = true;

    await here.execute(deposit({ account: "a", cents: 100 }));

    expect(asked.map(({ of }) => of)).toEqual(["transaction"]);
    isTaken = false;
    expect(await here.projection(accounts).get("a")).toMatchObject({ balance: 102 });
  });

  test("refuses nobody when it cannot be read", async () => {
    let isBroken = true;
    const { here } = await contended(() => {
      if (isBroken) throw new LedgerError("STORE_UNAVAILABLE", "the store must answer, found nobody");
    });

    await here.execute(deposit({ account: "a", cents: 100 }));
    isBroken = false;

    expect(await here.projection(accounts).get("a")).toMatchObject({ balance: 102 });
  });

  test("leaves alone who gives up meanwhile, and who waits beside it", async () => {
    const giving = new AbortController();
    const { here } = await contended(() => giving.abort());

    const [given, other] = await Promise.allSettled([
      here.execute(deposit({ account: "a", cents: 1_000 }), { signal: giving.signal }),
      here.execute(deposit({ account: "a", cents: 100 })),
    ]);

    expect(given).toMatchObject({ reason: { code: "ABORTED" } });
    expect(other.status).toBe("fulfilled");
    expect(await here.projection(accounts).get("a")).toMatchObject({ balance: 102 });
  });
});

describe("a batch of 64 commands", () => {
  test("asks nothing between the lock and the commit while nobody else writes", async () => {
    const { here, remote } = await two();

    await all(here);

    expect(batches(remote).map(readsOf)).toEqual([[]]);
    expect(remote.asked.filter(({ of }) => of === "snapshot")).toEqual([]);
  });

  test("asks for the entries that another writer added, and once for the documents that they changed", async () => {
    const { here, there, remote } = await two();
    await all(here);
    await all(there);
    remote.asked.length = 0;

    await all(here);

    expect(batches(remote).map(readsOf)).toEqual([["entries", "documents"]]);
    expect(await here.projection(accounts).get("account-3")).toMatchObject({ balance: 3 });
  });

  test("reads before the lock once others write as well, and under it only what they wrote since", async () => {
    const { here, there, remote } = await two();
    await all(here);
    await all(there);
    await all(here);
    await all(there);
    remote.asked.length = 0;

    await all(here);

    const ahead = remote.asked.filter(({ of, calls }) => of === "snapshot" && calls.includes("entries"));
    expect(ahead.map(readsOf)).toEqual([["entries", "documents", "release"]]);
    expect(batches(remote).map(readsOf)).toEqual([[]]);
    expect(await here.projection(accounts).get("account-3")).toMatchObject({ balance: 5 });
  });

  test("asks for documents and for heads of streams, each once, when it makes what was not there", async () => {
    const { here, remote } = await two();
    const fresh = names.map((name) => `new-${name}`);

    await Promise.all(fresh.map((account) => here.execute(openAccount({ account, owner: "bob" }))));

    // A hole in the ids of the tile that is full now is read once a process.
    expect(batches(remote).map((each) => readsOf(each).filter((name) => name !== "ids"))).toEqual([
      ["documents", "streamHeads"],
    ]);
  });

  test("asks for the same before the lock once others write as well", async () => {
    const { here, there, remote } = await two();
    await all(there);
    await all(here);
    remote.asked.length = 0;

    const fresh = names.map((name) => `new-${name}`);
    await Promise.all(fresh.map((account) => here.execute(openAccount({ account, owner: "bob" }))));

    const ahead = remote.asked.filter(({ of, calls }) => of === "snapshot" && calls.includes("streamHeads"));
    expect(ahead.map(readsOf)).toEqual([["documents", "streamHeads", "release"]]);
    expect(batches(remote).map((each) => readsOf(each).filter((name) => name !== "ids"))).toEqual([[]]);
  });

  test("reads the heads of all that will be claimed at once, for each claim takes another item", async () => {
    const { here, there, remote } = await two();
    await there.execute(names.map((runId) => queueCommands.enqueue({ runId })));
    const claim = (): Promise<unknown> => here.queue.claimNext({ holder: "worker", leaseMs: 60_000 });
    await claim();
    remote.asked.length = 0;

    await Promise.all(names.slice(1).map(claim));

    expect(
      batches(remote)
        .flatMap(readsOf)
        .filter((name) => name === "streamHeads").length,
    ).toBeLessThanOrEqual(1);
    expect((await here.queue.list({ status: "claimed" })).items).toHaveLength(64);
  });

  test("puts all documents of a table in one call", async () => {
    const { here, remote } = await two();

    await all(here);

    expect(batches(remote)[0]?.calls.filter((name) => name === "putDocuments")).toHaveLength(1);
  });
});
