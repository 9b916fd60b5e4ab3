/** What commands must not do, and what must not be done with them: coded refusals, of one caller alone, and nothing written. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { accept, content, contentSalt, defineCommand, defineEvents, openLedger, refuse } from "../../src/index.js";
import type { CommandDefinition, Ledger, LedgerOptions } from "../../src/index.js";
import { defineProjection } from "../../projections/define-projection.js";
import { accounts, bank, deposit, openAccount, refusal, transfer } from "./bank.js";
import { describeStores, freshPlace, open, openStore, sharedStoreNames } from "./fixture.js";

const event = { stream: "account/a", type: "bank.closed", data: { account: "a" } };

/** A command that answers with whatever it is told, as plain JavaScript could. */
function answering(answer: () => unknown, more: object = {}): CommandDefinition & (() => never) {
  return defineCommand("bank.any", { decide: answer, ...more } as never) as never;
}

const unhandled: unknown[] = [];
const note = (reason: unknown): number => unhandled.push(reason);
beforeEach(() => void process.on("unhandledRejection", note));
afterEach(() => void process.off("unhandledRejection", note));

/** Executes a command between two neighbours in one batch; answers its refusal when the neighbours saw nothing of it. */
async function refusedAmong(ledger: Ledger, command: never): Promise<unknown> {
  const sizeBefore = (await ledger.status()).size;
  const [before, refused, after] = await Promise.allSettled([
    ledger.append("log/1", [{ type: "log.written" }]),
    ledger.execute(command),
    ledger.append("log/1", [{ type: "log.written" }]),
  ]);
  expect([before.status, refused.status, after.status]).toEqual(["fulfilled", "rejected", "fulfilled"]);
  const entries = await ledger.read({ from: sizeBefore }).toArray();
  const own = entries.filter(({ type }) => type !== "area.defined");
  expect(own.map(({ type }) => type)).toEqual(["log.written", "log.written"]);
  expect(
    entries.filter(({ type, data }) => type === "area.defined" && (data as { area: string }).area === "bank"),
  ).toEqual([]);
  return (refused as PromiseRejectedResult).reason;
}

// oxlint-disable-next-line unicorn/no-thenable -- what must be refused without being asked
const thenable = { then: (_resolve: unknown, reject: (error: Error) => void) => reject(new Error("later")) };
const late = (): Promise<never> => Promise.reject(new Error("later"));

