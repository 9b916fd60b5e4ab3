/** The documents of attempts: what each event leaves, and the laws of projections over histories that can happen. Rows P-01,
 *  P-05, P-06; case G13. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { attempts, isOpen } from "../../projections/attempt.js";
import type { Attempt } from "../../projections/attempt.js";
import { replay } from "../../projections/replay.js";
import { attemptEvents } from "../../src/journal/events/attempt.js";
import { runEvents } from "../../src/journal/events/run.js";
import { describeProjection } from "../../src/testing/index.js";
import { recordHistory } from "../../src/testing/history.js";
import type { HistoryEvent } from "../../src/testing/history.js";
import { runHistories } from "./run-histories.js";

const start = Date.UTC(2026, 0, 1);
const events = [runEvents, attemptEvents];

describeProjection("attempts", { projection: attempts, events, histories: runHistories }, { describe, test });

async function attemptsOf(history: readonly HistoryEvent[]): Promise<readonly Attempt[]> {
  const replayed = (await replay([attempts], recordHistory(history, events))).projection(attempts);
  return replayed.find({ limit: 1_000 }).documents.map(({ document }) => document);
}

const attempt = { attemptId: "a.1", node: "a", number: 1 };

describe("an attempt", () => {
  test("P-01 P-05 is, after any history, numbered densely by node, and alone in being open", async () => {
    await fc.assert(
      fc.asyncProperty(runHistories, async (history) => {
        const inOrder = (await attemptsOf(history)).toSorted(
          (one, other) => one.startedRevision - other.startedRevision,
        );
        const numbers = new Map<string, number>();
        for (const { runId, node, number, attemptId } of inOrder) {
          const key = `${runId} ${node}`;
          numbers.set(key, (numbers.get(key) ?? 0) + 1);
          expect({ number, attemptId }).toEqual({ number: numbers.get(key), attemptId: `${node}.${number}` });
        }
        const open = inOrder.filter(isOpen).map(({ runId }) => runId);
        expect(new Set(open).size).toBe(open.length);
      }),
      { numRuns: process.env["RUNLEDGER_LONG"] === undefined ? 50 : 500 },
    );
  });

  test("G13 lasts no time below zero, whatever its caller's clock said", async () => {
    await fc.assert(
      fc.asyncProperty(runHistories, async (history) => {
        for (const { durationMs, startedAt, finishedAt, ...one } of await attemptsOf(history)) {
          expect(durationMs === null).toBe(isOpen({ ...one, durationMs, startedAt, finishedAt }));
          expect(durationMs ?? 0).toBeGreaterThanOrEqual(0);
          expect(finishedAt ?? startedAt).toBeGreaterThanOrEqual(startedAt);
        }
      }),
      { numRuns: process.env["RUNLEDGER_LONG"] === undefined ? 50 : 500 },
    );
  });

  test("G13 lasts no time below zero in a journal whose own time goes back, which no ledger writes", async () => {
    const history = [
      { stream: "run/r1", type: "run.created", data: { definition: null } },
      { stream: "run/r1", type: "attempt.started", data: attempt },
      { stream: "run/r1", type: "attempt.cancelled", data: { attemptId: "a.1", reason: "no use" } },
    ];
    const forged = recordHistory(history, events).map((event, index) => ({ ...event, at: start - index }));
    const found = (await replay([attempts], forged)).projection(attempts);

    expect(found.get("r1/a.1")).toMatchObject({ status: "cancelled", startedAt: start - 1, durationMs: 0 });
  });

  test.each<[string, object, Partial<Attempt>]>([
    [
      "attempt.finished",
      { outcome: "failed", exit: { signal: "SIGTERM" }, error: "no rule", reportedStartedAt: 9, reportedFinishedAt: 3 },
      { status: "failed", durationMs: 40, exit: { signal: "SIGTERM" }, reportedStartedAt: 9, reportedFinishedAt: 3 },
    ],
    ["attempt.finished", { outcome: "completed", durationMs: 7 }, { status: "completed", durationMs: 7, exit: null }],
    ["attempt.finished", { outcome: "timed_out", durationMs: 0 }, { status: "timed_out", durationMs: 0, error: null }],
    [
      "attempt.cancelled",
      { reason: "no use", exit: { code: 1 } },
      { status: "cancelled", reason: "no use", durationMs: 40 },
    ],
  ])("ends by %s %j", async (type, said, expected) => {
    const process = { host: "h", boot: "b", pid: 7, startedAt: "12" };
    const history = [
      { stream: "run/r1", type: "run.created", data: { definition: null }, at: start },
      { stream: "run/r1", type: "attempt.started", data: { ...attempt, process }, at: start + 2 },
      { stream: "run/r1", type, data: { attemptId: "a.1", ...said }, at: start + 42 },
    ];

    expect(await attemptsOf(history.slice(0, 2))).toMatchObject([
      { runId: "r1", ...attempt, status: "running", startedRevision: 2, generation: null, process, finishedAt: null },
    ]);
    expect(await attemptsOf(history)).toMatchObject([
      { ...expected, startedAt: start + 2, finishedAt: start + 42, process },
    ]);
  });
});
