/** The commands of the run queue keep the laws of all commands: many claims in a batch go as one by one, and so on. What holders
 *  do under their fences is tried in `test/engine/fences-properties.test.ts`. */
import fc from "fast-check";
import { queue } from "../../projections/queue.js";
import { hashToken, queueCommands } from "../../src/index.js";
import type { Command } from "../../src/index.js";
import { queueEvents } from "../../src/journal/events/queue.js";
import { describeOnStores } from "./laws-on-stores.js";

const { enqueue, claimNext, renew, park, complete, release, requeue, requestCancel } = queueCommands;
const start = Date.UTC(2026, 0, 1);

const runId = fc.constantFrom("r1", "r2", "r3", "r4");
const holder = fc.constantFrom("A", "B");
/** Some have come, some come while the laws wait, some do not. */
const availableAt = fc.constantFrom(0, start, start + 1_000, start + 5_000, start + 10_000_000);
const claim = fc.record({
  holder,
  leaseMs: fc.constantFrom(1, 1_000, 3_000, 86_400_000),
  tokenHash: fc.constantFrom("1", "2").map(hashToken),
});
const enqueued = fc.record(
  {
    runId,
    availableAt,
    priority: fc.constantFrom(-1_000, 0, 1),
    affinity: holder,
    parent: fc.constantFrom("p", "q"),
    input: fc.constantFrom("x", { of: ["a", 1] }, "y".repeat(1_200)),
    reclaimsMax: fc.constantFrom(0, 1),
    claim,
  },
  { requiredKeys: ["runId"] },
);
const claimed = fc.record({
  holder,
  leaseMs: fc.constantFrom(1, 1_000, 86_400_000),
  tokenHash: fc.constant(hashToken("1")),
  exclude: fc.uniqueArray(runId, { maxLength: 2 }),
});

const wishes: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: enqueued.map((wish) => enqueue(wish)) },
  { weight: 5, arbitrary: claimed.map((wish) => claimNext(wish)) },
  { weight: 2, arbitrary: fc.record({ runId, availableAt }).map((wish) => requeue(wish)) },
  { weight: 2, arbitrary: runId.map((each) => requestCancel({ runId: each, reason: "no use" })) },
  // Without a fence: refused.
  {
    weight: 1,
    arbitrary: fc.oneof(
      runId.map((each) => renew({ runId: each, leaseMs: 1_000 })),
      runId.map((each) => park({ runId: each })),
      runId.map((each) => complete({ runId: each })),
      runId.map((each) => release({ runId: each })),
    ),
  },
);

const subject = { commands: Object.values(queueCommands), projections: [queue], events: [queueEvents], wishes };
describeOnStores("the run queue", subject);