/** Each answer or reading that is refused, and what the refusal says. */
const misuses: readonly (readonly [string, () => never, string, string])[] = [
  ["returns a promise", answering(() => late()), "INVALID_ARGUMENT", "bank.any decide must be synchronous"],
  ["returns a thenable", answering(() => thenable), "INVALID_ARGUMENT", "bank.any decide must be synchronous"],
  ["returns nothing", answering(() => undefined), "INVALID_ARGUMENT", "what accept() or refuse() returned"],
  ["returns a list of events", answering(() => [event]), "INVALID_ARGUMENT", "what accept() or refuse() returned"],
  [
    "accepts without a list",
    answering(() => ({ type: "accepted", events: event })),
    "INVALID_ARGUMENT",
    "accept events",
  ],
  ["accepts holes", answering(() => accept(Array.from({ length: 1 }))), "INVALID_ARGUMENT", "bank.any events[0]"],
  [
    "refuses in small letters",
    answering(() => ({ type: "refused", code: "no", details: {} })),
    "INVALID_ARGUMENT",
    "refuse code",
  ],
  [
    "refuses with details that are no JSON",
    answering(() => refuse("NO", { at: new Date() })),
    "INVALID_ARGUMENT",
    "bank.any details.at",
  ],
  [
    "refuses with a book",
    answering(() => refuse("NO", { a: "x".repeat(20_000) })),
    "LIMIT_EXCEEDED",
    "bank.any details",
  ],
  [
    "reads a promise",
    answering(() => accept([]), { reads: [() => late()] }),
    "INVALID_ARGUMENT",
    "bank.any reads[0] must be synchronous",
  ],
  [
    "reads a number",
    answering(() => accept([]), { reads: [() => ({ a: 1 })] }),
    "INVALID_ARGUMENT",
    "bank.any reads[0].a",
  ],
  [
    "reads a name again",
    answering(() => accept([]), { reads: [() => ({ a: null }), () => ({ a: null })] }),
    "INVALID_ARGUMENT",
    "bank.any reads[1].a",
  ],
  [
    "reads by a number",
    answering(() => accept([]), { reads: [() => ({ a: accounts.get(7 as never) })] }),
    "INVALID_ARGUMENT",
    "bank.any reads[0].a key",
  ],
  [
    "reads an index that is not declared",
    answering(() => accept([]), { reads: [() => ({ a: accounts.find({ index: "size" }) })] }),
    "INVALID_ARGUMENT",
    "size",
  ],
  [
    "reads more than a query may find",
    answering(() => accept([]), { reads: [() => ({ a: accounts.find({ limit: 10_001 }) })] }),
    "INVALID_ARGUMENT",
    "limit",
  ],
  [
    "writes another area",
    answering(() => accept([{ stream: "log/1", type: "log.written" }])),
    "INVALID_ARGUMENT",
    "bank.any events[0].type must be of an area that the command writes (bank)",
  ],
  [
    "writes the journal's own area",
    answering(() => accept([{ stream: "journal/main", type: "journal.restored" }])),
    "INVALID_ARGUMENT",
    "bank.any events[0].type",
  ],
  [
    "writes a type that is not defined",
    answering(() => accept([event, { ...event, type: "bank.robbed" }])),
    "INVALID_ARGUMENT",
    "bank.any events[1].type must be one that area bank defines",
  ],
  [
    "writes a foreign stream kind",
    answering(() => accept([{ ...event, stream: "log/1" }])),
    "INVALID_ARGUMENT",
    "bank.any events[0].stream must be of a kind that area bank owns",
  ],
  [
    "writes without a stream",
    answering(() => accept([{ type: "bank.closed" } as never])),
    "INVALID_ARGUMENT",
    "bank.any events[0].stream",
  ],
  [
    "writes more members",
    answering(() => accept([{ ...event, at: 1 } as never])),
    "INVALID_ARGUMENT",
    "no members but stream, type, data",
  ],
  [
    "writes a Date",
    answering(() => accept([{ ...event, data: { on: new Date() } }])),
    "INVALID_ARGUMENT",
    "bank.any events[0].data.on",
  ],
  [
    "writes an entry that is too large",
    answering(() => accept([{ ...event, data: { a: "x".repeat(65_500) } }])),
    "LIMIT_EXCEEDED",
    "bank.any events[0]",
  ],
  [
    "writes 10,001 events",
    answering(() => accept(Array.from({ length: 10_001 }, () => event))),
    "LIMIT_EXCEEDED",
    "events, found 10001",
  ],
  [
    "names a content that is not there",
    answering(() => accept([{ ...event, data: { a: { $content: "0".repeat(64), bytes: 1, n: 9 } } }])),
    "CONTENT_MISSING",
    "bank.any events[0]",
  ],
  ["answers with more than 16 KiB", answering(() => accept([event], "x".repeat(16_383))), "LIMIT_EXCEEDED", "result"],
  ["answers with a Map", answering(() => accept([event], { a: new Map() })), "INVALID_ARGUMENT", "bank.any result.a"],
  [
    "answers with a content that nothing names",
    answering(() => accept([event], { a: content("x") })),
    "INVALID_ARGUMENT",
    "bank.any result.a must be a content that one of the events names",
  ],
];

