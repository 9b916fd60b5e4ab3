/** A worker whose handler works on a run and ends it: the item is settled with the run, in one commit. Decision 15.20. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { manualClock } from "../../src/testing/index.js";
import { until, work } from "./working.js";

test("15.20 a handler that ends its run has settled the job: nothing is heard, and nothing is broken off", async () => {
  const clock = manualClock(1_000_000);
  await using ledger = await openLedger("memory:", { clock });
  for (const runId of ["r1", "r2"]) {
    await ledger.runs.create({ runId });
    await ledger.queue.enqueue({ runId });
  }
  const { jobs, heard } = work(ledger);
  await until(() => jobs.length === 1);
  const { job, end } = jobs[0]!;

  await ledger.runs.start({ runId: job.runId }, { fence: job.fence });
  await ledger.runs.finish({ runId: job.runId, status: "completed" }, { fence: job.fence });
  // A renewal finds the claim over, while the handler tidies up.
  clock.advance(600);
  await until(async () => (await ledger.queue.get("r1"))?.status === "done");
  expect(job.signal.aborted).toBe(false);
  end();
  await until(() => jobs.length === 2);
  jobs[1]!.end();

  expect(heard).toEqual([]);
  expect(await ledger.runs.get("r1")).toMatchObject({ status: "completed", owner: null });
  expect(await ledger.queue.get("r1")).toMatchObject({ status: "done", failures: 0, reclaims: 0 });
  expect((await ledger.verify({ level: "deep" })).verdict).toBe("OK");
});
