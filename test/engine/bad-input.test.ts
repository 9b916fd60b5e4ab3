/** Bad input of commands, projections and appends, each on every store: a coded refusal that names what was expected and found,
 *  while the head, every document, every index and every place of a table stay as they were. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import { accept, content, defineCommand, defineEvents, LedgerError } from "../../src/index.js";
import type { CommandDefinition, Ledger, LedgerOptions, Store } from "../../src/index.js";
import { withSnapshot } from "../../src/engine/snapshot.js";
import { accounts, bank, bankEvents, deposit, logEvents, openAccount, refusal, transfer } from "./bank.js";
import { describeStores, open } from "./fixture.js";

/** Everything that is stored: entries, contents, tables with their places, documents, what is in each index. */
function stored(store: Store): Promise<unknown> {
  return withSnapshot(store, async (reads) => {
    const tables = await reads.projections();
    return {
      head: await reads.head(),
      entries: (await reads.entries(0, 100_000)).map(({ entry }) => entry),
      mark: await reads.folded(),
      tables: await Promise.all(
        tables.map(async (row) => ({
          row,
          documents: await reads.documentsByKey(row.id, null, 100_000),
          indexes: await Promise.all(
            row.indexes.map((_, index) =>
              reads.documentsByIndex(row.id, {
                index,
                from: new Uint8Array(),
                to: null,
                reverse: false,
                limit: 100_000,
              }),
            ),
          ),
        })),
      ),
    };
  });
}

const closed = { stream: "account/a", type: "bank.closed", data: { account: "a" } };
const vaultEvents = defineEvents("vault", { open: false }, { "vault.emptied": {} });
const later = (): Promise<never> => Promise.reject(new Error("later"));
const made: CommandDefinition[] = [];

/** A command of the bank as plain JavaScript could define it, each under a name of its own. */
function wrong(more: object): (input?: unknown) => never {
  const options = { decide: () => accept([closed]), ...more } as never; // what types would not let through
  const definition = defineCommand(`bank.wrong${made.length}`, options);
  made.push(definition);
  return definition as never;
}

type Act = (ledger: Ledger) => Promise<unknown>;

const executing = (more: object, input?: unknown): Act => {
  const command = wrong(more);
  return (ledger) => ledger.execute(command(input));
};

const stranger = wrong({ decide: () => accept([{ stream: "log/1", type: "log.written" }]) });

