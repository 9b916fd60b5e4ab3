/** What a command finds, in any history: what is stored, what its batch changed and what its own list changed before it, as a
 *  naive model finds it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { accept, defineCommand, defineEvents } from "../../src/index.js";
import type { FindQuery, FoundDocuments } from "../../src/index.js";
import { describeStores, open, runsOn } from "./fixture.js";
import type { StoreName } from "./fixture.js";
import { accounts, closed, moved, opened } from "./tables.js";
import type { Account } from "./tables.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
const runs = (name: StoreName, count: number): { readonly numRuns: number } => ({
  numRuns: runsOn(name, long ? count : Math.max(5, count / 10)),
});

const projection = accounts();
const events = defineEvents(
  "account",
  { open: true },
  { "account.opened": {}, "account.moved": {}, "account.closed": {} },
);

interface Change {
  readonly account: string;
  readonly does: "open" | "move" | "close";
  readonly amount: number;
  readonly owner: string;
}

/** Does what it is told, and says what it found before. */
const change = defineCommand("account.change", {
  reads: [(input: { readonly change: Change; readonly query: FindQuery }) => ({ found: projection.find(input.query) })],
  decide: ({ found }, { change: { account, does, amount, owner } }) => {
    const event = does === "open" ? opened(account, owner) : does === "move" ? moved(account, amount) : closed(account);
    return accept([{ stream: `account/${account}`, ...event }], found);
  },
});

const changes = fc.record({
  account: fc.constantFrom("a", "b", "c", "d", "é", "z\u{1f600}"),
  does: fc.constantFrom("open" as const, "move" as const, "move" as const, "close" as const),
  amount: fc.constantFrom(-50, -1, 0, 1, 60, 100, 1_000),
  owner: fc.constantFrom("ann", "bob", ""),
});
const order = fc.constantFrom("asc" as const, "desc" as const);
const limit = fc.integer({ min: 1, max: 4 });
const bound = fc.constantFrom(-50, 0, 1, 60, 100);
const queries: fc.Arbitrary<FindQuery> = fc.oneof(
  fc.record({ order, limit }),
  fc.record({ index: fc.constant("owner"), prefix: fc.tuple(fc.constantFrom("ann", "bob", "")), order, limit }),
  fc.record({
    index: fc.constant("owner"),
    prefix: fc.constant(["ann"]),
    range: fc.oneof(fc.record({ gt: bound, lte: bound }), fc.record({ gte: bound }), fc.record({ lt: bound })),
    order,
    limit,
  }),
  fc.record({ index: fc.constant("rich"), order, limit }),
);
const calls = fc.array(fc.array(fc.record({ change: changes, query: queries }), { minLength: 1, maxLength: 5 }), {
  minLength: 1,
  maxLength: 8,
});

function modelChange(model: Map<string, Account>, { account, does, amount, owner }: Change): void {
  const before = model.get(account);
  if (does === "open") model.set(account, { owner, balance: 0, moves: 0 });
  else if (does === "close") model.delete(account);
  else if (before !== undefined)
    model.set(account, { ...before, balance: before.balance + amount, moves: before.moves + 1 });
}

function modelFind(model: ReadonlyMap<string, Account>, query: FindQuery): FoundDocuments<Account>["documents"] {
  const rows = [...model].flatMap(([key, document]) => {
    const { owner, balance } = document;
    const tuple =
      query.index === undefined ? [] : query.index === "owner" ? [owner, balance] : balance >= 100 ? [balance] : null;
    return tuple === null ? [] : [{ key, document, tuple }];
  });
  const prefix = query.prefix ?? [];
  const inRange = rows.filter(({ tuple }) => {
    if (prefix.some((element, index) => tuple[index] !== element)) return false;
    const {
      gt = -Infinity,
      gte = -Infinity,
      lt = Infinity,
      lte = Infinity,
    } = (query.range ?? {}) as Record<string, number>;
    const next = tuple[prefix.length] as number;
    return query.range === undefined || (next > gt && next >= gte && next < lt && next <= lte);
  });
  inRange.sort((a, b) => compareTuples(a.tuple, b.tuple) || Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
  if (query.order === "desc") inRange.reverse();
  return inRange.slice(0, query.limit).map(({ key, document }) => ({ key, document }));
}

function compareTuples(a: readonly (string | number)[], b: readonly (string | number)[]): number {
  for (const [index, element] of a.entries()) if (element !== b[index]) return element < b[index]! ? -1 : 1;
  return 0;
}

describeStores("finding in any history", (_, openStoreOf, store) => {
  test("a command finds what a naive model finds, within its list, its batch and the journal", async () => {
    await fc.assert(
      fc.asyncProperty(calls, fc.constantFrom(0, 5_000), fc.boolean(), async (history, cacheDocuments, together) => {
        const options = { projections: [projection], events: [events], commands: [change], cacheDocuments };
        const ledger = await open(await openStoreOf(), options);
        const model = new Map<string, Account>();
        const expected = history.map((list) =>
          list.map(({ change: each, query }) => {
            const found = modelFind(model, query);
            modelChange(model, each);
            return found;
          }),
        );
        const executing = [];
        for (const list of history) {
          const call = ledger.execute(list.map((input) => change(input)));
          executing.push(call);
          if (!together) await call;
        }
        const found = (await Promise.all(executing)).map(({ results }) =>
          results.map((result) => (result as unknown as FoundDocuments<Account>).documents),
        );

        expect(found).toEqual(expected);
        await ledger.close();
      }),
      runs(store, 150),
    );
  });

  test("what a list removed does not make the page of its next command short", async () => {
    const ledger = await open(await openStoreOf(), { projections: [projection], events: [events], commands: [change] });
    const names = ["a", "b", "c", "d", "e", "f"];
    for (const name of names) await ledger.append(`account/${name}`, [opened(name)]);
    const remove = (account: string): ReturnType<typeof change> =>
      change({ change: { account, does: "close", amount: 0, owner: "" }, query: { limit: 2 } });

    const { results } = await ledger.execute(["a", "b", "c", "d"].map(remove));

    expect(results.map((found) => found.documents.map(({ key }) => key).join(""))).toEqual(["ab", "bc", "cd", "de"]);
    expect(results.map((found) => found.next !== null)).toEqual([true, true, true, true]);
  });

  test("pages of a query follow each other without a hole or a repetition", async () => {
    const ledger = await open(await openStoreOf(), { projections: [projection], events: [events], commands: [change] });
    for (let n = 0; n < 25; n++)
      await ledger.append(`account/${n}`, [opened(`${n}`, n % 2 === 0 ? "ann" : "bob"), moved(`${n}`, (n * 7) % 11)]);

    for (const query of [{}, { index: "owner" }, { index: "owner", prefix: ["ann"], order: "desc" }] as FindQuery[]) {
      const whole = await ledger.projection(projection).find({ ...query, limit: 1_000 });
      const pages = [];
      for (let after: string | undefined; ;) {
        const page = await ledger
          .projection(projection)
          .find({ ...query, limit: 4, ...(after === undefined ? {} : { after }) });
        pages.push(...page.documents);
        if (page.next === null) break;
        after = page.next;
      }
      expect(pages).toEqual(whole.documents);
      expect(whole.next).toBe(null);
    }
  });
});
