import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { HeldClaim } from "../../../src/cli/exec/held-claim.js";
import { LedgerError } from "../../../src/index.js";
import type { Fence, Ledger } from "../../../src/index.js";

const fence: Fence = { key: "queue/r1", incarnation: 1, generation: 1, token: "0123456789abcdef" };
const held: HeldClaim[] = [];
afterEach(() => {
  for (const claim of held.splice(0)) claim.stop();
  vi.useRealTimers();
});

/** A claim of a ledger that answers renewals so, one after the other, the last answer again and again. */
function claimOf(leaseMs: number, ...answers: (() => Promise<{ cancel: { at: number; reason: string } | null }>)[]) {
  const said: string[] = [];
  let renewals = 0;
  const renew = () => answers[Math.min(renewals++, answers.length - 1)]!();
  const ledger = { queue: { renew } } as unknown as Ledger; // all that is asked of it
  const claim = new HeldClaim(
    ledger,
    { fence, leaseMs, since: performance.now() },
    { lost: ({ message }) => said.push(`lost: ${message}`), cancelled: (reason) => said.push(`cancelled: ${reason}`) },
  );
  held.push(claim);
  return { claim, said, renewals: () => renewals };
}

const renewed = async () => ({ cancel: null });
const failing = (code: string) => () => Promise.reject(new LedgerError(code, code));

describe("a claim that is held", () => {
  test("is renewed at half its lease, again and again", async () => {
    vi.useFakeTimers();
    const { claim, said, renewals } = claimOf(30_000, renewed);
    for (let count = 1; count <= 5; count++) {
      await vi.advanceTimersByTimeAsync(14_999);
      expect(renewals()).toBe(count - 1);
      await vi.advanceTimersByTimeAsync(1);
      expect(renewals()).toBe(count);
    }
    expect([claim.isHeld, said]).toEqual([true, []]);
  });

  test("is lost when the ledger says so, once", async () => {
    const { claim, said, renewals } = claimOf(40, renewed, failing("FENCED"));
    await expect.poll(() => said).toEqual(["lost: FENCED"]);
    await sleep(100);
    expect([claim.isHeld, said, renewals()]).toEqual([false, ["lost: FENCED"], 2]);
  });

  test("survives a store that does not answer for a while, and not one that does not for a whole lease", async () => {
    const once = claimOf(1_000, failing("STORE_BUSY"), renewed);
    await expect.poll(once.renewals).toBeGreaterThan(2);
    expect(once.said).toEqual([]);

    const always = claimOf(800, failing("STORE_BUSY"));
    await expect.poll(() => always.said).toEqual(["lost: STORE_BUSY"]);
    expect(always.renewals()).toBeGreaterThan(1);
  });

  test("is lost behind a store that did not answer with what that said", async () => {
    const { said } = claimOf(80, failing("STORE_UNAVAILABLE"), failing("FENCED"));
    await expect.poll(() => said).toEqual(["lost: FENCED; it could not be renewed: STORE_UNAVAILABLE"]);
  });

  test("survives a full disk for as long as it is full: nobody else can write either", async () => {
    const { claim, said, renewals } = claimOf(40, failing("STORE_FULL"));
    await expect.poll(renewals).toBeGreaterThan(12);
    expect([claim.isHeld, said]).toEqual([true, []]);
  });

  test("is lost when what is thrown is no refusal", async () => {
    const { said } = claimOf(40, () => Promise.reject(new Error("bug")));
    await expect.poll(() => said).toEqual(["lost: bug"]);
  });

  test("hears that somebody asks for the end", async () => {
    const { said } = claimOf(40, async () => ({ cancel: { at: 1, reason: "enough" } }));
    await expect.poll(() => said[0]).toBe("cancelled: enough");
  });

  test("waits for a renewal that is on its way before it is ended", async () => {
    const order: string[] = [];
    const { claim, renewals } = claimOf(20, async () => {
      await sleep(100);
      order.push("renewed");
      return { cancel: null };
    });
    await expect.poll(renewals).toBe(1);
    await claim.endBy(async () => void order.push("ended"));
    await sleep(50);
    expect(order).toEqual(["renewed", "ended"]);
  });

  test("is not renewed while a write ends it, and not after; it goes on when that fails", async () => {
    const { claim, renewals } = claimOf(60, renewed);
    await expect(claim.endBy(() => sleep(100).then(() => Promise.reject(new Error("full"))))).rejects.toThrow("full");
    expect(renewals()).toBe(0);
    await expect.poll(renewals).toBeGreaterThan(0);
    await claim.endBy(() => sleep(100));
    const before = renewals();
    await sleep(100);
    expect([claim.isHeld, renewals()]).toEqual([false, before]);
  });
});