/** What is done, with which code it is refused, and words of what it says. */
const refused: readonly (readonly [title: string, act: Act, code: string, says: string])[] = [
  ["A18 a decider that answers later", executing({ decide: () => later() }), "INVALID_ARGUMENT", "synchronous"],
  ["A18 reads that answer later", executing({ reads: [() => later()] }), "INVALID_ARGUMENT", "synchronous"],
  ["A18 a check of the input that answers later", executing({ parse: () => later() }), "INVALID_ARGUMENT", "synch"],
  [
    "events of another open area",
    executing({ decide: () => accept([closed, { stream: "log/1", type: "log.written" }]) }),
    "INVALID_ARGUMENT",
    "events[1].type must be of an area that the command writes (bank)",
  ],
  [
    "events of another closed area",
    executing({ decide: () => accept([{ stream: "vault/1", type: "vault.emptied" }]) }),
    "INVALID_ARGUMENT",
    "events[0].type must be of an area that the command writes (bank)",
  ],
  [
    "a closed area written by append",
    (ledger) => ledger.append("account/a", [{ type: "bank.closed", data: { account: "a" } }]),
    "INVALID_ARGUMENT",
    "bank",
  ],
  [
    "the area of receipts written by append",
    (ledger) => ledger.append("client/default", [{ type: "receipt.recorded", data: {} }]),
    "INVALID_ARGUMENT",
    "stream must be of",
  ],
  [
    "an index that is not declared, in the reads of a command",
    executing({ reads: [() => ({ found: accounts.find({ index: "size" }) })] }),
    "INVALID_ARGUMENT",
    "size",
  ],
  [
    "an index that is not declared, in a query",
    (ledger) => ledger.projection(accounts).find({ index: "size" }),
    "INVALID_ARGUMENT",
    "size",
  ],
  [
    "an event with a Date",
    executing({ decide: () => accept([{ ...closed, data: { account: "a", on: new Date(0) } }]) }),
    "INVALID_ARGUMENT",
    "events[0].data.on",
  ],
  ["an input with a Date", executing({}, { on: new Date(0) }), "INVALID_ARGUMENT", "input.on"],
  [
    "a result with a Date",
    executing({ decide: () => accept([closed], { on: new Date(0) }) }),
    "INVALID_ARGUMENT",
    "result.on",
  ],
  [
    "a result over 16 KiB",
    executing({ decide: () => accept([closed], "x".repeat(16 * 1024)) }),
    "LIMIT_EXCEEDED",
    "result",
  ],
  [
    "a receipt id used again with another input",
    (ledger) => ledger.execute(openAccount({ account: "a", owner: "bob" }), { id: "first" }),
    "IDEMPOTENCY_CONFLICT",
    "another input",
  ],
  [
    "a receipt id used again for another command",
    (ledger) => ledger.execute(deposit({ account: "a", cents: 1 }), { id: "first" }),
    "IDEMPOTENCY_CONFLICT",
    "bank.open",
  ],
  [
    "a receipt id used again for a list",
    (ledger) => ledger.execute([openAccount({ account: "a", owner: "ada" })], { id: "first" }),
    "IDEMPOTENCY_CONFLICT",
    "bank.open",
  ],
  [
    "a list whose last command writes another area",
    (ledger) => ledger.execute([deposit({ account: "a", cents: 1, note: content("new") }), stranger()]),
    "INVALID_ARGUMENT",
    "commands[1]",
  ],
];

const options: LedgerOptions = {
  events: [bankEvents, logEvents, vaultEvents],
  projections: [accounts],
  commands: [openAccount, deposit, transfer, ...made],
};

const unhandled: unknown[] = [];
const note = (reason: unknown): number => unhandled.push(reason);
beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", note);
});
afterEach(() => void process.off("unhandledRejection", note));

