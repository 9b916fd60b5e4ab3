/** A worker in a journal that is ahead of its clock looked, saw something due, claimed in vain, looked, and so on, as fast as it could
 *  and with the write lock each time: who looks had seen the head earlier than who writes, so that its time was further. */
import { expect, test } from "vitest";
import { manualClock } from "../../src/testing/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { passUntil, settled, work } from "../api/working.js";
import { open } from "../engine/fixture.js";

test("a worker that sees something due before it can be claimed waits a moment before it claims again", async () => {
  const store = createMemoryStore();
  const [mine, others] = [manualClock(), manualClock()];
  others.set(mine.now() + 3_600_000);
  const elsewhere = await open(store, { clock: others });
  const ledger = await open(store, { clock: mine });
  await elsewhere.queue.enqueue({ runId: "r1", availableAt: others.now() + 1_000 });
  const { jobs, heard } = work(ledger, { pollMs: 60_000 });
  await settled();
  // A clock that is put back, so that only the monotonic one says how old the head is.
  mine.set(mine.now() - 7_200_000);
  await elsewhere.append("note/1", [{ type: "note.added" }]);

  await passUntil(mine, () => jobs.length === 1, 1);

  expect(jobs[0]!.job.runId).toBe("r1");
  expect(heard).toEqual([]);
  expect(mine.monotonic()).toBeLessThan(4_000);
});
