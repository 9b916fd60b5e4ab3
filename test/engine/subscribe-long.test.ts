/** Subscriptions over long journals, with slow readers, and in great numbers. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { Ledger, Store } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { ledgerPath, onCleanup, open } from "./fixture.js";

async function fill(ledger: Ledger, count: number, stream: string, data: object = {}): Promise<void> {
  for (let left = count; left > 0; left -= 1_000)
    await ledger.append(
      stream,
      Array.from({ length: Math.min(left, 1_000) }, () => ({ type: "thing.happened", data })),
    );
}

/** Bytes of JavaScript objects that are in use, after a collection. */
function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

test("one event among many that are filtered out is handed out before all of them were looked at", async () => {
  const ledger = await open("memory:");
  await fill(ledger, 1, "rare/1");
  await fill(ledger, 12_000, "thing/1");
  const subscription = ledger.subscribe({ kinds: ["rare"] });

  const { value } = await subscription.next();
  await subscription.return();

  expect(value).toMatchObject({ entries: [{ position: 1 }], caughtUp: false });
  expect(value!.position).toBeLessThan(12_000);
});

test("a long stretch that is filtered out lets the event loop breathe and can be left in the middle", async () => {
  const ledger = await open("memory:");
  await fill(ledger, 25_000, "thing/1");
  const controller = new AbortController();
  let turns = 0;
  const turn = (): void => {
    if (++turns === 6) controller.abort();
    else setImmediate(turn);
  };
  setImmediate(turn);

  await expect(ledger.subscribe({ kinds: ["rare"], signal: controller.signal }).next()).rejects.toMatchObject({
    code: "ABORTED",
  });

  expect(turns).toBe(6);
});

test("empty batches are not handed out to a reader that was live and fell behind", async () => {
  const ledger = await open("memory:");
  const subscription = ledger.subscribe({ kinds: ["rare"], batch: 1 });
  await subscription.next();
  await fill(ledger, 2, "rare/1");
  await fill(ledger, 5, "thing/1");
  expect((await subscription.next()).value).toMatchObject({ entries: [{ position: 1 }], caughtUp: false });
  expect((await subscription.next()).value).toMatchObject({ entries: [{ position: 2 }] });
  const next = subscription.next();
  await new Promise((resolve) => setTimeout(resolve, 20));

  await fill(ledger, 1, "rare/1");

  expect((await next).value).toMatchObject({ entries: [{ position: 8 }] });
  await subscription.return();
});

test("a slow reader of 100 MiB in batches of ten holds no more than its batch", async () => {
  const path = ledgerPath();
  const writer = await openLedger(path);
  const text = "x".repeat(50_000);
  for (let n = 0; n < 105; n++)
    await writer.append(
      "thing/1",
      Array.from({ length: 20 }, () => ({ type: "thing.happened", data: { text } })),
    );
  await writer.close();
  const ledger = await open(path, { readOnly: true });
  const before = heapUsed();
  let [most, read] = [0, 0];

  for await (const { entries, caughtUp } of ledger.subscribe({ batch: 10 })) {
    expect(entries.length).toBe(10);
    read += entries.length;
    if (read % 300 === 0) most = Math.max(most, heapUsed() - before);
    if (caughtUp) break;
  }

  expect(read).toBe(2_100);
  expect(most).toBeLessThan(8 * 1024 * 1024);
});

test("ten thousand subscriptions that are opened and left leave no listener, no timer and no memory", async () => {
  const ledger = await open("memory:");
  await fill(ledger, 1, "thing/1");
  const warnings: Error[] = [];
  const warn = (warning: Error): void => void warnings.push(warning);
  process.on("warning", warn);
  onCleanup(() => void process.off("warning", warn));
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners++;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners--;
    remove(...args);
  };
  const between = ledger.subscribe({ signal });
  await between.next();
  expect(listeners).toBe(0);
  const run = async (count: number): Promise<void> => {
    const waiting = Array.from({ length: count }, async () => {
      const subscription = ledger.subscribe({ signal, from: "head" });
      await subscription.next();
      return { subscription, next: subscription.next() };
    });
    for (const each of await Promise.all(waiting)) {
      await each.subscription.return();
      await each.next;
    }
  };
  await run(1_000);
  const before = heapUsed();

  for (let n = 0; n < 10; n++) await run(1_000);

  expect(listeners).toBe(0);
  expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length).toBeLessThan(10);
  expect(heapUsed() - before).toBeLessThan(4 * 1024 * 1024);
  expect(warnings).toEqual([]);
});

test("what is read while a subscription is left is not handed out any more, and leaving waits for it", async () => {
  const memory = createMemoryStore();
  await fill(await open(memory), 3, "thing/1");
  let reached = (): void => {};
  const reading = new Promise<void>((resolve) => (reached = resolve));
  let go = (): void => {};
  const gate = new Promise<void>((resolve) => (go = resolve));
  let gated = false;
  const store = Object.assign(Object.create(memory) as Store, {
    snapshot: async () => {
      if (gated) {
        reached();
        await gate;
      }
      return memory.snapshot();
    },
  });
  const ledger = await open(store);
  const subscription = ledger.subscribe();
  gated = true;
  const asked = subscription.next();
  await reading;
  let settled = false;
  const left = subscription.return().finally(() => (settled = true));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(settled).toBe(false);
  go();

  expect(await asked).toEqual({ done: true, value: undefined });
  expect(await left).toEqual({ done: true, value: undefined });
});

test("a subscription that was left asks for the head no more", async () => {
  const memory = createMemoryStore();
  await open(memory);
  let asked = 0;
  const store = Object.assign(Object.create(memory) as Store, {
    snapshot: async () => {
      asked++;
      return memory.snapshot();
    },
  });
  const ledger = await open(store);
  const subscription = ledger.subscribe();
  await subscription.next();
  const next = subscription.next();
  await expect.poll(() => asked).toBeGreaterThan(5);
  await subscription.return();
  await next;
  const before = asked;

  await new Promise((resolve) => setTimeout(resolve, 400));

  expect(asked).toBe(before);
});

test("subscriptions with consumers leave nothing behind either", async () => {
  const store = createMemoryStore();
  const ledger = await open(store);
  const run = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const subscription = ledger.subscribe({ consumer: "mailer" });
      await subscription.next();
      await subscription.return();
    }
  };
  await run(200);
  const [before, timers] = [heapUsed(), timersActive()];

  await run(2_000);

  expect(timersActive()).toBeLessThanOrEqual(timers);
  expect(heapUsed() - before).toBeLessThan(4 * 1024 * 1024);
});

function timersActive(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
}

test("a subscription that was made and never asked holds nothing", async () => {
  const ledger = await open("memory:");
  const { signal } = new AbortController();
  const before = heapUsed();

  for (let n = 0; n < 10_000; n++) ledger.subscribe({ signal, consumer: "mailer" });

  expect(heapUsed() - before).toBeLessThan(4 * 1024 * 1024);
  expect((await ledger.status()).consumers).toEqual([]);
});
