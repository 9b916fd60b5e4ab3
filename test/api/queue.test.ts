/** One whole path through the run queue: enqueue, claim, renew, refuse, complete, verify. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { manualClock } from "../../src/testing/index.js";

test("an item is claimed, taken over after its lease, and completed once", async () => {
  const clock = manualClock(1_000_000);
  await using ledger = await openLedger("memory:", { clock });
  await ledger.queue.enqueue({ runId: "r1", input: { file: "a.txt" } });

  const first = await ledger.queue.claimNext({ holder: "A", leaseMs: 1_000 });
  expect(await ledger.queue.claimNext({ holder: "B", leaseMs: 1_000 })).toBeNull();
  clock.advance(1_000);
  const second = await ledger.queue.claimNext({ holder: "B", leaseMs: 1_000 });

  expect(first?.item).toMatchObject({ runId: "r1", generation: 1, superseded: null });
  expect(second?.item).toMatchObject({ runId: "r1", generation: 2, superseded: 1, reclaims: 1 });
  await expect(ledger.queue.complete(first!.fence)).rejects.toMatchObject({
    code: "FENCED",
    details: { reason: "generation", held: 2, offered: 1 },
  });
  await expect(ledger.append("note/1", [{ type: "note.added" }], { fence: first!.fence })).rejects.toMatchObject({
    code: "FENCED",
  });
  await ledger.append("note/1", [{ type: "note.added" }], { fence: second!.fence });
  expect(await ledger.queue.verify(second!.fence)).toBe(true);
  await ledger.queue.complete(second!.fence);
  expect(await ledger.queue.verify(second!.fence)).toBe(false);
  expect(await ledger.queue.get("r1")).toMatchObject({ status: "done", claim: null, generation: 2 });
  expect((await ledger.verify({ level: "deep" })).verdict).toBe("OK");
});

test("what is appended under a fence was appended while its claim was live, also when time passes in between", async () => {
  const clock = manualClock(1_000_000);
  const ticking = {
    now: () => {
      clock.advance(1);
      return clock.now();
    },
    monotonic: () => clock.monotonic(),
  };
  await using ledger = await openLedger("memory:", { clock: ticking });

  for (let leaseMs = 1; leaseMs <= 12; leaseMs++) {
    const runId = `r${leaseMs}`;
    const { fence, at } = await ledger.queue.enqueue({ runId, claim: { holder: "A", leaseMs } });
    const appended = await ledger.append("note/1", [{ type: "note.added" }], { fence }).catch(() => null);
    if (appended !== null) expect(appended.at).toBeLessThan(at + leaseMs);
  }
  const noted = await ledger.readStream("note/1").toArray();
  expect(noted.length).toBeGreaterThan(0);
  expect(noted.length).toBeLessThan(12);
});
