/** The commands of captures keep the laws of all commands, with gaps, repetitions, late ends and claims that come and go. */
import fc from "fast-check";
import { attempts } from "../../projections/attempt.js";
import { queue } from "../../projections/queue.js";
import { runs } from "../../projections/run.js";
import { sessionCaptures } from "../../projections/session-capture.js";
import { attemptCommands, content, hashToken, queueCommands, runCommands, sessionCommands } from "../../src/index.js";
import type { Command, CommandDefinition } from "../../src/index.js";
import { attemptEvents } from "../../src/journal/events/attempt.js";
import { queueEvents } from "../../src/journal/events/queue.js";
import { runEvents } from "../../src/journal/events/run.js";
import { sessionEvents } from "../../src/journal/events/session.js";
import { describeOnStores } from "./laws-on-stores.js";

const { enqueue, claimNext } = queueCommands;
const { create, start: startRun, requestCancel } = runCommands;
const { start: startAttempt } = attemptCommands;
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

const runId = fc.constantFrom("r1", "r1", "r2");
/** As a rule that of a run that has just been made. */
const expectedRevision = fc.constantFrom(1, 1, 1, 2, 3, undefined);

const wishes: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: runId.map((each) => create({ runId: each })) },
  { weight: 1, arbitrary: expectedRevision.map((revision) => startRun({ runId: "r1", expectedRevision: revision })) },
  { weight: 1, arbitrary: fc.constant(startAttempt({ runId: "r1", node: "a", expectedRevision: 2 })) },
  {
    weight: 6,
    arbitrary: fc.tuple(capture, expectedRevision).map(([of, seen]) => bind({ ...of, expectedRevision: seen })),
  },
  {
    weight: 7,
    arbitrary: fc
      .tuple(capture, from, records)
      .map(([of, at, some]) => appendEvents({ ...of, from: at, records: some })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(capture, end, expectedRevision)
      .map(([of, how, seen]) => finish({ ...of, ...how, expectedRevision: seen })),
  },
  { weight: 1, arbitrary: fc.tuple(runId, claim).map(([each, wish]) => enqueue({ runId: each, claim: wish })) },
  { weight: 1, arbitrary: claim.map((wish) => claimNext(wish)) },
  { weight: 1, arbitrary: fc.constant(requestCancel({ runId: "r1", reason: "no use" })) },
);

const subject = {
  commands: [queueCommands, runCommands, attemptCommands, sessionCommands].flatMap((each) =>
    Object.values<CommandDefinition>({ ...each }),
  ),
  projections: [queue, runs, attempts, sessionCaptures],
  events: [queueEvents, runEvents, attemptEvents, sessionEvents],
  wishes,
};
describeOnStores("captures", subject);
