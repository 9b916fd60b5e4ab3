/** Subscriptions over stores that do not hold together: nothing is skipped in silence, and nobody waits for what is gone. */
import { describe, expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { Store, Subscription } from "../../src/index.js";
import { decodeStored } from "../../src/journal/stored.js";
import { entryId } from "../../src/journal/entry.js";
import type { StoredEntry, StoreSnapshot } from "../../src/journal/store.js";
import { LedgerError } from "../../src/kernel/errors.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { onCleanup, open } from "./fixture.js";
import { take } from "./following.js";

/** What is changed of each snapshot of a store. */
interface Forgery {
  entries?: (stored: readonly StoredEntry[]) => readonly StoredEntry[];
  head?: (position: number) => number;
  snapshot?: () => void;
}

/** An object with other answers to some of its methods. */
function changed<Whole extends object>(whole: Whole, methods: Partial<Whole>): Whole {
  return new Proxy(whole, {
    get(target, name) {
      const value: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** A store whose snapshots can be made to lie. */
function forgeable(store: Store, forgery: Forgery): Store {
  const forged = (snapshot: StoreSnapshot): StoreSnapshot =>
    changed(snapshot, {
      async entries(from, limit) {
        const stored = await snapshot.entries(from, limit);
        return forgery.entries?.(stored) ?? stored;
      },
      async head() {
        const head = await snapshot.head();
        return head === null || forgery.head === undefined ? head : { ...head, seq: forgery.head(head.seq) };
      },
    });
  return changed(store, {
    async snapshot() {
      forgery.snapshot?.();
      return forged(await store.snapshot());
    },
  });
}

/** Ten events in a journal that can be made to lie afterwards, and a subscription that has read nothing yet. */
async function forgedSubscription(batch: number): Promise<{ forgery: Forgery; subscription: Subscription }> {
  const store = createMemoryStore();
  const writer = await open(store);
  for (let n = 0; n < 10; n++) await writer.append("thing/1", [{ type: "thing.happened", data: { n } }]);
  const forgery: Forgery = {};
  const reader = await openLedger(forgeable(store, forgery), { busyTimeoutMs: 200 });
  const subscription = reader.subscribe({ batch });
  onCleanup(async () => void (await subscription.return()));
  return { forgery, subscription };
}

describe("a subscription", () => {
  test("hands out what stands before a damaged entry, then tells of the damage", async () => {
    const { forgery, subscription } = await forgedSubscription(100);
    forgery.entries = (stored) =>
      stored.map((each) => (each.seq === 4 ? { ...each, entry: String(each.entry).replace('"n":3', '"n":9') } : each));

    expect(await take(subscription)).toMatchObject({ position: 3, caughtUp: false, entries: { length: 3 } });

    await expect(subscription.next()).rejects.toMatchObject({
      code: "STORE_DAMAGED",
      details: { position: 4, field: "id" },
    });
    expect(await subscription.next()).toEqual({ done: true, value: undefined });
  });

  test("skips no entry that is missing", async () => {
    const { forgery, subscription } = await forgedSubscription(3);
    await take(subscription);
    forgery.entries = (stored) => stored.filter((each) => each.seq !== 4);

    await expect(subscription.next()).rejects.toMatchObject({
      code: "STORE_DAMAGED",
      details: { position: 4, field: "seq" },
      message: "event #4 must be there, found #5 in its place",
    });
  });

  test("does not wait for entries that are missing below the head", async () => {
    const { forgery, subscription } = await forgedSubscription(100);
    forgery.entries = (stored) => stored.filter((each) => each.seq < 8);

    expect(await take(subscription)).toMatchObject({ position: 7, caughtUp: false });

    await expect(subscription.next()).rejects.toMatchObject({ code: "STORE_DAMAGED", details: { position: 8 } });
  });

  test("tells an entry that does not follow what was read before it, in the same page and in the next", async () => {
    for (const batch of [100, 4]) {
      const { forgery, subscription } = await forgedSubscription(batch);
      forgery.entries = (stored) =>
        stored.map((each) => {
          if (each.seq !== 5) return each;
          const { prev } = decodeStored(each).fields;
          const entry = String(each.entry).replace(prev, "f".repeat(64));
          return { ...each, entry, id: entryId(entry) };
        });

      expect(await take(subscription)).toMatchObject({ position: 4 });

      await expect(subscription.next()).rejects.toMatchObject({
        code: "STORE_DAMAGED",
        details: { position: 5, field: "prev" },
      });
    }
  });

  test("that waits is told when the journal has become shorter than what it has read", async () => {
    const { forgery, subscription } = await forgedSubscription(100);
    await take(subscription);
    const waiting = subscription.next();
    forgery.head = () => 6;

    await expect(waiting).rejects.toMatchObject({ code: "STORE_ROLLED_BACK", details: { position: 10, head: 6 } });
  });

  test.each(["STORE_BUSY", "STORE_UNAVAILABLE"] as const)(
    "asks again while the store answers %s, and tells it when that lasts",
    async (code) => {
      const { forgery, subscription } = await forgedSubscription(100);
      let refusals = 3;
      forgery.snapshot = () => {
        if (refusals-- > 0) throw new LedgerError(code, "not now");
      };
      expect(await take(subscription)).toMatchObject({ position: 10 });

      refusals = Infinity;
      await expect(subscription.next()).rejects.toMatchObject({ code });
    },
  );

  test("that waits is told of a store that fails", async () => {
    const { forgery, subscription } = await forgedSubscription(100);
    await take(subscription);
    const waiting = subscription.next();
    forgery.snapshot = () => {
      throw new LedgerError("STORE_DAMAGED", "no ledger any more");
    };

    await expect(waiting).rejects.toMatchObject({ code: "STORE_DAMAGED", message: "no ledger any more" });
  });
});
