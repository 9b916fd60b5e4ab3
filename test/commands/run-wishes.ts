/** Wishes about a few runs and their attempts, for the laws of their commands: as a rule with the revision that the run may be at. */
import fc from "fast-check";
import {
  attemptCommands,
  definitionCommands,
  definitionDigest,
  hashToken,
  queueCommands,
  runCommands,
  sessionCommands,
} from "../../src/index.js";
import type { Command, CommandDefinition } from "../../src/index.js";
import { attempts } from "../../projections/attempt.js";
import { definitions } from "../../projections/definition.js";
import { queue } from "../../projections/queue.js";
import { runs } from "../../projections/run.js";
import { sessionCaptures } from "../../projections/session-capture.js";
import { attemptEvents } from "../../src/journal/events/attempt.js";
import { definitionEvents } from "../../src/journal/events/definition.js";
import { queueEvents } from "../../src/journal/events/queue.js";
import { runEvents } from "../../src/journal/events/run.js";
import { sessionEvents } from "../../src/journal/events/session.js";

/** What they belong to. */
export const runArea = {
  commands: [queueCommands, runCommands, attemptCommands, definitionCommands, sessionCommands].flatMap((each) =>
    Object.values<CommandDefinition>({ ...each }),
  ),
  projections: [queue, runs, attempts, definitions, sessionCaptures],
  events: [queueEvents, runEvents, attemptEvents, definitionEvents, sessionEvents],
};

const snapshots = [{ steps: ["make"] }, "make", null, { steps: ["make", "test"] }];
export const registered: fc.Arbitrary<Command> = fc
  .record({ name: fc.constantFrom("build", "build", "check"), snapshot: fc.constantFrom(...snapshots) })
  .map((wish) => definitionCommands.register(wish));

const runId = fc.constantFrom("r1", "r1", "r2");
/** Low ones are right often, for histories are short. */
const expectedRevision = fc.constantFrom(1, 2, 3, 4, 5, 6);
const write = fc.oneof(
  { weight: 6, arbitrary: fc.record({ runId, expectedRevision }) },
  { weight: 1, arbitrary: fc.record({ runId }) },
);
const exit = fc.constantFrom({ code: 0 }, { code: 1 }, { signal: "SIGTERM" });
const error = fc.constantFrom<unknown>("no rule", "no rule", { of: ["a", 1] }, "y".repeat(9_000));
const reason = fc.constantFrom("no use", "r".repeat(200));
const claim = fc.record({
  holder: fc.constantFrom("A", "B"),
  leaseMs: fc.constantFrom(1, 1_000),
  tokenHash: fc.constant(hashToken("1")),
});

const created = fc
  .record(
    {
      runId,
      definition: fc.constantFrom(...snapshots.map((one) => ({ name: "build", digest: definitionDigest(one) }))),
      title: reason,
      input: error,
      parent: fc.constant("r0"),
    },
    { requiredKeys: ["runId"] },
  )
  .map((wish) => runCommands.create(wish));
const finished = fc
  .tuple(
    write,
    fc.record(
      { status: fc.constantFrom("completed" as const, "failed" as const, "cancelled" as const), exit, reason, error },
      { requiredKeys: ["status"] },
    ),
  )
  .map(([of, how]) => runCommands.finish({ ...of, ...how }));

const attemptId = fc.constantFrom("a.1", "a.1", "a.2", "b.1");
const attemptStarted = fc
  .tuple(write, fc.record({ node: fc.constantFrom("a", "a", "b") }))
  .map(([of, how]) => attemptCommands.start({ ...of, ...how }));
const attemptFinished = fc
  .tuple(
    write,
    fc.record(
      {
        attemptId,
        outcome: fc.constantFrom("completed" as const, "failed" as const),
        exit,
        error,
        durationMs: fc.constantFrom(0, 5),
        reportedStartedAt: fc.constant(9),
        reportedFinishedAt: fc.constant(3),
      },
      { requiredKeys: ["attemptId", "outcome"] },
    ),
  )
  .map(([of, how]) => attemptCommands.finish({ ...of, ...how }));
const attemptCancelled = fc
  .tuple(write, fc.record({ attemptId, reason, exit }, { requiredKeys: ["attemptId", "reason"] }))
  .map(([of, how]) => attemptCommands.cancel({ ...of, ...how }));

/** What makes runs owned, and not: everything else is refused while a claim is live, for nobody presents a fence. */
const claims = fc.oneof(
  fc.tuple(runId, claim).map(([of, wish]) => queueCommands.enqueue({ runId: of, claim: wish })),
  runId.map((of) => queueCommands.enqueue({ runId: of })),
  fc.tuple(runId, claim).map(([of, wish]) => queueCommands.claimNext({ ...wish, runId: of })),
);
const bound = fc
  .tuple(write, fc.constantFrom("", "a.1"))
  .map(([of, key]) => sessionCommands.bind({ ...of, attemptId: key }));

const others: fc.Arbitrary<Command> = fc.oneof(
  { weight: 2, arbitrary: created },
  { weight: 2, arbitrary: write.map((wish) => runCommands.start(wish)) },
  { weight: 1, arbitrary: claims },
  { weight: 1, arbitrary: bound },
);

export const runWishes: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: others },
  { weight: 1, arbitrary: registered },
  { weight: 1, arbitrary: write.map((wish) => runCommands.prepareResume(wish)) },
  {
    weight: 1,
    arbitrary: fc.tuple(runId, reason).map(([of, why]) => runCommands.requestCancel({ runId: of, reason: why })),
  },
  { weight: 1, arbitrary: finished },
  { weight: 1, arbitrary: attemptStarted },
);

export const attemptWishes: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: others },
  { weight: 4, arbitrary: attemptStarted },
  { weight: 2, arbitrary: attemptFinished },
  { weight: 2, arbitrary: attemptCancelled },
);
