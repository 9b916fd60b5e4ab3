/** What captures refuse, by code, and that nothing is written: no event, document or content. */
import { expect, test } from "vitest";
import { sessionCaptures } from "../../projections/session-capture.js";
import { content } from "../../src/index.js";
import type { Ledger, Sessions } from "../../src/index.js";
import { sessionBytesPerCallMax, sessionRecordBytesMax, sessionRecordsPerCallMax } from "../../src/kernel/limits.js";
import { describeStores } from "../engine/fixture.js";
import { refused } from "./queue-fixture.js";
import { bindCapture, numberedLines } from "./session-fixture.js";

const never = (value: unknown): never => value as never;
const one = numberedLines(1);
const append = (records: unknown, also: object = {}) => {
  return (sessions: Sessions): Promise<unknown> =>
    sessions.appendEvents(never({ runId: "r1", from: 4, records, ...also }));
};
const finish = (also: object) => {
  return (sessions: Sessions): Promise<unknown> => sessions.finish(never({ runId: "r1", status: "complete", ...also }));
};
const record = (also: object): unknown => append([{ type: "stdout", payload: "x", ...also }]);

/** Calls that are wrong for a capture `r1` of three records that records. */
const wrongCalls: readonly (readonly [title: string, call: unknown, expected?: object])[] = [
  ["nothing to bind", (sessions: Sessions) => sessions.bind(never(undefined))],
  ["no run", (sessions: Sessions) => sessions.bind(never({}))],
  ["a run id with a slash", (sessions: Sessions) => sessions.bind({ runId: "a/b" })],
  ["an attempt that is a number", (sessions: Sessions) => sessions.bind(never({ runId: "r1", attemptId: 1 }))],
  ["a misspelt member", (sessions: Sessions) => sessions.bind(never({ runId: "r1", attempt: "a.1" }))],
  ["nothing to append", append([])],
  ["records that are no list", append({ 0: one[0] })],
  ["no records", append(undefined)],
  ["a record that is none", append(["line"])],
  ["a record that is a Proxy", append([new Proxy({ type: "stdout", payload: "x" }, {})])],
  ["a hole", append(Object.assign([], { length: 1 }))],
  ["a misspelt member of a record", record({ text: "x" })],
  ["no kind of record", record({ type: undefined })],
  ["a kind without a name", record({ type: "" })],
  ["a kind of 129 units", record({ type: "x".repeat(129) }), { code: "LIMIT_EXCEEDED" }],
  ["a time that is text", record({ reportedAt: "2026-03-01" })],
  ["a time that is none", record({ reportedAt: new Date(Number.NaN) })],
  ["a time before 1970", record({ reportedAt: new Date(-1) })],
  ["partial that is no boolean", record({ partial: 1 })],
  ["no payload", record({ payload: undefined })],
  ["a payload that JSON cannot carry", record({ payload: { at: new Date(0) } })],
  ["a payload with a lone surrogate", record({ payload: "\ud800" })],
  [
    "a payload of more than a MiB",
    record({ payload: Buffer.alloc(sessionRecordBytesMax) }),
    { code: "LIMIT_EXCEEDED", details: { path: "appendEvents.records[0]" } },
  ],
  [
    "more than 10,000 records",
    append(numberedLines(sessionRecordsPerCallMax + 1)),
    { code: "LIMIT_EXCEEDED", details: { path: "appendEvents.records", limit: "records" } },
  ],
  [
    "more than 64 MiB",
    append(
      Array.from({ length: 65 }, () => ({
        type: "big",
        payload: content(Buffer.alloc(sessionBytesPerCallMax / 64 - 100)),
      })),
    ),
    { code: "LIMIT_EXCEEDED", details: { path: "appendEvents.records", limit: "bytes" } },
  ],
  ["a beginning of 0", append(one, { from: 0 })],
  ["a beginning that is text", append(one, { from: "4" })],
  [
    "SB-08 a gap",
    append(one, { from: 5 }),
    { code: "SEQUENCE_GAP", details: { runId: "r1", attemptId: "", expected: 4, found: 5 } },
  ],
  [
    "SB-08 a repetition",
    append(one, { from: 3 }),
    { code: "SEQUENCE_GAP", details: { runId: "r1", attemptId: "", expected: 4, found: 3 } },
  ],
  ["a capture that was not bound", append(one, { runId: "r9", from: 1 }), { code: "NOT_FOUND" }],
  ["the capture of an attempt that was not bound", append(one, { attemptId: "a.1", from: 1 }), { code: "NOT_FOUND" }],
  ["no end", finish({ status: undefined })],
  ["an end that is none", finish({ status: "recording" })],
  ["a failure of what is complete", finish({ failure: { code: "c", message: "m" } })],
  ["SB-11 a failure that says nothing", finish({ status: "failed" })],
  ["a failure without a code", finish({ status: "failed", failure: { code: "", message: "m" } })],
  [
    "a failure of 201 units",
    finish({ status: "failed", failure: { code: "c", message: "m".repeat(201) } }),
    { code: "LIMIT_EXCEEDED" },
  ],
  ["a failure with more to say", finish({ status: "failed", failure: { code: "c", message: "m", stack: "" } })],
  ["open that is no boolean", finish({ open: "yes" })],
  ["the end of what was not bound", finish({ runId: "r9" }), { code: "NOT_FOUND" }],
];

