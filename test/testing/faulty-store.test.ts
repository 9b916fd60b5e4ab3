/** The store that has faults, itself: each of them really happens, at each point where it can, and nothing else does. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LedgerError, openLedger } from "../../src/index.js";
import type { Store } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { canStrike, faultAt, seededFaults } from "../../src/testing/faults.js";
import type { Fault, FaultPoint } from "../../src/testing/faults.js";
import { faultyStore } from "../../src/testing/faulty-store.js";
import { append, readAll } from "../../src/testing/store-histories.js";

const nothing = (): null => null;
const kinds: readonly Fault[] = ["crash", "full", "busy", "conflict", "lostReply", { slow: 0 }];

/** Two transactions and a scrub, which pass most steps; what is not told is thrown. */
async function work(store: Store): Promise<void> {
  for (const stream of ["a/1", "a/2"]) {
    const transaction = await store.begin();
    try {
      await append(transaction, { streams: [stream], contents: [stream] });
      await transaction.putCheckpoint({ size: 1, note: stream });
      await transaction.commit();
    } finally {
      await transaction.rollback();
    }
  }
  await store.maintain();
  await store.scrub();
}

/** All points that the work passes when nothing goes wrong. */
async function pointsOf(): Promise<FaultPoint[]> {
  const points: FaultPoint[] = [];
  await work(
    faultyStore(createMemoryStore(), (point) => {
      points.push(point);
      return null;
    }),
  );
  return points;
}

async function sizeOf(store: Store): Promise<number> {
  return (await readAll(store)).length;
}

const codeOf = (error: unknown): string => (error instanceof LedgerError ? error.code : String(error));

