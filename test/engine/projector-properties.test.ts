/** Any history, by programs of different versions that take turns on one store: every stored table is at any time the fold of
 *  the journal up to where it says that it stands, and every read is the fold of all there is. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { replay } from "../../projections/replay.js";
import { accept, defineCommand, defineEvents, LedgerError } from "../../src/index.js";
import type { Ledger, Store } from "../../src/index.js";
import { describeStores, open, runsOn } from "./fixture.js";
import type { StoreName } from "./fixture.js";
import { remoteStore } from "./remote.js";
import { accounts, closed, counts, expectTables, moved, opened } from "./tables.js";
import type { Account } from "./tables.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
const runs = (name: StoreName, count: number): { readonly numRuns: number } => ({
  numRuns: runsOn(name, long ? count : Math.max(5, count / 10)),
});

const [one, two] = [accounts(), accounts({ version: 2 })];
const broken = accounts({ breaks: 13 });
const noEvents = defineEvents("account", { open: true }, { "account.opened": {}, "account.moved": {} });
const note = defineEvents("note", { open: true }, {});
const nothing = defineCommand("note.take", { decide: () => accept([]) });
const programs = {
  old: { projections: [one, counts], cacheDocuments: 4 },
  new: { projections: [two] },
  counting: { projections: [counts] },
  plain: {},
  same: { projections: [one, counts], cacheDocuments: 0 },
  broken: { projections: [broken, counts], events: [note], commands: [nothing] },
  // It does not know accounts that are closed.
  ignorant: { projections: [counts, one], events: [noEvents, note], commands: [nothing] },
} as const;
type Program = keyof typeof programs;

type Step =
  | {
      readonly do: "append";
      readonly account: string;
      readonly events: readonly ("open" | "move" | "break" | "close" | "other")[];
    }
  | { readonly do: "many"; readonly count: number; readonly concerns: boolean }
  | { readonly do: "read"; readonly account: string }
  | { readonly do: "refused" }
  | { readonly do: "once" }
  | { readonly do: "reopen" };

const account = fc.constantFrom("a", "b", "c", "d");
const steps = fc.array(
  fc.tuple(
    fc.constantFrom<Program>("old", "new", "counting", "plain", "same", "broken", "ignorant"),
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          do: fc.constant("append" as const),
          account,
          events: fc.array(fc.constantFrom("open" as const, "move", "move", "break", "close", "other"), {
            minLength: 1,
            maxLength: 5,
          }),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant("many" as const),
          count: fc.constantFrom(200, 300, 1_100),
          concerns: fc.boolean(),
        }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("read" as const), account }) },
      { weight: 1, arbitrary: fc.constant({ do: "refused" as const }) },
      { weight: 1, arbitrary: fc.constant({ do: "once" as const }) },
      { weight: 1, arbitrary: fc.constant({ do: "reopen" as const }) },
    ),
  ),
  { minLength: 1, maxLength: 30 },
);

async function take(ledger: Ledger, program: Program, step: Exclude<Step, { do: "reopen" }>): Promise<void> {
  switch (step.do) {
    case "append": {
      const events = step.events.map((event, index) =>
        event === "open"
          ? opened(step.account, `owner ${index}`)
          : event === "move"
            ? moved(step.account, 40 + index)
            : event === "break"
              ? moved(step.account, 13)
              : event === "close"
                ? closed(step.account)
                : { type: "other.happened" },
      );
      if (program === "ignorant" && step.events.includes("close")) return;
      const others = events.filter(({ type }) => type === "other.happened");
      const own = events.filter((event) => !others.includes(event));
      const parts = [
        { stream: "other/a", events: others },
        { stream: `account/${step.account}`, events: own },
      ];
      await ledger.append(parts.filter((part) => part.events.length > 0));
      return;
    }
    case "once":
      // The first id has the table of receipts brought up, while the others stand as they stand.
      if (program === "broken" || program === "ignorant") await ledger.execute(nothing(), { id: "once" });
      return;
    case "many": {
      const event = step.concerns ? moved("a", 1) : { type: "other.happened" };
      const stream = step.concerns ? "account/a" : "other/a";
      await ledger.append(
        stream,
        Array.from({ length: step.count }, () => event),
      );
      return;
    }
    case "refused":
      await expect(ledger.append("account/a", [opened("a")], { expected: 1_000_000 })).rejects.toMatchObject({
        code: "REVISION_CONFLICT",
      });
      return;
    case "read": {
      if (program === "plain") return;
      if (program === "counting") return expectCounts(ledger);
      const projection = program === "new" ? two : program === "broken" ? broken : one;
      const refused = await refusalOf(ledger.projection<Account>(projection).get(step.account));
      if (refused !== null) return expect([program, refused]).toEqual([program, refusals[program] ?? null]);
      const whole = (await replay([program === "broken" ? one : projection], await ledger.read().toArray())).projection(
        projection.name,
      );
      const read = ledger.projection<Account>(projection);
      expect(await read.get(step.account)).toEqual(whole.get(step.account));
      expect(await read.digest()).toEqual(whole.digest());
      const query = { index: "rich", order: "desc" } as const;
      expect((await read.find(query)).documents).toEqual(whole.find(query).documents);
    }
  }
}

/** What a program may be told for good; one that can fold everything is told nothing. */
const refusals: Partial<Record<Program, string>> = { broken: "PROJECTION_FAILED", ignorant: "SCHEMA_UNKNOWN" };

async function refusalOf(read: Promise<unknown>): Promise<string | null> {
  try {
    await read;
    return null;
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    return error.code;
  }
}

async function expectCounts(ledger: Ledger): Promise<void> {
  const whole = (await replay([counts], await ledger.read().toArray())).projection(counts);
  expect(await ledger.projection(counts).digest()).toEqual(whole.digest());
}

async function run(store: Store, history: readonly (readonly [Program, Step])[]): Promise<void> {
  const ledgers = new Map<Program, Ledger>();
  for (const [program, step] of history) {
    if (step.do === "reopen") {
      await ledgers.get(program)?.close();
      ledgers.delete(program);
      continue;
    }
    const ledger = ledgers.get(program) ?? (await open(store, programs[program]));
    ledgers.set(program, ledger);
    await take(ledger, program, step);
    await expectTables(store, [one, two, counts]);
  }
  for (const [program, ledger] of ledgers) await take(ledger, program, { do: "read", account: "a" });
  for (const ledger of ledgers.values()) await ledger.close();
  await expectTables(store, [one, two, counts]);
}

describeStores("any history of several programs", (_, openStoreOf, name) => {
  test("leaves every table as the fold of what it says, and reads the fold of everything", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => run(await openStoreOf(), history)),
      runs(name, 100),
    );
  });

  test("does so where reads are round trips, and are made in lists", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => run(remoteStore(await openStoreOf()).store, history)),
      runs(name, 50),
    );
  });
});
