/** A claim looks at 64 claims that have expired. When each of those items had been taken over too often, they all died and it
 *  answered that there was nothing, while the item behind them waited: whoever stops at `null` never got it.
 *    64 × c(reclaimsMax 0), c65 … expired … claimNext → 64 × died, q65 */
import { expect, test } from "vitest";
import { claimRun, describeQueues, expectSound } from "../api/queue-fixture.js";

describeQueues("a claim", (start) => {
  test.each([
    [64, []],
    [66, ["d0", "d1"]],
  ])("finds what has expired behind %i that die or are left out (%j)", async (count, exclude) => {
    const { ledger, clock } = await start();
    const born = { holder: "A", leaseMs: 1 };
    for (let number = 0; number < count; number++)
      await ledger.queue.enqueue({ runId: `d${number}`, reclaimsMax: 0, claim: born });
    clock.advance(1);
    await ledger.queue.enqueue({ runId: "alive", claim: born });
    clock.advance(1_000);

    const claimed = await ledger.queue.claimNext({ holder: "B", exclude });

    expect(claimed?.item.runId).toBe("alive");
    expect((await ledger.queue.list({ status: "dead" })).items).toHaveLength(64);
    expect(await claimRun(ledger, "B")).toBeNull();
    await expectSound(ledger);
  });
});