async function stateOf(ledger: Ledger): Promise<unknown> {
  const { head, contents } = await ledger.status();
  return { head, contents, captures: await ledger.projection(sessionCaptures).find() };
}

async function refusesAndLeavesNothing(ledger: Ledger, call: () => Promise<unknown>, expected: object): Promise<void> {
  const before = await stateOf(ledger);
  expect(await refused(call())).toMatchObject(expected);
  expect(await stateOf(ledger)).toEqual(before);
}

describeStores("captures refuse", (openOne) => {
  test("whatever is wrong, with its code, and go on as if it had not been asked", async () => {
    const ledger = await openOne();
    await bindCapture(ledger);
    await ledger.sessions.appendEvents({ runId: "r1", from: 1, records: numberedLines(3) });

    for (const [title, call, expected = { code: "INVALID_ARGUMENT" }] of wrongCalls) {
      const sent = (): Promise<unknown> => (call as (sessions: Sessions) => Promise<unknown>)(ledger.sessions);
      await refusesAndLeavesNothing(ledger, sent, expected).catch((cause: unknown) => {
        throw new Error(`${title}: ${(cause as Error).message}`, { cause });
      });
    }
    expect(await ledger.sessions.appendEvents({ runId: "r1", from: 4, records: one })).toMatchObject({ events: 4 });
  });

  test("SB-07 what comes behind the end, whatever the end was", async () => {
    const ledger = await openOne();
    const failure = { code: "host_interrupted", message: "the host went away" };
    for (const [runId, end] of [
      ["r1", { status: "complete" }],
      ["r2", { status: "failed", failure }],
    ] as const) {
      const expectedRevision = await bindCapture(ledger, runId);
      await ledger.sessions.finish({ runId, ...end, expectedRevision });
      const closed = { code: "CAPTURE_CLOSED", details: { runId, attemptId: "", status: end.status, events: 0 } };
      for (const from of [1, 2])
        await refusesAndLeavesNothing(
          ledger,
          () => ledger.sessions.appendEvents({ runId, from, records: one }),
          closed,
        );
    }
  });

  test("SB-12 another end than the first one", async () => {
    const ledger = await openOne();
    const failure = { code: "host_interrupted", message: "the host went away" };
    const ends = [
      { status: "complete" },
      { status: "complete", open: true },
      { status: "failed", failure },
      { status: "failed", failure, open: true },
      { status: "failed", failure: { ...failure, code: "other" } },
      { status: "failed", failure: { ...failure, message: "other" } },
    ] as const;
    for (const [index, first] of ends.entries()) {
      const runId = `r${index}`;
      const expectedRevision = await bindCapture(ledger, runId);
      await ledger.sessions.finish({ runId, ...first, expectedRevision });
      for (const other of ends) {
        const sent = (): Promise<unknown> => ledger.sessions.finish({ runId, ...other });
        if (other === first) expect(await sent()).toMatchObject({ count: 0, status: first.status });
        else await refusesAndLeavesNothing(ledger, sent, { code: "CAPTURE_CLOSED" });
      }
    }
  });
});
