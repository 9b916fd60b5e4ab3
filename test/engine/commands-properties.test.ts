/** Laws of commands over generated histories: how calls are grouped, what is remembered and which store there is leaves no mark
 *  in bytes, answers or documents. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { replay } from "../../projections/replay.js";
import { content, LedgerError } from "../../src/index.js";
import type { Clock, Command, Ledger, LedgerOptions, Store } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { seededBytes, seededNumbers } from "../../src/testing/seeded.js";
import { accounts, ask, bank, deposit, openAccount, transfer } from "./bank.js";
import { open, openStore, runSeed, runsOn, storeNames } from "./fixture.js";
import type { StoreName } from "./fixture.js";
import { remoteStore } from "./remote.js";
import { storedTable } from "./tables.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
const runs = (name: StoreName, count: number): { readonly numRuns: number } => ({
  numRuns: runsOn(name, long ? count : Math.max(5, count / 10)),
});

type Wish =
  | { readonly type: "open"; readonly account: string; readonly owner: string }
  | { readonly type: "deposit"; readonly account: string; readonly cents: number; readonly note: string | null }
  | { readonly type: "transfer"; readonly from: string; readonly to: string; readonly cents: number }
  | { readonly type: "ask"; readonly owner: string };

type Call =
  | { readonly type: "one"; readonly wish: Wish; readonly id: string | null }
  | { readonly type: "list"; readonly wishes: readonly Wish[]; readonly id: string | null }
  | { readonly type: "append"; readonly text: string; readonly after: string | null };

const account = fc.constantFrom("a", "b", "c");
const owner = fc.constantFrom("ada", "bob");
const wish: fc.Arbitrary<Wish> = fc.oneof(
  fc.record({ type: fc.constant("open" as const), account, owner }),
  fc.record({
    type: fc.constant("deposit" as const),
    account,
    // One sum in seven throws.
    cents: fc.constantFrom(1, 2, 3, 50, 100, 250, 666),
    note: fc.option(fc.constantFrom("rent", "food", "x".repeat(1_200)), { nil: null }),
  }),
  fc.record({ type: fc.constant("transfer" as const), from: account, to: account, cents: fc.nat(120) }),
  fc.record({ type: fc.constant("ask" as const), owner }),
);
const id = fc.option(fc.constantFrom("one", "two", "three"), { nil: null, freq: 4 });
const call: fc.Arbitrary<Call> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("one" as const), wish, id }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("list" as const),
      wishes: fc.array(wish, { minLength: 1, maxLength: 4 }),
      id,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("append" as const),
      text: fc.constantFrom("x", "y".repeat(1_200)),
      after: fc.option(account, { nil: null }),
    }),
  },
);
const history = fc.array(call, { minLength: 1, maxLength: 30 });
/** After which calls to wait for all that came before. */
const pauses = fc.array(fc.boolean(), { minLength: 30, maxLength: 30 });

/** Each look at it is a ms later, so that how often it is looked at shows. */
function tickingClock(): Clock {
  let now = 1_000;
  return { now: () => ++now, monotonic: () => now };
}

function commandOf(one: Wish): Command {
  switch (one.type) {
    case "open":
      return openAccount(one);
    case "deposit":
      return deposit({
        account: one.account,
        cents: one.cents,
        ...(one.note === null ? {} : { note: content(one.note) }),
      });
    case "transfer":
      return transfer(one);
    case "ask":
      return ask(one);
  }
}

function start(ledger: Ledger, one: Call): Promise<unknown> {
  if (one.type === "append")
    return ledger.append("log/1", [{ type: "log.written", data: { text: content(one.text) } }], {
      require: one.after === null ? [] : [{ stream: `account/${one.after}`, expected: "exists" }],
    });
  const options = one.id === null ? {} : { id: one.id };
  return one.type === "one"
    ? ledger.execute(commandOf(one.wish), options)
    : ledger.execute(one.wishes.map(commandOf), options);
}

interface Told {
  readonly answers: readonly unknown[];
  readonly ids: readonly string[];
  readonly documents: unknown;
}

/** Runs a history; `turn` is told before each call, with what is under way, and hands the ledger to use. */
async function run(
  calls: readonly Call[],
  store: Store,
  turn: (index: number, underWay: readonly Promise<unknown>[]) => Promise<Ledger>,
): Promise<Told> {
  const underWay: Promise<unknown>[] = [];
  let ledger: Ledger | null = null;
  for (const [index, one] of calls.entries()) {
    ledger = await turn(index, underWay);
    underWay.push(start(ledger, one).catch(said));
  }
  const answers = await Promise.all(underWay);
  const ids = (await ledger!.read().toArray()).map((event) => event.id);
  expect((await ledger!.verify()).verdict).toBe("OK");
  return { answers, ids, documents: (await storedTable(store, accounts)).documents };
}

const said = (error: unknown): unknown =>
  error instanceof LedgerError ? [error.code, error.message, error.details] : String(error);

/** The reference: one call after the other. */
async function oneByOne(
  calls: readonly Call[],
  options: LedgerOptions,
  store: Store = createMemoryStore(),
): Promise<Told> {
  const ledger = await open(store, options);
  return run(calls, store, async (_index, underWay) => {
    await Promise.all(underWay);
    return ledger;
  });
}

