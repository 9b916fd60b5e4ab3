/** Verbs of the run queue that carry an id: carried out once, and answered alike however often they are sent, also when the first
 *  commit failed. */
import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { faultAt } from "../../src/testing/faults.js";
import type { Fault } from "../../src/testing/faults.js";
import { faultyStore } from "../../src/testing/faulty-store.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { open } from "../engine/fixture.js";
import { claim, claimRun, describeQueues, eventsOf, expectSound, refused, t0 } from "./queue-fixture.js";

const token = "the token of this worker";
const claims = (types: readonly string[]): number => types.filter((type) => type === "queue.claimed").length;

describeQueues("sent again with its id", (start) => {
  test("a claim gets the same item under the same fence, at once, elsewhere and behind its lease", async () => {
    const { ledger, clock, store } = await start();
    await ledger.queue.enqueue({ runId: "r1" });
    await ledger.queue.enqueue({ runId: "r2" });
    const send = (to = ledger) => to.queue.claimNext({ holder: "A", leaseMs: 1_000, token }, { id: "c1" });

    const [first, meanwhile] = await Promise.all([send(), send()]);
    const elsewhere = await send(await open(store, { clock }));
    clock.advance(1_000);
    const taken = await claim(ledger, "B");
    const late = await send();

    expect(first).toMatchObject({ adopted: false, item: { runId: "r1", generation: 1 } });
    for (const again of [meanwhile, elsewhere, late]) expect(again).toEqual({ ...first, adopted: true });
    expect(taken).toMatchObject({ key: "queue/r1", generation: 2 });
    // What is answered again is what was, and no claim.
    expect(await refused(ledger.queue.complete(late!.fence))).toMatchObject({
      code: "FENCED",
      details: { reason: "generation" },
    });
    expect(claims(await eventsOf(ledger))).toBe(2);
    await expectSound(ledger);
  });

  test("a claim that found nothing finds nothing again, and one with another token is another command", async () => {
    const { ledger } = await start();
    expect(await ledger.queue.claimNext({ holder: "A", token }, { id: "c1" })).toBeNull();
    await ledger.queue.enqueue({ runId: "r1" });

    expect(await ledger.queue.claimNext({ holder: "A", token }, { id: "c1" })).toBeNull();
    const other = ledger.queue.claimNext({ holder: "A", token: `${token} 2` }, { id: "c1" });
    expect(await refused(other)).toMatchObject({ code: "IDEMPOTENCY_CONFLICT" });
    expect(await claimRun(ledger, "B")).toBe("r1");
  });

  test("a birth, a renewal, an end and a refusal are answered as they were first", async () => {
    const { ledger, clock } = await start();
    const birth = () =>
      ledger.queue.enqueue({ runId: "r1", claim: { holder: "A", leaseMs: 1_000, token } }, { id: "c1" });
    const { adopted, ...born } = await birth();
    const { fence } = born;
    const renewed = await ledger.queue.renew(fence, 2_000, { id: "c2" });
    await ledger.queue.complete(fence, { id: "c3" });
    const twice = await refused(ledger.queue.enqueue({ runId: "r1" }, { id: "c4" }));
    clock.advance(5_000);

    expect([adopted, await birth()]).toEqual([false, { ...born, adopted: true }]);
    expect(await ledger.queue.renew(fence, 2_000, { id: "c2" })).toEqual({ ...renewed, adopted: true });
    expect(await ledger.queue.complete(fence, { id: "c3" })).toMatchObject({ adopted: true });
    expect(await refused(ledger.queue.enqueue({ runId: "r1" }, { id: "c4" }))).toMatchObject({
      code: twice.code,
      adopted: true,
    });
    expect(await refused(ledger.queue.complete(fence))).toMatchObject({
      code: "FENCED",
      details: { reason: "released" },
    });
    await expectSound(ledger);
  });

  test("a slot that was taken is no answer for good: it is asked again", async () => {
    const { ledger } = await start();
    const { fence } = await ledger.queue.enqueue({ runId: "c1", parent: "p", claim: { holder: "A" } });
    const second = () => ledger.queue.enqueue({ runId: "c2", parent: "p" }, { id: "c2" });

    expect(await refused(second())).toMatchObject({ code: "SLOT_TAKEN", adopted: false });
    await ledger.queue.release(fence);
    expect(await second()).toMatchObject({ adopted: false, count: 2 });
  });
});

/** Every point in the long run, every fifth otherwise. */
const step = process.env["RUNLEDGER_LONG"] === undefined ? 5 : 1;

describe("when the store fails at any point", () => {
  test.each<Fault>(["conflict", "lostReply", "crash", "busy", "full"])(
    "by %s, claims are decided again and nobody gets what somebody else has",
    async (fault) => {
      let struck = 0;
      for (let number = 1; ; number += step) {
        const clock = manualClock(t0);
        const store = faultyStore(createMemoryStore(), faultAt(number, fault));
        let living = store;
        const fences = new Set<string>();
        for (let attempt = 0; attempt < 2; attempt++) {
          try {
            const ledger = await open(living, { clock, busyTimeoutMs: 50 });
            await Promise.allSettled(["r1", "r2", "r3"].map((runId) => ledger.queue.enqueue({ runId }, { id: runId })));
            const claimed = await Promise.allSettled([
              ...["a", "b"].map((name) =>
                ledger.queue.claimNext({ holder: name, token: `${token} ${name}` }, { id: name }),
              ),
              ledger.queue.claimNext({ holder: "c" }),
            ]);
            for (const each of claimed) {
              if (each.status === "rejected" || each.value === null) continue;
              const { key, generation, token: held } = each.value.fence;
              fences.add(`${key} ${generation} ${held.startsWith(token) ? held : "minted"}`);
            }
          } catch (error) {
            expect(error).toMatchObject({ code: expect.stringMatching(/^(CLOSED|STORE_.*)$/) as string });
          }
          if (living.crashed) living = await living.restart();
        }
        const ledger = await open(await living.restart(() => null), { clock });
        const held = (await ledger.queue.list({ status: "claimed" })).items;

        // Each claim that was told is there; each item is had once, under its first generation.
        expect(held.every(({ generation, reclaims }) => generation === 1 && reclaims === 0)).toBe(true);
        for (const each of fences) expect(held.map(({ runId }) => `queue/${runId}`)).toContain(each.split(" ")[0]);
        expect(new Set([...fences].map((each) => each.split(" ")[0])).size).toBe(fences.size);
        expect(claims(await eventsOf(ledger))).toBe(held.length);
        await expectSound(ledger);
        if (store.struck.length === 0) break;
        struck++;
      }
      expect(struck).toBeGreaterThan(1);
    },
  );
});
