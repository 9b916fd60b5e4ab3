/** The laws of projections: a sound one keeps them all, and each planted defect is found by the law that is named for it. */
import { types } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import type { ProjectionOptions } from "../../projections/define-projection.js";
import type { ProjectionEvent } from "../../projections/event.js";
import { defineEvents } from "../../src/index.js";
import { describeProjection } from "../../src/testing/describe-projection.js";
import type { HistoryEvent } from "../../src/testing/history.js";
import { LawBroken } from "../../src/testing/laws.js";

interface Account {
  owner: string;
  balance: number;
  tags?: string[];
  note?: unknown;
}

interface Facts {
  readonly account: string;
  readonly owner: string;
  readonly amount: number;
  readonly memo: unknown;
  readonly tags: string[];
}

const factsOf = ({ data }: ProjectionEvent): Facts => data as unknown as Facts; // what the histories below make
const accountOf = (event: ProjectionEvent): string => factsOf(event).account;

const accountEvents = defineEvents(
  "account",
  { open: false },
  { "account.opened": {}, "account.moved": { content: ["/memo"] }, "account.closed": {} },
);

const sound: ProjectionOptions<Account> = {
  name: "account",
  version: 1,
  indexes: { byBalance: ({ balance }) => [balance], byOwner: ({ owner }) => (owner === "" ? null : [owner]) },
  on: {
    "account.opened": {
      key: accountOf,
      apply: (account, event) => account ?? { owner: factsOf(event).owner, balance: 0 },
    },
    "account.moved": {
      key: accountOf,
      apply(account, event) {
        if (account === undefined) return null;
        const { amount, memo, tags } = factsOf(event);
        account.balance += amount;
        account.note = { memo, at: event.at, tags };
        return undefined;
      },
    },
    "account.closed": { key: accountOf, apply: () => null },
  },
};

const account = fc.constantFrom("a", "b");
const histories: fc.Arbitrary<HistoryEvent[]> = fc.array(
  fc.oneof(
    fc.record({
      stream: fc.constant("account/1"),
      type: fc.constant("account.opened"),
      data: fc.record({ account, owner: fc.constantFrom("", "ann", "é") }),
    }),
    fc.record({
      stream: fc.constant("account/1"),
      type: fc.constant("account.moved"),
      data: fc.record({
        account,
        amount: fc.integer({ min: -5, max: 5 }),
        memo: fc.constantFrom("m", "n"),
        tags: fc.array(fc.constantFrom("x", "y"), { maxLength: 2 }),
      }),
    }),
    fc.record({
      stream: fc.constant("account/1"),
      type: fc.constant("account.closed"),
      data: fc.record({ account }),
    }),
  ),
  { maxLength: 12 },
);

/** The laws that a projection breaks, of those that are tried (null: all), each with its error. */
async function broken(options: ProjectionOptions<Account>, tried: string | null): Promise<Map<string, unknown>> {
  const laws: (readonly [title: string, body: () => Promise<void>])[] = [];
  describeProjection(
    "account",
    { projection: defineProjection<Account>()(options), events: [accountEvents], histories },
    { describe: (_, body) => body(), test: (title, body) => laws.push([title, body]) },
  );
  const found = new Map<string, unknown>();
  for (const [title, body] of laws.filter(([each]) => tried === null || each === tried))
    await body().catch((error: unknown) => found.set(title, error));
  expect(laws.length).toBe(9);
  return found;
}

const moved = sound.on["account.moved"]!;
const opened = sound.on["account.opened"]!;
const withMove = (apply: (typeof moved)["apply"]): ProjectionOptions<Account> => ({
  ...sound,
  on: { ...sound.on, "account.moved": { ...moved, apply } },
});
let calls = 0;

const pure = "no clock, randomness or environment is read";
const total = "no event makes a reducer throw, and what it leaves is a document";
const kept = "folding again gives the same: nothing is kept between calls";
const defects: readonly (readonly [defect: string, law: string, options: ProjectionOptions<Account>])[] = [
  ["draws a random number", pure, withMove((it) => it && { ...it, balance: Math.random() })],
  ["reads the clock", pure, withMove((it) => it && { ...it, balance: Date.now() })],
  ["reads the clock and uses nothing of it", pure, withMove((it) => (Date.now() > 0 ? it : null))],
  ["reads the clock in secret", pure, withMove((it) => ignoring(() => Date.now()) ?? it)],
  [
    "asks the clock in a key",
    pure,
    { ...sound, on: { ...sound.on, "account.opened": { ...opened, key: () => `${Date.now()}` } } },
  ],
  ["asks the clock in an index", pure, { ...sound, indexes: { byAge: () => [performance.now()] } }],
  [
    "sorts as the machine's locale does",
    pure,
    withMove((it, event) => it && { ...it, tags: [...factsOf(event).tags].sort((a, b) => a.localeCompare(b)) }),
  ],
  [
    "throws",
    total,
    withMove(() => {
      throw new Error("cannot");
    }),
  ],
  ["leaves a Map behind", total, withMove((it) => it && { ...it, note: new Map() })],
  ["is asynchronous in disguise", total, withMove((it) => Promise.resolve(it) as never)],
  ["counts its calls", kept, withMove((it) => it && { ...it, balance: ++calls })],
  [
    "keeps its balance elsewhere",
    "folding a part and then the rest is folding all",
    {
      ...sound,
      on: {
        "account.moved": {
          key: () => "all",
          apply(_, { position }) {
            calls = position === 1 ? 1 : calls + 1;
            return { owner: "", balance: calls };
          },
        },
      },
    },
  ],
  [
    "looks whether it is given a draft",
    "every driver leaves the same documents",
    withMove((it) => it && { ...it, note: types.isProxy(it) }),
  ],
  [
    "changes the event",
    "an event is left as it was",
    withMove((it, event) => ignoring(() => factsOf(event).tags.push("z")) ?? it),
  ],
  [
    "counts in an index",
    "an index is a function of the document alone",
    { ...sound, indexes: { byCall: () => [++calls] } },
  ],
  [
    "writes to the prototype of everything",
    "prototypes are left as they were",
    withMove((it) => {
      Object.assign(Object.getPrototypeOf({}) as object, { admin: true });
      return it;
    }),
  ],
];

function ignoring(act: () => unknown): undefined {
  try {
    act();
  } catch {
    // On purpose.
  }
}

describe("a sound projection", () => {
  test("keeps every law", async () => {
    expect(await broken(sound, null)).toEqual(new Map());
  });
});

describe("L03 T52 D05 D14 a projection that", () => {
  test.each(defects)("%s breaks the law: %s", async (_, law, options) => {
    calls = 0;
    const found = await broken(options, law);

    expect([...found.keys()]).toContain(law);
    expect(found.get(law)).toBeInstanceOf(LawBroken);
    expect(Object.hasOwn(Object.prototype, "admin")).toBe(false);
  });

  test("is found says by which history, and by the printed line the same history is found again", async () => {
    const [, law, options] = defects[0]!;
    const first = (await broken(options, law)).get(law) as LawBroken;
    process.env["RUNLEDGER_RERUN"] = JSON.parse(first.rerun.replace("RUNLEDGER_RERUN=", "")) as string;
    try {
      const again = (await broken(options, law)).get(law) as LawBroken;

      expect(again.message).toContain("found Math.random()");
      expect(again.message.replace(/run \d+/, "")).toBe(first.message.replace(/run \d+/, ""));
    } finally {
      delete process.env["RUNLEDGER_RERUN"];
    }
  });
});
