/** Who gets which item, and when. Rows N-05 to N-08, H-01; cases G06, G08, G15, G21; decisions 15.14, 15.17. */
import { expect, test } from "vitest";
import {
  claim,
  claimRun,
  describeQueues,
  eventsOf,
  expectSound,
  hour,
  minute,
  refusesAndLeavesNothing,
  t0,
} from "./queue-fixture.js";

describeQueues("what is claimed", (start) => {
  test("N-05 is queued or parked and due, or of a claim that has expired; what is done or excluded never is", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "done", claim: { holder: "A" } });
    await ledger.queue.enqueue({ runId: "expired", claim: { holder: "A", leaseMs: 1_000 } });
    await ledger.queue.enqueue({ runId: "held", claim: { holder: "A", leaseMs: hour } });
    const { fence } = await ledger.queue.enqueue({ runId: "parked", claim: { holder: "A", leaseMs: hour } });
    const { fence: waiting } = await ledger.queue.enqueue({ runId: "waiting", claim: { holder: "A", leaseMs: hour } });
    await ledger.queue.enqueue({ runId: "queued" });
    await ledger.queue.enqueue({ runId: "later", availableAt: t0 + 1_001 });
    await ledger.queue.requestCancel("done", "no use").then(() => clock.advance(999));
    await ledger.queue.park(fence);
    await ledger.queue.park(waiting, { availableAt: null });

    const claimed: (string | null)[] = [];
    const exclude = ["queued"];
    const next = async (): Promise<void> => {
      claimed.push((await ledger.queue.claimNext({ holder: "B", leaseMs: 10 * hour, exclude }))?.item.runId ?? null);
    };
    await next(); // 1 ms before the first claim expires
    await next();
    clock.advance(1);
    await next();
    clock.advance(1);
    await next();
    await next();
    exclude.pop();
    await next();
    await next();

    expect(claimed).toEqual(["parked", null, "expired", "later", null, "queued", null]);
    clock.advance(hour);
    expect(await claimRun(ledger, "B")).toBe("done"); // it was owned, so its holder was told, and died
    expect(await claimRun(ledger, "B")).toBe("held");
    expect(await claimRun(ledger, "B")).toBeNull();
    await expectSound(ledger);
  });

  test("N-06 comes in the order of age, in which a step of priority is a minute and affinity ten, then of run ids", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "b" });
    await ledger.queue.enqueue({ runId: "a" });
    clock.advance(minute);
    await ledger.queue.enqueue({ runId: "equal", priority: 1 });
    await ledger.queue.enqueue({ runId: "low", priority: -1 });
    clock.advance(1);
    await ledger.queue.enqueue({ runId: "behind", priority: 1 });
    clock.advance(8 * minute - 1);
    await ledger.queue.enqueue({ runId: "affine", affinity: "B" });
    await ledger.queue.enqueue({ runId: "other", affinity: "C" });
    await ledger.queue.enqueue({ runId: "urgent", priority: 1_000 });

    const order: (string | null)[] = [];
    while (order.at(-1) !== null) order.push(await claimRun(ledger, "B", hour));

    expect(order).toEqual(["urgent", "affine", "a", "b", "equal", "behind", "low", "other", null]);
  });

  test("N-06 comes by the same order when its time has come, or when it is taken over, as when it was there at once", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "expired", claim: { holder: "A", leaseMs: minute } });
    clock.advance(1);
    await ledger.queue.enqueue({ runId: "due", availableAt: t0 + minute });
    clock.advance(1);
    await ledger.queue.enqueue({ runId: "affine", affinity: "B", availableAt: t0 + minute });
    await ledger.queue.enqueue({ runId: "there" });
    clock.set(t0 + minute);

    const order: (string | null)[] = [];
    while (order.at(-1) !== null) order.push(await claimRun(ledger, "B", hour));

    expect(order).toEqual(["affine", "expired", "due", "there", null]);
  });

  test("N-07 has a new holder, generation, time and expiry, its affinity and parent as they were", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1", affinity: "A", parent: "p", priority: 2, input: [1] });
    clock.advance(5);

    const claimed = (await ledger.queue.claimNext({ holder: "B", leaseMs: 1_000 }))!;

    const { input, availableAt } = (await ledger.queue.get("r1"))!;
    expect(claimed.item).toEqual({
      runId: "r1",
      incarnation: 1,
      generation: 1,
      expiresAt: t0 + 1_005,
      superseded: null,
      availableAt,
      priority: 2,
      affinity: "A",
      parent: "p",
      input,
      reclaims: 0,
      failures: 0,
      cancel: null,
    });
    expect(claimed).toMatchObject({ count: 1, at: t0 + 5, adopted: false, fence: { key: "queue/r1", generation: 1 } });
    expect(await ledger.queue.get("r1")).toMatchObject({
      status: "claimed",
      updatedAt: t0 + 5,
      createdAt: t0,
      affinity: "A",
      parent: "p",
      claim: { holder: "B", generation: 1, acquiredAt: t0 + 5, expiresAt: t0 + 1_005 },
    });
    expect(await ledger.queue.claimNext({ holder: "B" })).toBeNull();
  });

  test("N-08 leaves out up to 1,000 runs, all of which may stand in front", async () => {
    const { ledger, clock } = await start();
    const names = Array.from({ length: 1_001 }, (_, index) => `r${String(index).padStart(4, "0")}`);
    await Promise.all(
      names.map((runId) =>
        ledger.queue.enqueue({ runId, availableAt: t0 + (Number(runId.slice(1)) % 3), affinity: "B" }),
      ),
    );
    clock.advance(10);

    const [last = "", ...others] = [...names].reverse();
    const claimed = await ledger.queue.claimNext({ holder: "B", exclude: others });

    expect(claimed?.item.runId).toBe(last);
    expect(await ledger.queue.claimNext({ holder: "B", exclude: others })).toBeNull();
    for (const [exclude, code] of [
      [names, "LIMIT_EXCEEDED"],
      [["r1", "../r2"], "INVALID_ARGUMENT"],
      ["r1", "INVALID_ARGUMENT"],
      [[1], "INVALID_ARGUMENT"],
    ] as const)
      await refusesAndLeavesNothing(
        ledger,
        () => ledger.queue.claimNext({ holder: "B", exclude: exclude as string[] }),
        { code },
      );
  });

  test("H-01 is not claimed while its dead holder's lease runs, and is behind that, which the old token does not survive", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1" });
    const dead = await claim(ledger, "A", 1_000);

    clock.advance(500);
    expect(await claimRun(ledger, "B")).toBeNull();
    expect(await ledger.queue.verify(dead)).toBe(true);
    clock.advance(1_500);
    const next = (await ledger.queue.claimNext({ holder: "B", leaseMs: 1_000 }))!;

    expect(next.item).toMatchObject({ runId: "r1", generation: 2, superseded: 1, reclaims: 1 });
    expect(await ledger.queue.verify(dead)).toBe(false);
    expect(await ledger.queue.verify(next.fence)).toBe(true);
    await expectSound(ledger);
  });

  test("G06 is dead after so many takeovers without an end, which claims count, and the claim goes on to the next", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "kills", reclaimsMax: 3 });
    clock.advance(1);
    await ledger.queue.enqueue({ runId: "next" });

    const counts: number[] = [];
    for (let attempt = 0; attempt < 4; attempt++) {
      const { item } = (await ledger.queue.claimNext({ holder: "A", leaseMs: 10, exclude: ["next"] }))!;
      counts.push(item.reclaims);
      clock.advance(10);
    }
    const { item } = (await ledger.queue.claimNext({ holder: "A", leaseMs: hour }))!;

    expect(counts).toEqual([0, 1, 2, 3]);
    expect(item.runId).toBe("next");
    expect(await ledger.queue.list({ status: "dead" })).toMatchObject({
      items: [{ runId: "kills", reclaims: 3, failures: 0, claim: null }],
    });
    expect(await claimRun(ledger, "A")).toBeNull();
    await expectSound(ledger);
  });

  test("G06 is dead at the first expiry where none may be taken over, by default at the eleventh", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "once", reclaimsMax: 0, claim: { holder: "A", leaseMs: 1 } });
    await ledger.queue.enqueue({ runId: "often" });

    for (let count = 0; count < 11; count++) {
      clock.advance(1);
      expect(await claimRun(ledger, "B", 1)).toBe("often");
    }
    clock.advance(1);
    expect(await claimRun(ledger, "B", 1)).toBeNull();
    expect((await ledger.queue.list({ status: "dead" })).items.map(({ runId }) => runId)).toEqual(["often", "once"]);
  });

  test("G08 is never claimed before its time, and once then, by how many workers ever it is polled", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1", availableAt: t0 + 10 * minute });

    const got: [number, string][] = [];
    const looks = Array.from({ length: 36 }, (_, index) => index * 20);
    for (const at of [...looks.slice(0, 30), 10 * 60 - 0.001, ...looks.slice(30)]) {
      clock.set(t0 + at * 1_000);
      const claimed = await Promise.all(
        ["A", "B", "C"].map((holder) => ledger.queue.claimNext({ holder, leaseMs: minute })),
      );
      for (const each of claimed) {
        if (each === null) continue;
        got.push([at, each.item.runId]);
        await ledger.queue.complete(each.fence);
      }
    }

    expect(got).toEqual([[10 * 60, "r1"]]);
    expect((await eventsOf(ledger)).filter((type) => type === "queue.claimed")).toHaveLength(1);
  });

  test.each([
    ["urgent ones", { priority: 1_000 }, { priority: -1_000 }, 2_000 * minute],
    ["common ones", {}, {}, 0],
    ["ones that are affine to the runner", { affinity: "A" }, {}, 10 * minute],
    ["urgent ones of no runner, affine to its own,", { priority: 20 }, { affinity: "A" }, 10 * minute],
  ])(
    "G15 is served behind an endless feed of %s when it has waited as long as it is less urgent",
    async (_, others, own, waited) => {
      const { ledger, clock } = await start();
      await ledger.queue.enqueue({ runId: "lone", ...own });

      const order: string[] = [];
      for (const at of [0, waited / 2, waited - 1, waited]) {
        clock.set(t0 + at);
        await ledger.queue.enqueue({ runId: `x${at}`, ...others });
        const claimed = (await ledger.queue.claimNext({ holder: "A" }))!;
        await ledger.queue.complete(claimed.fence);
        order.push(claimed.item.runId);
        if (order.at(-1) === "lone") break;
      }

      expect(order.at(-1)).toBe("lone");
      // A feed that is as urgent cannot pass it at all; any other not longer than the written bound.
      expect(order).toHaveLength(waited === 0 ? 1 : 4);
    },
  );

  test("G21 is claimed again when an operator asks for what is dead: counters begin again, and history stays", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1", reclaimsMax: 0 });
    await claim(ledger, "A", 10);
    clock.advance(10);
    expect(await claimRun(ledger, "A")).toBeNull();

    const asked = await ledger.queue.requeue("r1", { reason: "the disk has room again" });
    const again = await ledger.queue.claimNext({ holder: "A", leaseMs: 10 });

    expect(asked).toMatchObject({ status: "queued", availableAt: t0 + 10, count: 1 });
    expect(again?.item).toMatchObject({ runId: "r1", generation: 2, superseded: null, reclaims: 0, failures: 0 });
    expect(await ledger.queue.get("r1")).toMatchObject({ createdAt: t0, reason: "the disk has room again" });
    expect(await eventsOf(ledger)).toEqual([
      "queue.enqueued",
      "queue.claimed",
      "queue.died",
      "queue.wanted",
      "queue.claimed",
    ]);
    await ledger.queue.complete(again!.fence);
    await expectSound(ledger);
  });

  test("is there for a claim that is sent behind it, when both are the first that a ledger is told", async () => {
    const { ledger } = await start();

    const [, claimed] = await Promise.all([ledger.queue.enqueue({ runId: "r1" }), claimRun(ledger, "A")]);

    expect(claimed).toBe("r1");
  });

  test("sees in one batch what the claims before it took", async () => {
    const { ledger } = await start();
    const runs = Array.from({ length: 40 }, (_, index) => `r${10 + index}`);
    await Promise.all(runs.map((runId) => ledger.queue.enqueue({ runId })));

    const claimed = await Promise.all(Array.from({ length: 50 }, () => claimRun(ledger, "A", hour)));

    expect(claimed).toEqual([...runs, ...Array<null>(10).fill(null)]);
    await expectSound(ledger);
  });
});