describeStores("a command that", (openOne) => {
  test.each(misuses)("%s is refused, and leaves no trace in its neighbours", async (_title, command, code, message) => {
    const ledger = await openOne({ ...bank, commands: [command as never] });

    const error = await refusedAmong(ledger, command());

    expect(error).toMatchObject({ code, message: expect.stringContaining(message) as string });
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  });

  test("throws has thrown it to its caller alone, as it is", async () => {
    const ledger = await openOne(bank);
    await ledger.execute(openAccount({ account: "a", owner: "ada" }));

    const [first, thrown, list, last] = await Promise.allSettled([
      ledger.execute(deposit({ account: "a", cents: 1 })),
      ledger.execute(deposit({ account: "a", cents: 666 })),
      ledger.execute([deposit({ account: "a", cents: 10 }), deposit({ account: "a", cents: 666 })]),
      ledger.execute(deposit({ account: "a", cents: 2 })),
    ]);

    expect(first).toMatchObject({ value: { result: { balance: 1 } } });
    expect(thrown).toMatchObject({ status: "rejected", reason: new RangeError("never that sum") });
    expect(list).toMatchObject({ status: "rejected", reason: new RangeError("never that sum") });
    expect(last).toMatchObject({ value: { result: { balance: 3 }, first: 4, position: 4 } });
  });

  test("answers with exactly 16 KiB is accepted", async () => {
    const full = answering(() => accept([event], "x".repeat(16_382)));
    const ledger = await openOne({ ...bank, commands: [full] });

    const done = await ledger.execute(full());

    expect((done as { readonly result: string }).result).toHaveLength(16_382);
  });

  test("compares a content whose salt it did not read is refused", async () => {
    const blind = defineCommand("bank.blind", {
      reads: [(_input: undefined) => ({ account: accounts.get("a") })],
      decide: ({ account }, _input, context) => accept([], context.sameContent(account!.note!, "x")),
    });
    const ledger = await openOne({ ...bank, commands: [openAccount, deposit, blind] });
    await ledger.execute([
      openAccount({ account: "a", owner: "ada" }),
      deposit({ account: "a", cents: 1, note: content("x") }),
    ]);

    const error = await refusal(ledger.execute(blind()));

    expect(error).toMatchObject({
      code: "INVALID_ARGUMENT",
      message:
        "sameContent reference must be one whose contentSalt(reference) was read, found content 1, which was not".replace(
          "content 1, which was not",
          '"content 1, which was not"',
        ),
    });
  });

  test("reads a projection that the ledger was not opened with, or one that is async, is refused", async () => {
    const other = defineProjection()({ name: "other", version: 1, on: {} });
    const later = defineProjection()({ name: "later", version: 1, async: true, on: {} });
    const stranger = defineCommand("bank.stranger", {
      reads: [() => ({ a: other.get("a") })],
      decide: () => accept([]),
    });
    const waiter = defineCommand("bank.waiter", { reads: [() => ({ a: later.find({}) })], decide: () => accept([]) });
    const ledger = await openOne({ ...bank, projections: [accounts, later], commands: [stranger, waiter] });

    expect(await refusal(ledger.execute(stranger()))).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await refusal(ledger.execute(waiter()))).toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("reads contents of another journal finds them missing, and equal to nothing", async () => {
    const reference = { $content: "a".repeat(64), bytes: 1, n: 1 };
    const seek = defineCommand("bank.seek", {
      reads: [() => ({ note: contentSalt(reference), none: contentSalt(null) })],
      decide: ({ note: found, none }, _input: undefined, context) =>
        accept([], [found?.state, none, context.sameContent(reference, "x")]),
    });
    const ledger = await openOne({ ...bank, commands: [seek] });

    expect((await ledger.execute(seek())).result).toEqual(["missing", null, false]);
  });
});

describe("A18 an async function", () => {
  test("is refused where it is defined: decide, reads, parse", () => {
    const later = async (): Promise<never> => Promise.reject(new Error("never asked"));

    for (const options of [{ decide: later }, { decide: accept, reads: [later] }, { decide: accept, parse: later }])
      expect(() => defineCommand("bank.any", options as never)).toThrow(/must be synchronous/);
    expect(() =>
      defineProjection()({ name: "a", version: 1, on: { "a.b": { key: later as never, apply: () => {} } } }),
    ).toThrow(/must be synchronous/);
  });

  test("that only shows when it is asked is refused before anything is staged, and what it does later is heard by nobody", async () => {
    const hidden = defineCommand("bank.hidden", { decide: (() => late()) as never });
    const parsed = defineCommand("bank.parsed", { parse: (() => late()) as never, decide: () => accept([event]) });
    const ledger = await open(await openStore("memory"), { ...bank, commands: [hidden, parsed] });

    const errors = [await refusal(ledger.execute(hidden())), await refusal(ledger.execute(parsed({} as never)))];
    const list = await refusal(ledger.execute([hidden(), hidden()] as never));

    expect(errors.map(({ code, message }) => [code, message])).toEqual([
      ["INVALID_ARGUMENT", 'bank.hidden decide must be synchronous, found "a promise"'],
      ["INVALID_ARGUMENT", 'bank.parsed parse must be synchronous, found "a promise"'],
    ]);
    expect(list.message).toContain("commands[0] (bank.hidden) decide must be synchronous");
    expect((await ledger.status()).size).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  });
});

describe("the input of a command", () => {
  const keep = defineCommand("bank.keep", { decide: (_found, _input: unknown) => accept([event]) });
  const options: LedgerOptions = { ...bank, commands: [keep] };

  test.each([
    ["a Date", { on: new Date() }, "INVALID_ARGUMENT", "command input.on"],
    ["NaN", { a: [Number.NaN] }, "INVALID_ARGUMENT", "command input.a[0]"],
    [
      "a getter",
      {
        get a() {
          return 1;
        },
      },
      "INVALID_ARGUMENT",
      "command input.a",
    ],
    ["a lone surrogate", "\ud800", "INVALID_ARGUMENT", "command input"],
    ["more than 16 Mi units", { a: "x".repeat(16 * 1024 * 1024) }, "LIMIT_EXCEEDED", "command input"],
  ])("with %s is refused at the call", async (_title, input, code, message) => {
    const ledger = await open(await openStore("memory"), options);

    const error = await refusal(ledger.execute(keep(input)));

    expect(error).toMatchObject({ code, message: expect.stringContaining(message) as string });
    expect((await ledger.status()).size).toBe(1);
  });

  test("is shaped by what parses it, or refused by it, with what it throws as it is", async () => {
    const seen: unknown[] = [];
    const strict = defineCommand("bank.strict", {
      parse: (input: { readonly cents: string }) => {
        if (!/^\d+$/.test(input.cents)) throw new RangeError("cents must be digits");
        return { cents: Number(input.cents) };
      },
      decide: (_found, input) => {
        seen.push(input);
        return accept([], input.cents);
      },
    });
    const schema = {
      "~standard": { validate: () => ({ issues: [{ message: "no such thing" }] }) },
    };
    const never = defineCommand("bank.never", { parse: schema, decide: () => accept([event]) });
    const ledger = await open(await openStore("memory"), { ...bank, commands: [strict, never] });

    expect((await ledger.execute(strict({ cents: "12" }))).result).toBe(12);
    await expect(ledger.execute(strict({ cents: "x" }))).rejects.toThrow(new RangeError("cents must be digits"));
    expect(await refusal(ledger.execute(never({} as never)))).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: "bank.never input is not what its schema says: no such thing",
    });
    expect(seen).toEqual([{ cents: 12 }]);
  });
});

