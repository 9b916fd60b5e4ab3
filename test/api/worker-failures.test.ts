/** What fails around a worker is heard once each, and the worker goes on: stores that refuse, answers that are lost, handlers and
 *  hooks that throw. Each test runs under a guard of the process against rejections that nobody hears. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { content, LedgerError } from "../../src/index.js";
import type { Ledger, Store } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { faultyStore, manualClock } from "../../src/testing/index.js";
import type { Fault, FaultPoint } from "../../src/testing/index.js";
import { describeStores, open } from "../engine/fixture.js";
import { passUntil, settled, statusOf, until, work } from "./working.js";
import type { Heard } from "./working.js";

const unheard: unknown[] = [];
const note = (reason: unknown): void => void unheard.push(reason);
beforeEach(() => void process.on("unhandledRejection", note));
afterEach(async () => {
  await settled();
  process.removeListener("unhandledRejection", note);
  expect(unheard.splice(0)).toEqual([]);
});

/** A ledger on a store that does what the test says, from when it says so. */
async function onFaultyStore(beneath: Store = createMemoryStore()): Promise<{
  readonly ledger: Ledger;
  readonly clock: ReturnType<typeof manualClock>;
  readonly strike: (plan: ((point: FaultPoint) => Fault | null) | null) => void;
}> {
  let plan: ((point: FaultPoint) => Fault | null) | null = null;
  const store: Store = faultyStore(beneath, (point) => plan?.(point) ?? null);
  const clock = manualClock();
  const ledger = await open(store, { clock, busyTimeoutMs: 10 });
  return { ledger, clock, strike: (next) => void (plan = next) };
}

/** What goes wrong is the test's choice alone: trouble of the store's own would be heard of too, and within `busyTimeoutMs` there
 *  may be no time to try again. */
const noLuck = { busyRate: 0, lostReplyRate: 0 };

/** No entry can be written. */
const full = ({ step, moment }: FaultPoint): Fault | null =>
  step === "entries" && moment === "before" ? "full" : null;
/** No lock is to be had. */
const busy = ({ step, moment }: FaultPoint): Fault | null => (step === "begin" && moment === "before" ? "busy" : null);

/** The next commit gives no answer, and then the store is away. `moment`: whether it happened. */
function losingCommit(moment: "before" | "after"): (point: FaultPoint) => Fault | null {
  let lost = false;
  return (point) => {
    if (lost) return busy(point);
    if (point.step !== "commit" || point.moment !== moment) return null;
    lost = true;
    return "lostReply";
  };
}

const codes = (heard: readonly Heard[]): string[] =>
  heard.map(({ doing, error }) => `${doing} ${(error as LedgerError).code}`);

async function eventsOf(ledger: Ledger, runId: string): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of ledger.readStream(`queue/${runId}`)) types.push(type);
  return types;
}

