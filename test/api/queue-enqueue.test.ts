/** What goes on the queue, who owns it then, and what is listed. Rows N-01 to N-04, D-36, D-40, H-04. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { queue } from "../../projections/queue.js";
import { content, redactStrings } from "../../src/index.js";
import { freshPlace, open, sharedStoreNames } from "../engine/fixture.js";
import {
  claim,
  claimRun,
  describeQueues,
  expectSound,
  minute,
  refusesAndLeavesNothing,
  stateOf,
  t0,
} from "./queue-fixture.js";

const kib = "x".repeat(1_024);

describeQueues("what is enqueued", (start) => {
  test("N-01 is its originator's from birth, in one event, when it is enqueued with a claim", async () => {
    const { ledger } = await start();

    const { fence, position, count } = await ledger.queue.enqueue({
      runId: "r1",
      parent: "p1",
      input: { file: "a.txt" },
      claim: { holder: "A", leaseMs: 1_000 },
    });

    expect(fence).toEqual({ key: "queue/r1", incarnation: 1, generation: 1, token: expect.any(String) as string });
    expect(await ledger.queue.get("r1")).toEqual({
      runId: "r1",
      status: "claimed",
      createdAt: t0,
      updatedAt: t0,
      availableAt: t0,
      priority: 0,
      rank: t0,
      affinity: "A",
      parent: "p1",
      input: { $content: expect.any(String) as string, bytes: 16, n: 1 },
      reclaims: 0,
      reclaimsMax: 10,
      failures: 0,
      wantedAt: null,
      cancel: null,
      reason: null,
      generation: 1,
      claim: { holder: "A", generation: 1, acquiredAt: t0, expiresAt: t0 + 1_000 },
    });
    expect([position, count]).toEqual([2, 2]); // the first event of an area says that it is closed
    expect(await claimRun(ledger, "B")).toBeNull();
    const { input } = (await ledger.queue.get("r1"))!;
    expect((await ledger.content(input!)).json()).toEqual({ file: "a.txt" });
    await expectSound(ledger);
  });

  test("N-01 is affine to the runner that is named, not to its originator", async () => {
    const { ledger } = await start();

    await ledger.queue.enqueue({ runId: "r1", affinity: "B", claim: { holder: "A" } });

    expect(await ledger.queue.get("r1")).toMatchObject({ affinity: "B", claim: { expiresAt: t0 + 30_000 } });
  });

  test("N-02 is refused when the run is on the queue, however it stands, and the first one is as it was", async () => {
    const { ledger, clock } = await start();
    await ledger.queue.enqueue({ runId: "r1", priority: 5, input: "first" });

    const twice = (): Promise<unknown> => ledger.queue.enqueue({ runId: "r1", claim: { holder: "B" } });
    const existing = (status: string): object => ({ code: "ALREADY_EXISTS", details: { runId: "r1", status } });

    await refusesAndLeavesNothing(ledger, twice, existing("queued"));
    const first = await claim(ledger, "A");
    await refusesAndLeavesNothing(ledger, twice, existing("claimed"));
    clock.advance(1_000);
    await refusesAndLeavesNothing(ledger, twice, existing("claimed"));
    await ledger.queue.park(first);
    await refusesAndLeavesNothing(ledger, twice, existing("parked"));
    await ledger.queue.requeue(await claim(ledger, "A"), { failuresMax: 0 });
    await refusesAndLeavesNothing(ledger, twice, existing("dead"));
    await ledger.queue.requeue("r1");
    await ledger.queue.complete(await claim(ledger, "A"));
    await refusesAndLeavesNothing(ledger, twice, existing("done"));
  });

  test("N-03 gets the slot of its parent once, whoever asks and in whatever batch; without a parent there is no limit", async () => {
    const { ledger, store, clock } = await start();
    const wishes = ["c1", "c2", "c3"].map((runId) => ({ runId, parent: "p" }));

    const answers = await Promise.allSettled(wishes.map((wish) => ledger.queue.enqueue(wish)));
    await Promise.all(["s1", "s2"].map((runId) => ledger.queue.enqueue({ runId })));

    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
    const elsewhere = await open(store, { clock });
    const taken = { code: "SLOT_TAKEN", details: { parent: "p", runId: "c1" } };
    await refusesAndLeavesNothing(elsewhere, () => elsewhere.queue.enqueue({ runId: "c4", parent: "p" }), taken);
    expect((await ledger.queue.list()).items.map(({ runId }) => runId)).toEqual(["c1", "s1", "s2"]);
  });

  test("N-03 keeps the slot when it is done or dead", async () => {
    const { ledger } = await start();
    await ledger.queue.enqueue({ runId: "c1", parent: "p" });
    await ledger.queue.enqueue({ runId: "d1", parent: "q", claim: { holder: "A" } });
    await ledger.queue.complete(await claim(ledger, "A"));
    await ledger.queue.requestCancel("d1", "no longer of use");

    await refusesAndLeavesNothing(ledger, () => ledger.queue.enqueue({ runId: "c2", parent: "p" }), {
      code: "SLOT_TAKEN",
    });
    await refusesAndLeavesNothing(ledger, () => ledger.queue.enqueue({ runId: "d2", parent: "q" }), {
      code: "SLOT_TAKEN",
    });
  });

  test("H-04 frees the slot of its parent when it is released, and by its holder alone", async () => {
    const { ledger } = await start();
    const { fence } = await ledger.queue.enqueue({ runId: "c1", parent: "p", claim: { holder: "A" } });
    const second = (): Promise<unknown> => ledger.queue.enqueue({ runId: "c2", parent: "p" });

    const wrong = { ...fence, token: "another token of enough units" };
    const before = await stateOf(ledger);
    await expect(ledger.queue.release(wrong)).rejects.toMatchObject({ code: "FENCED", details: { reason: "token" } });
    expect(await stateOf(ledger)).not.toEqual(before); // that it was tried is recorded, once
    await refusesAndLeavesNothing(ledger, second, { code: "SLOT_TAKEN" });
    await ledger.queue.release(fence, "the source changed");
    await second();

    expect(await ledger.queue.get("c1")).toBeNull();
    expect(await ledger.queue.get("c2")).toMatchObject({ status: "queued", parent: "p" });
    await expectSound(ledger);
  });

  test("N-04 is listed by status or altogether, the oldest first, page by page", async () => {
    const { ledger, clock } = await start();
    for (const runId of ["r3", "r1", "r2", "r4"]) {
      await ledger.queue.enqueue({ runId });
      if (runId !== "r1") clock.advance(10);
    }
    const fence = await claim(ledger, "A");
    await ledger.queue.complete(fence);

    const all = await ledger.queue.list();
    const first = await ledger.queue.list({ status: "queued", limit: 2 });
    const second = await ledger.queue.list({ status: "queued", limit: 2, after: first.next! });

    expect(all).toMatchObject({
      next: null,
      items: [{ runId: "r3", status: "done" }, { runId: "r1" }, { runId: "r2" }, { runId: "r4" }],
    });
    expect(first.items.map(({ runId }) => runId)).toEqual(["r1", "r2"]);
    expect(second).toMatchObject({ next: null, items: [{ runId: "r4" }] });
    expect((await ledger.queue.list({ status: "dead" })).items).toEqual([]);
    expect(await ledger.queue.get("r9")).toBeNull();
  });

  test("D-36 shows no token and no hash of one, wherever it is read, and what a token opens is its hash", async () => {
    const { ledger } = await start();
    const token = "a token of enough units";
    const hash = createHash("sha256").update(token).digest("hex");
    await ledger.queue.enqueue({ runId: "r1", claim: { holder: "A", token } });
    await ledger.queue.enqueue({ runId: "r2" });
    await ledger.queue.claimNext({ holder: "A", token }, { id: "c1" });

    const listed = JSON.stringify([await ledger.queue.list(), await ledger.queue.get("r1")]);
    const stored = JSON.stringify([await ledger.read().toArray(), await ledger.projection(queue).find({})]);

    expect(listed).not.toContain(token);
    expect(listed).not.toContain(hash);
    expect(stored).not.toContain(token);
    expect(stored).toContain(hash);
    expect(JSON.stringify(await ledger.receipt("c1"))).not.toMatch(/token/i);
  });

  test("D-40 takes a moment as a Date or as ms, never as text", async () => {
    const { ledger } = await start();
    await ledger.queue.enqueue({ runId: "r1", availableAt: new Date(t0 + minute) });
    await ledger.queue.enqueue({ runId: "r2", availableAt: t0 + 2 * minute });
    await ledger.queue.enqueue({ runId: "r3", availableAt: new Date(0) });

    const times = (await ledger.queue.list()).items.map(({ availableAt }) => availableAt);
    expect(times).toEqual([t0 + minute, t0 + 2 * minute, t0]); // never before it was enqueued
    for (const availableAt of ["2026", "2026-01-01T00:00:00Z", new Date(NaN), -1, 1.5, 8.64e15 + 1, null])
      await refusesAndLeavesNothing(
        ledger,
        () => ledger.queue.enqueue({ runId: "r4", availableAt: availableAt as number }),
        {
          code: "INVALID_ARGUMENT",
        },
      );
  });

  test("has an input of JSON or bytes up to 1 MiB, stored beside the journal", async () => {
    const { ledger } = await start();
    const largest = Buffer.alloc(1_024 * 1_024, 7);
    await ledger.queue.enqueue({ runId: "r1", input: largest });
    await ledger.queue.enqueue({ runId: "r2", input: content("plain text", "text/plain") });
    await ledger.queue.enqueue({ runId: "r3", input: null });

    const inputs = (await ledger.queue.list()).items.map(({ input }) => input);
    expect(inputs).toMatchObject([{ bytes: largest.length }, { bytes: 10 }, { bytes: 4 }]);
    expect(Buffer.compare((await ledger.content(inputs[0]!)).bytes, largest)).toBe(0);
    const tooLarge = Buffer.alloc(largest.length + 1);
    for (const input of [tooLarge, `${kib.repeat(1_024)}x`])
      await refusesAndLeavesNothing(ledger, () => ledger.queue.enqueue({ runId: "r4", input }), {
        code: "LIMIT_EXCEEDED",
        details: { path: "enqueue.input", max: largest.length },
      });
    await expectSound(ledger);
  });

  test("is redacted before anything is kept of it", async () => {
    const { ledger } = await start({ redact: redactStrings((text) => text.replaceAll("secret", "hidden")) });
    const { fence } = await ledger.queue.enqueue({
      runId: "secret-run",
      input: { password: "secret" },
      claim: { holder: "A" },
    });
    await ledger.queue.park(fence, { reason: "a secret reason" });

    const { input, reason } = (await ledger.queue.get("hidden-run"))!;
    expect(fence.key).toBe("queue/hidden-run");
    expect((await ledger.content(input!)).json()).toEqual({ password: "hidden" });
    expect(reason).toBe("a hidden reason");
    expect(JSON.stringify(await ledger.read().toArray())).not.toContain("secret");
  });
});

test.each(sharedStoreNames)(
  "N-03 is had once when two ledgers that opened the same journal ask for it at the same time, on %s",
  async (name) => {
    const path = freshPlace(name);
    const ledgers = [await open(path, { busyTimeoutMs: 60_000 }), await open(path, { busyTimeoutMs: 60_000 })];
    const parents = Array.from({ length: 40 }, (_, index) => `p${index}`);

    const answers = await Promise.allSettled(
      parents.flatMap((parent) =>
        ledgers.map((ledger, index) => ledger.queue.enqueue({ runId: `${parent}-${index}`, parent })),
      ),
    );

    const codes = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason as unknown] : []));
    expect(codes).toHaveLength(parents.length);
    expect(codes).toEqual(parents.map(() => expect.objectContaining({ code: "SLOT_TAKEN" }) as unknown));
    const { items } = await ledgers[0]!.queue.list({ limit: 100 });
    expect(new Set(items.map(({ parent }) => parent))).toEqual(new Set(parents));
    expect(items).toHaveLength(parents.length);
    await expectSound(ledgers[1]!);
  },
);
