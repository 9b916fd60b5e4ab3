/** How workers end: by themselves, by `await using`, with their ledger, by a signal; and what they leave behind. */
import { describe, expect, test } from "vitest";
import type { Ledger } from "../../src/index.js";
import { faultyStore, manualClock } from "../../src/testing/index.js";
import { describeStores, open } from "../engine/fixture.js";
import { passUntil, settled, statusOf, until, work } from "./working.js";
import type { Working } from "./working.js";

async function workOn(ledger: Ledger, runId: string, options: Parameters<typeof work>[1]): Promise<Working> {
  await ledger.queue.enqueue({ runId });
  const working = work(ledger, options);
  await until(() => working.jobs.length === 1);
  return working;
}

describeStores("a worker that is stopped", (openOne) => {
  test("lets what is in hand end, within its time, and claims nothing more", async () => {
    const ledger = await openOne({ clock: manualClock() });
    const { worker, jobs, heard } = await workOn(ledger, "r1", { drainMs: 5_000 });
    await ledger.queue.enqueue({ runId: "r2" });

    const stopping = worker.stop();
    await settled();
    expect(jobs[0]!.job.signal.aborted).toBe(false);
    jobs[0]!.end();
    await stopping;

    expect(await statusOf(ledger, "r1")).toBe("done");
    expect(await statusOf(ledger, "r2")).toBe("queued");
    expect([jobs.length, heard]).toEqual([1, []]);
  });

  test("goes on renewing what is in hand", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock });
    const { worker, jobs } = await workOn(ledger, "r1", { drainMs: 60_000 });
    const claimed = async (): Promise<number> => (await ledger.queue.get("r1"))!.claim!.expiresAt;
    const before = await claimed();

    const stopping = worker.stop();
    clock.advance(500);
    await until(async () => (await claimed()) > before);
    jobs[0]!.end();
    await stopping;

    expect(await statusOf(ledger, "r1")).toBe("done");
  });

  test.each(["throws", "returns"] as const)(
    "G20 tells a handler that goes on for longer, and gives its item back when it %s then: claimable at once, no failure",
    async (how) => {
      const clock = manualClock();
      const ledger = await openOne({ clock });
      const { worker, jobs, heard } = await workOn(ledger, "r1", { drainMs: 400 });
      const { job, end, fail } = jobs[0]!;

      const stopping = worker.stop();
      clock.advance(400);
      await until(() => job.signal.aborted);
      expect(job.signal.reason).toMatchObject({ code: "ABORTED", details: { why: "drained", runId: "r1" } });
      if (how === "throws") fail(job.signal.reason);
      else end();
      await stopping;

      expect(await ledger.queue.get("r1")).toMatchObject({ status: "parked", failures: 0, claim: null });
      const next = await ledger.queue.claimNext({ holder: "B" });
      expect(next?.item).toMatchObject({ runId: "r1", superseded: null });
      expect(heard).toEqual([]);
    },
  );

  test("completes what its handler says is complete, be it told to end", async () => {
    const ledger = await openOne({ clock: manualClock() });
    const { worker, jobs } = await workOn(ledger, "r1", {});
    const stopping = worker.stop({ drainMs: 0 });
    expect(jobs[0]!.job.signal.aborted).toBe(true);
    await jobs[0]!.job.complete();
    jobs[0]!.end();
    await stopping;

    expect(await statusOf(ledger, "r1")).toBe("done");
  });

  test("gives back what a handler does not let go of, under it: what it writes then is refused, what it throws is heard", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock });
    const { worker, jobs, heard } = await workOn(ledger, "r1", { leaseMs: 60_000 });
    const { job, fail } = jobs[0]!;

    const stopping = worker.stop({ drainMs: 0 });
    await settled();
    expect(await statusOf(ledger, "r1")).toBe("claimed");
    clock.advance(1_000);
    await stopping;

    expect(await statusOf(ledger, "r1")).toBe("parked");
    await expect(ledger.append("note/1", [{ type: "note.added" }], { fence: job.fence })).rejects.toMatchObject({
      code: "FENCED",
      details: { reason: "released" },
    });
    await expect(job.complete()).rejects.toMatchObject({ code: "ILLEGAL_TRANSITION" });
    const late = new Error("too late");
    fail(late);
    await until(() => heard.length === 2);
    expect(heard.map(({ doing }) => doing)).toEqual(["complete", "handle"]);
    expect(heard[1]).toEqual({ error: late, doing: "handle", runId: "r1" });
  });

  test("is stopped sooner when it is stopped again with less time, and not later with more", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock });
    const { worker, jobs } = await workOn(ledger, "r1", {});
    const first = worker.stop({ drainMs: 60_000 });
    const second = worker.stop({ drainMs: 100 });
    const third = worker.stop({ drainMs: 30_000 });
    clock.advance(100);
    await until(() => jobs[0]!.job.signal.aborted);
    jobs[0]!.end();

    await Promise.all([first, second, third, worker.stopped]);
    expect(await statusOf(ledger, "r1")).toBe("parked");
  });

  test("never begins with what it claimed meanwhile", async () => {
    const ledger = await openOne({ clock: manualClock() });
    await ledger.queue.enqueue({ runId: "r1" });
    const { worker, jobs, heard } = work(ledger);
    await worker.stop();

    expect(jobs).toEqual([]);
    expect((await ledger.queue.claimNext({ holder: "B" }))?.item.runId).toBe("r1");
    expect(heard).toEqual([]);
  });

  test("leaves no timer behind, whether it worked or waited", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock });
    const { worker, jobs } = await workOn(ledger, "r1", { concurrency: 3 });
    jobs[0]!.end();
    await until(async () => (await statusOf(ledger, "r1")) === "done");
    await worker.stop();
    await settled();

    expect(clock.waiting).toBe(0);
  });

  test("is stopped by its ledger before that closes, and by the end of an `await using` block", async () => {
    const ledger = await openOne({ clock: manualClock() });
    {
      await ledger.queue.enqueue({ runId: "r1" });
      await using worker = ledger.worker({ queue: {}, handle: () => {}, onError: () => {} });
      await until(async () => (await statusOf(ledger, "r1")) === "done");
      expect(worker.stopped).toBeInstanceOf(Promise);
    }
    const { worker, jobs, heard } = await workOn(ledger, "r2", {});

    const closing = ledger.close();
    expect(() => ledger.worker({ queue: {}, handle: () => {}, onError: () => {} })).toThrow(
      expect.objectContaining({ code: "CLOSED" }),
    );
    await jobs[0]!.job.complete();
    jobs[0]!.end();
    await closing;

    await worker.stopped;
    expect(heard).toEqual([]);
    await expect(ledger.queue.get("r2")).rejects.toMatchObject({ code: "CLOSED" });
  });
});