describeStores("a store that refuses", (_, openStoreOf) => {
  test.each([
    ["appends, for it is full", full, "STORE_FULL"],
    ["the lock", busy, "STORE_BUSY"],
  ] as const)(
    "K05 %s: the claim is heard of, each time, and comes about when the store is well",
    async (_what, fault, code) => {
      const { ledger, clock, strike } = await onFaultyStore(await openStoreOf(noLuck));
      await ledger.queue.enqueue({ runId: "r1" });
      strike(fault);

      const { jobs, heard } = work(ledger);
      await passUntil(clock, () => heard.length >= 3, 100);
      expect(new Set(codes(heard))).toEqual(new Set([`claim ${code}`]));
      expect(heard.every(({ runId }) => runId === null)).toBe(true);
      strike(null);
      await passUntil(clock, () => jobs.length === 1, 100);
      jobs[0]!.end();

      await until(async () => (await statusOf(ledger, "r1")) === "done");
    },
  );

  test("K05 renewals: they are heard of and tried again, and the job goes on while its lease lasts", async () => {
    const { ledger, clock, strike } = await onFaultyStore(await openStoreOf(noLuck));
    await ledger.queue.enqueue({ runId: "r1" });
    const { jobs, heard } = work(ledger);
    await until(() => jobs.length === 1);
    strike(full);
    const expiresAt = async (): Promise<number> => (await ledger.queue.get("r1"))!.claim!.expiresAt;
    const before = await expiresAt();
    clock.advance(500);
    await until(() => heard.length === 1);
    clock.advance(125);
    await until(() => heard.length === 2);
    strike(null);
    clock.advance(125);
    await until(async () => (await expiresAt()) > before);
    await settled();
    clock.advance(400);
    await settled();

    expect(jobs[0]!.job.signal.aborted).toBe(false);
    expect(codes(heard)).toEqual(["renew STORE_FULL", "renew STORE_FULL"]);
    expect(heard[0]!.runId).toBe("r1");
    jobs[0]!.end();
    await until(async () => (await statusOf(ledger, "r1")) === "done");
  });

  test("K05 renewals until the lease is over: the work is ended by the worker itself, and somebody gets the item", async () => {
    const { ledger, clock, strike } = await onFaultyStore(await openStoreOf(noLuck));
    await ledger.queue.enqueue({ runId: "r1" });
    const { jobs, heard } = work(ledger);
    await until(() => jobs.length === 1);
    const { job, fail } = jobs[0]!;
    strike(full);
    await passUntil(clock, () => job.signal.aborted);

    expect(clock.monotonic()).toBeLessThanOrEqual(1_010);
    expect(job.signal.reason).toMatchObject({ code: "FENCED", details: { reason: "expired" } });
    expect(heard).toContainEqual({ error: job.signal.reason as unknown, doing: "renew", runId: "r1" });
    strike(null);
    fail(job.signal.reason);
    await passUntil(clock, () => jobs.length === 2);
    expect(jobs[1]!.job.item).toMatchObject({ runId: "r1", generation: 2 });
  });

  test("K05 what a handler captures, and then everything: each failure is heard, and the item is tried again", async () => {
    const { ledger, clock, strike } = await onFaultyStore(await openStoreOf(noLuck));
    await ledger.queue.enqueue({ runId: "r1" });
    let tries = 0;
    const { heard } = work(ledger, {
      leaseMs: 60_000,
      handle: async (job) => {
        if (++tries === 1) strike(full);
        const said = [{ type: "capture.said", data: { text: content("what was said") } }];
        await ledger.append("capture/r1", said, { fence: job.fence });
      },
    });
    await passUntil(clock, () => heard.length >= 3);
    expect(codes(heard.slice(0, 3))).toEqual(["handle STORE_FULL", "requeue STORE_FULL", "requeue STORE_FULL"]);
    strike(null);
    await passUntil(clock, async () => (await statusOf(ledger, "r1")) === "done", 100);

    expect(tries).toBe(2);
    expect(await eventsOf(ledger, "r1")).toEqual([
      "queue.enqueued",
      "queue.claimed",
      "queue.requeued",
      "queue.claimed",
      "queue.completed",
    ]);
  });

  test("K05 settling until the lease is over: it is given up, and the work is done again", async () => {
    const { ledger, clock, strike } = await onFaultyStore(await openStoreOf(noLuck));
    await ledger.queue.enqueue({ runId: "r1" });
    const { jobs, heard } = work(ledger);
    await until(() => jobs.length === 1);
    strike(full);
    jobs[0]!.end();
    await passUntil(clock, () => heard.some(({ doing }) => doing !== "complete"), 50);
    strike(null);
    await passUntil(clock, () => jobs.length === 2, 50);

    expect(new Set(codes(heard))).toEqual(new Set(["complete STORE_FULL", "claim STORE_FULL"]));
    expect(jobs[1]!.job.item).toMatchObject({ generation: 2 });
  });
});

describe("an answer that is lost", () => {
  test("of a claim: it is found by its token and given back, and nobody waits for its lease", async () => {
    const { ledger, clock, strike } = await onFaultyStore();
    await ledger.queue.enqueue({ runId: "r1" });
    strike(losingCommit("after"));

    const { jobs, heard } = work(ledger, { leaseMs: 3_600_000 });
    await until(() => heard.length === 1);
    strike(null);
    await passUntil(clock, () => jobs.length === 1, 50);

    expect(codes(heard).filter((code) => !code.startsWith("look"))).toEqual(["claim STORE_IN_DOUBT"]);
    expect(jobs[0]!.job.item).toMatchObject({ runId: "r1", generation: 2, superseded: null });
    expect(await eventsOf(ledger, "r1")).toEqual(["queue.enqueued", "queue.claimed", "queue.parked", "queue.claimed"]);
  });

  test.each(["before", "after"] as const)("of a completion %s it happened: it happens once", async (moment) => {
    const { ledger, clock, strike } = await onFaultyStore();
    await ledger.queue.enqueue({ runId: "r1" });
    const { jobs, heard } = work(ledger, { leaseMs: 60_000 });
    await until(() => jobs.length === 1);
    strike(losingCommit(moment));
    jobs[0]!.end();
    await until(() => heard.length === 1);
    strike(null);
    await passUntil(clock, async () => (await statusOf(ledger, "r1")) === "done", 50);
    await ledger.queue.enqueue({ runId: "r2" });
    await passUntil(clock, () => jobs.length === 2, 50);

    expect(codes(heard)).toEqual(["complete STORE_IN_DOUBT"]);
    expect(await eventsOf(ledger, "r1")).toEqual(["queue.enqueued", "queue.claimed", "queue.completed"]);
  });

  test("of giving back, while another has claimed the item already: it was given back, and nothing more is written", async () => {
    const { ledger, clock, strike } = await onFaultyStore();
    await ledger.queue.enqueue({ runId: "r1" });
    const { jobs, heard } = work(ledger, { leaseMs: 60_000 });
    await until(() => jobs.length === 1);
    const { job, end } = jobs[0]!;
    strike(losingCommit("after"));
    let parked = false;
    void job.park().then(() => (parked = true));
    await until(() => heard.length === 1);
    strike(null);
    const other = await ledger.queue.claimNext({ holder: "B" });
    await passUntil(clock, () => parked);
    end();

    expect(other?.item.runId).toBe("r1");
    expect(codes(heard)).toEqual(["park STORE_IN_DOUBT"]);
    expect(await ledger.queue.verify(other!.fence)).toBe(true);
    expect(await eventsOf(ledger, "r1")).toEqual(["queue.enqueued", "queue.claimed", "queue.parked", "queue.claimed"]);
  });
});

