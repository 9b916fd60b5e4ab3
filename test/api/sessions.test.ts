/** Captures in the life of a run: who may write them, how they outlive the run, and what a resumed run begins with. */
import { describe, expect, test } from "vitest";
import { content, redactStrings, runCommands, sessionCommands } from "../../src/index.js";
import type { Fence, Ledger, LedgerOptions, SessionRecordInput } from "../../src/index.js";
import { sessionBytesPerCallMax, sessionRecordBytesMax } from "../../src/kernel/limits.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import type { ManualClock } from "../../src/testing/manual-clock.js";
import { describeStores, open, openStore, sharedStoreNames } from "../engine/fixture.js";
import { claim, expectSound, minute, refused, t0 } from "./queue-fixture.js";
import { bindCapture, numberedLines, range, recordsOf } from "./session-fixture.js";

interface Worked {
  readonly ledger: Ledger;
  readonly clock: ManualClock;
  readonly fence: Fence;
  readonly attemptId: string;
}

const runId = "r1";

/** A run under a claim of a minute, with an attempt and its capture. */
async function working(openOne: (options?: LedgerOptions) => Promise<Ledger>): Promise<Worked> {
  const clock = manualClock(t0);
  const ledger = await openOne({ clock });
  await ledger.runs.create({ runId });
  await ledger.queue.enqueue({ runId });
  const fence = await claim(ledger, "A", minute);
  await ledger.runs.start({ runId }, { fence });
  const { attemptId } = await ledger.attempts.start({ runId, node: "build" }, { fence });
  await ledger.sessions.bind({ runId, attemptId }, { fence });
  return { ledger, clock, fence, attemptId };
}

