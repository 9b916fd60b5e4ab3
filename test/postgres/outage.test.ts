/** Case E13: the database is away for a while. What runs in the background goes on by itself when it is back. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { defineEvents, defineProjection } from "../../src/index.js";
import type { Ledger, Subscription } from "../../src/index.js";
import { open } from "../engine/fixture.js";
import { subscribe } from "../engine/following.js";
import { behindProxy, expectSound } from "./place.js";

const awayMs = 5_000;

const events = defineEvents("tick", { open: true }, { "tick.counted": {} });
const counting = (name: string, async: boolean) =>
  defineProjection<{ readonly count: number }>()({
    name,
    version: 1,
    async,
    on: {
      "tick.counted": {
        key: () => "all",
        apply: (found) => ({ count: (found?.count ?? 0) + 1 }),
      },
    },
  });
const behind = counting("behind", true);
const live = counting("live", false);

/** Collects what a subscription hands out, as a program does that runs on and on. */
function collect(subscription: Subscription): { readonly seen: unknown[]; readonly ended: Promise<unknown> } {
  const seen: number[] = [];
  const ended = (async () => {
    for await (const { entries } of subscription)
      for (const { type, data } of entries) if (type === "tick.counted") seen.push(data["n"] as number);
  })().catch((error: unknown) => error);
  return { seen, ended };
}

const tick = (ledger: Ledger, n: number): Promise<unknown> =>
  ledger.append("tick/1", [{ type: "tick.counted", data: { n } }]);

for (const kind of ["cut off", "silent"] as const) {
  test(`E13 a database that is ${kind} for five seconds: subscriptions, consumers, async projections and workers go on by themselves`, async () => {
    const { proxy, url, direct } = await behindProxy();
    const options = { events: [events], projections: [behind, live], busyTimeoutMs: 30_000 };
    const ledger = await open(url, options);
    // It does not follow with the async projection, so that nobody else brings that on.
    const outside = await open(direct, { ...options, projections: [live] });
    const plain = collect(subscribe(ledger));
    const durable = collect(subscribe(ledger, { consumer: "mailer" }));
    const done: string[] = [];
    const failures: unknown[] = [];
    const worker = ledger.worker({
      queue: {},
      leaseMs: 60_000,
      handle: ({ runId }) => void done.push(runId),
      onError: (error) => failures.push(error),
    });
    await tick(ledger, 0);
    await ledger.queue.enqueue({ runId: "before" });
    const caughtUp = async (count: number): Promise<void> => {
      await expect.poll(() => [plain, durable].map(({ seen }) => seen.length)).toEqual([count, count]);

      await expect.poll(() => ledger.projection(behind).get("all")).toEqual({ count });
    };
    await caughtUp(1);
    await expect.poll(() => done).toEqual(["before"]);

    if (kind === "silent") proxy.hush();
    else proxy.fail();
    // Others are not cut off, and go on.
    await tick(outside, 1);
    await outside.queue.enqueue({ runId: "meanwhile" });
    await sleep(awayMs);
    expect(plain.seen).toEqual([0]);
    proxy.restore();

    await caughtUp(2);
    await expect.poll(() => done).toEqual(["before", "meanwhile"]);
    await tick(ledger, 2);
    await caughtUp(3);
    expect([plain.seen, durable.seen]).toEqual([[0, 1, 2], [0, 1, 2]]); // prettier-ignore
    expect(await ledger.projection(live).get("all")).toEqual({ count: 3 });
    const { projections } = await ledger.status();
    expect(projections.filter(({ name }) => name === "behind")).toMatchObject([{ status: "following", error: null }]);
    await worker.stop();
    for (const failure of failures) expect(failure).toMatchObject({ code: expect.stringMatching(/^STORE_/) as string });
    await expectSound(ledger);
  });
}

test("E13 a subscription whose database stays away for longer than the busy timeout says so, and a new one goes on", async () => {
  const { proxy, url, direct } = await behindProxy();
  const ledger = await open(url, { events: [events], busyTimeoutMs: 300 });
  const outside = await open(direct, { events: [events] });
  const consumer = { consumer: "mailer", leaseMs: 1_000 };
  const durable = collect(subscribe(ledger, consumer));
  await tick(ledger, 0);
  await expect.poll(() => durable.seen).toEqual([0]);

  proxy.fail();
  await tick(outside, 1);

  expect(await durable.ended).toMatchObject({ code: "STORE_UNAVAILABLE" });
  proxy.restore();
  // Its claim could not be given back: it runs out, as that of a process that was killed.
  const tried: ReturnType<typeof collect>[] = [];
  await expect
    .poll(async () => {
      const again = collect(subscribe(ledger, consumer));
      tried.push(again);
      await Promise.race([again.ended, sleep(200)]);
      // On a busy machine the one that got it needs longer, and those behind it are refused.
      return tried.flatMap(({ seen }) => seen);
    })
    .toContain(1);
});