describeStores("of bad input", (_, openStore) => {
  /** A ledger with documents, contents and a receipt. */
  async function filled(more: LedgerOptions = options): Promise<{ readonly ledger: Ledger; readonly store: Store }> {
    const store = await openStore();
    const ledger = await open(store, more);
    await ledger.execute(openAccount({ account: "a", owner: "ada" }), { id: "first" });
    await ledger.execute(deposit({ account: "a", cents: 5, note: content("rent") }));
    return { ledger, store };
  }

  test.each(refused)("%s is refused, and nothing is written", async (_title, act, code, says) => {
    const { ledger, store } = await filled();
    const before = await stored(store);

    const error = await refusal(act(ledger));

    expect(error).toMatchObject({ code, message: expect.stringContaining(says) as string });
    expect(await stored(store)).toEqual(before);
    expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  });

  test.each([
    ["D03 a document with a Date", () => ({ on: new Date(0) }), "document.on"],
    ["A18 a document that comes later", later, "must be synchronous"],
  ] as const)(
    "%s is not written: the event is a fact, its table stands before it, and who reads it is refused",
    async (_title, bad, says) => {
      const seen = defineProjection<object>()({
        name: "seen",
        version: 1,
        on: {
          "log.written": {
            key: ({ stream }) => stream,
            apply: (document, { data }) => (data["bad"] === true ? bad() : { ...document, n: data["n"] as number }),
          },
        },
      });
      const look = defineCommand("bank.look", {
        reads: [() => ({ seen: seen.get("log/1") })],
        decide: () => accept([closed]),
      });
      const { ledger, store } = await filled({
        ...options,
        projections: [accounts, seen],
        commands: [openAccount, deposit, look],
      });
      await ledger.append("log/1", [{ type: "log.written", data: { n: 1 } }]);
      await ledger.append("log/1", [{ type: "log.written", data: { bad: true } }]);
      const before = await stored(store);

      const errors = [
        await refusal(ledger.execute(look())),
        await refusal(ledger.projection(seen).get("log/1")),
        await refusal(ledger.projection(seen).find()),
      ];

      for (const error of errors)
        expect(error).toMatchObject({ code: "PROJECTION_FAILED", details: { projection: "seen", key: "log/1" } });
      expect(errors[0]!.message).toContain(says);
      expect(await stored(store)).toEqual(before);
      const texts = (before as { tables: { row: { name: string }; documents: { text: string }[] }[] }).tables
        .filter(({ row }) => row.name === "seen")
        .flatMap(({ documents }) => documents.map(({ text }) => text));
      expect(texts).toEqual(['{"n":1}']);
      expect((await ledger.execute(deposit({ account: "a", cents: 1 }))).result).toMatchObject({ balance: 6 });
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).toEqual([]);
    },
  );

  test("the 10,001st command that waits is refused, and nothing of it is written", async () => {
    const tick = defineCommand("bank.tick", { decide: () => accept([], 1) });
    const { ledger, store } = await filled({ ...bank, commands: [openAccount, deposit, tick] });
    const before = await stored(store);

    const waiting = Array.from({ length: 10_000 }, () => ledger.execute(tick()));
    const error = await refusal(ledger.execute(openAccount({ account: "late", owner: "eve" }), { id: "late" }));
    const answers = await Promise.all(waiting);

    expect(error).toMatchObject({ code: "OVERLOADED", details: { commands: 10_000 } });
    expect(answers.every(({ result }) => result === 1)).toBe(true);
    expect(await stored(store)).toEqual(before);
    expect((await ledger.execute(openAccount({ account: "late", owner: "eve" }), { id: "late" })).adopted).toBe(false);
  });
});

test("what waits may weigh 64 MiB: the command over it is refused, and nothing of it is written", async () => {
  const ledger = await open("memory:", bank);
  await ledger.execute(openAccount({ account: "a", owner: "ada" }));
  const large = content(Buffer.alloc(20 * 1024 * 1024, "x"), "text/plain");

  const waiting = [1, 2, 3].map((cents) => ledger.execute(deposit({ account: "a", cents, note: large })));
  const error = await refusal(ledger.execute(deposit({ account: "a", cents: 100, note: large })));
  const answers = await Promise.all(waiting);

  expect(error).toMatchObject({ code: "OVERLOADED", details: { commands: 3 } });
  expect(error.details["bytes"]).toBeGreaterThan(60 * 1024 * 1024);
  expect(answers.map(({ result }) => result.balance)).toEqual([1, 3, 6]);
  expect((await ledger.readStream("account/a").toArray()).length).toBe(4);
});

test("A18 async functions are refused where they are defined, each by its place", () => {
  const late = (async () => Promise.resolve(null)) as never; // what types would not let through
  const handler = { key: () => "a", apply: () => ({}) };
  const command = (part: object): unknown => defineCommand("bank.a", { decide: () => accept([]), ...part });
  const projection = (part: object, indexes = {}): unknown =>
    defineProjection()({ name: "a", version: 1, on: { "a.b": { ...handler, ...part } }, indexes });
  const definitions: Readonly<Record<string, () => unknown>> = {
    decide: () => command({ decide: late }),
    reads: () => command({ reads: [late] }),
    parse: () => command({ parse: late }),
    apply: () => projection({ apply: late }),
    key: () => projection({ key: late }),
    index: () => projection({}, { late }),
  };
  for (const [place, define] of Object.entries(definitions)) {
    let found: unknown = null;
    try {
      define();
    } catch (error) {
      found = error;
    }
    expect([place, found instanceof LedgerError]).toEqual([place, true]);
    expect(found).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect((found as LedgerError).message).toMatch(/must be synchronous/);
  }
});
