/** Tables that are brought up before their first use: while others write, build the same, or die. */
import { expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import { openLedger } from "../../src/index.js";
import type { Diagnostic, Ledger, Store } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { faultAt } from "../../src/testing/faults.js";
import { faultyStore } from "../../src/testing/faulty-store.js";
import { describeStores, open, openStore, runSeed, storeNames } from "./fixture.js";
import {
  accounts,
  append,
  counts,
  expectTables,
  expectWhole,
  filled,
  moved,
  names,
  opened,
  storedTable,
} from "./tables.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
describeStores("tables that are built", (_, openStoreOf) => {
  test("E07 a table that two processes build while a third one appends equals a fold of the journal, and who was overtaken is told", async () => {
    const store = await openStoreOf();
    const plain = await filled(store, 6_000);
    const heard: Diagnostic[] = [];
    const account = accounts();
    const onEvent = (event: Diagnostic): number => heard.push(event);
    const builders = [
      await open(store, { projections: [account], onEvent }),
      await open(store, { projections: [account], onEvent }),
    ];
    const end = new AbortController();
    const appending = (async () => {
      for (let n = 0; !end.signal.aborted; n++) await append(plain, "b", moved("b", n));
    })();

    await Promise.all(builders.map((ledger) => ledger.projection(account).get("a")));
    end.abort();
    await appending;

    for (const ledger of builders) await expectWhole(ledger, account);
    await expectTables(store, [account]);
    expect(heard.some(({ type }) => type === "overtaken")).toBe(true);
    const building = heard.filter((event) => event.type === "building");
    for (const { position, head } of building) expect(position).toBeLessThan(head);
  });

  test("E10 a new version has a table of its own: no read mixes the two, and the old program goes on", async () => {
    const store = await openStoreOf();
    const old = accounts();
    const renamed = defineProjection<{ name: string; cents: number }>()({
      name: "account",
      version: 2,
      indexes: { cents: ({ cents }) => [cents] },
      on: {
        "account.opened": {
          key: ({ data }) => data["account"] as string,
          apply: (_document, { data }) => ({ name: data["owner"] as string, cents: 0 }),
        },
        "account.moved": {
          key: ({ data }) => data["account"] as string,
          apply: (document, { data }) => {
            if (document !== undefined) document.cents += 100 * (data["amount"] as number);
          },
        },
      },
    });
    const first = await open(store, { projections: [old] });
    await append(first, "a", opened("a"), moved("a", 5));

    const second = await open(store, { projections: [renamed] });
    expect(await second.projection(renamed).get("a")).toEqual({ name: "ann", cents: 500 });
    for (const ledger of [first, second, first, second]) {
      await append(ledger, "a", moved("a", 1));
      expect(await first.projection(old).find({ index: "owner" })).toMatchObject({ documents: [{ key: "a" }] });
      expect(Object.keys((await first.projection(old).get("a"))!)).toEqual(["owner", "balance", "moves"]);
      expect(Object.keys((await second.projection(renamed).get("a"))!)).toEqual(["name", "cents"]);
    }

    expect(await first.projection(old).get("a")).toMatchObject({ balance: 9 });
    expect(await second.projection(renamed).get("a")).toMatchObject({ cents: 900 });
    expect(
      (await second.status()).projections.find(({ version, name }) => name === "account" && version === 1),
    ).toEqual(expect.objectContaining({ status: "frozen" }));
    await expectTables(store, [old, renamed]);
  });

  test("closing stops a build between two chunks, and the next process goes on where it stood", async () => {
    const store = await openStoreOf();
    await filled(store, 7_000);
    const account = accounts();
    const stopped = await open(store, {
      projections: [account],
      onEvent: ({ type }) => {
        if (type === "building") void stopped.close();
      },
    });
    await expect(stopped.projection(account).get("a")).rejects.toMatchObject({ code: "CLOSED" });
    await stopped.close();
    const { row } = await storedTable(store, account);
    expect(row!.position).toBeGreaterThan(0);
    await expectTables(store, [account]);

    const heard: Diagnostic[] = [];
    const ledger = await open(store, { projections: [account], onEvent: (event) => heard.push(event) });
    await expectWhole(ledger, account);

    const [first] = heard.filter((event) => event.type === "building");
    expect(first).toMatchObject({ position: row!.position });
  });

  test("commands and appends that no table concerns go on while a table is built", async () => {
    const store = await openStoreOf();
    await filled(store, 4_000);
    const account = accounts();
    const ledger = await open(store, { projections: [account] });
    let built = false;

    const building = ledger
      .projection(account)
      .get("a")
      .then(() => {
        built = true;
      });
    await ledger.append("other/1", [{ type: "other.happened" }]);

    expect(built).toBe(false);
    await building;
    await expectWhole(ledger, account);
  });
});

/** Runs a program until it is killed at one of its calls of the store; says whether it was. */
async function killedAt(
  store: Store,
  k: number,
  program: (ledger: Ledger) => Promise<unknown>,
  busyTimeoutMs = 1,
): Promise<boolean> {
  const process = faultyStore(store, faultAt(k, "crash"));
  try {
    const ledger = await openLedger(process, { projections: [accounts(), counts], busyTimeoutMs });
    await program(ledger);
    await ledger.close();
  } catch (error) {
    if (!process.crashed) throw error;
  }
  return process.crashed;
}

/** How many calls lie between two that it is killed at, the first of which the seed chooses; one in the long run. A store that is
 *  busy by itself is waited for. */
const strides = { memory: 2, "async memory": 17, sqlite: 11, postgres: 31 } as const;

test.each(storeNames)(
  "E01 a process that is killed at any call of its store (%s) leaves every count equal to the number of its events",
  async (name) => {
    const account = accounts();
    const stride = long ? 1 : strides[name];
    for (let k = 1 + Math.abs(runSeed % stride); ; k += stride) {
      const store = await openStore(name);
      const killed = await killedAt(
        store,
        k,
        async (ledger) => {
          await append(ledger, "a", opened("a"), moved("a", 1));
          await Promise.all([append(ledger, "a", moved("a", 1)), append(ledger, "b", opened("b"), moved("b", 2))]);
          await ledger.projection("count").get("account.moved");
          await append(ledger, "other", { type: "other.happened" });
          await append(ledger, "b", moved("b", 3));
        },
        name === "async memory" ? 500 : 1,
      );
      await expectTables(store, [account, counts]);
      const ledger = await openLedger(store, { projections: [account, counts] });
      const events = await ledger.read({ types: ["account.moved"] }).toArray();
      const count = await ledger.projection(counts).get("account.moved");
      expect([k, count?.count ?? 0]).toEqual([k, events.length]);
      await expectWhole(ledger, account);
      await ledger.close();
      if (!killed) break;
    }
  },
);

test("E01 a build that is killed at any call of the store goes on to the same table", async () => {
  const account = accounts();
  const stride = long ? 1 : 8;
  for (let k = 1 + Math.abs(runSeed % stride); ; k += stride) {
    const store = createMemoryStore();
    const plain = await openLedger(store);
    for (const name of names) await append(plain, name, opened(name));
    await append(plain, "a", ...Array.from({ length: 1_300 }, (_, n) => moved(names[n % names.length]!, n)));
    await plain.close();
    const killed = await killedAt(store, k, (ledger) => ledger.projection("account").get("a"));
    await expectTables(store, [account, counts]);
    const ledger = await openLedger(store, { projections: [account, counts] });
    await expectWhole(ledger, account);
    await expectWhole(ledger, counts);
    await ledger.close();
    if (!killed) break;
  }
});
