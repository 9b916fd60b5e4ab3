/** The documents of runs: what each event leaves, and the laws of projections over histories that can happen. Rows U-01, U-06,
 *  U-10, U-11; case G13. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isFinal, runs } from "../../projections/run.js";
import type { Run } from "../../projections/run.js";
import { replay } from "../../projections/replay.js";
import { attemptEvents } from "../../src/journal/events/attempt.js";
import { runEvents } from "../../src/journal/events/run.js";
import { describeProjection } from "../../src/testing/index.js";
import { recordHistory } from "../../src/testing/history.js";
import type { HistoryEvent } from "../../src/testing/history.js";
import { runHistories } from "./run-histories.js";

const start = Date.UTC(2026, 0, 1);
const events = [runEvents, attemptEvents];

describeProjection("runs", { projection: runs, events, histories: runHistories }, { describe, test });

async function runsOf(history: readonly HistoryEvent[]): Promise<readonly Run[]> {
  const { documents } = (await replay([runs], recordHistory(history, events))).projection(runs).find({});
  return documents.map(({ document }) => document);
}

describe("a run", () => {
  test("U-06 U-11 has, after any history, the revision of its stream, and an end exactly when it is over", async () => {
    await fc.assert(
      fc.asyncProperty(runHistories, async (history) => {
        for (const run of await runsOf(history)) {
          const own = history.filter(({ stream }) => stream === `run/${run.runId}`);
          expect(run.revision).toBe(own.length);
          expect(run.updatedAt).toBe(own.at(-1)?.at);
          expect(run.attempts).toBe(own.filter(({ type }) => type === "attempt.started").length);
          expect(run.finishedAt !== null).toBe(isFinal(run.status));
          if (isFinal(run.status)) expect(run.attempt).toBeNull();
        }
      }),
      { numRuns: process.env["RUNLEDGER_LONG"] === undefined ? 50 : 500 },
    );
  });

  test("G13 has no end before its beginning, and no beginning before it was made", async () => {
    await fc.assert(
      fc.asyncProperty(runHistories, async (history) => {
        for (const { createdAt, startedAt, finishedAt } of await runsOf(history)) {
          expect(startedAt ?? createdAt).toBeGreaterThanOrEqual(createdAt);
          expect(finishedAt ?? startedAt ?? createdAt).toBeGreaterThanOrEqual(startedAt ?? createdAt);
        }
      }),
      { numRuns: process.env["RUNLEDGER_LONG"] === undefined ? 50 : 500 },
    );
  });

  test("U-01 U-10 is made, begun, worked on, taken over and ended, event by event", async () => {
    const definition = { name: "build", digest: "ab".repeat(32) };
    const steps: readonly (readonly [type: string, data: object, expected: Partial<Run>])[] = [
      [
        "run.created",
        { definition, title: "Nightly", input: { target: "all" }, parent: "r0" },
        {
          status: "queued",
          revision: 1,
          definition,
          title: "Nightly",
          parent: "r0",
          createdAt: start,
          startedAt: null,
        },
      ],
      ["run.started", {}, { status: "running", revision: 2, startedAt: start + 1, updatedAt: start + 1 }],
      ["attempt.started", { attemptId: "a.1", node: "a", number: 1 }, { attempt: "a.1", attempts: 1, revision: 3 }],
      ["run.cancelRequested", { reason: "no use" }, { cancel: { at: start + 3, reason: "no use" }, attempt: "a.1" }],
      ["attempt.cancelled", { attemptId: "a.1", reason: "abandoned" }, { attempt: null, attempts: 1, revision: 5 }],
      ["run.resumePrepared", { attempt: "a.1", captures: 0 }, { status: "running", resumes: 1, revision: 6 }],
      ["attempt.started", { attemptId: "a.2", node: "a", number: 2 }, { attempt: "a.2", attempts: 2 }],
      ["attempt.finished", { attemptId: "a.2", outcome: "failed" }, { attempt: null, status: "running" }],
      [
        "run.finished",
        { status: "failed", exit: { code: 2 }, reason: "make failed", error: "no rule" },
        { status: "failed", finishedAt: start + 8, exit: { code: 2 }, reason: "make failed", revision: 9 },
      ],
    ];

    for (const [index, [, , expected]] of steps.entries()) {
      const history = steps
        .slice(0, index + 1)
        .map(([type, data], offset) => ({ stream: "run/r1", type, data, at: start + offset }));
      expect(await runsOf(history)).toMatchObject([{ runId: "r1", ...expected }]);
    }
  });
});
