/** Executing commands: what is written, what is refused, and what is told. */
import { expect, expectTypeOf, test } from "vitest";
import { accept, defineCommand, defineEvents, LedgerError, refuse } from "../../src/index.js";
import type { Ledger, LedgerOptions } from "../../src/index.js";
import { describeStores } from "./fixture.js";

const accountEvents = defineEvents(
  "account",
  { open: false },
  {
    "account.opened": {},
    "account.deposited": { content: ["/note"] },
    "account.closed": { version: 2, upcast: { 1: (data) => data } },
  },
);
const openEvents = defineEvents("log", { open: true }, { "log.written": {} });

const openAccount = defineCommand("account.open", {
  decide: (_found, input: { readonly name: string; readonly owner: string }, context) => {
    if (input.owner === "")
      return refuse("OWNER_MISSING", { name: input.name }, { message: "an account needs an owner" });
    const id = context.newId();
    return accept([{ stream: `account/${input.name}`, type: "account.opened", data: { owner: input.owner, id } }], {
      id,
      at: context.at,
    });
  },
});
const deposit = defineCommand("account.deposit", {
  decide: (_found, { name, cents, note }: { readonly name: string; readonly cents: number; readonly note?: unknown }) =>
    accept([
      {
        stream: `account/${name}`,
        type: "account.deposited",
        data: { cents, ...(note === undefined ? {} : { note }) },
      },
    ]),
});
const nothing = defineCommand("account.touch", { decide: () => accept([], "seen") });
const options: LedgerOptions = {
  events: [accountEvents, openEvents],
  commands: [openAccount, deposit, nothing],
};

async function refusal(promise: Promise<unknown>): Promise<LedgerError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof LedgerError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

async function types(ledger: Ledger): Promise<readonly string[]> {
  return (await ledger.read().toArray()).map((event) => event.type);
}

describeStores("execute", (openOne) => {
  test("writes the events of a command and tells what became of them", async () => {
    const ledger = await openOne(options);

    const opened = await ledger.execute(openAccount({ name: "a", owner: "ada" }), {
      actor: "clerk",
      correlation: "visit 7",
      meta: { tenant: "x" },
    });

    expectTypeOf(opened.result).toEqualTypeOf<{ readonly id: string; readonly at: number }>();
    const [defined, event] = await ledger.read({ from: 1 }).toArray();
    expect(defined).toMatchObject({ type: "area.defined", data: { area: "account", open: false } });
    expect(event).toMatchObject({
      stream: "account/a",
      revision: 1,
      type: "account.opened",
      data: { owner: "ada", id: opened.result.id },
      actor: "clerk",
      correlation: "visit 7",
      meta: { tenant: "x" },
      tx: { first: 1, count: 2 },
    });
    expect(opened).toEqual({
      result: { id: expect.stringMatching(/^[a-z2-7]{26}$/) as string, at: event!.at },
      first: 1,
      position: 2,
      count: 2,
      at: event!.at,
      ids: [event!.id],
      revision: 1,
      streams: [{ stream: "account/a", revision: 1 }],
      adopted: false,
    });
  });

  test("throws what a command refuses, and nothing of it is written", async () => {
    const ledger = await openOne(options);

    const error = await refusal(ledger.execute(openAccount({ name: "a", owner: "" })));

    expect(error).toMatchObject({
      code: "OWNER_MISSING",
      details: { name: "a" },
      message: "an account needs an owner",
    });
    expect(await types(ledger)).toEqual(["journal.opened"]);
  });

  test("a command that accepts without events is a success that writes nothing", async () => {
    const ledger = await openOne(options);

    const answer = await ledger.execute(nothing());

    expect(answer).toMatchObject({
      result: "seen",
      first: 1,
      position: 0,
      count: 0,
      ids: [],
      revision: 0,
      streams: [],
    });
    expect(await types(ledger)).toEqual(["journal.opened"]);
  });

  test("a list is one tx, and all or nothing", async () => {
    const ledger = await openOne(options);

    const done = await ledger.execute([openAccount({ name: "a", owner: "ada" }), deposit({ name: "a", cents: 5 })]);
    const error = await refusal(
      ledger.execute([deposit({ name: "a", cents: 1 }), openAccount({ name: "b", owner: "" })]),
    );

    expect(done.results).toEqual([{ id: expect.any(String) as string, at: done.at }, undefined]);
    expect(done).toMatchObject({ count: 3, first: 1, position: 3, revision: 2 });
    expect(error).toMatchObject({ code: "OWNER_MISSING", details: { name: "b", index: 1 } });
    const events = await ledger.read({ from: 1 }).toArray();
    expect(events.map((event) => [event.type, event.tx])).toEqual([
      ["area.defined", { first: 1, count: 3 }],
      ["account.opened", { first: 1, count: 3 }],
      ["account.deposited", { first: 1, count: 3 }],
    ]);
  });

  test("a closed area is written by its commands alone", async () => {
    const ledger = await openOne(options);

    const error = await refusal(ledger.append("account/a", [{ type: "account.opened" }]));

    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(await types(ledger)).toEqual(["journal.opened"]);
  });
});