describe("execute refuses", () => {
  const stranger = defineCommand("bank.open", { decide: () => accept([]) });
  const good = openAccount({ account: "a", owner: "ada" });

  test.each([
    ["no command", undefined, {}, "command must be a command"],
    ["something like one", { name: "bank.open", input: {} }, {}, "command must be a command"],
    ["a definition in its place", openAccount, {}, "command must be a command"],
    ["a command of another definition of that name", stranger(), {}, "one of options.commands"],
    ["an empty list", [], {}, "a list of at least one command"],
    ["a hole in a list", [good, undefined], {}, "commands[1] must be a command"],
    ["an option that nobody knows", good, { expected: 1 }, "options must be an object with no members but id, client"],
    ["an actor that is none", good, { actor: 1 }, "options.actor"],
    ["a cause that is none", good, { cause: {} }, "options.cause"],
    ["a requirement that is none", good, { require: [{}] }, "options.require[0].stream"],
    ["a signal that is none", good, { signal: 1 }, "options.signal"],
    ["an id that is none", good, { id: "" }, "options.id"],
    ["a client that is none", good, { client: "a b" }, "options.client"],
  ])("%s", async (_title, command, options, message) => {
    const ledger = await open(await openStore("memory"), bank);

    const error = await refusal(ledger.execute(command as never, options as never));

    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(message) as string });
    expect((await ledger.status()).size).toBe(1);
  });

  test("1,001 commands in a list", async () => {
    const ledger = await open(await openStore("memory"), bank);

    const error = await refusal(ledger.execute(Array.from({ length: 1_001 }, () => good) as never));

    expect(error.code).toBe("LIMIT_EXCEEDED");
  });

  test("a stream that is not as it is required, and a cause that is not there", async () => {
    const ledger = await open(await openStore("memory"), bank);

    const conflict = await refusal(ledger.execute(good, { require: [{ stream: "account/a", expected: 1 }] }));
    const cause = await refusal(ledger.execute(good, { cause: { position: 0, id: "0".repeat(64) } }));

    expect([conflict.code, cause.code]).toEqual(["REVISION_CONFLICT", "NOT_FOUND"]);
    expect((await ledger.status()).size).toBe(1);
  });

  test("the 10,001st command that waits, and serves the others", async () => {
    const tick = defineCommand("bank.tick", { decide: () => accept([], 1) });
    const ledger = await open(await openStore("memory"), { ...bank, commands: [tick] });

    const results = await Promise.allSettled(Array.from({ length: 10_001 }, () => ledger.execute(tick())));

    const refused = results.filter((result) => result.status === "rejected");
    expect(refused).toHaveLength(1);
    expect(results.at(-1)).toMatchObject({ reason: { code: "OVERLOADED", details: { commands: 10_000 } } });
  });

  test.each(sharedStoreNames)(
    "what was given up while it waited, a ledger that is read-only, and one that is closed, on %s",
    async (name) => {
      const path = freshPlace(name);
      const ledger = await openLedger(path, bank);
      const controller = new AbortController();
      const waiting = ledger.execute(good, { signal: controller.signal });
      controller.abort();
      const aborted = await refusal(waiting);
      const size = (await ledger.status()).size;
      await ledger.close();
      const closed = await refusal(ledger.execute(good));
      const reader = await open(path, { ...bank, readOnly: true });

      expect([aborted.code, size, closed.code]).toEqual(["ABORTED", 1, "CLOSED"]);
      expect((await refusal(reader.execute(good))).code).toBe("READ_ONLY");
    },
  );
});