describe("a store with faults", () => {
  test("passes everything on unchanged when nothing strikes", async () => {
    const inner = createMemoryStore();
    const store = faultyStore(inner, nothing);
    await work(store);

    expect([store.kind, store.location, store.readOnly]).toEqual(["memory", "memory:", false]);
    expect(await readAll(store)).toEqual(await readAll(inner));
    expect([store.crashed, store.struck]).toEqual([false, []]);
    expect(new Set((await pointsOf()).map(({ step, moment }) => `${step} ${moment}`))).toEqual(
      new Set(
        ["begin", "entries", "operational", "commit", "checkpoint", "scrub", "read"].flatMap((step) => [
          `${step} before`,
          `${step} after`,
        ]),
      ),
    );
  });

  test("is struck by each fault at each point where it can be, and does what the fault says", async () => {
    const points = await pointsOf();
    const commits = points.filter(({ step, moment }) => step === "commit" && moment === "before");
    const told: Record<string, string> = {
      crash: "CLOSED",
      full: "STORE_FULL",
      busy: "STORE_BUSY",
      conflict: "STORE_BUSY",
      lostReply: "STORE_UNAVAILABLE",
    };
    let struck = 0;
    for (const fault of kinds) {
      for (const point of points.filter((each) => canStrike(fault, each))) {
        const inner = createMemoryStore();
        const store = faultyStore(inner, faultAt(point.number, fault));
        const error = await work(store).then(() => null, codeOf);

        expect(store.struck).toEqual([{ ...point, fault }]);
        const quiet = point.step === "scrub" || point.step === "checkpoint";
        expect([point, error]).toEqual([point, typeof fault === "object" || quiet ? null : told[fault]!]);
        // What was committed before the fault stands, what was not is undone; a commit is at its own point.
        const done = typeof fault === "object" || (quiet && fault !== "crash");
        const committed = commits.filter(({ number }) => number < point.number).length;
        expect([point, fault, await sizeOf(inner)]).toEqual([point, fault, done ? 2 : committed]);
        expect(store.crashed).toBe(fault === "crash");
        struck++;
      }
    }
    expect(struck).toBeGreaterThan(60);
  });

  test("refuses a plan that wants what cannot be", async () => {
    const store = faultyStore(createMemoryStore(), ({ step }) => (step === "begin" ? "full" : null));

    await expect(store.begin()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("that crashed answers nothing any more, gives the lock back, and begins another life on what is committed", async () => {
    const inner = createMemoryStore();
    const store = faultyStore(inner, nothing);
    await work(store);
    const [transaction, snapshot] = [await store.begin(), await store.snapshot()];
    await append(transaction, { streams: ["a/1"] });

    const again = await store.restart();

    expect([store.crashed, again.crashed]).toEqual([true, false]);
    for (const call of [
      () => transaction.commit(),
      () => transaction.head(),
      () => snapshot.head(),
      () => store.begin(),
      () => store.snapshot(),
      () => store.reset(),
      () => store.health(),
      () => store.raw(),
    ])
      await expect(call()).rejects.toMatchObject({ code: "CLOSED" });
    await Promise.all([transaction.rollback(), snapshot.release(), store.maintain(), store.close()]);
    expect(await store.scrub()).toBe(false);
    await work(again);
    expect(await sizeOf(again)).toBe(4);
    await again.close();
    await expect(inner.begin()).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("passes hints on at once, without a point; one that died hears none", async () => {
    const listening = new Set<(position: number) => void>();
    const inner = Object.assign(createMemoryStore(), {
      listen: (hint: (position: number) => void) => {
        listening.add(hint);
        return () => listening.delete(hint);
      },
    });
    const store = faultyStore(inner, () => "crash");
    const heard: number[] = [];
    const stop = store.listen((position) => heard.push(position));
    for (const hint of listening) hint(7);
    stop();
    expect([heard, listening.size, store.points]).toEqual([[7], 0, 0]);

    store.listen((position) => heard.push(position));
    await store.restart();
    store.listen((position) => heard.push(position));

    expect(listening.size).toBe(0);
  });

  test("that died while it waited for the lock does not keep it", async () => {
    const inner = createMemoryStore();
    const holder = await inner.begin();
    const store = faultyStore(inner, nothing);
    const waiting = store.begin().then(() => "had it", codeOf);
    await new Promise((resolve) => setImmediate(resolve));

    const again = await store.restart();
    await holder.rollback();

    expect(await waiting).toBe("CLOSED");
    await work(again);
    expect(await sizeOf(inner)).toBe(2);
  });

  test("draws the same faults from the same seed, and each kind occurs", async () => {
    const struckBy = async (seed: number): Promise<readonly unknown[]> => {
      const rates = { crash: 0.01, full: 0.1, busy: 0.1, conflict: 0.1, lostReply: 0.1, slow: 0.1, slowMsMax: 0 };
      let store = faultyStore(createMemoryStore(), seededFaults(seed, rates));
      for (let round = 0; round < 40; round++) {
        await work(store).catch(() => {});
        if (store.crashed) store = await store.restart();
      }
      return store.struck;
    };

    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        expect(await struckBy(seed)).toEqual(await struckBy(seed));
      }),
      { numRuns: 5 },
    );
    const names = (await struckBy(1)).map((each) => JSON.stringify((each as { fault: Fault }).fault));
    expect([...new Set(names)].sort()).toEqual(
      ['"busy"', '"conflict"', '"crash"', '"full"', '"lostReply"', '{"slow":0}'].sort(),
    );
  });

  test("carries a ledger, which is told what happened and loses nothing", async () => {
    const store = faultyStore(createMemoryStore(), seededFaults(7, { busy: 0.1, conflict: 0.1, lostReply: 0.1 }));
    const ledger = await openLedger(store);
    const results = await Promise.allSettled(
      Array.from({ length: 40 }, (_, n) => ledger.append("a/1", [{ type: "thing.happened", data: { n } }])),
    );
    await ledger.close();

    expect(store.struck.length).toBeGreaterThan(0);
    expect(results.filter((result) => result.status === "rejected")).toEqual([]);
  });
});
