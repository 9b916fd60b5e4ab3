/** Runs: made, begun, owned, taken over, ended, on each store. Rows G-05, H-06, H-09, L-01, L-02, U-02, U-03, U-07 to U-09;
 *  decisions 15.12, 15.18; case I13. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { FinalRunStatus, Ledger } from "../../src/index.js";
import { generateRunId } from "../../src/kernel/run-id.js";
import { parseRunId } from "../../src/kernel/names.js";
import { manualClock } from "../../src/testing/index.js";
import { claim, describeQueues, eventsOf, expectSound, refused, t0 } from "./queue-fixture.js";
import { leavesNothing } from "./run-fixture.js";

test("a run is made, claimed, worked on under its fence, and ended with its queue item", async () => {
  const clock = manualClock(1_000_000);
  await using ledger = await openLedger("memory:", { clock });
  const { name, digest } = await ledger.definitions.register({ name: "build", snapshot: { steps: ["make"] } });
  const { runId, revision } = await ledger.runs.create({
    definition: { name, digest },
    title: "Nightly build",
    input: { target: "all" },
  });
  const { fence } = await ledger.queue.enqueue({ runId, claim: { holder: "A", leaseMs: 1_000 } });
  expect(runId).toMatch(/^19700101T001640Z-build-[0-9a-f]{8}$/);
  expect(revision).toBe(1);

  await expect(ledger.runs.start({ runId })).rejects.toMatchObject({ code: "FENCED", details: { reason: "missing" } });
  await ledger.runs.start({ runId }, { fence });
  const { attemptId } = await ledger.attempts.start({ runId, node: "make" }, { fence });
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
  expect(await ledger.queue.get(runId)).toMatchObject({ status: "done", claim: null });
  await expectSound(ledger);
});

test("G-05 the id that a run gets is a run id, whatever its name is", () => {
  const random = Uint8Array.of(0x1f, 0, 0xc2, 0xaa, 0xff);
  expect(generateRunId("build", Date.UTC(2026, 2, 1, 12), random)).toBe("20260301T120000Z-build-1f00c2aa");
  expect(generateRunId("", Date.UTC(2026, 2, 1, 12), random)).toBe("20260301T120000Z-workflow-1f00c2aa");
  expect(generateRunId("größe 😀/..", Date.UTC(2026, 2, 1, 12), random)).toBe("20260301T120000Z-gr--e----..-1f00c2aa");
  expect(generateRunId("n".repeat(300), 0, random)).toBe(`19700101T000000Z-${"n".repeat(80)}-1f00c2aa`);
  const ascii = Array.from({ length: 128 }, (_, unit) => String.fromCharCode(unit));
  const kept = ascii.filter((unit) => generateRunId(unit, 0, random).endsWith(`Z-${unit}-1f00c2aa`)).join("");
  expect(kept).toBe("-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz");
  fc.assert(
    fc.property(
      fc.string({ unit: "binary", maxLength: 300 }),
      fc.integer({ min: 0, max: 8.64e15 }),
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      (name, at, bytes) => {
        const runId = generateRunId(name, at, bytes);
        expect(parseRunId(runId, "run id")).toBe(runId);
      },
    ),
  );
});

/** A run that somebody has begun, and the fence of who has it. */
async function begun(ledger: Ledger, runId: string, leaseMs = 1_000) {
  const wish = { holder: "A", leaseMs };
  await ledger.runs.create({ runId });
  const { fence } = await ledger.queue.enqueue({ runId, claim: wish });
  await ledger.runs.start({ runId }, { fence });
  return fence;
}

