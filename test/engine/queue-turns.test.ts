/** One queue, two engines that take turns, each of which remembers which items stand where: they decide as one engine does that has
 *  it to itself, wherever reads are cheap and where they are round trips. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hashToken, LedgerError, queueCommands } from "../../src/index.js";
import type { Command, Ledger, LedgerOptions, Store } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { seededBytes } from "../../src/testing/seeded.js";
import { open, openStore, runsOn, storeNames } from "./fixture.js";
import type { StoreName } from "./fixture.js";
import { remoteStore } from "./remote.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
const runs = (name: StoreName, count: number): { readonly numRuns: number } => ({
  numRuns: long ? count : runsOn(name, count / 10),
});
const { enqueue, claimNext, requeue, requestCancel } = queueCommands;
const start = Date.UTC(2026, 0, 1);

interface Turn {
  readonly side: 0 | 1;
  readonly wishes: readonly Command[];
  /** Sent all at once, or as one list. */
  readonly isList: boolean;
  readonly waitMs: number;
}

const runId = fc.nat(24).map((n) => `r${n}`);
const availableAt = fc.constantFrom(0, start, start + 50, start + 400, start + 10_000_000);
const enqueued = fc
  .record(
    { runId, availableAt, priority: fc.constantFrom(-1_000, 0, 1), affinity: fc.constantFrom("A", "B") },
    { requiredKeys: ["runId"] },
  )
  .map((wish) => enqueue(wish));
const claimed = fc
  .record({
    holder: fc.constantFrom("A", "B"),
    leaseMs: fc.constantFrom(1, 100, 86_400_000),
    tokenHash: fc.constant(hashToken("1")),
  })
  .map((wish) => claimNext(wish));
const wish: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: enqueued },
  { weight: 5, arbitrary: claimed },
  { weight: 1, arbitrary: fc.record({ runId, availableAt }).map((each) => requeue(each)) },
  { weight: 1, arbitrary: runId.map((each) => requestCancel({ runId: each, reason: "no use" })) },
);
const turns: fc.Arbitrary<readonly Turn[]> = fc.array(
  fc.record({
    side: fc.constantFrom(0 as const, 1 as const),
    wishes: fc.array(wish, { minLength: 1, maxLength: 8 }),
    isList: fc.boolean(),
    waitMs: fc.constantFrom(0, 0, 1, 60, 500),
  }),
  { minLength: 4, maxLength: 25 },
);

async function run(history: readonly Turn[], store: Store, engines: 1 | 2): Promise<unknown> {
  const clock = manualClock(start);
  const options: LedgerOptions = { origin: "test/queue", clock, testing: { randomBytes: seededBytes(5) } };
  const ledgers: Ledger[] = [];
  for (let n = 0; n < engines; n++) ledgers.push(await open(store, options));
  const told: unknown[] = [];
  for (const { side, wishes, isList, waitMs } of history) {
    const ledger = ledgers[side % engines]!;
    const asked = isList ? [ledger.execute(wishes)] : wishes.map((each) => ledger.execute(each));
    told.push(await Promise.all(asked.map((each) => each.catch(said))));
    clock.advance(waitMs);
  }
  const [ledger] = ledgers;
  expect((await ledger!.verify({ level: "deep" })).verdict).toBe("OK");
  return { told, ids: (await ledger!.read().toArray()).map(({ id }) => id) };
}

const said = (error: unknown): unknown =>
  error instanceof LedgerError ? [error.code, error.message, error.details] : String(error);

describe.each(storeNames)("two engines that take turns at one queue, on %s", (name) => {
  test("decide as one engine does, whatever each of them remembers", async () => {
    await fc.assert(
      fc.asyncProperty(turns, async (history) => {
        const expected = await run(history, createMemoryStore(), 1);

        expect(await run(history, await openStore(name), 2)).toEqual(expected);
        expect(await run(history, remoteStore(await openStore(name)).store, 2)).toEqual(expected);
      }),
      runs(name, 100),
    );
  });
});
