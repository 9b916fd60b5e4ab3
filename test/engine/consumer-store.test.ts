/** Durable consumers and their store: files, failures, commits without an answer, what is written and what is not. */
import { describe, expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { Store, SubscribeOptions } from "../../src/index.js";
import type { DurableStep } from "../../src/journal/store.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { seededBytes } from "../../src/testing/seeded.js";
import { editRows, failureOf, freshPlace, onCleanup, open, openShared, sharedStoreNames } from "./fixture.js";
import { consumerOf, fill, follow, take, takePositions } from "./following.js";

describe.each(sharedStoreNames)("a consumer in a journal that others open too, on %s", (name) => {
  test("goes on behind what it acknowledged when the file is opened again", async () => {
    const path = freshPlace(name);
    for (const expected of [[1, 2], [3, 4], [5]]) {
      const ledger = await openLedger(path);
      if (expected[0] === 1) await fill(ledger, 5);
      const subscription = ledger.subscribe({ consumer: "mailer", batch: 2 });
      expect(await takePositions(subscription)).toEqual(expected);
      const asked = subscription.next();
      await expect.poll(async () => (await ledger.status()).consumers[0]?.position).toBe(expected.at(-1));
      await subscription.return();
      await asked;
      await ledger.close();
    }
  });

  test("needs one that is open for writing, and shows in one that is not", async () => {
    const path = freshPlace(name);
    const writer = await open(path);
    await take(follow(writer));
    const reader = await open(path, { readOnly: true });

    expect(() => reader.subscribe({ consumer: "mailer" })).toThrow(expect.objectContaining({ code: "READ_ONLY" }));
    expect((await reader.status()).consumers).toMatchObject([{ name: "mailer", lag: 1 }]);
  });

  test("whose claim cannot be read is damage to its reader and none to who begins anew", async () => {
    const path = freshPlace(name);
    const ledger = await open(path);
    await fill(ledger, 2);
    const first = follow(ledger);
    await take(first);
    await first.return();
    await ledger.close();
    await editRows(path, "UPDATE consumers SET claim = 'no claim'");
    const again = await open(path);

    await expect(follow(again).next()).rejects.toMatchObject({ code: "STORE_DAMAGED" });

    expect(await takePositions(follow(again, { reset: true, from: 2 }))).toEqual([2]);
  });

  test("is acknowledged once although commits fail or give no answer", async () => {
    const path = freshPlace(name);
    let failing: "before" | "after" | null = null;
    const faults = (step: DurableStep, moment: "before" | "after"): void => {
      if (step !== "commit" || moment !== failing) return;
      failing = null;
      throw failureOf(name, "busy");
    };
    const store = await openShared(path, { faults });
    onCleanup(() => store.close());
    const ledger = await open(store);
    await fill(ledger, 4);
    for (const moment of ["before", "after"] as const) {
      failing = moment;
      const subscription = follow(ledger, { reset: true, from: "start" });
      expect(await takePositions(subscription)).toEqual([1, 2]);
      failing = moment;
      expect(await takePositions(subscription)).toEqual([3, 4]);
      failing = moment;
      await subscription.return();

      expect(await consumerOf(store)).toMatchObject({
        position: 2,
        generation: moment === "before" ? 1 : 2,
        claim: null,
      });
    }
  });

  test("is handed a failure of the store, and its batch again afterwards", async () => {
    const path = freshPlace(name);
    let failing = false;
    const faults = (step: DurableStep): void => {
      if (failing && step === "operational") throw failureOf(name, "full");
    };
    const store = await openShared(path, { faults });
    onCleanup(() => store.close());
    const ledger = await open(store);
    await fill(ledger, 4);
    const subscription = follow(ledger);
    await take(subscription);
    failing = true;
    await expect(subscription.next()).rejects.toMatchObject({ code: "STORE_FULL" });
    failing = false;
    // The release failed with it, so that the name is free when the lease is over.
    expect((await ledger.status()).consumers).toMatchObject([{ position: -1 }]);
  });

  test("is renewed in time although the store fails at first", async () => {
    const clock = manualClock();
    let failures = 0;
    const faults = (step: DurableStep): void => {
      if (failures > 0 && step === "operational" && failures-- > 0) throw failureOf(name, "full");
    };
    const store = await openShared(freshPlace(name), { faults });
    onCleanup(() => store.close());
    await take(follow(await open(store, { clock }), { leaseMs: 200 }));
    failures = 3;
    clock.advance(150);

    await expect.poll(async () => (await consumerOf(store))?.claim?.expiresAt).toBe(clock.now() + 200);
    expect(failures).toBe(0);
  });
});

describe("a consumer", () => {
  test("writes nothing while nothing happens", async () => {
    let writes = 0;
    const store = createMemoryStore({ faults: (step) => void (step === "operational" && writes++) });
    const ledger = await open(store);
    const subscription = follow(ledger, { streams: ["thing/2"] });
    await take(subscription);
    const waiting = subscription.next();
    for (let n = 0; n < 5; n++) {
      await fill(ledger, 1);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    const before = writes;
    await subscription.return();
    await waiting;

    expect([before, writes]).toEqual([2, 4]);
  });

  test("lets the store clean up behind its writes, for nobody else may ever write", async () => {
    const memory = createMemoryStore();
    let [maintained, writes] = [0, 0];
    const store = Object.assign(Object.create(memory) as Store, {
      maintain: async () => void maintained++,
      begin: async () => {
        writes++;
        return memory.begin();
      },
    });
    await fill(await open(memory), 4);
    const subscription = follow(await open(store));
    for (let n = 0; n < 2; n++) await take(subscription);

    expect([maintained, writes]).toEqual([2, 2]);
  });

  test("mints its token with the randomness that was injected", async () => {
    const tokens = new Set<string>();
    for (let n = 0; n < 2; n++) {
      const store = createMemoryStore();
      const ledger = await open(store, { testing: { randomBytes: seededBytes() } });
      await take(follow(ledger));
      tokens.add((await consumerOf(store))!.claim!.tokenHash);
    }

    expect(tokens.size).toBe(1);
  });

  test.each([
    ["a consumer that is no name", { consumer: "1st" }, "options.consumer"],
    ["a consumer of 129 units", { consumer: "x".repeat(129) }, "options.consumer"],
    ["leaseMs: 0", { consumer: "mailer", leaseMs: 0 }, "options.leaseMs"],
    ["leaseMs: more than a day", { consumer: "mailer", leaseMs: 86_400_001 }, "options.leaseMs"],
    ["leaseMs without a consumer", { leaseMs: 1_000 }, "options.leaseMs"],
    ["reset without a consumer", { reset: true, from: "start" }, "options.reset"],
    ["reset without from", { consumer: "mailer", reset: true }, "options.from"],
    ["reset: 1", { consumer: "mailer", reset: 1, from: "start" }, "options.reset"],
    ["consumer: null", { consumer: null }, "options.consumer"],
  ])("refuses %s", async (_, options, path) => {
    const ledger = await open("memory:");

    expect(() => ledger.subscribe(options as SubscribeOptions)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ path }) as unknown }),
    );
  });
});