describeQueues("a run", (start) => {
  test("G-05 gets an id of its time and of what it follows, or is called; a call with an id gives its own", async () => {
    const { ledger } = await start();
    const { name, digest } = await ledger.definitions.register({ name: "n".repeat(128), snapshot: {} });

    const ids = [
      (await ledger.runs.create()).runId,
      (await ledger.runs.create({ title: "Überführung" })).runId,
      (await ledger.runs.create({ title: "x", definition: { name, digest } })).runId,
      (await ledger.runs.create({ runId: "mine" }, { id: "c1" })).runId,
      (await ledger.runs.create({ runId: "mine" }, { id: "c1" })).runId,
    ];

    expect(ids[0]).toMatch(/^19700211T160000Z-workflow-[0-9a-f]{8}$/);
    expect(ids[1]).toMatch(/^19700211T160000Z--berf-hrung-[0-9a-f]{8}$/);
    expect(ids[2]).toMatch(new RegExp(`^19700211T160000Z-n{80}-[0-9a-f]{8}$`));
    expect(ids.slice(3)).toEqual(["mine", "mine"]);
    await leavesNothing(ledger, () => ledger.runs.create({}, { id: "c2" }), {
      code: "INVALID_ARGUMENT",
      details: { path: "run.runId" },
    });
    await expectSound(ledger);
  });

  test("U-02 U-03 is made once, of a definition that is there", async () => {
    const { ledger } = await start();
    const { digest } = await ledger.definitions.register({ name: "build", snapshot: { steps: ["make"] } });
    await ledger.runs.create({ runId: "r1", definition: { name: "build", digest } });

    await leavesNothing(ledger, () => ledger.runs.create({ runId: "r1" }), {
      code: "ALREADY_EXISTS",
      details: { status: "queued" },
    });
    await leavesNothing(ledger, () => ledger.runs.create({ runId: "r2", definition: { name: "check", digest } }), {
      code: "REQUEST_CONFLICT",
      details: { name: "build", called: "check" },
    });
    const unknown = { name: "build", digest: "ab".repeat(32) };
    await leavesNothing(ledger, () => ledger.runs.create({ runId: "r2", definition: unknown }), { code: "NOT_FOUND" });
    await ledger.queue.enqueue({ runId: "r3", claim: { holder: "A" } });
    await leavesNothing(ledger, () => ledger.runs.create({ runId: "r3" }), { code: "FENCED" });
  });

  test("U-08 U-09 is written under its live fence alone, and by whoever has seen it when nobody has it", async () => {
    const { ledger, clock } = await start();
    const fence = await begun(ledger, "r1");
    const other = await begun(ledger, "r2", 60_000);
    const node = { runId: "r1", node: "a" };

    await leavesNothing(ledger, () => ledger.attempts.start({ ...node, expectedRevision: 2 }), {
      code: "FENCED",
      details: { reason: "missing", key: "queue/r1" },
    });
    await leavesNothing(ledger, () => ledger.attempts.start(node, { fence: other }), {
      code: "FENCED",
      details: { reason: "key" },
    });
    await leavesNothing(ledger, () => ledger.attempts.start({ ...node, expectedRevision: 1 }, { fence }), {
      code: "REVISION_CONFLICT",
      details: { stream: "run/r1", expected: 1, actual: 2 },
    });
    expect(await ledger.attempts.start({ ...node, expectedRevision: 2 }, { fence })).toMatchObject({ revision: 3 });

    clock.advance(1_000);
    expect(await refused(ledger.runs.finish({ runId: "r1", status: "failed" }, { fence }))).toMatchObject({
      code: "FENCED",
      details: { reason: "expired" },
    });
    await leavesNothing(ledger, () => ledger.runs.finish({ runId: "r1", status: "failed" }), {
      code: "INVALID_ARGUMENT",
      details: { path: "expectedRevision", revision: 3 },
    });
    await leavesNothing(ledger, () => ledger.runs.finish({ runId: "r1", status: "failed", expectedRevision: 2 }), {
      code: "REVISION_CONFLICT",
    });
    const ended = await ledger.runs.finish({ runId: "r1", status: "failed", expectedRevision: 3 }, { fence: other });
    expect(ended).toMatchObject({ status: "failed", revision: 5 });
    expect(await ledger.attempts.get("r1", "a.1")).toMatchObject({
      status: "cancelled",
      reason: "the run ended: failed",
    });
    expect(await ledger.queue.get("r1")).toMatchObject({ status: "done", claim: null });
    await expectSound(ledger);
  });

  test("a call that needed a revision is right with the same id once it brings a fence", async () => {
    const { ledger, clock } = await start();
    await ledger.runs.create({ runId: "r1" });
    const call = { id: "c1" };

    expect(await refused(ledger.runs.start({ runId: "r1" }, call))).toMatchObject({ code: "INVALID_ARGUMENT" });
    const { fence } = await ledger.queue.enqueue({ runId: "r1", claim: { holder: "A" } });
    clock.advance(1);

    expect(await ledger.runs.start({ runId: "r1" }, { ...call, fence })).toMatchObject({ status: "running" });
  });

  test("I13 whose process was killed shows its owner until the lease ends, then none, and can be taken over", async () => {
    const { ledger, clock } = await start();
    const fence = await begun(ledger, "r1");
    await ledger.attempts.start({ runId: "r1", node: "a" }, { fence });
    // From here on nobody hears of A.
    clock.advance(999);
    const owner = { holder: "A", generation: 1, expiresAt: t0 + 1_000 };
    expect(await ledger.runs.get("r1")).toMatchObject({ status: "running", owner });
    expect(await ledger.queue.claimNext({ holder: "B", runId: "r1" })).toBeNull();

    clock.advance(1);
    expect(await ledger.runs.get("r1")).toMatchObject({ status: "running", owner: null });
    expect((await ledger.runs.list({ status: "running" })).runs).toMatchObject([{ runId: "r1", owner: null }]);
    const taken = await ledger.queue.claimNext({ holder: "B", runId: "r1" });
    expect(taken?.item).toMatchObject({ runId: "r1", superseded: 1, reclaims: 1 });
    expect(await ledger.runs.prepareResume({ runId: "r1" }, { fence: taken!.fence })).toMatchObject({ attempt: "a.1" });
    const { attemptId } = await ledger.attempts.start({ runId: "r1", node: "a" }, { fence: taken!.fence });

    expect(attemptId).toBe("a.2");
    expect((await ledger.attempts.list("r1")).attempts).toMatchObject([
      { attemptId: "a.1", status: "cancelled", reason: "abandoned", generation: 1 },
      { attemptId: "a.2", status: "running", generation: 2 },
    ]);
    expect(await ledger.runs.get("r1")).toMatchObject({ owner: { holder: "B", generation: 2 }, resumes: 1 });
    await expectSound(ledger);
  });

  test("H-06 whose definition is another is not resumed: parked with the reason, left out, and as it was", async () => {
    const { ledger, clock } = await start();
    const { name, digest } = await ledger.definitions.register({ name: "build", snapshot: { steps: ["make"] } });
    await ledger.runs.create({ runId: "r1", definition: { name, digest } });
    await ledger.queue.enqueue({ runId: "r1" });
    await ledger.queue.enqueue({ runId: "r2" });
    const first = await claim(ledger, "A");
    await ledger.runs.start({ runId: "r1" }, { fence: first });
    clock.advance(1_000);
    const taken = await ledger.queue.claimNext({ holder: "B", exclude: ["r2"] });
    const before = await ledger.runs.get("r1");

    const mine = await ledger.definitions.register({ name: "build", snapshot: { steps: ["make", "test"] } });
    expect(mine.digest).not.toBe(before!.definition!.digest);
    await ledger.queue.park(taken!.fence, { reason: "its definition is another than mine" });

    expect(await ledger.queue.get("r1")).toMatchObject({
      status: "parked",
      reason: "its definition is another than mine",
    });
    expect((await ledger.queue.claimNext({ holder: "B", exclude: ["r1"] }))?.item.runId).toBe("r2");
    expect(await ledger.queue.claimNext({ holder: "B", exclude: ["r1"] })).toBeNull();
    expect(await ledger.runs.get("r1")).toEqual({ ...before, owner: null });
    await expectSound(ledger);
  });

  test("H-09 is not resumed by who lost it meanwhile: what the next owner wrote stands", async () => {
    const { ledger, clock } = await start();
    const fence = await begun(ledger, "r1");
    await ledger.attempts.start({ runId: "r1", node: "a" }, { fence });
    clock.advance(1_000);
    const a = await ledger.queue.claimNext({ holder: "A", leaseMs: 1_000, runId: "r1" });
    expect(await ledger.queue.verify(a!.fence)).toBe(true);
    // A looks, and is held up; B takes over and goes on.
    clock.advance(1_000);
    const b = await ledger.queue.claimNext({ holder: "B", leaseMs: 1_000, runId: "r1" });
    await ledger.runs.prepareResume({ runId: "r1" }, { fence: b!.fence });
    await ledger.attempts.start({ runId: "r1", node: "a" }, { fence: b!.fence });
    const before = await ledger.readStream("run/r1").toArray();

    expect(await refused(ledger.runs.prepareResume({ runId: "r1" }, { fence: a!.fence }))).toMatchObject({
      code: "FENCED",
      details: { reason: "generation", held: 3, offered: 2 },
    });
    const seen = { runId: "r1", expectedRevision: before.length };
    await leavesNothing(ledger, () => ledger.runs.prepareResume(seen), { code: "FENCED" });

    expect(await ledger.readStream("run/r1").toArray()).toEqual(before);
    expect(await ledger.runs.get("r1")).toMatchObject({ attempt: "a.2", owner: { holder: "B" } });
    expect((await eventsOf(ledger)).at(-1)).toBe("fence.refused");
    await expectSound(ledger);
  });

  test("L-01 L-02 is resumed while it runs: what was left open is closed in one commit", async () => {
    const { ledger, clock } = await start();
    await ledger.runs.create({ runId: "r1" });
    await leavesNothing(ledger, () => ledger.runs.prepareResume({ runId: "r1", expectedRevision: 1 }), {
      code: "ILLEGAL_TRANSITION",
      details: { status: "queued" },
    });
    await leavesNothing(ledger, () => ledger.runs.prepareResume({ runId: "r9" }), { code: "NOT_FOUND" });
    await ledger.runs.start({ runId: "r1", expectedRevision: 1 });
    await ledger.attempts.start({ runId: "r1", node: "old", expectedRevision: 2 });
    const old = { runId: "r1", attemptId: "old.1" };
    await ledger.sessions.bind({ ...old, expectedRevision: 3 });
    await ledger.sessions.finish({ ...old, status: "complete", expectedRevision: 3 });
    await ledger.attempts.finish({ ...old, outcome: "failed", expectedRevision: 3 });
    await ledger.attempts.start({ runId: "r1", node: "a", expectedRevision: 4 });
    await ledger.sessions.bind({ runId: "r1", expectedRevision: 5 });
    await ledger.sessions.bind({ runId: "r1", attemptId: "a.1", expectedRevision: 5 });
    clock.advance(5);

    const prepared = await ledger.runs.prepareResume({ runId: "r1", expectedRevision: 5 });

    expect(prepared).toMatchObject({ status: "running", revision: 7, attempt: "a.1", captures: 2, count: 4 });
    const failure = { code: "host_interrupted", message: "its holder went away" };
    expect(await ledger.sessions.get("r1")).toMatchObject({ status: "failed", failure });
    expect(await ledger.sessions.get("r1", "a.1")).toMatchObject({ status: "failed", failure });
    expect(await ledger.sessions.get("r1", "old.1")).toMatchObject({ status: "complete" });
    expect(await ledger.attempts.get("r1", "a.1")).toMatchObject({ status: "cancelled", finishedAt: t0 + 5 });
    expect(await ledger.runs.prepareResume({ runId: "r1", expectedRevision: 7 })).toMatchObject({
      attempt: null,
      captures: 0,
      revision: 8,
    });
    await expectSound(ledger);
  });

  test("that nobody has is ended by who asks for it, with all that it left open", async () => {
    const { ledger, clock } = await start();
    const fence = await begun(ledger, "r1");
    await ledger.attempts.start({ runId: "r1", node: "a" }, { fence });
    await ledger.sessions.bind({ runId: "r1", attemptId: "a.1" }, { fence });
    clock.advance(1_000);

    expect(await ledger.runs.requestCancel({ runId: "r1", reason: "no use" })).toMatchObject({
      status: "cancelled",
      revision: 5,
    });

    expect(await ledger.runs.get("r1")).toMatchObject({ status: "cancelled", reason: "no use", attempt: null });
    expect(await ledger.attempts.get("r1", "a.1")).toMatchObject({ status: "cancelled", reason: "no use" });
    expect(await ledger.sessions.get("r1", "a.1")).toMatchObject({ status: "failed" });
    expect(await ledger.queue.get("r1")).toMatchObject({ status: "done", reason: "no use", claim: null });
    expect(await ledger.runs.requestCancel({ runId: "r1", reason: "again" })).toMatchObject({ count: 0 });
    expect(await refused(ledger.runs.requestCancel({ runId: "r9", reason: "x" }))).toMatchObject({ code: "NOT_FOUND" });
    await expectSound(ledger);
  });

  test("that somebody has goes on when its end is asked for, and its holder hears of it", async () => {
    const { ledger, clock } = await start();
    const fence = await begun(ledger, "r1");
    clock.advance(5);

    expect(await ledger.runs.requestCancel({ runId: "r1", reason: "no use" })).toMatchObject({
      status: "running",
      revision: 3,
    });
    expect(await ledger.runs.requestCancel({ runId: "r1", reason: "again" })).toMatchObject({ count: 0, revision: 3 });

    const cancel = { at: t0 + 5, reason: "no use" };
    expect(await ledger.queue.renew(fence, 1_000)).toMatchObject({ cancel });
    expect(await ledger.runs.get("r1")).toMatchObject({ status: "running", cancel, owner: { holder: "A" } });
    await ledger.runs.finish({ runId: "r1", status: "cancelled", reason: "no use" }, { fence });
    expect(await ledger.queue.get("r1")).toMatchObject({ status: "done" });
    await expectSound(ledger);
  });

  test.each<[FinalRunStatus, object]>([
    ["failed", { exit: { code: 2 }, reason: "make failed", error: "no rule to make target" }],
    ["timed_out", { exit: { signal: "SIGKILL" } }],
    ["cancelled", { reason: "no use" }],
    ["completed", { exit: { code: 0 } }],
  ])("15.12 ends once as %s: said again it is as it was, and otherwise refused", async (status, said) => {
    const { ledger, clock } = await start();
    const fence = await begun(ledger, "r1");
    const wish = { runId: "r1", status, ...said };
    const first = await ledger.runs.finish(wish, { fence });
    clock.advance(5);

    expect(first).toMatchObject({ status, revision: 3 });
    expect(await ledger.runs.finish(wish)).toMatchObject({ status, revision: 3, count: 0 });
    const before = await ledger.runs.get("r1");
    for (const other of [
      { ...wish, status: status === "failed" ? ("completed" as const) : ("failed" as const) },
      { ...wish, reason: "another" },
      { ...wish, exit: { code: 9 } },
      { ...wish, error: "another" },
    ])
      await leavesNothing(ledger, () => ledger.runs.finish(other), {
        code: "ILLEGAL_TRANSITION",
        details: { runId: "r1", status },
      });
    expect(await ledger.runs.get("r1")).toEqual(before);
    await leavesNothing(ledger, () => ledger.runs.start({ runId: "r1", expectedRevision: 3 }), {
      code: "ILLEGAL_TRANSITION",
    });
    await expectSound(ledger);
  });

  test("is not completed before it began, nor while an attempt is open", async () => {
    const { ledger } = await start();
    await ledger.runs.create({ runId: "r1" });
    const complete = (expectedRevision: number) =>
      ledger.runs.finish({ runId: "r1", status: "completed", expectedRevision });

    await leavesNothing(ledger, () => complete(1), { code: "ILLEGAL_TRANSITION", details: { status: "queued" } });
    await ledger.runs.start({ runId: "r1", expectedRevision: 1 });
    await ledger.attempts.start({ runId: "r1", node: "a", expectedRevision: 2 });
    await leavesNothing(ledger, () => complete(3), { code: "ILLEGAL_TRANSITION", details: { attempt: "a.1" } });
    await ledger.attempts.finish({ runId: "r1", attemptId: "a.1", outcome: "completed", expectedRevision: 3 });
    expect(await complete(4)).toMatchObject({ status: "completed", revision: 5 });
  });

  test("X-02 is listed newest first, page by page, by status, each with who has it", async () => {
    const { ledger, clock } = await start();
    for (const runId of ["a", "c", "b"]) await ledger.runs.create({ runId });
    clock.advance(1);
    const fence = await begun(ledger, "d");

    const first = await ledger.runs.list({ limit: 2 });
    expect(first.runs.map(({ runId, owner }) => [runId, owner?.holder ?? null])).toEqual([
      ["d", "A"],
      ["c", null],
    ]);
    const second = await ledger.runs.list({ limit: 2, after: first.next! });
    expect(second).toMatchObject({ runs: [{ runId: "b" }, { runId: "a" }], next: null });
    expect((await ledger.runs.list({ status: "running" })).runs.map(({ runId }) => runId)).toEqual(["d"]);
    expect((await ledger.runs.list({ status: "timed_out" })).runs).toEqual([]);
    await ledger.queue.release(fence);
    expect(await ledger.runs.get("d")).toMatchObject({ owner: null });
    expect(await ledger.runs.get("nobody")).toBeNull();
    for (const wrong of [{ status: "done" }, { limit: 0 }, { after: "?" }, { order: "asc" }])
      expect(await refused(ledger.runs.list(wrong as never))).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await refused(ledger.runs.get("../bad"))).toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});
