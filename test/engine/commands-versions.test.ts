/** Commands over projections whose tables are new, behind, of another version, or stopped. */
import { expect, test } from "vitest";
import { accept, defineCommand } from "../../src/index.js";
import type { Diagnostic, Ledger, LedgerOptions } from "../../src/index.js";
import { defineProjection } from "../../projections/define-projection.js";
import { accounts, bank, bankEvents, deposit, openAccount, refusal, transfer } from "./bank.js";
import { describeStores, open } from "./fixture.js";
import { storedTable } from "./tables.js";

const key = ({ data }: { readonly data: Record<string, unknown> }): string => data["account"] as string;

/** The next version of the program: its documents have another shape. */
const balances = defineProjection<{ readonly cents: number }>()({
  name: accounts.name,
  version: 2,
  on: {
    "bank.opened": { key, apply: () => ({ cents: 0 }) },
    "bank.deposited": { key, apply: (found, { data }) => ({ cents: (found?.cents ?? 0) + (data["cents"] as number) }) },
    "bank.withdrawn": { key, apply: (found, { data }) => ({ cents: (found?.cents ?? 0) - (data["cents"] as number) }) },
  },
});
const show = defineCommand("bank.show", {
  reads: [(input: { readonly account: string }) => ({ found: balances.get(input.account) })],
  decide: ({ found }) => accept([], found),
});
const next: LedgerOptions = { events: [bankEvents], projections: [balances], commands: [show] };

/** Accounts and 4,000 deposits. */
async function fill(ledger: Ledger): Promise<void> {
  await ledger.execute(openAccount({ account: "a", owner: "ada" }));
  for (let list = 0; list < 10; list++)
    await ledger.execute(Array.from({ length: 400 }, () => put({ account: "a", cents: 1 })));
}

/** A deposit that reads nothing and answers nothing. */
const put = defineCommand("bank.put", {
  decide: (_found, input: { readonly account: string; readonly cents: number }) =>
    accept([{ stream: `account/${input.account}`, type: "bank.deposited", data: input }]),
});
const first: LedgerOptions = { ...bank, commands: [openAccount, deposit, transfer, put] };

describeStores("a command", (_openOne, openStoreOf) => {
  test("E10 of the next version of a program sees documents of its own shape, and the old program goes on with its own", async () => {
    const store = await openStoreOf();
    const old = await open(store, first);
    await fill(old);
    const heard: Diagnostic["type"][] = [];

    const young = await open(store, { ...next, onEvent: ({ type }) => heard.push(type) });
    const answers = [(await young.execute(show({ account: "a" }))).result];
    await old.execute(deposit({ account: "a", cents: 10 }));
    answers.push((await young.execute(show({ account: "a" }))).result);
    const { result } = await old.execute(deposit({ account: "a", cents: 5 }));

    expect(answers).toEqual([{ cents: 4_000 }, { cents: 4_010 }]);
    expect(result.balance).toBe(4_015);
    // Far behind, the table was brought up outside the lock.
    expect(heard).toContain("built");
    expect((await storedTable(store, accounts)).documents).toMatchObject({ a: { owner: "ada", balance: 4_015 } });
    expect(Object.keys((await storedTable(store, balances)).documents)).toEqual(["a"]);
  });

  test("that comes with sixty others to a table that is far behind waits for one build, and is decided once it stands", async () => {
    const store = await openStoreOf();
    const old = await open(store, first);
    await fill(old);
    await old.close();
    const heard: Diagnostic["type"][] = [];
    const young = await open(store, { ...next, onEvent: ({ type }) => heard.push(type) });

    const results = await Promise.all(Array.from({ length: 61 }, () => young.execute(show({ account: "a" }))));

    expect(new Set(results.map((answer) => answer.result?.cents))).toEqual(new Set([4_000]));
    expect(heard.filter((type) => type === "built")).toHaveLength(1);
  });

  test("that reads a projection that stopped is refused with it, and others go on", async () => {
    const broken = defineProjection<{ readonly n: number }>()({
      name: "broken",
      version: 1,
      on: {
        "bank.deposited": {
          key,
          apply: () => {
            throw new RangeError("cannot count");
          },
        },
      },
    });
    const ask = defineCommand("bank.count", {
      reads: [() => ({ found: broken.get("a") })],
      decide: ({ found }) => accept([], found),
    });
    const store = await openStoreOf();
    const ledger = await open(store, {
      ...bank,
      projections: [accounts, broken],
      commands: [openAccount, deposit, ask],
    });

    const [opened, before, deposited, after, again] = await Promise.allSettled([
      ledger.execute(openAccount({ account: "a", owner: "ada" })),
      ledger.execute(ask()),
      ledger.execute(deposit({ account: "a", cents: 1 })),
      ledger.execute(ask()),
      ledger.execute(deposit({ account: "a", cents: 1 })),
    ]);

    expect([opened, deposited, again].map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
    expect(before).toMatchObject({ value: { result: null } });
    expect(after).toMatchObject({ reason: { code: "PROJECTION_FAILED" } });
    expect(await refusal(ledger.execute(ask()))).toMatchObject({ code: "PROJECTION_FAILED" });
    expect((await ledger.verify()).verdict).toBe("OK");
  });
});
