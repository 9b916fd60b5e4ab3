/** Commits that fail, that give no answer, and a store that goes away: what callers are told is what is stored. */
import { describe, expect, test } from "vitest";
import { LedgerError } from "../../src/index.js";
import type { Ledger, Store } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { open } from "./fixture.js";

/** Batches are cut by the watch of the host; it stands still until one is written, so that no busy machine splits it. */
const watch = {
  own: performance.now,
  hold(): void {
    const stood = performance.now();
    performance.now = () => stood;
  },
  letGo(): void {
    performance.now = this.own;
  },
};

type Moment = "before append" | "before commit" | "after commit";

/** A memory store whose n-th commit goes wrong. */
function failingStore(
  moment: Moment,
  error: () => unknown,
  times = 1,
): { store: Store; arm(): void; unreachable(until: boolean): void } {
  const inner = createMemoryStore();
  let left = 0;
  let gone = false;
  const fail = (at: Moment): void => {
    if (at !== moment || left === 0) return;
    left--;
    throw error();
  };
  const store: Store = {
    ...inner,
    kind: inner.kind,
    location: inner.location,
    readOnly: false,
    async begin() {
      if (gone) {
        watch.letGo();
        throw new LedgerError("STORE_UNAVAILABLE", "the store must answer, found nobody");
      }
      const transaction = await inner.begin();
      const append = transaction.append.bind(transaction);
      const commit = transaction.commit.bind(transaction);
      return Object.assign(transaction, {
        append: async (...rows: Parameters<typeof append>) => {
          watch.letGo();
          fail("before append");
          await append(...rows);
        },
        commit: async () => {
          fail("before commit");
          await commit();
          fail("after commit");
        },
      });
    },
    snapshot: () => inner.snapshot(),
    reset: () => inner.reset(),
    listen: (hint) => inner.listen(hint),
    maintain: () => inner.maintain(),
    scrub: () => inner.scrub(),
    health: () => inner.health(),
    raw: () => inner.raw(),
    close: () => inner.close(),
  };
  return {
    store,
    arm: () => (left = times),
    unreachable: (until) => (gone = until),
  };
}

/** A batch by itself, however busy the machine is. */
function appendOne(ledger: Ledger): Promise<unknown> {
  return ledger.append("a/1", [{ type: "a.b", data: { n: 1 } }]);
}

/** One batch. */
async function appendThree(ledger: Ledger): Promise<PromiseSettledResult<{ readonly position: number }>[]> {
  watch.hold();
  return Promise.allSettled([
    ledger.append("a/1", [{ type: "a.b", data: { n: 1 } }]),
    ledger.append("a/1", [{ type: "a.b", data: { n: 2 } }], { expected: 99 }),
    ledger.append("a/2", [{ type: "a.b", data: { n: 3 } }]),
  ]);
}

const codes = (results: readonly PromiseSettledResult<unknown>[]): string[] =>
  results.map((result) =>
    result.status === "fulfilled" ? "done" : ((result.reason as LedgerError).code ?? String(result.reason)),
  );

async function stored(ledger: Ledger): Promise<unknown[]> {
  return (await ledger.read({ from: 1 }).toArray()).map((event) => (event.data as { n: number }).n);
}

