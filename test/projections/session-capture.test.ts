/** The documents of captures: what each event leaves, and the laws of projections over histories that can happen. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { indexKeys } from "../../projections/reducer.js";
import { replay } from "../../projections/replay.js";
import { sessionCaptures } from "../../projections/session-capture.js";
import type { SessionCapture } from "../../projections/session-capture.js";
import { content } from "../../src/index.js";
import { captureKey, sessionEvents, sessionStream } from "../../src/journal/events/session.js";
import { describeProjection } from "../../src/testing/index.js";
import { recordHistory } from "../../src/testing/history.js";
import type { HistoryEvent } from "../../src/testing/history.js";

const start = Date.UTC(2026, 0, 1);

function bound(runId: string, attemptId: string, at: number = start): HistoryEvent {
  return { stream: sessionStream(runId, attemptId), type: "session.bound", data: { runId, attemptId }, at };
}

function lines(stream: string, from: number, texts: readonly string[], at: number = start): HistoryEvent {
  const records = texts.map((text) => ({ type: "stdout", payload: content(text) }));
  return { stream, type: "session.eventsAppended", data: { from, records }, at };
}

async function captureAfter(history: readonly HistoryEvent[], key: string): Promise<SessionCapture> {
  const { projection } = await replay([sessionCaptures], recordHistory(history, [sessionEvents]));
  return projection(sessionCaptures).get(key)!;
}

describe("the document of a capture", () => {
  test("SB-01 SB-03 begins with nothing, under the run alone or under the attempt", async () => {
    const history = [bound("r1", ""), bound("r1", "build.1", start + 5)];
    const empty = { status: "recording", events: 0, bytes: 0, finishedAt: null, failure: null, open: false };
    expect(await captureAfter(history, "r1")).toEqual({
      ...empty,
      runId: "r1",
      attemptId: "",
      startedAt: start,
      revision: 1,
    });
    expect(await captureAfter(history, "r1/build.1")).toEqual({
      ...empty,
      runId: "r1",
      attemptId: "build.1",
      startedAt: start + 5,
      revision: 1,
    });
  });

  test("SB-10 counts the records and what they hold, at each revision of its stream", async () => {
    const history = [bound("r1", ""), lines("session/r1", 1, ["one", "é"]), lines("session/r1", 3, ["three"])];
    expect(await captureAfter(history, "r1")).toMatchObject({ events: 3, bytes: 10, revision: 3 });
  });

  test("SB-13 ends with its time, and with why it is not complete", async () => {
    const failure = { code: "host_interrupted", message: "the host went away" };
    const history = [
      bound("r1", ""),
      lines("session/r1", 1, ["one"]),
      {
        stream: "session/r1",
        type: "session.finished",
        data: { status: "failed", failure, open: true },
        at: start + 9,
      },
    ];
    expect(await captureAfter(history, "r1")).toMatchObject({
      status: "failed",
      failure,
      open: true,
      events: 1,
      startedAt: start,
      finishedAt: start + 9,
      revision: 3,
    });
  });

  test("is found by its run, and while it records among those that record", () => {
    const capture: SessionCapture = {
      runId: "r1",
      attemptId: "a.1",
      status: "recording",
      events: 0,
      bytes: 0,
      startedAt: start,
      finishedAt: null,
      failure: null,
      open: false,
      revision: 1,
    };
    const indexesOf = (status: SessionCapture["status"]): readonly string[] => {
      const keys = indexKeys(sessionCaptures, { ...capture, status }, "r1/a.1");
      return [...sessionCaptures.indexes.keys()].filter((_, index) => keys[index] !== null);
    };
    expect(indexesOf("recording")).toEqual(["run", "recording"]);
    expect(indexesOf("complete")).toEqual(["run"]);
    expect(indexesOf("failed")).toEqual(["run"]);
  });
});

describe("the facts of a capture", () => {
  const refused = (type: string, data: object): (() => unknown) => {
    return () => recordHistory([{ stream: "session/r1", type, data, at: start }], [sessionEvents]);
  };
  const record = { type: "stdout", payload: content("x") };

  test.each<[string, string, object]>([
    ["a run id", "session.bound", { runId: "no run", attemptId: "" }],
    ["an attempt", "session.bound", { runId: "r1" }],
    ["a number from 1", "session.eventsAppended", { from: 0, records: [record] }],
    ["at least one record", "session.eventsAppended", { from: 1, records: [] }],
    ["at most 200 records", "session.eventsAppended", { from: 1, records: Array.from({ length: 201 }, () => record) }],
    ["a kind of record", "session.eventsAppended", { from: 1, records: [{ ...record, type: "" }] }],
    ["a time of a record", "session.eventsAppended", { from: 1, records: [{ ...record, reportedAt: "now" }] }],
    ["partial or not", "session.eventsAppended", { from: 1, records: [{ ...record, partial: false }] }],
    ["a payload", "session.eventsAppended", { from: 1, records: [{ type: "stdout" }] }],
    ["nothing else", "session.eventsAppended", { from: 1, records: [{ ...record, line: 1 }] }],
    ["how it ended", "session.finished", { status: "recording" }],
    ["why it failed", "session.finished", { status: "failed" }],
    [
      "no failure of what is complete",
      "session.finished",
      { status: "complete", failure: { code: "c", message: "m" } },
    ],
    ["open or not", "session.finished", { status: "complete", open: false }],
  ])("say %s", (_, type, data) => {
    expect(refused(type, data)).toThrow(expect.objectContaining({ name: "LedgerError" }));
  });
});

interface Step {
  readonly capture: readonly [runId: string, attemptId: string];
  readonly pick: number;
  readonly sizes: readonly number[];
}

/** At each step one of the things that can happen to its capture happens. */
function historyOf(steps: readonly Step[]): readonly HistoryEvent[] {
  const captures = new Map<string, { events: number; isRecording: boolean }>();
  const history: HistoryEvent[] = [];
  let at = start;
  for (const { capture, pick, sizes } of steps) {
    at += pick;
    const key = captureKey(...capture);
    const stream = sessionStream(...capture);
    const known = captures.get(key);
    if (known === undefined) {
      captures.set(key, { events: 0, isRecording: true });
      history.push(bound(...capture, at));
    } else if (known.isRecording && pick % 5 === 0) {
      known.isRecording = false;
      const failure = { code: "host_interrupted", message: "gone" };
      const data = pick % 2 === 0 ? { status: "complete" } : { status: "failed", failure, open: true };
      history.push({ stream, type: "session.finished", data, at });
    } else if (known.isRecording) {
      history.push(
        lines(
          stream,
          known.events + 1,
          sizes.map((size) => "x".repeat(size)),
          at,
        ),
      );
      known.events += sizes.length;
    }
  }
  return history;
}

const step = fc.record({
  capture: fc.constantFrom<Step["capture"]>(["r1", ""], ["r1", "a.1"], ["r1", "a.2"], ["r2", ""]),
  pick: fc.nat({ max: 30 }),
  sizes: fc.array(fc.constantFrom(0, 1, 80, 2_000), { minLength: 1, maxLength: 4 }),
});
const histories = fc.array(step, { maxLength: 40 }).map(historyOf);

describeProjection("captures", { projection: sessionCaptures, events: [sessionEvents], histories }, { describe, test });
