/** Settlements of a job that its handler does not wait for. One that was refused for its arguments was heard of by nobody, and
 *  the item was completed for good in place of what was asked for; one behind another rejected unheard, which ends the process.
 *    q1 c1@f1 p1(-1)✗ handler returns → requeue, not complete
 *    q1 c1@f1 p1✓ complete✗(settled) → the hook hears */
import { afterEach, beforeEach, expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { HandleJob, QueueEntry } from "../../src/index.js";
import { until } from "../api/working.js";

const unheard: unknown[] = [];
const hear = (reason: unknown): unknown => unheard.push(reason);
beforeEach(() => void process.on("unhandledRejection", hear));
afterEach(() => void process.off("unhandledRejection", hear));

/** What becomes of one item in the hand of such a handler, and what the hook hears. */
async function handled(handle: HandleJob): Promise<{ readonly item: QueueEntry | null; readonly heard: string[] }> {
  await using ledger = await openLedger("memory:");
  const { queue } = ledger;
  await queue.enqueue({ runId: "r1" });
  const heard: string[] = [];
  ledger.worker({
    queue: {},
    handle,
    onError: (error, { doing }) => heard.push(`${doing} ${(error as { code: string }).code}`),
    retry: { baseMs: 60_000 },
  });
  await until(async () => {
    const item = await queue.get("r1");
    return item!.generation === 1 && item!.claim === null;
  });
  await new Promise((resolve) => setTimeout(resolve, 1));
  return { item: await queue.get("r1"), heard };
}

test.each<[string, HandleJob]>([
  ["an async handler", async (job) => void job.park({ availableAt: -1 })],
  ["a handler", (job) => void job.park({ availableAt: -1 })],
])(
  "%s that returns behind a settlement with a bad argument has failed, and its item is not completed",
  async (_, handle) => {
    const { item, heard } = await handled(handle);

    expect(item).toMatchObject({ status: "queued", failures: 1, reason: "INVALID_ARGUMENT" });
    expect(heard).toEqual(["handle INVALID_ARGUMENT"]);
  },
);

test("a second settlement that nobody waits for is heard by the hook, and by nobody else", async () => {
  const { item, heard } = await handled((job) => {
    void job.park({ availableAt: null });
    void job.complete();
  });

  expect(item).toMatchObject({ status: "parked" });
  expect(heard).toEqual(["complete ILLEGAL_TRANSITION"]);
  expect(unheard.splice(0)).toEqual([]);
});
