/** Workers: what becomes of an item whose handler returned, threw, was aborted, or settled it itself. Over all stores, with a
 *  clock that is moved by hand. */
import { describe, expect, test } from "vitest";
import { LedgerError, openLedger } from "../../src/index.js";
import { manualClock } from "../../src/testing/index.js";
import { describeStores, freshPlace, sharedStoreNames } from "../engine/fixture.js";
import { passUntil, settled, statusOf, until, work } from "./working.js";

describeStores("a worker", (openOne) => {
  test("claims an item, is handed its input, and completes it when the handler returns", async () => {
    const ledger = await openOne({ clock: manualClock() });
    await ledger.queue.enqueue({ runId: "r1", input: { file: "a.txt" }, priority: 3 });

    const { jobs, heard } = work(ledger);
    await until(() => jobs.length === 1);
    const { job, end } = jobs[0]!;

    expect(job).toMatchObject({ runId: "r1", cancelRequested: null });
    expect(job.item).toMatchObject({ priority: 3, failures: 0, generation: 1 });
    expect((await job.input())?.json()).toEqual({ file: "a.txt" });
    await ledger.append("note/1", [{ type: "note.added" }], { fence: job.fence });
    expect(await statusOf(ledger, "r1")).toBe("claimed");
    end();
    await until(async () => (await statusOf(ledger, "r1")) === "done");
    expect(heard).toEqual([]);
    expect((await ledger.verify({ level: "deep" })).verdict).toBe("OK");
  });

  test("hears of what is enqueued later, in this process, within some ms", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock });
    const { jobs } = work(ledger, { pollMs: 60_000 });

    for (let count = 1; count <= 3; count++) {
      await settled();
      await ledger.queue.enqueue({ runId: `r${count}` });
      await passUntil(clock, () => jobs.length === count, 1);
      expect(jobs.at(-1)!.job.runId).toBe(`r${count}`);
      jobs.at(-1)!.end();
      await until(async () => (await statusOf(ledger, `r${count}`)) === "done");
    }

    expect(clock.monotonic()).toBeLessThan(1_000);
  });

  test("renews each claim at half its lease while the handler runs, and nothing behind its end", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock });
    await ledger.queue.enqueue({ runId: "r1" });
    const { jobs, heard } = work(ledger);
    await until(() => jobs.length === 1);
    const expiresAt = async (): Promise<number> => (await ledger.queue.get("r1"))!.claim!.expiresAt;

    for (let renewals = 0; renewals < 5; renewals++) {
      const before = await expiresAt();
      clock.advance(500);
      await until(async () => (await expiresAt()) > before);
    }
    expect(jobs[0]!.job.signal.aborted).toBe(false);
    jobs[0]!.end();
    await until(async () => (await statusOf(ledger, "r1")) === "done");
    const { size } = await ledger.status();
    clock.advance(5_000);
    await until(async () => (await ledger.status()).queue.commands === 0);

    expect((await ledger.status()).size).toBe(size);
    expect(heard).toEqual([]);
  });

  test("has as many items in hand as its concurrency says, and the next when one is done", async () => {
    const ledger = await openOne({ clock: manualClock() });
    for (const runId of ["r1", "r2", "r3", "r4"]) await ledger.queue.enqueue({ runId });

    const { jobs } = work(ledger, { concurrency: 3 });
    await until(() => jobs.length === 3);
    expect((await ledger.queue.list({ status: "claimed" })).items.length).toBe(3);
    expect(await statusOf(ledger, "r4")).toBe("queued");
    jobs[1]!.end();

    await until(() => jobs.length === 4);
    expect(new Set(jobs.map(({ job }) => job.runId)).size).toBe(4);
  });

  test("leaves out the runs that it is told to leave out", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock });
    await ledger.queue.enqueue({ runId: "r1" });

    const { jobs } = work(ledger, { queue: { exclude: ["r1"] } });
    await ledger.queue.enqueue({ runId: "r2" });
    await passUntil(clock, () => jobs.length === 1);

    expect(jobs[0]!.job.runId).toBe("r2");
  });

  test("gets an item when its time has come, and not before", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock });
    const dueAt = clock.now() + 400;
    await ledger.queue.enqueue({ runId: "r1", availableAt: dueAt });

    const { jobs } = work(ledger, { pollMs: 60_000 });
    await passUntil(clock, () => jobs.length === 1);

    expect(clock.now()).toBeGreaterThanOrEqual(dueAt);
    expect(clock.now()).toBeLessThan(dueAt + 1_000);
  });

  test("gets an item when its time has come while one that it leaves out stands in front", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock });
    const dueAt = clock.now() + 400;
    await ledger.queue.enqueue({ runId: "r1" });
    await ledger.queue.enqueue({ runId: "r2", availableAt: dueAt });

    const { jobs } = work(ledger, { queue: { exclude: ["r1"] }, pollMs: 60_000 });
    await passUntil(clock, () => jobs.length === 1);

    expect(jobs[0]!.job.runId).toBe("r2");
    expect(clock.now()).toBeGreaterThanOrEqual(dueAt);
    expect(clock.now()).toBeLessThan(dueAt + 1_000);
  });

  test("H-01 takes over what a worker left behind when its lease is over, and not before", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock });
    await ledger.queue.enqueue({ runId: "r1" });
    const dead = await ledger.queue.claimNext({ holder: "A", leaseMs: 1_000 });
    const { expiresAt } = dead!.item;

    const { jobs } = work(ledger, { holder: "B", pollMs: 60_000 });
    await passUntil(clock, () => jobs.length === 1);

    expect(jobs[0]!.job.item).toMatchObject({ runId: "r1", superseded: 1, generation: 2 });
    expect(clock.now()).toBeGreaterThanOrEqual(expiresAt);
    expect(await ledger.queue.verify(dead!.fence)).toBe(false);
  });

  test("tries an item again whose handler threw, later each time, and gives it up behind failuresMax", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock, testing: { randomBytes: (size) => new Uint8Array(size) } });
    await ledger.queue.enqueue({ runId: "r1" });
    const broken = new TypeError("it is broken");

    const { jobs, heard } = work(ledger, { retry: { baseMs: 1_000, maxMs: 3_000, failuresMax: 3 } });
    const waits: number[] = [];
    for (let failures = 0; failures < 4; failures++) {
      await passUntil(clock, () => jobs.length === failures + 1);
      jobs[failures]!.fail(broken);
      await until(async () => (await statusOf(ledger, "r1")) !== "claimed");
      const { availableAt, updatedAt } = (await ledger.queue.get("r1"))!;
      if (availableAt !== null) waits.push(availableAt - updatedAt);
    }

    expect(waits).toEqual([1_000, 2_000, 3_000]);
    expect(await ledger.queue.get("r1")).toMatchObject({ status: "dead", failures: 4, reason: "TypeError" });
    expect(heard).toEqual(Array.from({ length: 4 }, () => ({ error: broken, doing: "handle", runId: "r1" })));
  });
});

