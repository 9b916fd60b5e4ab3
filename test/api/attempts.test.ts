/** Attempts: begun, ended, once and one at a time, on each store. Rows P-01, P-05; property 5 of the fuzzers for attempts;
 *  decisions 15.12, 15.16; case G13. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { LedgerError, openLedger } from "../../src/index.js";
import type { AttemptOutcome, Ledger } from "../../src/index.js";
import { attempts, isOpen } from "../../projections/attempt.js";
import { replay } from "../../projections/replay.js";
import { manualClock } from "../../src/testing/index.js";
import { describeQueues, expectSound, refused, t0 } from "./queue-fixture.js";
import { leavesNothing } from "./run-fixture.js";

async function running(ledger: Ledger): Promise<void> {
  await ledger.runs.create({ runId: "r1" });
  await ledger.runs.start({ runId: "r1", expectedRevision: 1 });
}

const own = { runId: "r1", attemptId: "a.1" };

describeQueues("an attempt", (start) => {
  test("P-01 P-05 is numbered by its node, and alone in being open", async () => {
    const { ledger, clock } = await start();
    const process = { host: "h1", boot: "b1", pid: 77, startedAt: "123456" };
    await ledger.runs.create({ runId: "r1" });
    await leavesNothing(ledger, () => ledger.attempts.start({ runId: "r1", node: "a", expectedRevision: 1 }), {
      code: "ILLEGAL_TRANSITION",
      details: { status: "queued" },
    });
    await leavesNothing(ledger, () => ledger.attempts.start({ runId: "r9", node: "a" }), { code: "NOT_FOUND" });
    await ledger.runs.start({ runId: "r1", expectedRevision: 1 });

    expect(await ledger.attempts.start({ runId: "r1", node: "a", process, expectedRevision: 2 })).toMatchObject({
      attemptId: "a.1",
      number: 1,
      status: "running",
      revision: 3,
    });
    await leavesNothing(ledger, () => ledger.attempts.start({ runId: "r1", node: "b", expectedRevision: 3 }), {
      code: "ILLEGAL_TRANSITION",
      details: { attempt: "a.1" },
    });
    clock.advance(5);
    await ledger.attempts.cancel({ ...own, reason: "no use", exit: { signal: "SIGTERM" }, expectedRevision: 3 });
    const names: string[] = [];
    for (const node of ["a.1", "a", "a", "b"]) {
      const { revision } = (await ledger.runs.get("r1"))!;
      const { attemptId, ...begun } = await ledger.attempts.start({ runId: "r1", node, expectedRevision: revision });
      names.push(attemptId);
      await ledger.attempts.finish({ runId: "r1", attemptId, outcome: "failed", expectedRevision: begun.revision });
    }

    expect(names).toEqual(["a.1.1", "a.2", "a.3", "b.1"]);
    const listed = await ledger.attempts.list("r1", { limit: 2 });
    expect(listed.attempts).toMatchObject([
      { attemptId: "a.1", status: "cancelled", reason: "no use", exit: { signal: "SIGTERM" }, process, durationMs: 5 },
      { attemptId: "a.1.1", status: "failed", process: null },
    ]);
    const rest = await ledger.attempts.list("r1", { after: listed.next! });
    expect(rest.attempts.map(({ attemptId }) => attemptId)).toEqual(["a.2", "a.3", "b.1"]);
    expect(await ledger.runs.get("r1")).toMatchObject({ attempt: null, attempts: 5, revision: 12 });
    expect(await ledger.attempts.get("r1", "c.1")).toBeNull();
    await expectSound(ledger);
  });

  test.each<[AttemptOutcome, object]>([
    ["completed", { exit: { code: 0 }, durationMs: 3 }],
    ["failed", { exit: { code: 2 }, error: { message: "no rule" } }],
    ["timed_out", { exit: { signal: "SIGKILL" }, reportedStartedAt: 9, reportedFinishedAt: 3 }],
  ])("15.12 ends once as %s: said again it is as it was, and otherwise refused", async (outcome, said) => {
    const { ledger, clock } = await start();
    await running(ledger);
    await ledger.attempts.start({ runId: "r1", node: "a", expectedRevision: 2 });
    clock.advance(20);
    const wish = { ...own, outcome, ...said };
    expect(await ledger.attempts.finish({ ...wish, expectedRevision: 3 })).toMatchObject({
      status: outcome,
      revision: 4,
    });
    const before = await ledger.attempts.get("r1", "a.1");

    expect(await ledger.attempts.finish(wish)).toMatchObject({ status: outcome, revision: 4, count: 0 });
    for (const other of [
      { ...wish, outcome: outcome === "failed" ? ("completed" as const) : ("failed" as const) },
      { ...wish, exit: { code: 9 } },
      { ...wish, durationMs: 4 },
      { ...wish, reportedStartedAt: 4 },
      { ...wish, error: "another" },
    ])
      await leavesNothing(ledger, () => ledger.attempts.finish({ ...other, expectedRevision: 4 }), {
        code: "ATTEMPT_CLOSED",
        details: { ...own, status: outcome },
      });
    await leavesNothing(ledger, () => ledger.attempts.cancel({ ...own, reason: "late", expectedRevision: 4 }), {
      code: "ATTEMPT_CLOSED",
    });
    expect(await ledger.attempts.get("r1", "a.1")).toEqual(before);
    await expectSound(ledger);
  });

  test("15.12 is cancelled once, and what was said before stands", async () => {
    const { ledger } = await start();
    await running(ledger);
    await ledger.attempts.start({ runId: "r1", node: "a", expectedRevision: 2 });
    const wish = { ...own, reason: "no use", exit: { signal: "SIGTERM" } };
    await ledger.attempts.cancel({ ...wish, expectedRevision: 3 });

    expect(await ledger.attempts.cancel(wish)).toMatchObject({ status: "cancelled", count: 0 });
    for (const other of [
      { ...wish, reason: "other" },
      { ...own, reason: "no use" },
    ])
      await leavesNothing(ledger, () => ledger.attempts.cancel(other), { code: "ATTEMPT_CLOSED" });
    await leavesNothing(ledger, () => ledger.attempts.finish({ ...own, outcome: "completed" }), {
      code: "ATTEMPT_CLOSED",
    });
    await leavesNothing(ledger, () => ledger.attempts.cancel({ ...wish, attemptId: "a.2" }), { code: "NOT_FOUND" });
  });

  test("G13 lasts no time below zero, whatever clocks say, and stands in the order of revisions", async () => {
    const { ledger, clock } = await start();
    await running(ledger);
    await ledger.attempts.start({ runId: "r1", node: "b", expectedRevision: 2 });
    clock.set(t0 - 50_000);
    await ledger.attempts.finish({
      runId: "r1",
      attemptId: "b.1",
      outcome: "completed",
      reportedStartedAt: t0 + 9_000,
      reportedFinishedAt: t0 - 9_000,
      expectedRevision: 3,
    });
    await ledger.attempts.start({ runId: "r1", node: "a", expectedRevision: 4 });
    await ledger.runs.finish({ runId: "r1", status: "failed", expectedRevision: 5 });

    expect((await ledger.attempts.list("r1")).attempts).toMatchObject([
      { attemptId: "b.1", durationMs: 0, startedAt: t0, finishedAt: t0, reportedStartedAt: t0 + 9_000 },
      { attemptId: "a.1", durationMs: 0, status: "cancelled" },
    ]);
    const run = await ledger.runs.get("r1");
    expect(run!.finishedAt).toBeGreaterThanOrEqual(run!.startedAt!);
    for (const durationMs of [-1, 0.5, NaN])
      expect(await refused(ledger.attempts.finish({ ...own, outcome: "completed", durationMs }))).toMatchObject({
        code: "INVALID_ARGUMENT",
        details: { path: "finish.durationMs" },
      });
    await expectSound(ledger);
  });

  test("an error that is long is cut, not inside a character, and can be erased", async () => {
    const { ledger } = await start();
    await running(ledger);
    await ledger.attempts.start({ runId: "r1", node: "a", expectedRevision: 2 });
    const error = `${"e".repeat(8_190)}😀 and more`;
    await ledger.attempts.finish({ ...own, outcome: "failed", error, expectedRevision: 3 });

    const kept = (await ledger.attempts.get("r1", "a.1"))!.error!;
    expect((await ledger.content(kept)).text()).toBe(`${"e".repeat(8_190)}…`);
    expect(await ledger.attempts.finish({ ...own, outcome: "failed", error })).toMatchObject({ count: 0 });
    await ledger.erase([kept.$content], { reason: "private" });
    // What is erased equals nothing.
    expect(await refused(ledger.attempts.finish({ ...own, outcome: "failed", error }))).toMatchObject({
      code: "ATTEMPT_CLOSED",
    });
    await expectSound(ledger);
  });
});

test("a run has at no prefix of its journal two open attempts, whoever races", async () => {
  const act = fc.constantFrom("start a", "start b", "finish", "cancel", "resume", "end", "create");
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(act, fc.constantFrom("r1", "r2")), { maxLength: 30 }), async (acts) => {
      await using ledger = await openLedger("memory:", { clock: manualClock() });
      const tried = acts.map(async ([what, runId], index) => {
        const run = index % 3 === 0 ? await ledger.runs.get(runId) : null;
        const write = { runId, expectedRevision: run?.revision ?? 1 + (index % 7) };
        const attemptId = run?.attempt ?? "a.1";
        if (what === "create") {
          await ledger.runs.create({ runId });
          await ledger.runs.start({ runId, expectedRevision: 1 });
        } else if (what === "start a") await ledger.attempts.start({ ...write, node: "a" });
        else if (what === "start b") await ledger.attempts.start({ ...write, node: "b" });
        else if (what === "finish") await ledger.attempts.finish({ ...write, attemptId, outcome: "failed" });
        else if (what === "cancel") await ledger.attempts.cancel({ ...write, attemptId, reason: "no use" });
        else if (what === "resume") await ledger.runs.prepareResume(write);
        else await ledger.runs.finish({ ...write, status: "failed" });
      });
      for (const each of await Promise.allSettled(tried))
        if (each.status === "rejected" && !(each.reason instanceof LedgerError)) throw each.reason;

      const events = await ledger.read().toArray();
      for (let size = 1; size <= events.length; size++) {
        const folded = (await replay([attempts], events.slice(0, size))).projection(attempts);
        const open = folded.find({ limit: 1_000 }).documents.filter(({ document }) => isOpen(document));
        expect(new Set(open.map(({ document }) => document.runId)).size).toBe(open.length);
      }
      for (const { runId, revision } of (await ledger.runs.list()).runs)
        expect(revision).toBe((await ledger.readStream(`run/${runId}`).toArray()).length);
    }),
    { numRuns: process.env["RUNLEDGER_LONG"] === undefined ? 20 : 200 },
  );
});