describe.each(storeNames)("any history of calls, on %s", (name) => {
  // A store with conflicts of its own has a batch look at the clock once more.
  const clock = name === "async memory" ? manualClock : tickingClock;
  const fixed = (): LedgerOptions => ({
    ...bank,
    origin: "test/bank",
    clock: clock(),
    testing: { randomBytes: seededBytes(3) },
  });
  test("gives the same bytes, answers and documents whatever shares a commit", async () => {
    await fc.assert(
      fc.asyncProperty(history, pauses, async (calls, waits) => {
        const expected = await oneByOne(calls, fixed());
        const store = await openStore(name);
        const ledger = await open(store, fixed());

        const grouped = await run(calls, store, async (index, underWay) => {
          if (waits[index]) await Promise.all(underWay);
          return ledger;
        });

        expect(grouped).toEqual(expected);
      }),
      runs(name, 100),
    );
  });

  test("gives the same from two engines that take turns, where reads are round trips and are made in lists, ahead", async () => {
    await fc.assert(
      fc.asyncProperty(history, pauses, async (calls, waits) => {
        const options = (): LedgerOptions => ({ ...fixed(), clock: manualClock() });
        const expected = await oneByOne(calls, options());
        const { store } = remoteStore(await openStore(name));
        const shared = options();
        const both = [await open(store, shared), await open(store, shared)] as const;

        let turn = 0;
        const turns = await run(calls, store, async (index, underWay) => {
          if (waits[index]) await Promise.all(underWay);
          if (waits[index]) turn++;
          return both[turn % 2]!;
        });

        expect(turns).toEqual(expected);
      }),
      runs(name, 100),
    );
  });

  test("leaves tables that are the fold of the journal, of two engines that write at once and read ahead", async () => {
    await fc.assert(
      fc.asyncProperty(history, pauses, async (calls, sides) => {
        const { store } = remoteStore(await openStore(name));
        const shared = { ...fixed(), clock: manualClock() };
        const both = [await open(store, shared), await open(store, shared)] as const;

        for (let from = 0; from < calls.length; from += 6) {
          const burst = calls.slice(from, from + 6);
          const side = (index: number): Ledger => both[sides[from + index] === true ? 1 : 0];
          await Promise.allSettled(burst.map((one, index) => start(side(index), one)));
        }

        for (const ledger of both) {
          const folded = await replay([accounts], await ledger.read().toArray());
          expect(await ledger.projection(accounts).digest()).toEqual(folded.projection("bank-account").digest());
          expect((await ledger.verify({ level: "deep" })).verdict).toBe("OK");
        }
      }),
      runs(name, 100),
    );
  });

  test("H10 gives the same bytes on an engine that is cold before each call, one that is warm, and ones that forget", async () => {
    await fc.assert(
      fc.asyncProperty(history, async (calls) => {
        const warm = await oneByOne(calls, fixed());
        const coldStore = await openStore(name);
        const options = fixed();
        let ledger = await open(coldStore, options);

        const cold = await run(calls, coldStore, async (_index, underWay) => {
          await Promise.all(underWay);
          await ledger.close();
          ledger = await open(coldStore, options);
          return ledger;
        });

        expect(cold).toEqual(warm);
        for (const cacheDocuments of [0, 2, 4])
          expect(await oneByOne(calls, { ...fixed(), cacheDocuments }, await openStore(name))).toEqual(warm);
      }),
      runs(name, 50),
    );
  });
});

describe.each(storeNames)("a long history of few accounts, on %s", (name) => {
  test("H10 gives the same bytes, answers and documents with caches of each small size, and from two engines that take turns", async () => {
    const fixed = (): LedgerOptions => ({
      ...bank,
      origin: "test/bank",
      clock: manualClock(),
      testing: { randomBytes: seededBytes(3) },
    });
    const next = seededNumbers(runSeed);
    const one = (): string => "abc"[Math.floor(next() * 3)]!;
    const calls: Call[] = ["a", "b", "c"].map((each) => ({
      type: "one",
      wish: { type: "open", account: each, owner: "ada" },
      id: each,
    }));
    for (let n = 0; n < 60; n++) {
      const cents = Math.floor(next() * 100);
      const moving: Wish = { type: "transfer", from: one(), to: one(), cents };
      const paying: Wish = { type: "deposit", account: one(), cents, note: null };
      calls.push({ type: "one", wish: next() < 0.2 ? moving : paying, id: null });
    }
    const warm = await oneByOne(calls, fixed(), await openStore(name));

    for (const cacheDocuments of [0, 1, 2, 3, 4, 6, 8])
      expect([cacheDocuments, await oneByOne(calls, { ...fixed(), cacheDocuments }, await openStore(name))]).toEqual([
        cacheDocuments,
        warm,
      ]);

    const sharedStore = await openStore(name);
    const shared = fixed();
    const both = [await open(sharedStore, shared), await open(sharedStore, shared)] as const;
    const turns = await run(calls, sharedStore, async (index, underWay) => {
      await Promise.all(underWay);
      return both[index % 2]!;
    });
    expect(turns).toEqual(warm);
  });
});

describe("the generated histories", () => {
  test("reach acceptance, refusal, exceptions and adoption", () => {
    // What they are worth is seen once: each kind of call is there among a hundred histories.
    const calls = fc.sample(history, { numRuns: 100, seed: 1 }).flat();

    expect(new Set(calls.map(({ type }) => type))).toEqual(new Set(["one", "list", "append"]));
    expect(calls.some((one) => one.type !== "append" && one.id !== null)).toBe(true);
  });
});
