/** Holders of the run queue over generated histories: whatever the batches and the store, each call is answered alike and leaves
 *  the same bytes; and whatever they try, claims are legal and each item is completed once. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { queue } from "../../projections/queue.js";
import { hashToken, queueCommands } from "../../src/index.js";
import type { Command, Fence, Ledger, Store } from "../../src/index.js";
import { queueStream } from "../../src/journal/events/queue.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { seededBytes } from "../../src/testing/seeded.js";
import { open, openStore, runSeed } from "./fixture.js";
import type { StoreName } from "./fixture.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
const { enqueue, claimNext, renew, park, complete, release, requeue, requestCancel } = queueCommands;

const token = "the one token of all workers";
const start = Date.UTC(2026, 0, 1);

interface Call {
  readonly says: string;
  readonly commands: readonly Command[];
  /** Appends a note in place of commands. */
  readonly append: boolean;
  readonly fence: Fence | undefined;
  readonly id: string | undefined;
}

const runId = fc.constantFrom("r1", "r2", "r3");
const fence: fc.Arbitrary<Fence> = fc.record({
  key: runId.map(queueStream),
  incarnation: fc.constant(1),
  generation: fc.constantFrom(1, 1, 1, 2, 2, 3),
  token: fc.constantFrom(token, token, token, token, "a token of somebody else"),
});
const claim = fc.record({
  holder: fc.constantFrom("A", "B"),
  leaseMs: fc.constantFrom(1, 1_000, 5_000),
  tokenHash: fc.constant(hashToken(token)),
});
const availableAt = fc.constantFrom(0, start + 1_000, start + 60_000);

/** What a holder of that run may try. */
function wishesOf(held: string): fc.Arbitrary<Command> {
  return fc.oneof(
    fc.constantFrom(complete({ runId: held }), release({ runId: held }), renew({ runId: held, leaseMs: 2_000 })),
    fc.constantFrom<number | null>(0, null, start + 2_000).map((at) => park({ runId: held, availableAt: at })),
    fc.nat(1).map((failuresMax) => requeue({ runId: held, failuresMax })),
    claim.map((wish) => claimNext(wish)),
  );
}

const id = fc.option(fc.constantFrom("one", "two", "three"), { nil: undefined, freq: 4 });
const free: fc.Arbitrary<Command> = fc.oneof(
  fc
    .record(
      { runId, availableAt, reclaimsMax: fc.nat(1), parent: fc.constantFrom("p", "q"), claim },
      { requiredKeys: ["runId"] },
    )
    .map((wish) => enqueue(wish)),
  claim.map((wish) => claimNext(wish)),
  fc.record({ runId, availableAt }).map((wish) => requeue(wish)),
  runId.map((each) => requestCancel({ runId: each, reason: "no use" })),
);
const call: fc.Arbitrary<Call> = fc
  .oneof(
    {
      weight: 4,
      arbitrary: fc.record({ commands: fc.array(free, { minLength: 1, maxLength: 2 }), fence: fc.constant(undefined) }),
    },
    {
      weight: 5,
      arbitrary: fence.chain((held) =>
        fc.record({
          commands: fc.array(wishesOf(held.key.slice(6)), { minLength: 1, maxLength: 2 }),
          fence: fc.constant(held),
        }),
      ),
    },
    { weight: 2, arbitrary: fc.record({ commands: fc.constant([]), fence: fence.map((held) => held) }) },
  )
  .chain(({ commands, fence: held }) =>
    id.map((given) => {
      const append = commands.length === 0;
      const names = append
        ? "append"
        : commands.map(({ name, input }) => `${name}(${JSON.stringify(input)})`).join(" + ");
      const under = held === undefined ? "" : ` under ${held.key} ${held.generation}`;
      return { says: `${names}${under}`, commands, append, fence: held, id: append ? undefined : given };
    }),
  );
/** Each run is somebody's at first. */
const births: readonly Call[] = ["r1", "r2", "r3"].map((born) => ({
  says: `enqueue ${born}`,
  commands: [enqueue({ runId: born, claim: { holder: "A", leaseMs: 5_000, tokenHash: hashToken(token) } })],
  append: false,
  fence: undefined,
  id: undefined,
}));
/** Calls that are sent at once, and how much later. */
const history = fc
  .array(
    fc.record({ calls: fc.array(call, { minLength: 1, maxLength: 6 }), waitMs: fc.constantFrom(0, 1, 999, 3_000) }),
    { minLength: 2, maxLength: 12 },
  )
  .map((steps) => [{ calls: births, waitMs: 0 }, ...steps]);

function send(ledger: Ledger, { commands, append, fence: held, id: given }: Call): Promise<unknown> {
  const options = { ...(held !== undefined && { fence: held }), ...(given !== undefined && { id: given }) };
  if (append) return ledger.append("note/1", [{ type: "note.added" }], options);
  return commands.length === 1 ? ledger.execute(commands[0]!, options) : ledger.execute(commands, options);
}

async function run(
  store: Store,
  steps: readonly { readonly calls: readonly Call[]; readonly waitMs: number }[],
  together: boolean,
): Promise<{ readonly said: readonly string[]; readonly ids: readonly string[]; readonly documents: unknown }> {
  const clock = manualClock(start);
  const ledger = await open(store, { clock, origin: "testing/fences", testing: { randomBytes: seededBytes(1) } });
  const said: string[] = [];
  for (const { calls, waitMs } of steps) {
    const sent: Promise<string>[] = [];
    for (const one of calls) {
      const answer = send(ledger, one).then(
        (executed) => `${one.fence === undefined ? "" : "fenced ok "}${JSON.stringify(executed)}`,
        (error: unknown) => JSON.stringify({ ...(error as object), message: (error as Error).message }),
      );
      sent.push(answer);
      if (!together) await answer;
    }
    said.push(...(await Promise.all(sent)));
    clock.advance(waitMs);
  }
  const events = await ledger.read().toArray();
  const { documents } = await ledger.projection(queue).find({});
  const { verdict, findings } = await ledger.verify({ level: "deep" });
  expect({ verdict, findings }).toEqual({ verdict: "OK", findings: [] });
  const ends = events.filter(({ type }) => type === "queue.completed").map(({ stream }) => stream);
  expect(new Set(ends).size).toBe(ends.length);
  await ledger.close();
  return { said, ids: events.map((event) => event.id), documents };
}

describe("holders under their fences", () => {
  test.each<[StoreName, number]>([
    ["memory", 400],
    ["async memory", 200],
    ["sqlite", 100],
    ["postgres", 20],
  ])(
    "are answered alike, and leave the same bytes, one by one and in batches, on %s",
    async (name, count) => {
      let underFence = 0;
      let fenced = 0;
      await fc.assert(
        fc.asyncProperty(history, async (steps) => {
          const oneByOne = await run(createMemoryStore(), steps, false);
          const together = await run(await openStore(name), steps, true);
          expect(together).toEqual(oneByOne);
          for (const each of oneByOne.said) {
            if (each.includes('"FENCED"')) fenced++;
            else if (each.startsWith("fenced ok")) underFence++;
          }
        }),
        { numRuns: long ? count : Math.ceil(count / 10), seed: runSeed },
      );
      // Both happen, or nothing was tried.
      expect(Math.min(underFence, fenced)).toBeGreaterThan(0);
    },
    long ? 600_000 : 60_000,
  );
});