describeStores("a job", (openOne) => {
  test.each(["complete", "park", "release", "requeue"] as const)(
    "is settled by its handler with %s, once",
    async (verb) => {
      const ledger = await openOne({ clock: manualClock() });
      await ledger.queue.enqueue({ runId: "r1" });
      const { jobs, heard, worker } = work(ledger);
      await until(() => jobs.length === 1);
      const { job, end } = jobs[0]!;
      const later = { availableAt: 4_000_000_000_000, reason: "not today" };

      await (verb === "complete" ? job.complete() : verb === "release" ? job.release() : job[verb](later));
      await expect(job.complete()).rejects.toMatchObject({ code: "ILLEGAL_TRANSITION", details: { settled: verb } });
      await expect(job.park()).rejects.toMatchObject({ code: "ILLEGAL_TRANSITION" });
      end();
      await worker.stop();

      const item = await ledger.queue.get("r1");
      if (verb === "release") expect(item).toBeNull();
      else if (verb === "complete") expect(item).toMatchObject({ status: "done" });
      else expect(item).toMatchObject({ status: verb === "park" ? "parked" : "queued", ...later });
      expect(heard.map(({ doing }) => doing)).toEqual(["complete", "park"]);
    },
  );

  test("whose handler settles it with a bad argument is told so, and its claim is renewed on", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock });
    await ledger.queue.enqueue({ runId: "r1" });
    const { jobs } = work(ledger);
    await until(() => jobs.length === 1);
    const { job, end } = jobs[0]!;

    await expect(job.park({ availableAt: -1 })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(job.requeue({ reason: "x".repeat(201) })).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    const { expiresAt } = job.item;
    clock.advance(500);
    await until(async () => (await ledger.queue.get("r1"))!.claim!.expiresAt > expiresAt);
    end();

    await until(async () => (await statusOf(ledger, "r1")) === "done");
  });

  test("H-02 learns that its claim is lost: the signal says so, and nothing that its handler writes is accepted", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock });
    await ledger.queue.enqueue({ runId: "r1" });
    const { jobs, heard } = work(ledger);
    await until(() => jobs.length === 1);
    const { job, fail } = jobs[0]!;

    // The wall clock alone moves, so that no renewal came in time.
    clock.set(clock.now() + 2_000);
    clock.advance(500);
    await until(() => job.signal.aborted);
    expect(job.signal.reason).toBeInstanceOf(LedgerError);
    expect(job.signal.reason).toMatchObject({ code: "FENCED", details: { reason: "expired" } });
    await expect(ledger.append("note/1", [{ type: "note.added" }], { fence: job.fence })).rejects.toMatchObject({
      code: "FENCED",
    });
    const { size } = await ledger.status();
    fail(job.signal.reason);

    await until(() => jobs.length === 2);
    expect(heard).toEqual([{ error: job.signal.reason as unknown, doing: "renew", runId: "r1" }]);
    expect(size).toBeGreaterThan(0);
    expect(jobs[1]!.job.item).toMatchObject({ runId: "r1", generation: 2, failures: 0 });
  });

  test("learns with its renewal that somebody asks for its end, and is completed when its handler ends", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock });
    await ledger.queue.enqueue({ runId: "r1" });
    const { jobs, heard } = work(ledger);
    await until(() => jobs.length === 1);
    const { job, fail } = jobs[0]!;

    await ledger.queue.requestCancel("r1", "no longer needed");
    clock.advance(500);
    await until(() => job.signal.aborted);

    expect(job.signal.reason).toMatchObject({
      code: "ABORTED",
      details: { why: "cancelled", reason: "no longer needed" },
    });
    expect(job.cancelRequested).toMatchObject({ reason: "no longer needed" });
    fail(new DOMException("it was aborted", "AbortError"));
    await until(async () => (await statusOf(ledger, "r1")) === "done");
    expect(heard).toEqual([]);
  });

  test("that is to be ended before anybody began with it is completed without its handler", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock });
    await ledger.queue.enqueue({ runId: "r1" });
    await ledger.queue.claimNext({ holder: "dead", leaseMs: 1_000 });
    await ledger.queue.requestCancel("r1", "no longer needed");

    const { jobs } = work(ledger);
    await passUntil(clock, async () => (await statusOf(ledger, "r1")) === "done");

    expect(jobs).toEqual([]);
  });
});