describe("a commit", () => {
  test("whose answer was lost is looked up, and its callers are told that it happened", async () => {
    const failing = failingStore("after commit", () => new Error("connection lost"));
    const ledger = await open(failing.store);
    failing.arm();

    expect(codes(await appendThree(ledger))).toEqual(["done", "REVISION_CONFLICT", "done"]);
    expect(await stored(ledger)).toEqual([1, 3]);
    expect(codes(await appendThree(ledger))).toEqual(["done", "REVISION_CONFLICT", "done"]);
    expect((await ledger.verify()).verdict).toBe("OK");
  });

  test.each(["before append", "before commit"] as const)(
    "that failed for good (%s) fails every caller of its batch, and nothing is stored",
    async (moment) => {
      const failing = failingStore(moment, () => new LedgerError("STORE_FULL", "the disk must have room, found none"));
      const ledger = await open(failing.store);
      failing.arm();

      expect(codes(await appendThree(ledger))).toEqual(["STORE_FULL", "STORE_FULL", "STORE_FULL"]);
      expect(await stored(ledger)).toEqual([]);
      expect(codes(await appendThree(ledger))).toEqual(["done", "REVISION_CONFLICT", "done"]);
      expect(await stored(ledger)).toEqual([1, 3]);
    },
  );

  test("that met a conflict of the store is decided again, in whole", async () => {
    const retried: number[] = [];
    const failing = failingStore("before commit", () => new LedgerError("STORE_BUSY", "serialisation failure"), 3);
    const ledger = await open(failing.store, {
      onEvent: (event) => event.type === "retried" && retried.push(event.commands),
    });
    failing.arm();

    expect(codes(await appendThree(ledger))).toEqual(["done", "REVISION_CONFLICT", "done"]);
    expect(await stored(ledger)).toEqual([1, 3]);
    expect(retried).toEqual([3, 3, 3]);
  });

  test("that never gets through ends with STORE_BUSY, and nothing is stored", async () => {
    const failing = failingStore("before commit", () => new LedgerError("STORE_BUSY", "serialisation failure"), 1_000);
    const ledger = await open(failing.store);
    failing.arm();
    expect(codes(await appendThree(ledger))).toEqual(["STORE_BUSY", "STORE_BUSY", "STORE_BUSY"]);
    expect(await stored(ledger)).toEqual([]);
  });

  test.each(["before commit", "after commit"] as const)(
    "without an answer from a store that went away (%s) is in doubt, and said so",
    async (moment) => {
      const failing = failingStore(moment, () => {
        failing.unreachable(true);
        return new LedgerError("STORE_UNAVAILABLE", "connection lost");
      });
      const ledger = await open(failing.store, { busyTimeoutMs: 50 });
      failing.arm();

      expect(codes(await appendThree(ledger))).toEqual(["STORE_IN_DOUBT", "STORE_UNAVAILABLE", "STORE_IN_DOUBT"]);
      expect(codes(await appendThree(ledger))).toEqual(["STORE_UNAVAILABLE", "STORE_UNAVAILABLE", "STORE_UNAVAILABLE"]);
      failing.unreachable(false);
      expect(await stored(ledger)).toEqual(moment === "after commit" ? [1, 3] : []);
      expect((await ledger.append("a/9", [{ type: "a.b", data: { n: 4 } }])).revision).toBe(1);
      expect((await ledger.verify()).verdict).toBe("OK");
    },
  );

  test("that was not asked for yet when the store went away is not in doubt, and its callers are told at once", async () => {
    const failing = failingStore("before append", () => {
      failing.unreachable(true);
      return new LedgerError("STORE_UNAVAILABLE", "connection lost");
    });
    const ledger = await open(failing.store, { busyTimeoutMs: 3_600_000 });
    failing.arm();

    await expect(appendOne(ledger)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });

    failing.unreachable(false);
    expect(await stored(ledger)).toEqual([]);
    await appendOne(ledger);
    expect((await ledger.verify()).verdict).toBe("OK");
  });

  test("that met a conflict of a store that then stayed away is not in doubt", async () => {
    const failing = failingStore("before append", () => {
      failing.unreachable(true);
      return new LedgerError("STORE_BUSY", "serialisation failure");
    });
    const ledger = await open(failing.store, { busyTimeoutMs: 50 });
    failing.arm();

    await expect(appendOne(ledger)).rejects.toMatchObject({ code: "STORE_BUSY" });
    failing.unreachable(false);
    expect(await stored(ledger)).toEqual([]);
  });

  test("without an answer from a store that is closed is in doubt at once: nobody will ever answer", async () => {
    const failing = failingStore("after commit", () => {
      void failing.store.close();
      return new LedgerError("STORE_UNAVAILABLE", "connection lost");
    });
    const ledger = await open(failing.store, { busyTimeoutMs: 3_600_000 });
    failing.arm();

    await expect(appendOne(ledger)).rejects.toMatchObject({ code: "STORE_IN_DOUBT" });
  });
});