describeStores("captures", (openOne) => {
  test("SB-01 SB-03 are of a run or of one of its attempts, each with numbers of its own", async () => {
    const ledger = await openOne();
    await bindCapture(ledger);
    await bindCapture(ledger, "r1", "build.1");
    await bindCapture(ledger, "r1", "build.2");
    await bindCapture(ledger, "r2");
    await ledger.sessions.appendEvents({ runId, from: 1, records: numberedLines(2) });
    await ledger.sessions.appendEvents({ runId, attemptId: "build.2", from: 1, records: numberedLines(3) });

    const { captures } = await ledger.sessions.list(runId);
    expect(captures.map(({ attemptId, events }) => [attemptId, events])).toEqual([
      ["", 2],
      ["build.1", 0],
      ["build.2", 3],
    ]);
    expect(await ledger.sessions.get(runId, "build.2")).toEqual(captures[2]);
    expect(await ledger.sessions.get(runId, "build.3")).toBeNull();
    await expectSound(ledger);
  });

  test("are listed page by page", async () => {
    const ledger = await openOne();
    for (const attemptId of ["a.1", "a.2", "a.3"]) await bindCapture(ledger, "r1", attemptId);

    const first = await ledger.sessions.list(runId, { limit: 2 });
    const second = await ledger.sessions.list(runId, { limit: 2, after: first.next! });
    expect([...first.captures, ...second.captures].map(({ attemptId }) => attemptId)).toEqual(["a.1", "a.2", "a.3"]);
    expect(second.next).toBeNull();
  });

  test("SB-02 that are bound already stay as they are, and say how that is", async () => {
    const ledger = await openOne();
    const expectedRevision = await bindCapture(ledger);
    await ledger.sessions.appendEvents({ runId, from: 1, records: numberedLines(2) });

    expect(await ledger.sessions.bind({ runId, expectedRevision })).toMatchObject({
      count: 0,
      status: "recording",
      events: 2,
    });
    await ledger.sessions.finish({ runId, status: "complete", expectedRevision });
    expect(await ledger.sessions.bind({ runId, expectedRevision })).toMatchObject({ count: 0, status: "complete" });
  });

  test("SB-10 take the records of a call all at once, and say how many there are", async () => {
    const ledger = await openOne();
    await bindCapture(ledger);
    const { first, position, count, events } = await ledger.sessions.appendEvents({
      runId,
      from: 1,
      records: numberedLines(450),
    });

    expect([position - first + 1, count, events]).toEqual([3, 3, 450]);
    const written = await ledger.read({ from: first }).toArray();
    expect(written.map(({ tx }) => tx)).toEqual(written.map(() => ({ first, count: 3 })));
  });

  test("of what is not there are not begun", async () => {
    const ledger = await openOne();
    await bindCapture(ledger);

    expect(await refused(ledger.sessions.bind({ runId: "r9", expectedRevision: 1 }))).toMatchObject({
      code: "NOT_FOUND",
      details: { runId: "r9" },
    });
    const noAttempt = { runId, attemptId: "build.1", expectedRevision: 2 };
    expect(await refused(ledger.sessions.bind(noAttempt))).toMatchObject({
      code: "NOT_FOUND",
      details: { runId, attemptId: "build.1" },
    });
  });

  test("are written by the holder of the run's claim alone, while it is live", async () => {
    const { ledger, fence, attemptId } = await working(openOne);
    const other = await openClaim(ledger);
    const calls = [
      (under: object) => ledger.sessions.bind({ runId }, under),
      (under: object) => ledger.sessions.appendEvents({ runId, attemptId, from: 1, records: numberedLines(1) }, under),
      (under: object) => ledger.sessions.finish({ runId, attemptId, status: "complete" }, under),
    ];

    for (const call of calls) {
      expect(await refused(call({}))).toMatchObject({ code: "FENCED", details: { reason: "missing" } });
      expect(await refused(call({ fence: other }))).toMatchObject({ code: "FENCED", details: { reason: "key" } });
    }
    for (const call of calls) expect(await call({ fence })).toMatchObject({ adopted: false });
    await expectSound(ledger);
  });

  test("of a run that nobody has claimed are written by who has seen the run, and knows where they go on", async () => {
    const ledger = await openOne();
    const revision = await bindCapture(ledger);
    const end = { runId, status: "complete" } as const;

    expect(await refused(ledger.sessions.finish(end))).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await refused(ledger.sessions.finish({ ...end, expectedRevision: revision - 1 }))).toMatchObject({
      code: "REVISION_CONFLICT",
      details: { expected: revision - 1, actual: revision },
    });
    expect(await refused(ledger.sessions.bind({ runId }))).toMatchObject({ code: "INVALID_ARGUMENT" });
    await ledger.sessions.appendEvents({ runId, from: 1, records: numberedLines(1) });
    expect(await ledger.sessions.finish({ ...end, expectedRevision: revision })).toMatchObject({ status: "complete" });
    // Said again it writes nothing, and needs nothing.
    expect(await ledger.sessions.finish(end)).toMatchObject({ count: 0, status: "complete" });
  });

  test("refuse whoever lost the claim, and nothing of that call is kept", async () => {
    const { ledger, clock, fence, attemptId } = await working(openOne);
    const append = (from: number, count: number): Promise<unknown> =>
      ledger.sessions.appendEvents({ runId, attemptId, from, records: numberedLines(count, from) }, { fence });
    await append(1, 3);
    clock.advance(2 * minute);
    expect(await refused(append(4, 2))).toMatchObject({ code: "FENCED", details: { reason: "expired" } });

    await claim(ledger, "B", minute);
    expect(await refused(append(4, 2))).toMatchObject({ code: "FENCED", details: { reason: "generation" } });
    expect(await ledger.sessions.get(runId, attemptId)).toMatchObject({ events: 3, status: "recording" });
    await expectSound(ledger);
  });

  test("take a call that is sent again by its id once, and answer as they did", async () => {
    const ledger = await openOne();
    await bindCapture(ledger);
    const call = { runId, from: 1, records: numberedLines(250) };
    const first = await ledger.sessions.appendEvents(call, { id: "batch 1" });

    expect(await ledger.sessions.appendEvents(call, { id: "batch 1" })).toEqual({ ...first, adopted: true });
    expect(await refused(ledger.sessions.appendEvents(call, { id: "batch 2" }))).toMatchObject({
      code: "SEQUENCE_GAP",
      details: { expected: 251, found: 1 },
    });
    expect(await ledger.sessions.get(runId)).toMatchObject({ events: 250 });
    await expectSound(ledger);
  });

  test("record what the host's redaction leaves of a payload, text or bytes", async () => {
    const hidden = (value: unknown): unknown =>
      value instanceof Uint8Array
        ? Buffer.from(Buffer.from(value).toString("latin1").replaceAll("secret", "***"), "latin1")
        : value;
    const redactBoth = redactStrings((text) => text.replaceAll("secret", "***"));
    const ledger = await openOne({ redact: (value, where) => hidden(redactBoth(value, where)) });
    await bindCapture(ledger);
    const bytes = Buffer.of(0xff, ...Buffer.from("secret"));
    const records = [
      { type: "stdout", payload: "the secret" },
      { type: "stdout", payload: content("a secret", "text/html") },
      { type: "turn", payload: { said: ["secret"] } },
      { type: "stdout", payload: content(bytes) },
    ];
    await ledger.sessions.appendEvents({ runId, from: 1, records });

    const held = (await recordsOf(ledger)).map(({ content: each }) => Buffer.from(each!.bytes).toString("latin1"));
    expect(held).toEqual(["the ***", "a ***", '{"said":["***"]}', "\u00ff***"]);
  });

  test("H-54 end on their own: a recorder that fails does not keep the run from its end", async () => {
    const { ledger, fence, attemptId } = await working(openOne);
    const failure = { code: "STORE_FULL", message: "the disk is full" };
    await ledger.sessions.finish({ runId, attemptId, status: "failed", failure }, { fence });
    await ledger.attempts.finish({ runId, attemptId, outcome: "completed", exit: { code: 0 } }, { fence });
    await ledger.runs.finish({ runId, status: "completed", exit: { code: 0 } }, { fence });

    expect(await ledger.runs.get(runId)).toMatchObject({ status: "completed" });
    expect(await ledger.sessions.get(runId, attemptId)).toMatchObject({ status: "failed", failure });
  });
});

