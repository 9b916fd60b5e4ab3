/** Batches that overlap, over generated histories: commits that fail or are not answered, and others who write in between. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { LedgerError } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { assumingStore, busy, unavailable } from "./assuming.js";
import type { Passage } from "./assuming.js";
import { open } from "./fixture.js";
import { accounts, expectTables, expectWhole, moved, opened } from "./tables.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;

interface Step {
  readonly stream: "a" | "b" | "c" | "d";
  /** The revision that the caller believes in, by so much off what it saw last; null: any. */
  readonly off: number | null;
  /** Turns of the event loop before it. */
  readonly turns: number;
  readonly foreign: boolean;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    stream: fc.constantFrom("a", "b", "c", "d"),
    off: fc.option(fc.integer({ min: -1, max: 1 }), { nil: null }),
    turns: fc.integer({ min: 0, max: 4 }),
    foreign: fc.constantFrom(false, false, false, false, false, true),
  }),
  { minLength: 5, maxLength: 60 },
);

/** What commits meet: turns that they wait, and what they fail of, before or after they happened. */
const passages = fc.array(
  fc.record({
    turns: fc.integer({ min: 0, max: 6 }),
    fails: fc.constantFrom(null, null, null, "busy", "unavailable", "unanswered"),
  }),
  { maxLength: 30 },
);

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const passageOf = (planned: { readonly turns: number; readonly fails: string | null }): Passage => ({
  before: async () => {
    await turns(planned.turns);
    if (planned.fails === "busy") throw busy();
    if (planned.fails === "unavailable") throw unavailable();
  },
  after: async () => {
    await turns(planned.turns);
    if (planned.fails === "unanswered") throw unavailable();
  },
});

test("what callers were told is what is stored: once, in their order, and the tables are the fold of it", async () => {
  const projection = accounts();
  await fc.assert(
    fc.asyncProperty(steps, passages, async (history, planned) => {
      const assuming = assumingStore();
      const ledger = await open(assuming.store, { projections: [projection] });
      const other = await open(assuming.inner, { projections: [projection] });
      await ledger.append("account/a", [opened("a")]);
      assuming.meet(...planned.map(passageOf));
      const believed = new Map<string, number>([["a", 1]]);
      const told: string[] = [];
      const appends: Promise<void>[] = [];
      for (const [index, { stream, off, turns: count, foreign }] of history.entries()) {
        await turns(count);
        const by: Ledger = foreign ? other : ledger;
        const revision = believed.get(stream) ?? 0;
        const expected = off === null ? "any" : Math.max(0, revision + off);
        if (off === null || off === 0) believed.set(stream, revision + 1);
        const event = { ...moved(stream, index), data: { account: stream, amount: index, foreign } };
        appends.push(
          by.append(`account/${stream}`, [event], { expected }).then(
            () => void (told[index] = "done"),
            (error: unknown) => void (told[index] = error instanceof LedgerError ? error.code : String(error)),
          ),
        );
      }
      await Promise.all(appends);

      const stored = (await ledger.read().toArray()).filter(({ type }) => type === "account.moved");
      const found = stored.map(({ data }) => data as { readonly amount: number; readonly foreign: boolean });
      const done = history.flatMap((step, index) => (told[index] === "done" ? [{ index, step }] : []));
      for (const foreign of [false, true])
        expect(found.filter((each) => each.foreign === foreign).map(({ amount }) => amount)).toEqual(
          done.filter(({ step }) => step.foreign === foreign).map(({ index }) => index),
        );
      for (const each of told) expect(["done", "REVISION_CONFLICT", "STORE_UNAVAILABLE"]).toContain(each);
      expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });
      await expectWhole(ledger, projection);
      await expectTables(assuming.inner, [projection]);
      expect(assuming.togetherMax).toBeLessThanOrEqual(2);
      await other.close();
      await ledger.close();
    }),
    { numRuns: long ? 300 : 30 },
  );
});
