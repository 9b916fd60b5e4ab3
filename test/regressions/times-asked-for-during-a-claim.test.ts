/** `requeue` answered the time that the holder gave, where somebody had asked for an earlier one during the claim: the item came
 *  back earlier than its worker was told, because the decision looked at its own event alone. Found by the reference model.
 *    q1 c1@f1 b1(+10 s) b1@f1(+60 s)✓ 10 s, not 60 */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";

test("a worker that gives an item back is told when it comes back, though somebody asked for it earlier", async () => {
  const clock = manualClock();
  const { queue } = await openLedger("memory:", { clock });
  await queue.enqueue({ runId: "r1" });
  const claimed = await queue.claimNext({ holder: "worker" });
  await queue.requeue("r1", { availableAt: clock.now() + 10_000 });

  const told = await queue.requeue(claimed!.fence, { availableAt: clock.now() + 60_000 });

  expect(told.availableAt).toBe(clock.now() + 10_000);
  expect((await queue.get("r1"))?.availableAt).toBe(clock.now() + 10_000);
});
