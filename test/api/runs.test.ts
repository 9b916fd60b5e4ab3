/** One whole path through a run: made, begun, worked on under a claim, ended, verified. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { manualClock } from "../../src/testing/index.js";

test("a run is made, claimed, worked on under its fence, and ended with its queue item", async () => {
  const clock = manualClock(1_000_000);
  await using ledger = await openLedger("memory:", { clock });
  const definition = await ledger.definitions.register({ name: "build", snapshot: { steps: ["make"] } });
  const { runId, revision } = await ledger.runs.create({
    definition: { name: definition.name, digest: definition.digest },
    title: "Nightly build",
    input: { target: "all" },
  });
  const { fence } = await ledger.queue.enqueue({ runId, claim: { holder: "A", leaseMs: 1_000 } });
  expect(runId).toMatch(/^19700101T001640Z-build-[0-9a-f]{8}$/);
  expect(revision).toBe(1);

  await expect(ledger.runs.start({ runId })).rejects.toMatchObject({ code: "FENCED", details: { reason: "missing" } });
  await ledger.runs.start({ runId }, { fence });
  const { attemptId } = await ledger.attempts.start({ runId, node: "make" }, { fence });
  expect(attemptId).toBe("make.1");
  expect(await ledger.runs.get(runId)).toMatchObject({
    status: "running",
    revision: 3,
    attempt: "make.1",
    owner: { holder: "A", generation: 1, expiresAt: 1_001_000 },
  });
  clock.advance(10);
  await ledger.attempts.finish({ runId, attemptId, outcome: "completed", exit: { code: 0 } }, { fence });
  await ledger.runs.finish({ runId, status: "completed", exit: { code: 0 } }, { fence });

  expect(await ledger.runs.list()).toMatchObject({
    runs: [{ runId, status: "completed", revision: 5, attempt: null, attempts: 1, owner: null }],
    next: null,
  });
  expect(await ledger.attempts.list(runId)).toMatchObject({
    attempts: [{ attemptId, status: "completed", generation: 1, durationMs: 10, exit: { code: 0 } }],
  });
  expect(await ledger.queue.get(runId)).toMatchObject({ status: "done", claim: null });
  const { verdict, findings } = await ledger.verify({ level: "deep" });
  expect({ verdict, findings }).toEqual({ verdict: "OK", findings: [] });
});
