/** Who asked that a claimed item be ended was told that its holder would hear of it. The holder did not, parked it until
 *  somebody asks for it, and the item waited for ever: not ended, and claimed by nobody.
 *    q1 c1@f1 cancel(claimed) park(null) → claimable, so that its next holder ends it */
import { expect, test } from "vitest";
import { describeQueues, expectSound } from "../api/queue-fixture.js";
import { until } from "../api/working.js";

describeQueues("an item that is to be ended", (start) => {
  test.each([[null], [4_000_000_000_000]])("is not parked until %s: the next worker ends it", async (availableAt) => {
    const { ledger } = await start();
    const { queue } = ledger;
    const { fence } = await queue.enqueue({ runId: "r1", claim: { holder: "A" } });
    expect(await queue.requestCancel("r1", "no longer needed")).toMatchObject({ status: "claimed" });

    await queue.park(fence, { availableAt });
    ledger.worker({ queue: {}, handle: () => expect.fail("it must not be begun"), onError: () => {} });

    await until(async () => (await queue.get("r1"))!.status === "done");
    await expectSound(ledger);
  });
});