describe("a capture at its limits", () => {
  test.each(sharedStoreNames)("takes 10,000 records in one call, as 50 entries of one tx, on %s", async (name) => {
    const ledger = await open(await openStore(name));
    await bindCapture(ledger);
    const { count, events } = await ledger.sessions.appendEvents({ runId, from: 1, records: numberedLines(10_000) });

    expect([count, events]).toEqual([50, 10_000]);
    const [last] = await recordsOf(ledger, runId, { after: 9_999 });
    expect(last?.content?.text()).toBe("line 10000");
  });

  test("takes a record of 1 MiB with its facts, and not a byte more", async () => {
    const ledger = await open("memory:");
    await bindCapture(ledger);
    const facts = Buffer.byteLength('{"partial":true,"payload":,"reportedAt":1000,"type":"é"}');
    const record = (bytes: number): SessionRecordInput => {
      return { type: "é", reportedAt: 1_000, partial: true, payload: Buffer.alloc(bytes - facts) };
    };

    const tooMuch = { runId, from: 1, records: [record(sessionRecordBytesMax + 1)] };
    expect(await refused(ledger.sessions.appendEvents(tooMuch))).toMatchObject({
      code: "LIMIT_EXCEEDED",
      details: { max: sessionRecordBytesMax, found: sessionRecordBytesMax + 1 },
    });
    const most = { runId, from: 1, records: [record(sessionRecordBytesMax)] };
    expect(await ledger.sessions.appendEvents(most)).toMatchObject({ events: 1 });
  });

  test("takes 64 MiB in one call", async () => {
    const ledger = await open("memory:", { dedupe: false });
    await bindCapture(ledger);
    const facts = Buffer.byteLength('{"payload":,"type":"x"}');
    const payload = content(Buffer.alloc(sessionRecordBytesMax - facts));
    const records = Array.from({ length: sessionBytesPerCallMax / sessionRecordBytesMax }, () => ({
      type: "x",
      payload,
    }));

    const more = { runId, from: 1, records: [...records, { type: "x", payload: "" }] };
    expect(await refused(ledger.sessions.appendEvents(more))).toMatchObject({ code: "LIMIT_EXCEEDED" });
    expect(await ledger.sessions.appendEvents({ runId, from: 1, records })).toMatchObject({ events: 64 });
    expect(await ledger.sessions.get(runId)).toMatchObject({ bytes: 64 * (sessionRecordBytesMax - facts) });
  });
});

