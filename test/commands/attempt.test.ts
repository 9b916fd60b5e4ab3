/** Commands of attempts as plain functions: which one is next, and what bad input is refused with. Decision 15.16. */
import { describe, expect, test } from "vitest";
import type { Attempt, AttemptStatus } from "../../projections/attempt.js";
import type { Run } from "../../projections/run.js";
import type { CommandContext } from "../../src/commands/context.js";
import { LedgerError } from "../../src/index.js";
import { cancel, finish, start } from "../../src/commands/attempt.js";

const run: Run = {
  runId: "r1",
  status: "running",
  revision: 7,
  definition: null,
  title: null,
  input: null,
  parent: null,
  createdAt: 0,
  updatedAt: 0,
  startedAt: 0,
  finishedAt: null,
  exit: null,
  reason: null,
  error: null,
  cancel: null,
  attempt: "a.2",
  attempts: 2,
  resumes: 0,
};

const open = (status: AttemptStatus): Attempt => ({
  runId: "r1",
  attemptId: "a.2",
  node: "a",
  number: 2,
  status,
  startedRevision: 5,
  generation: null,
  process: null,
  startedAt: 0,
  finishedAt: null,
  durationMs: null,
  reportedStartedAt: null,
  reportedFinishedAt: null,
  exit: null,
  reason: null,
  error: null,
});

// Only what is asked for where nobody has a claim.
const context = { at: 1, incarnation: 1, fence: null } as CommandContext;

function startBehind(status: AttemptStatus) {
  const attempt = open(status);
  const last = { documents: [{ key: "r1/a.2", document: attempt }], next: null };
  const wish = { runId: "r1", node: "a", process: undefined, expectedRevision: 7 };
  return start.decide({ run, item: null, last, open: attempt }, wish, context);
}

describe("an attempt that is started", () => {
  test("15.16 cancels one that was interrupted, in the same commit", () => {
    expect(startBehind("interrupted")).toEqual({
      type: "accepted",
      events: [
        {
          stream: "run/r1",
          type: "attempt.cancelled",
          data: { attemptId: "a.2", reason: "another was started" },
        },
        { stream: "run/r1", type: "attempt.started", data: { attemptId: "a.3", node: "a", number: 3 } },
      ],
      result: { runId: "r1", attemptId: "a.3", number: 3, status: "running", revision: 9 },
    });
  });

  test.each<AttemptStatus>(["pending", "running", "waiting"])("15.16 is refused beside one that is %s", (status) => {
    expect(startBehind(status)).toMatchObject({
      type: "refused",
      code: "ILLEGAL_TRANSITION",
      details: { attempt: "a.2" },
    });
  });
});

const process = { host: "h", boot: "b", pid: 1, startedAt: "1" };

describe("what a command of attempts is told", () => {
  test.each<[string, (input: never) => unknown, unknown]>([
    ["start.runId", start.parse, { runId: "", node: "a" }],
    ["start.node", start.parse, { runId: "r1", node: "1a" }],
    ["start.node", start.parse, { runId: "r1", node: "n".repeat(129) }],
    ["start.process.pid", start.parse, { runId: "r1", node: "a", process: { ...process, pid: 0 } }],
    ["start.process.boot", start.parse, { runId: "r1", node: "a", process: { ...process, boot: "" } }],
    ["start.process", start.parse, { runId: "r1", node: "a", process: { ...process, command: "x" } }],
    ["start", start.parse, { runId: "r1", node: "a", attemptId: "a.1" }],
    ["finish.attemptId", finish.parse, { runId: "r1", attemptId: "a", outcome: "failed" }],
    ["finish.attemptId", finish.parse, { runId: "r1", attemptId: "a.0", outcome: "failed" }],
    ["finish.outcome", finish.parse, { runId: "r1", attemptId: "a.1", outcome: "cancelled" }],
    ["finish.durationMs", finish.parse, { runId: "r1", attemptId: "a.1", outcome: "failed", durationMs: -1 }],
    [
      "finish.reportedStartedAt",
      finish.parse,
      { runId: "r1", attemptId: "a.1", outcome: "failed", reportedStartedAt: 0.5 },
    ],
    [
      "finish.reportedFinishedAt",
      finish.parse,
      { runId: "r1", attemptId: "a.1", outcome: "failed", reportedFinishedAt: -1 },
    ],
    ["finish.exit.code", finish.parse, { runId: "r1", attemptId: "a.1", outcome: "failed", exit: { code: -1 } }],
    ["cancel.reason", cancel.parse, { runId: "r1", attemptId: "a.1" }],
    ["cancel.expectedRevision", cancel.parse, { runId: "r1", attemptId: "a.1", reason: "r", expectedRevision: 0 }],
  ])("%s is refused when it is %# of what it must not be", (path, parse, input) => {
    const thrown = (): unknown => parse(input as never);
    expect(thrown).toThrow(LedgerError);
    expect(thrown).toThrow(expect.objectContaining({ details: expect.objectContaining({ path }) as unknown }));
  });
});