describe("the signals of a process", () => {
  test("are listened to where the host says so, until the worker stops, and nowhere else", async () => {
    const { openLedger } = await import("../../src/index.js");
    await using ledger = await openLedger("memory:");
    const before = process.listenerCount("SIGUSR2");
    const quiet = work(ledger);
    expect(process.listenerCount("SIGUSR2")).toBe(before);
    const { worker } = work(ledger, { signals: ["SIGUSR2"] });
    expect(process.listenerCount("SIGUSR2")).toBe(before + 1);

    process.kill(process.pid, "SIGUSR2");
    await worker.stopped;

    expect(process.listenerCount("SIGUSR2")).toBe(before);
    await quiet.worker.stop();
  });
});

describeStores("a worker whose process is killed", (_, openStoreOf) => {
  test("G04 leaves its item to another one when the lease is over, and not before", async () => {
    const store = faultyStore(await openStoreOf(), () => null);
    const killed = await workOn(await open(store, { clock: manualClock() }), "r1", { leaseMs: 2_000 });
    const { expiresAt } = killed.jobs[0]!.job.item;

    const clock = manualClock();
    const ledger = await open(await store.restart(), { clock });
    const other = work(ledger, { holder: "B", leaseMs: 2_000, pollMs: 60_000 });
    await passUntil(clock, () => other.jobs.length === 1);

    expect(store.crashed).toBe(true);
    expect(other.jobs[0]!.job.item).toMatchObject({ runId: "r1", generation: 2, superseded: 1, failures: 0 });
    const { acquiredAt } = (await ledger.queue.get("r1"))!.claim!;
    expect(acquiredAt).toBeGreaterThanOrEqual(expiresAt);
    expect(acquiredAt).toBeLessThan(expiresAt + 1_000);
  });
});
