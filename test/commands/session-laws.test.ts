/** The commands of captures keep the laws of all commands, with gaps, repetitions, late ends and claims that come and go. */
import fc from "fast-check";
import { describe, test } from "vitest";
import { queue } from "../../projections/queue.js";
import { sessionCaptures } from "../../projections/session-capture.js";
import { content, hashToken, queueCommands, sessionCommands } from "../../src/index.js";
import type { Command, CommandDefinition } from "../../src/index.js";
import { queueEvents } from "../../src/journal/events/queue.js";
import { sessionEvents } from "../../src/journal/events/session.js";
import { describeCommands } from "../../src/testing/index.js";
import { openStore } from "../engine/fixture.js";

const { enqueue, claimNext, requestCancel } = queueCommands;
const { bind, appendEvents, finish } = sessionCommands;

const capture = fc.constantFrom({ runId: "r1" }, { runId: "r1", attemptId: "a.1" }, { runId: "r2", attemptId: "" });
const payload = fc.constantFrom<unknown>(
  "",
  "a line",
  "y".repeat(1_200),
  { of: ["a", 1] },
  content("<p>", "text/html"),
);
const record = fc.record(
  { type: fc.constantFrom("stdout", "stderr"), payload, reportedAt: fc.constantFrom(0, 1_000), partial: fc.boolean() },
  { requiredKeys: ["type", "payload"] },
);
/** As a rule the next number, or one of those around it. */
const from = fc.constantFrom(1, 1, 1, 2, 2, 3, 4, 5, 202);
const records = fc.oneof(
  { weight: 9, arbitrary: fc.array(record, { minLength: 1, maxLength: 3 }) },
  { weight: 1, arbitrary: record.map((one) => Array.from({ length: 201 }, () => one)) },
);
const failure = fc.constantFrom({ code: "a", message: "gone" }, { code: "b", message: "gone" });
const end = fc.oneof(
  fc.record({ status: fc.constant("complete" as const), open: fc.boolean() }),
  fc.record({ status: fc.constant("failed" as const), failure, open: fc.boolean() }),
);
const claim = fc.record({
  holder: fc.constantFrom("A", "B"),
  leaseMs: fc.constantFrom(1, 1_000),
  tokenHash: fc.constant(hashToken("1")),
});

const wishes: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: capture.map((wish) => bind(wish)) },
  {
    weight: 7,
    arbitrary: fc
      .tuple(capture, from, records)
      .map(([of, at, some]) => appendEvents({ ...of, from: at, records: some })),
  },
  { weight: 2, arbitrary: fc.tuple(capture, end).map(([of, how]) => finish({ ...of, ...how })) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom("r1", "r2"), claim).map(([runId, wish]) => enqueue({ runId, claim: wish })),
  },
  { weight: 1, arbitrary: claim.map((wish) => claimNext(wish)) },
  { weight: 1, arbitrary: fc.constant(requestCancel({ runId: "r1", reason: "no use" })) },
);

const long = process.env["RUNLEDGER_LONG"] !== undefined;
const subject = {
  commands: [queueCommands, sessionCommands].flatMap((each) => Object.values<CommandDefinition>({ ...each })),
  projections: [queue, sessionCaptures],
  events: [queueEvents, sessionEvents],
  wishes,
};
describeCommands("captures", { ...subject, numRuns: long ? 200 : 20 }, { describe, test });
describeCommands(
  "captures, on SQLite,",
  {
    ...subject,
    numRuns: long ? 30 : 3,
    open: async () => ({ store: await openStore("sqlite"), dispose: async () => {} }),
  },
  { describe, test },
);