describe("openLedger refuses", () => {
  const stray = defineCommand("stray.go", { decide: () => accept([]) });
  const two = defineCommand("bank.two", { areas: ["bank", "stray"], decide: () => accept([]) });
  const again = defineCommand("bank.open", { decide: () => accept([]) });
  const claims = defineCommand("bank.claim", { areas: ["bank", "queue"], decide: () => accept([]) });
  const lateFenced = defineCommand("bank.late", { lateFence: true, decide: () => accept([]) });

  test.each([
    ["commands that are no list", openAccount, "options.commands must be a list"],
    [
      "a command that is none",
      [{ name: "bank.open", decide: () => accept([]) }],
      "options.commands[0] must be a command made by",
    ],
    ["two of one name", [openAccount, transfer, again], "options.commands[2] must be one definition a name"],
    ["one whose area is not defined", [stray], 'stray.go of areas that options.events defines, found "stray"'],
    [
      "one that writes an area of the ledger itself",
      [claims],
      'bank.claim of areas that the ledger\'s own commands leave to hosts, found "queue"',
    ],
    ["one that would write under a claim that has expired", [lateFenced], "bank.late without lateFence"],
    ["one of whose areas is not defined", [two], 'bank.two of areas that options.events defines, found "stray"'],
  ])("%s", async (_title, commands, message) => {
    const error = await refusal(openLedger("memory:", { ...bank, commands: commands as never }));

    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(message) as string });
  });

  test("nothing where several areas are written by one command", async () => {
    const other = defineEvents("other", { open: false }, { "other.done": {} });
    const both = defineCommand("bank.both", {
      areas: ["other", "bank"],
      decide: () => accept([event, { stream: "other/1", type: "other.done" }]),
    });
    const ledger = await open(await openStore("memory"), {
      ...bank,
      events: [...bank.events!, other],
      commands: [both],
    });

    await ledger.execute(both());

    const types = (await ledger.read({ from: 1 }).toArray()).map(({ type }) => type);
    expect(types).toEqual(["area.defined", "area.defined", "bank.closed", "other.done"]);
  });
});
