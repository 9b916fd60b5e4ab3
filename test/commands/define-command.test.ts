/** Commands as values: what may be said of one, and what its types say. */
import { describe, expect, expectTypeOf, test } from "vitest";
import { accept, parseAnswer, refuse } from "../../src/commands/answer.js";
import { defineCommand } from "../../src/commands/define-command.js";
import type { Command } from "../../src/commands/define-command.js";
import { contentSalt, parseStage } from "../../src/commands/read.js";
import type { FoundContent } from "../../src/commands/read.js";
import { commandContext } from "../../src/commands/context.js";
import { Mint } from "../../src/commands/mint.js";
import { content, LedgerError } from "../../src/index.js";
import type { StandardSchema } from "../../src/index.js";
import { contentDigest } from "../../src/journal/content.js";
import { defineProjection } from "../../projections/define-projection.js";
import type { FoundDocuments } from "../../projections/define-projection.js";

interface Account {
  readonly owner: string;
  balance: number;
}
interface Owner {
  readonly name: string;
}

const accounts = defineProjection<Account>()({ name: "account", version: 1, on: {} });
const owners = defineProjection<Owner>()({ name: "owner", version: 1, indexes: { name: (one) => [one.name] }, on: {} });

function caught(call: () => unknown): LedgerError {
  try {
    call();
  } catch (error) {
    if (error instanceof LedgerError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("a command", () => {
  test("knows the types of what each of its stages finds, and of what it answers", () => {
    const withdraw = defineCommand("account.withdraw", {
      reads: [
        (input: { readonly account: string; readonly amount: number }) => ({ account: accounts.get(input.account) }),
        (_input, { account }) => ({ owner: owners.get(account?.owner), note: contentSalt(null) }),
        (_input, { owner }) => ({ same: owners.find({ index: "name", prefix: [owner?.name ?? ""] }) }),
      ],
      decide: (found, input, context) => {
        expectTypeOf(found.account).toEqualTypeOf<Account | null>();
        expectTypeOf(found.owner).toEqualTypeOf<Owner | null>();
        expectTypeOf(found.note).toEqualTypeOf<FoundContent | null>();
        expectTypeOf(found.same).toEqualTypeOf<FoundDocuments<Owner>>();
        expectTypeOf(input.amount).toEqualTypeOf<number>();
        expectTypeOf(context.newId).returns.toEqualTypeOf<string>();
        if (found.account === null) return refuse("NO_ACCOUNT");
        return accept([], { left: found.account.balance - input.amount });
      },
    });

    expectTypeOf(withdraw).parameters.toEqualTypeOf<[input: { readonly account: string; readonly amount: number }]>();
    expectTypeOf(withdraw({ account: "a", amount: 1 })).toEqualTypeOf<Command<{ left: number }>>();
    expect(withdraw.name).toBe("account.withdraw");
    expect(withdraw.areas).toEqual(["account"]);
    const wish = withdraw({ account: "a", amount: 1 });
    expect([wish.name, wish.input]).toEqual(["account.withdraw", { account: "a", amount: 1 }]);
  });

  test("needs no reads and no input, and takes its types from what parses", () => {
    const tick = defineCommand("clock.tick", {
      decide: () => accept([{ stream: "clock/main", type: "clock.ticked" }]),
    });
    const pay = defineCommand("order.pay", {
      parse: (input: { readonly cents: string }) => ({ cents: Number(input.cents) }),
      decide: (_found, input) => accept([], input.cents),
    });
    const schema: StandardSchema = { "~standard": { validate: (value: unknown) => ({ value }) } };
    const any = defineCommand("order.any", { parse: schema, decide: () => refuse("NEVER") });

    expectTypeOf(tick()).toEqualTypeOf<Command<undefined>>();
    expectTypeOf(pay({ cents: "1" })).toEqualTypeOf<Command<number>>();
    expectTypeOf(any({})).toEqualTypeOf<Command<never>>();
    expect(pay.parse({ cents: "12" })).toEqual({ cents: 12 });
  });

  test.each([
    ["Order.pay", {}, "command name must be a command name"],
    ["pay", {}, "command name must be a command name"],
    ["order.pay", { decide: 1 }, "order.pay decide must be a function, found 1"],
    ["order.pay", { decide: async () => accept([]) }, "order.pay decide must be synchronous"],
    ["order.pay", { reads: () => ({}) }, "order.pay reads must be a list of at most 5 functions, found a function"],
    ["order.pay", { reads: [async () => ({})] }, "order.pay reads[0] must be synchronous"],
    ["order.pay", { reads: Array.from({ length: 6 }, () => () => ({})) }, "at most 5 functions, found 6"],
    ["order.pay", { parse: async () => ({}) }, "order.pay parse must be synchronous"],
    ["order.pay", { parse: 7 }, "order.pay parse must be a function or a Standard Schema"],
    ["order.pay", { areas: [] }, "order.pay areas must be a list of at least one area"],
    ["order.pay", { areas: ["A"] }, "order.pay areas[0] must be"],
    ["order.pay", { read: [] }, "an object with no members but areas, lateFence, parse, reads, decide"],
  ])("%s with %j is refused", (name, options, message) => {
    const error = caught(() => defineCommand(name, { decide: () => accept([]), ...options } as never));

    expect([error.code, error.message]).toEqual(["INVALID_ARGUMENT", expect.stringContaining(message)]);
  });
});

describe("an answer", () => {
  test("of a refusal has a code, details, a message, and says whether it passes by itself", () => {
    expect(refuse("OUT_OF_STOCK", { left: 0 })).toEqual({
      type: "refused",
      code: "OUT_OF_STOCK",
      details: { left: 0 },
      message: "OUT_OF_STOCK",
      transient: false,
    });
    expect(refuse("NOT_READY").transient).toBe(true);
    expect(refuse("NOT_READY", {}, { transient: false }).transient).toBe(false);
  });

  test.each([
    [() => refuse("out of stock"), "refuse code"],
    [() => refuse(`A${"B".repeat(64)}`), "refuse code"],
    [() => refuse("A", [] as never), "refuse details"],
    [() => refuse("A", {}, { message: 1 as never }), "refuse options.message"],
    [() => refuse("A", {}, { transient: 1 as never }), "refuse options.transient"],
    [() => refuse("A", {}, { hint: "x" } as never), "refuse options"],
    [() => accept({} as never), "accept events"],
    [() => parseAnswer(undefined, "x"), "x must be what accept() or refuse() returned"],
    [() => parseAnswer({ type: "maybe" }, "x"), "x must be what accept() or refuse() returned"],
    [() => parseAnswer(Promise.resolve(1), "x"), "x must be synchronous"],
    [() => parseStage(Promise.resolve(1), "x"), "x must be synchronous"],
    [() => parseStage({ a: 1 }, "x"), "x.a must be projection.get(key)"],
    [() => parseStage({ a: { read: "all" } }, "x"), "x.a must be projection.get(key)"],
    [() => contentSalt({} as never), "contentSalt reference"],
  ])("%s is refused", (call, message) => {
    const error = caught(call);

    expect([error.code, error.message]).toEqual(["INVALID_ARGUMENT", expect.stringContaining(message)]);
  });
});

describe("a context", () => {
  const seed = new Uint8Array(32).fill(7);
  const salt = new Uint8Array(32).fill(1);
  const bytes = Buffer.from("hello");
  const reference = { $content: contentDigest("text/plain;charset=utf-8", salt, bytes), bytes: 5, n: 1 };
  const context = (salts: Parameters<typeof commandContext>[0]["salts"] = new Map()) =>
    commandContext({
      at: 5,
      id: null,
      client: "default",
      actor: null,
      incarnation: 1,
      fence: null,
      mint: new Mint(seed, 0),
      salts,
    });

  test("mints the same ids again for the same call, others for its next command", () => {
    const [one, again] = [context(), context()];
    const ids = [one.newId(), one.newId()];

    expect([again.newId(), again.newId()]).toEqual(ids);
    expect(ids[0]).toMatch(/^[a-z2-7]{26}$/);
    expect(new Set([...ids, new Mint(seed, 1).id()]).size).toBe(3);
  });

  test("compares a content with a value under the salt that was read", () => {
    const found = context(new Map([[1, { digest: reference.$content, salt }]]));

    expect(found.sameContent(reference, "hello")).toBe(true);
    expect(found.sameContent(reference, content("hello"))).toBe(true);
    expect(found.sameContent(reference, "hullo")).toBe(false);
    expect(found.sameContent(reference, "hello", "text/html")).toBe(false);
    expect(context(new Map([[1, null]])).sameContent(reference, "hello")).toBe(false);
    expect(caught(() => context().sameContent(reference, "hello")).code).toBe("INVALID_ARGUMENT");
  });
});
