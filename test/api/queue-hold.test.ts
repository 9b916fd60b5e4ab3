/** What the holder of an item may do, and until when. Rows N-09 to N-14, D-34, D-35, D-37 to D-39, D-44, H-02; case G01. */
import { expect, test } from "vitest";
import { hashToken, queueCommands } from "../../src/index.js";
import type { Command, Fence } from "../../src/index.js";
import { leaseMsMax } from "../../src/kernel/limits.js";
import {
  claim,
  claimRun,
  describeQueues,
  eventsOf,
  expectSound,
  hour,
  minute,
  refused,
  refusesAndLeavesNothing,
  t0,
} from "./queue-fixture.js";

const fenced = (reason: string): object => ({ code: "FENCED", details: { reason } });

describeQueues("what is held", (start) => {
  test("N-09 is renewed until now and a lease, by its holder alone, as long as it is live", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1" });
    const fence = await claim(ledger, "A", 1_000);

    clock.advance(999);
    expect(await ledger.queue.renew(fence, 1_000)).toMatchObject({ expiresAt: t0 + 1_999, cancel: null, count: 1 });
    expect(await ledger.queue.get("r1")).toMatchObject({
      updatedAt: t0 + 999,
      claim: { acquiredAt: t0, expiresAt: t0 + 1_999 },
    });
    expect(await refused(ledger.queue.renew({ ...fence, token: "another token of enough units" }))).toMatchObject(
      fenced("token"),
    );
    clock.advance(1_000);

    expect(await refused(ledger.queue.renew(fence, 1_000))).toMatchObject(fenced("expired"));
    expect(await ledger.queue.get("r1")).toMatchObject({ claim: { expiresAt: t0 + 1_999 } });
    await expectSound(ledger);
  });

  test("H-02 is not renewed when its lease has run out, though nobody reclaimed", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1" });
    const fence = await claim(ledger, "A", 500);

    clock.advance(2_000);

    expect(await refused(ledger.queue.renew(fence, 1_000))).toMatchObject(fenced("expired"));
    expect(await claimRun(ledger, "B")).toBe("r1");
  });

  test("N-10 is verified by the exact fence, while its claim is live", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1" });
    await ledger.queue.enqueue({ runId: "r2" });
    const fence = await claim(ledger, "A", 1_000);
    const good: boolean[] = [];
    const look = async (one: Fence): Promise<void> => void good.push(await ledger.queue.verify(one));

    await look(fence);
    await look({ ...fence, token: `${fence.token}x` });
    await look({ ...fence, generation: 2 });
    await look({ ...fence, incarnation: 2 });
    await look({ ...fence, key: "queue/r2" });
    await look({ ...fence, key: "queue/nobody" });
    expect(good).toEqual([true, false, false, false, false, false]);

    clock.advance(999);
    await look(fence);
    clock.advance(1);
    await look(fence);
    expect(good.slice(6)).toEqual([true, false]);
    const head = await ledger.status();
    expect(head.head.position).toBe(4); // to verify records nothing
  });

  test("N-11 is parked by its holder, also behind the expiry, and then claimable; by nobody else", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1", affinity: "A" });
    const first = await claim(ledger, "A", 1_000);
    clock.advance(5_000);

    await ledger.queue.park(first, { reason: "the host stops" });
    expect(await ledger.queue.get("r1")).toMatchObject({
      status: "parked",
      claim: null,
      affinity: "A",
      availableAt: t0 + 5_000,
      reason: "the host stops",
    });
    expect(await refused(ledger.queue.park(first))).toMatchObject(fenced("released"));
    const second = await claim(ledger, "B", 1_000);
    expect(await refused(ledger.queue.park(first))).toMatchObject(fenced("generation"));
    clock.advance(1_000);
    const third = await claim(ledger, "C", 1_000);
    expect(await refused(ledger.queue.park(second))).toMatchObject(fenced("generation"));
    expect(await ledger.queue.get("r1")).toMatchObject({ status: "claimed", claim: { holder: "C" }, reclaims: 1 });
    expect(await ledger.queue.verify(third)).toBe(true);
    await expectSound(ledger);
  });

  test("N-11 is parked until a time, or until somebody asks for it", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1" });
    await ledger.queue.park(await claim(ledger, "A"), { availableAt: new Date(t0 + minute) });

    expect(await claimRun(ledger, "A")).toBeNull();
    clock.advance(minute);
    await ledger.queue.park(await claim(ledger, "A"), { availableAt: null });
    clock.advance(24 * hour);
    expect(await claimRun(ledger, "A")).toBeNull();
    expect(await ledger.queue.requeue("r1", { availableAt: t0 + 25 * hour })).toMatchObject({
      status: "parked",
      availableAt: t0 + 25 * hour,
    });
    expect(await ledger.queue.requeue("r1", { availableAt: t0 + 26 * hour })).toMatchObject({
      status: "parked",
      availableAt: t0 + 25 * hour,
      count: 0,
    });
    expect(await claimRun(ledger, "A")).toBeNull();
    clock.advance(hour);
    expect(await claimRun(ledger, "A")).toBe("r1");
  });

  test("N-12 is taken off the queue by its holder, late too, and may be enqueued anew, with a higher generation", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1", parent: "p", input: 1 });
    const first = await claim(ledger, "A", 1_000);
    clock.advance(1_000);

    expect(await refused(ledger.queue.release({ ...first, token: "another token of enough units" }))).toMatchObject(
      fenced("token"),
    );
    await ledger.queue.release(first);
    expect(await ledger.queue.get("r1")).toBeNull();
    expect((await ledger.queue.list()).items).toEqual([]);
    expect(await claimRun(ledger, "B")).toBeNull();
    for (const late of [ledger.queue.release(first), ledger.queue.park(first), ledger.queue.complete(first)])
      expect(await refused(late)).toMatchObject(fenced("released"));
    expect(await refused(ledger.queue.requeue("r1"))).toMatchObject({ code: "NOT_FOUND" });
    expect(await refused(ledger.queue.requestCancel("r1", "no use"))).toMatchObject({ code: "NOT_FOUND" });

    const { fence } = await ledger.queue.enqueue({ runId: "r1", parent: "p", claim: { holder: "B" } });
    expect(fence.generation).toBe(2);
    expect(await refused(ledger.queue.complete(first))).toMatchObject(fenced("generation"));
    await ledger.queue.release(fence);
    await ledger.queue.enqueue({ runId: "r1" });
    expect(await claim(ledger, "C")).toMatchObject({ generation: 3 });
    await expectSound(ledger);
  });

  test("N-13 is completed once; nothing follows", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1" });
    const fence = await claim(ledger, "A");

    await ledger.queue.complete(fence);

    expect(await ledger.queue.get("r1")).toMatchObject({ status: "done", claim: null, generation: 1 });
    for (const late of [
      ledger.queue.complete(fence),
      ledger.queue.park(fence),
      ledger.queue.renew(fence),
      ledger.queue.requeue(fence),
    ])
      expect(await refused(late)).toMatchObject(fenced("released"));
    clock.advance(hour);
    expect(await claimRun(ledger, "B")).toBeNull();
    await expectSound(ledger);
  });

  test("N-13 is not completed behind its expiry, reclaimed or not", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1" });
    const fence = await claim(ledger, "A", 1_000);
    clock.advance(1_000);

    expect(await refused(ledger.queue.complete(fence))).toMatchObject(fenced("expired"));
    expect(await refused(ledger.queue.requeue(fence))).toMatchObject(fenced("expired"));
    expect(await ledger.queue.get("r1")).toMatchObject({ status: "claimed" });
  });

  test("N-14 is queued, claimed, parked, done or dead, and done is final", async () => {
    const { ledger } = await start();
    const statuses: (string | undefined)[] = [];
    const look = async (): Promise<void> => void statuses.push((await ledger.queue.get("r1"))?.status);
    await ledger.queue.enqueue({ runId: "r1" });
    await look();
    const first = await claim(ledger, "A");
    await look();
    await ledger.queue.park(first);
    await look();
    await ledger.queue.requeue(await claim(ledger, "A"), { failuresMax: 0 });
    await look();
    await ledger.queue.requeue("r1");
    await ledger.queue.complete(await claim(ledger, "A"));
    await look();

    expect(statuses).toEqual(["queued", "claimed", "parked", "dead", "done"]);
    await refusesAndLeavesNothing(ledger, () => ledger.queue.requeue("r1"), {
      code: "ILLEGAL_TRANSITION",
      details: { status: "done" },
    });
    expect(await ledger.queue.requestCancel("r1", "no use")).toMatchObject({ status: "done", count: 0 });
  });

  test("D-34 is guarded in the commit of the write: of two in one batch the second sees that the first let go", async () => {
    const { ledger } = await start();
    await ledger.queue.enqueue({ runId: "r1" });
    const fence = await claim(ledger, "A");

    const note = (): Promise<unknown> => ledger.append("note/1", [{ type: "note.added" }], { fence });
    const answers = await Promise.allSettled([
      note(),
      ledger.queue.complete(fence),
      note(),
      ledger.queue.complete(fence),
    ]);

    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected"]);
    expect((await ledger.readStream("note/1").toArray())[0]).toMatchObject({ fence: ["queue/r1", 1, 1] });
    expect((await eventsOf(ledger)).filter((type) => type === "note.added")).toHaveLength(1);
    await expectSound(ledger);
  });

  test("D-35 is not revived by a token that was used before, on this run or another", async () => {
    const { ledger, clock } = await start();
    const token = "the one token of this worker";
    await ledger.queue.enqueue({ runId: "r1" });
    await ledger.queue.enqueue({ runId: "r2" });
    const zombie = (await ledger.queue.claimNext({ holder: "A", leaseMs: 1_000, token }))!.fence;
    clock.advance(1_000);
    const again = (await ledger.queue.claimNext({ holder: "A", leaseMs: 1_000, token, exclude: ["r2"] }))!.fence;
    const other = (await ledger.queue.claimNext({ holder: "A", leaseMs: 1_000, token }))!.fence;

    expect([zombie, again, other].map(({ key, generation }) => [key, generation])).toEqual([
      ["queue/r1", 1],
      ["queue/r1", 2],
      ["queue/r2", 1],
    ]);
    expect(await ledger.queue.verify(zombie)).toBe(false);
    expect(await refused(ledger.queue.complete(zombie))).toMatchObject(fenced("generation"));
    await ledger.queue.complete(again);
    expect(await refused(ledger.queue.renew(again))).toMatchObject(fenced("released"));
    await ledger.queue.complete(other);
  });

  test("D-37 is never shortened by a renewal, which then writes nothing", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1" });
    const fence = await claim(ledger, "A", hour);

    clock.advance(minute);
    expect(await ledger.queue.renew(fence, minute)).toMatchObject({ expiresAt: t0 + hour, count: 0 });
    clock.set(t0 - hour);
    expect(await ledger.queue.renew(fence, minute)).toMatchObject({ expiresAt: t0 + hour, count: 0 });
    expect(await eventsOf(ledger)).toEqual(["queue.enqueued", "queue.claimed"]);
  });

  test("D-38 is judged by the time of the journal: a clock that is set back keeps nobody, one ahead lets nobody complete twice", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1" });
    const first = await claim(ledger, "A", 1_000);

    clock.set(t0 - 10 * hour);
    clock.advance(999);
    expect(await claimRun(ledger, "B")).toBeNull();
    clock.advance(1);
    expect(await refused(ledger.queue.complete(first))).toMatchObject(fenced("expired"));
    const second = await claim(ledger, "B", hour);
    clock.set(t0 + 10 * hour);
    const third = await claim(ledger, "C", hour);
    expect(await refused(ledger.queue.complete(second))).toMatchObject(fenced("generation"));
    await ledger.queue.complete(third);

    const events = await ledger.read().toArray();
    const times = events.map(({ at }) => at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect((await eventsOf(ledger)).filter((type) => type === "queue.completed")).toHaveLength(1);
    await expectSound(ledger);
  });

  test("D-39 has a lease of 1 ms to 24 h, and no other is taken", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1" });
    const held = await claim(ledger, "A", leaseMsMax);
    expect((await ledger.queue.get("r1"))?.claim?.expiresAt).toBe(t0 + 24 * hour);
    expect(await ledger.queue.renew(held, 1)).toMatchObject({ expiresAt: t0 + 24 * hour });
    clock.advance(24 * hour);

    for (const leaseMs of [0, -1, 0.5, leaseMsMax + 1, 25 * hour, 2 ** 53 - 1, 2 ** 53, NaN, Infinity, "1000", null]) {
      const given = leaseMs as number;
      const wrong = { code: "INVALID_ARGUMENT", details: { expected: "a whole number from 1 to 86400000" } };
      await refusesAndLeavesNothing(ledger, () => ledger.queue.claimNext({ holder: "B", leaseMs: given }), wrong);
      await refusesAndLeavesNothing(ledger, () => ledger.queue.renew(held, given), wrong);
      const enqueue = (): Promise<unknown> =>
        ledger.queue.enqueue({ runId: "r2", claim: { holder: "B", leaseMs: given } });
      await refusesAndLeavesNothing(ledger, enqueue, wrong);
    }
  });

  test("D-39 ends no later than a Date can show", async () => {
    const { ledger, clock } = await start({ acceptClockStep: true });
    clock.set(8.64e15 - 1_000);
    await ledger.queue.enqueue({ runId: "r1" });
    await claim(ledger, "A", 24 * hour);

    const { claim: last } = (await ledger.queue.get("r1"))!;
    expect(new Date(last!.expiresAt).toISOString()).toBe("+275760-09-13T00:00:00.000Z");
  });

  test("D-44 is asked for during a claim for a later time, and is there then: not at once, and not behind a longer backoff", async () => {
    const { ledger, clock } = await start();
    const letGo = async (
      end: (fence: Fence) => Promise<unknown>,
      asked: readonly number[],
    ): Promise<number | null | undefined> => {
      const runId = `r${clock.now()}`;
      await ledger.queue.enqueue({ runId });
      const fence = await claim(ledger, "A", hour);
      for (const [index, minutes] of asked.entries())
        expect(await ledger.queue.requeue(runId, { availableAt: clock.now() + minutes * minute })).toMatchObject({
          status: "claimed",
          availableAt: clock.now() + Math.min(...asked.slice(0, index + 1)) * minute,
        });
      expect(await ledger.queue.get(runId)).toMatchObject({
        status: "claimed",
        wantedAt: asked.length === 0 ? null : clock.now() + Math.min(...asked) * minute,
      });
      const started = clock.now();
      clock.advance(1);
      await end(fence);
      const { availableAt, wantedAt } = (await ledger.queue.get(runId))!;
      expect(wantedAt).toBeNull();
      await ledger.queue.requestCancel(runId, "tried");
      return availableAt === null ? null : availableAt - started;
    };
    const backoff = (fence: Fence): Promise<unknown> =>
      ledger.queue.requeue(fence, { availableAt: clock.now() - 1 + 30 * minute });
    const idle = (fence: Fence): Promise<unknown> => ledger.queue.park(fence, { availableAt: null });

    expect(await letGo(backoff, [])).toBe(30 * minute);
    expect(await letGo(backoff, [10])).toBe(10 * minute);
    expect(await letGo(backoff, [20, 10, 15])).toBe(10 * minute);
    expect(await letGo(backoff, [40])).toBe(30 * minute);
    expect(await letGo(idle, [])).toBeNull();
    expect(await letGo(idle, [10])).toBe(10 * minute);
    expect(await letGo((fence) => ledger.queue.park(fence), [10])).toBe(1);
    await expectSound(ledger);
  });

  test("D-44 keeps what was asked for when somebody takes the item over before that time", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1" });
    await claim(ledger, "A", minute);
    await ledger.queue.requeue("r1", { availableAt: t0 + 10 * minute });
    clock.advance(minute);
    const second = await claim(ledger, "B", minute);
    await ledger.queue.park(second, { availableAt: t0 + hour });

    expect(await ledger.queue.get("r1")).toMatchObject({ status: "parked", availableAt: t0 + 10 * minute });
    clock.advance(9 * minute);
    await claim(ledger, "C", minute);
    await ledger.queue.requeue("r1", { availableAt: clock.now() + 1 });
    clock.advance(minute);
    const last = await claim(ledger, "D", minute); // the time that was asked for has come: this is it
    await ledger.queue.park(last, { availableAt: t0 + hour });
    expect(await ledger.queue.get("r1")).toMatchObject({ status: "parked", availableAt: t0 + hour });
  });

  test("G01 is completed once when its holder slept through its lease, and the sleeper is told", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1" });
    const sleeper = await claim(ledger, "W1", 1_000);
    clock.advance(3_000);

    const second = await claim(ledger, "W2", 1_000);
    await ledger.queue.complete(second);

    expect(await refused(ledger.queue.complete(sleeper))).toMatchObject(fenced("generation"));
    expect(sleeper.generation).toBeLessThan(second.generation);
    expect((await eventsOf(ledger)).filter((type) => type === "queue.completed")).toHaveLength(1);
    await expectSound(ledger);
  });

  test("is tried again as often as its workers are told, and dead behind that, until somebody asks", async () => {
    const { ledger } = await start();
    await ledger.queue.enqueue({ runId: "r1" });
    const fail = async (): Promise<unknown> => {
      const fence = await claim(ledger, "A");
      return ledger.queue.requeue(fence, { failuresMax: 2, reason: "it failed" });
    };

    expect([await fail(), await fail(), await fail()]).toMatchObject([
      { status: "queued", availableAt: t0 },
      { status: "queued", availableAt: t0 },
      { status: "dead", availableAt: null },
    ]);
    expect(await ledger.queue.get("r1")).toMatchObject({
      status: "dead",
      failures: 3,
      reclaims: 0,
      reason: "it failed",
    });
    await ledger.queue.requeue("r1");
    expect(await fail()).toMatchObject({ status: "queued" });
    await expectSound(ledger);
  });

  test("is cancelled: its holder hears of it with the next renewal; without one it is done at once", async () => {
    const { ledger, clock } = await start();
    const cancel = (runId: string): Promise<unknown> => ledger.queue.requestCancel(runId, "no use");
    await ledger.queue.enqueue({ runId: "held" });
    const fence = await claim(ledger, "A", 1_000);
    await ledger.queue.enqueue({ runId: "free" });

    expect(await cancel("free")).toMatchObject({ status: "done" });
    expect(await cancel("held")).toMatchObject({ status: "claimed", count: 1 });
    expect(await cancel("held")).toMatchObject({ status: "claimed", count: 0 });
    expect(await ledger.queue.renew(fence, 1_000)).toMatchObject({ cancel: { at: t0, reason: "no use" } });
    clock.advance(1_000);
    expect(await cancel("held")).toMatchObject({ status: "done", count: 1 });

    expect(await refused(ledger.queue.park(fence))).toMatchObject(fenced("released"));
    expect(await claimRun(ledger, "B")).toBeNull();
    expect(await ledger.queue.list({ status: "done" })).toMatchObject({
      items: [{ runId: "free" }, { runId: "held", cancel: { at: t0 + 1_000 } }],
    });
    await expectSound(ledger);
  });

  test("lets go and claims what is next in one commit, which nobody sees by half", async () => {
    const { ledger } = await start();
    const next = { holder: "A", leaseMs: 1_000, tokenHash: hashToken("the next token of this worker") };
    await ledger.queue.enqueue({ runId: "r1" });
    await ledger.queue.enqueue({ runId: "r2" });
    const fence = await claim(ledger, "A");

    const both = (...commands: readonly Command[]): Promise<unknown> => ledger.execute(commands, { fence });
    // The fence is gone behind the end of its claim.
    await expect(both(queueCommands.complete({ runId: "r1" }), queueCommands.claimNext(next))).rejects.toMatchObject({
      code: "FENCED",
      details: { reason: "released", index: 1 },
    });
    expect(await ledger.queue.get("r1")).toMatchObject({ status: "claimed" });
    await both(queueCommands.claimNext(next), queueCommands.complete({ runId: "r1" }));

    expect(await ledger.queue.get("r1")).toMatchObject({ status: "done" });
    expect(await ledger.queue.get("r2")).toMatchObject({ status: "claimed" });
    await expectSound(ledger);
  });
});