describeStores("what the host's functions throw", (openOne) => {
  const hostile: readonly (readonly [string, () => unknown])[] = [
    ["nothing", () => undefined],
    ["a string", () => "it is broken"],
    [
      "a proxy that throws",
      () =>
        new Proxy(
          new Error("x"),
          new Proxy(
            {},
            {
              get: () => () => {
                throw new Error("trap");
              },
            },
          ),
        ),
    ],
    [
      "an error whose members throw",
      () =>
        Object.defineProperties(new Error("x"), {
          code: {
            get: () => {
              throw new Error("code");
            },
          },
          name: {
            get: () => {
              throw new Error("name");
            },
          },
        }),
    ],
    ["an error with a code", () => Object.assign(new Error("secret"), { code: "E_REMOTE" })],
    ["an error of the ledger", () => new LedgerError("STORE_FULL", "elsewhere")],
  ];

  test.each(hostile)("%s: it is heard once, and the item is tried again", async (_, make) => {
    const ledger = await openOne({ clock: manualClock() });
    await ledger.queue.enqueue({ runId: "r1" });
    const { jobs, heard } = work(ledger);
    await until(() => jobs.length === 1);
    const error = make();
    jobs[0]!.fail(error);
    await until(async () => (await statusOf(ledger, "r1")) === "queued");

    expect(heard.length).toBe(1);
    expect(heard[0]!.error === error).toBe(true);
    expect(heard[0]).toMatchObject({ doing: "handle", runId: "r1" });
    const { reason, failures } = (await ledger.queue.get("r1"))!;
    expect(failures).toBe(1);
    expect(["failed", "E_REMOTE", "STORE_FULL"]).toContain(reason);
  });

  test.each(["throws", "rejects"] as const)(
    "a hook that %s hears of that, once, and the worker goes on",
    async (how) => {
      const ledger = await openOne({ clock: manualClock() });
      await ledger.queue.enqueue({ runId: "r1" });
      await ledger.queue.enqueue({ runId: "r2" });
      const heard: string[] = [];
      const { jobs } = work(ledger, {
        onError: (error, { doing, runId }) => {
          heard.push(`${doing} ${runId} ${(error as Error).message}`);
          const trouble = new Error(`hook ${heard.length}`);
          if (how === "rejects") return Promise.reject(trouble);
          throw trouble;
        },
      });
      await until(() => jobs.length === 1);
      jobs[0]!.fail(new Error("the handler's"));
      await until(() => jobs.length === 2);

      expect(heard).toEqual(["handle r1 the handler's", "onError r1 hook 1"]);
    },
  );

  test("what a handler throws behind its own settlement is heard, and changes nothing", async () => {
    const ledger = await openOne({ clock: manualClock() });
    await ledger.queue.enqueue({ runId: "r1" });
    const { jobs, heard, worker } = work(ledger);
    await until(() => jobs.length === 1);
    await jobs[0]!.job.complete();
    const error = new Error("while tidying up");
    jobs[0]!.fail(error);
    await worker.stop();

    expect(heard).toEqual([{ error, doing: "handle", runId: "r1" }]);
    expect(await statusOf(ledger, "r1")).toBe("done");
  });

  test("a settlement that nobody waits for and that is refused is heard once", async () => {
    const clock = manualClock();
    const ledger = await openOne({ clock });
    await ledger.queue.enqueue({ runId: "r1" });
    const { jobs, heard } = work(ledger);
    await until(() => jobs.length === 1);
    clock.set(clock.now() + 10_000);
    void jobs[0]!.job.complete();
    await until(() => heard.length === 1);
    jobs[0]!.end();
    await until(() => jobs.length === 2);

    expect(codes(heard)).toEqual(["complete FENCED"]);
    expect(jobs[0]!.job.signal.reason).toBe(heard[0]!.error);
  });
});