describe("a worker that is told nonsense is refused with a code, and nothing is begun", () => {
  const good = { queue: {}, handle: () => {}, onError: () => {} };
  const bad: readonly (readonly [string, object])[] = [
    ["options", { ...good, concurency: 2 }],
    ["options.queue", { ...good, queue: undefined }],
    ["options.queue", { ...good, queue: { exclud: [] } }],
    ["options.queue.exclude", { ...good, queue: { exclude: "r1" } }],
    ["options.queue.exclude[1]", { ...good, queue: { exclude: ["r1", "-"] } }],
    ["options.queue.exclude", { ...good, queue: { exclude: Array.from({ length: 1_000 }, (_, n) => `r${n}`) } }],
    ["options.handle", { ...good, handle: undefined }],
    ["options.onError", { ...good, onError: "console" }],
    ["options.holder", { ...good, holder: "" }],
    ...[0, 1.5, 257, "2"].map((concurrency) => ["options.concurrency", { ...good, concurrency }] as const),
    ...[0, 2 ** 53, 25 * 3_600_000].map((leaseMs) => ["options.leaseMs", { ...good, leaseMs }] as const),
    ["options.pollMs", { ...good, pollMs: 0 }],
    ["options.drainMs", { ...good, drainMs: -1 }],
    ["options.retry", { ...good, retry: null }],
    ["options.retry.baseMs", { ...good, retry: { baseMs: 0 } }],
    ["options.retry.failuresMax", { ...good, retry: { failuresMax: -1 } }],
    ["options.signals", { ...good, signals: "SIGTERM" }],
    ["options.signals[0]", { ...good, signals: ["SIGKILL"] }],
    ["options.signals[0]", { ...good, signals: ["toString"] }],
  ];

  test.each(bad)("%s %#", async (path, options) => {
    await using ledger = await openLedger("memory:");
    const begin = (): unknown => ledger.worker(options as never);
    expect(begin).toThrow(LedgerError);
    expect(begin).toThrow(expect.objectContaining({ details: expect.objectContaining({ path }) as unknown }));
  });

  test("when it stops", async () => {
    await using ledger = await openLedger("memory:");
    const { worker } = work(ledger);
    await expect(worker.stop({ drainMs: 1.5 })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(worker.stop({ drain: 1 } as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test.each(sharedStoreNames)("on a ledger that is closed, or open read-only, on %s", async (name) => {
    const path = freshPlace(name);
    const ledger = await openLedger(path);
    await ledger.close();
    expect(() => ledger.worker(good)).toThrow(expect.objectContaining({ code: "CLOSED" }));
    await using reader = await openLedger(path, { readOnly: true });
    expect(() => reader.worker(good)).toThrow(expect.objectContaining({ code: "READ_ONLY" }));
  });
});