describeStores("I08 a run that ends while its last turn still streams", (openOne) => {
  test("has the records of that turn in its capture, which ends behind it", async () => {
    const { ledger, clock, fence, attemptId } = await working(openOne);
    await ledger.sessions.appendEvents({ runId, attemptId, from: 1, records: numberedLines(2) }, { fence });
    await ledger.attempts.finish({ runId, attemptId, outcome: "completed" }, { fence });
    const { revision } = await ledger.runs.finish({ runId, status: "completed" }, { fence });
    expect(await ledger.runs.get(runId)).toMatchObject({ status: "completed", owner: null });
    expect(await ledger.sessions.get(runId, attemptId)).toMatchObject({ status: "recording", events: 2 });

    // The claim went with the run: what comes now says where it goes on.
    clock.advance(1_000);
    await ledger.sessions.appendEvents({ runId, attemptId, from: 3, records: numberedLines(3, 3) });
    await ledger.sessions.finish({ runId, attemptId, status: "complete", expectedRevision: revision });

    const capture = await ledger.sessions.get(runId, attemptId);
    const run = await ledger.runs.get(runId);
    expect(capture).toMatchObject({ status: "complete", events: 5 });
    expect(capture!.finishedAt).toBeGreaterThan(run!.finishedAt!);
    const records: string[] = [];
    for await (const record of ledger.sessions.events(runId, attemptId)) records.push(record.content!.text());
    expect(records).toEqual(range(1, 5).map((number) => `line ${number}`));
    const late = ledger.sessions.appendEvents({ runId, attemptId, from: 6, records: numberedLines(1, 6) });
    expect(await refused(late)).toMatchObject({ code: "CAPTURE_CLOSED" });
    await expectSound(ledger);
  });

  test("can be ended with all that is its in one commit", async () => {
    const { ledger, fence, attemptId } = await working(openOne);
    const { count } = await ledger.execute(
      [
        sessionCommands.appendEvents({ runId, attemptId, from: 1, records: [{ type: "stdout", payload: "the end" }] }),
        sessionCommands.finish({ runId, attemptId, status: "complete" }),
        runCommands.finish({ runId, status: "failed", reason: "no use" }),
      ],
      { fence },
    );

    expect(count).toBe(5); // its attempt and its queue item end with it
    expect(await ledger.sessions.get(runId, attemptId)).toMatchObject({ status: "complete", events: 1 });
    await expectSound(ledger);
  });
});

describeStores("I08 a run that is resumed", (openOne) => {
  test("has one fresh capture: that of its new attempt, and what recorded before has failed", async () => {
    const { ledger, clock, fence, attemptId } = await working(openOne);
    await ledger.sessions.appendEvents({ runId, attemptId, from: 1, records: numberedLines(2) }, { fence });
    clock.advance(2 * minute);
    const next = await claim(ledger, "B", minute);
    expect(await ledger.runs.prepareResume({ runId }, { fence: next })).toMatchObject({
      attempt: attemptId,
      captures: 1,
    });
    const resumed = await ledger.attempts.start({ runId, node: "build" }, { fence: next });
    await ledger.sessions.bind({ runId, attemptId: resumed.attemptId }, { fence: next });

    const { captures } = await ledger.sessions.list(runId);
    expect(captures.map(({ attemptId: of, status, events }) => [of, status, events])).toEqual([
      ["build.1", "failed", 2],
      ["build.2", "recording", 0],
    ]);
    expect(captures[0]!.failure).toMatchObject({ code: "host_interrupted" });
    const late = { runId, attemptId, from: 3, records: numberedLines(1, 3) };
    expect(await refused(ledger.sessions.appendEvents(late, { fence }))).toMatchObject({ code: "FENCED" });
    expect(await refused(ledger.sessions.appendEvents(late))).toMatchObject({
      code: "FENCED",
      details: { reason: "missing" },
    });
    expect(await refused(ledger.sessions.appendEvents(late, { fence: next }))).toMatchObject({
      code: "CAPTURE_CLOSED",
    });
    await ledger.sessions.appendEvents(
      { runId, attemptId: resumed.attemptId, from: 1, records: numberedLines(1) },
      { fence: next },
    );
    await expectSound(ledger);
  });
});

/** The fence of another run's claim, which is live. */
async function openClaim(ledger: Ledger): Promise<Fence> {
  const { fence } = await ledger.queue.enqueue({ runId: "other", claim: { holder: "C", leaseMs: minute } });
  return fence;
}
