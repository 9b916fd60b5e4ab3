/** A claim of a certain run, and what is read of runs while others write. Decision 0026. */
import { expect, test } from "vitest";
import { hashToken, openLedger, queueCommands, runCommands } from "../../src/index.js";
import { describeQueues, expectSound, minute, refused, t0 } from "./queue-fixture.js";
import { leavesNothing } from "./run-fixture.js";

describeQueues("a claim of a certain run", (start) => {
  test("gets it whatever its place in the order, and whatever else is due", async () => {
    const { ledger } = await start();
    for (let n = 0; n < 70; n++) await ledger.queue.enqueue({ runId: `a${n}`, priority: 5 });
    await ledger.queue.enqueue({ runId: "mine", priority: -5 });

    const claimed = await ledger.queue.claimNext({ holder: "A", runId: "mine" });

    expect(claimed?.item).toMatchObject({ runId: "mine", generation: 1, superseded: null });
    expect((await ledger.queue.claimNext({ holder: "A" }))?.item.runId).toBe("a0");
    await expectSound(ledger);
  });

  test("gets nothing where it is not there, not due, owned, left out, parked for good, or over", async () => {
    const { ledger, clock } = await start();
    const none = (runId: string, more: object = {}) =>
      expect(ledger.queue.claimNext({ holder: "A", runId, ...more })).resolves.toBeNull();
    await none("nobody");
    await ledger.queue.enqueue({ runId: "later", availableAt: t0 + minute });
    await none("later");
    clock.advance(minute - 1);
    await none("later");
    clock.advance(1);
    await none("later", { exclude: ["later"] });
    const claimed = await ledger.queue.claimNext({ holder: "A", runId: "later" });
    await none("later");
    await ledger.queue.park(claimed!.fence, { availableAt: null });
    await none("later");
    await ledger.queue.requeue("later");
    const again = await ledger.queue.claimNext({ holder: "A", runId: "later" });
    await ledger.queue.complete(again!.fence);
    await none("later");
    await leavesNothing(ledger, () => ledger.queue.claimNext({ holder: "A", runId: "../bad" }), {
      code: "INVALID_ARGUMENT",
      details: { path: "claimNext.runId" },
    });
    expect(await refused(ledger.queue.complete(claimed!.fence))).toMatchObject({ code: "FENCED" });
    await expectSound(ledger);
  });

  test("takes over once it has expired, and ends it when that was once too often", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1", reclaimsMax: 1, claim: { holder: "A", leaseMs: 1_000 } });
    clock.advance(1_000);

    const taken = await ledger.queue.claimNext({ holder: "B", leaseMs: 1_000, runId: "r1" });
    expect(taken?.item).toMatchObject({ superseded: 1, reclaims: 1, generation: 2 });
    clock.advance(1_000);
    expect(await ledger.queue.claimNext({ holder: "C", runId: "r1" })).toBeNull();

    expect(await ledger.queue.get("r1")).toMatchObject({ status: "dead" });
    await expectSound(ledger);
  });
});

describeQueues("what is read of runs while others write", (start) => {
  test("shows a run and its owner as they were at one moment", async () => {
    const { ledger, store, clock } = await start();
    await using reader = await openLedger(store, { clock, testing: {} });
    const token = "a token of 16 units";
    const writing = new AbortController();
    const torn: unknown[] = [];
    const look = async (): Promise<void> => {
      while (!writing.signal.aborted) {
        const { runs } = await reader.runs.list();
        // A run begins, and is over, in the commit in which its claim is made, or ended.
        torn.push(...runs.filter(({ status, owner }) => (status === "completed") !== (owner === null)));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const looking = look();

    for (let n = 0; n < 25; n++) {
      const runId = `r${n}`;
      await ledger.execute([
        runCommands.create({ runId }),
        runCommands.start({ runId, expectedRevision: 1 }),
        queueCommands.enqueue({ runId, claim: { holder: "A", leaseMs: 60_000, tokenHash: hashToken(token) } }),
      ]);
      const fence = { key: `queue/${runId}`, incarnation: 1, generation: 1, token };
      await ledger.runs.finish({ runId, status: "completed" }, { fence });
    }
    writing.abort();
    await looking;

    expect(torn).toEqual([]);
    expect((await ledger.runs.list()).runs).toHaveLength(25);
  });
});
