/** The laws of commands: sound ones keep them all, and each planted defect is found by the law that is named for it. */
import { types } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import type { Projection } from "../../projections/define-projection.js";
import { accept, defineCommand, defineEvents, refuse } from "../../src/index.js";
import type { CommandContext } from "../../src/index.js";
import { describeCommands } from "../../src/testing/describe-commands.js";
import type { CommandsSubject } from "../../src/testing/describe-commands.js";
import { LawBroken } from "../../src/testing/laws.js";
import { openStore, runsOn, storeNames } from "../engine/fixture.js";
import type { StoreName } from "../engine/fixture.js";

interface Desk {
  taken: number;
  last: string;
}

const deskEvents = defineEvents("desk", { open: false }, { "desk.taken": {} });
const desks = defineProjection<Desk>()({
  name: "desk",
  version: 1,
  indexes: { byTaken: ({ taken }) => [taken] },
  on: {
    "desk.taken": {
      key: ({ data }) => String(data["desk"]),
      apply: (desk, { data }) => ({ taken: (desk?.taken ?? 0) + 1, last: String(data["token"]) }),
    },
  },
});

interface Input {
  readonly desk: string;
  readonly limit: number;
}

type Decide = (
  found: { readonly desk: Desk | null },
  input: Input,
  context: CommandContext,
) => ReturnType<typeof soundly>;

function soundly(found: { readonly desk: Desk | null }, input: Input, context: CommandContext) {
  const taken = found.desk?.taken ?? 0;
  if (taken >= input.limit) return refuse("DESK_FULL", { taken });
  const token = context.newId();
  return accept([{ stream: `desk/${input.desk}`, type: "desk.taken", data: { desk: input.desk, token } }], { token });
}

function take(decide: Decide, projection: Projection<Desk>) {
  return defineCommand("desk.take", { reads: [(input: Input) => ({ desk: projection.get(input.desk) })], decide });
}

function subjectOf(decide: Decide, projection: Projection<Desk>, name: StoreName = "memory"): CommandsSubject {
  const command = take(decide, projection);
  const wishes = fc
    .record({ desk: fc.constantFrom("a", "b"), limit: fc.integer({ min: 0, max: 4 }) })
    .map((input) => command(input));
  const open = async () => ({ store: await openStore(name), dispose: async () => {} });
  return { commands: [command], projections: [projection], events: [deskEvents], wishes, open, numRuns: 20 };
}

/** The laws that a command breaks, of those that are tried, each with its error. */
async function broken(
  decide: Decide,
  tried: readonly string[],
  projection: Projection<Desk> = desks,
  name: StoreName = "memory",
): Promise<Map<string, unknown>> {
  const laws: (readonly [title: string, body: () => Promise<void>])[] = [];
  describeCommands("desks", subjectOf(decide, projection, name), {
    describe: (_, body) => body(),
    test: (title, body) => laws.push([title, body]),
  });
  const found = new Map<string, unknown>();
  for (const [title, body] of laws.filter(([each]) => tried.includes(each)))
    await body().catch((error: unknown) => found.set(title, error));
  expect(laws.length).toBe(9);
  return found;
}

const long = process.env["RUNLEDGER_LONG"] !== undefined;
let calls = 0;
const seen = new WeakSet<Desk>();
const remembered = new Map<string, number>();
/** The sound decision, with another token in what it accepts. */
function withToken(answer: ReturnType<typeof soundly>, token: string): ReturnType<typeof soundly> {
  if (answer.type === "refused") return answer;
  const events = answer.events.map((event) => ({ ...event, data: { ...event.data, token } }));
  return { ...answer, events };
}

const total =
  "a command is accepted or refused, whatever it is given; it never throws and reads nothing but its arguments";
const batched = "a batch leaves the same bytes and answers as its commands one by one";
const again = "decided again after a conflict it leaves the same bytes and answers";
const caches = "cold, warm and evicted caches leave the same bytes and answers";
const folded = "after any history the documents are the fold of the events";

const defects: readonly (readonly [defect: string, laws: readonly string[], decide: Decide])[] = [
  ["reads the clock", [total], (found, input, context) => withToken(soundly(found, input, context), `${Date.now()}`)],
  [
    "draws a random number",
    [total],
    (found, input, context) => (Math.random() < 2 ? soundly(found, input, context) : refuse("NO")),
  ],
  [
    "reads the clock and swallows what that throws",
    [total],
    (found, input, context) => {
      try {
        Date.now();
      } catch {
        // On purpose.
      }
      return soundly(found, input, context);
    },
  ],
  [
    "throws",
    [total],
    (found, input, context) => {
      if (input.limit === 3) throw new TypeError("cannot read properties of undefined");
      return soundly(found, input, context);
    },
  ],
  ["A18 answers later", [total], (found, input, context) => Promise.resolve(soundly(found, input, context)) as never],
  [
    "counts its calls",
    [batched, again, caches],
    (found, input, context) => withToken(soundly(found, input, context), `${++calls}`),
  ],
  [
    "decides by a cache of its own",
    [again],
    (found, input, context) => {
      if (found.desk === null) remembered.delete(input.desk);
      const taken = remembered.get(input.desk) ?? 0;
      const answer = soundly({ desk: { taken, last: "" } }, input, context);
      if (answer.type === "accepted") remembered.set(input.desk, taken + 1);
      return answer;
    },
  ],
  [
    "knows a document that it has seen before",
    [caches],
    (found, input, context) => {
      const known = found.desk !== null && seen.has(found.desk);
      if (found.desk !== null) seen.add(found.desk);
      return withToken(soundly(found, input, context), known ? "again" : "first");
    },
  ],
];

for (const store of storeNames) {
  describeCommands(
    `sound commands on ${store}`,
    { ...subjectOf(soundly, desks, store), numRuns: runsOn(store, long ? 100 : 5) },
    { describe, test: (title, body) => test(title, { timeout: 600_000 }, body) },
  );
}

describe("L03 H10 a command that", () => {
  test.each(defects)("%s breaks the laws: %s", async (_, laws, decide) => {
    calls = 0;
    remembered.clear();
    const found = await broken(decide, laws);

    for (const law of laws) expect(found.get(law)).toBeInstanceOf(LawBroken);
  });

  test.each(storeNames)("draws a random number is found on %s, too", async (name) => {
    const [, laws, decide] = defects[1]!;
    expect((await broken(decide, laws, desks, name)).get(total)).toBeInstanceOf(LawBroken);
  });
});

/** A projection whose writer and whose rebuild part company at the third event of a desk. */
const drifting = defineProjection<Desk>()({
  name: "desk",
  version: 1,
  on: {
    "desk.taken": {
      key: ({ data }) => String(data["desk"]),
      apply: (desk, { data }) => ({
        taken: (desk?.taken ?? 0) + (desk?.taken === 2 && types.isProxy(desk) ? 2 : 1),
        last: String(data["token"]),
      }),
    },
  },
});

// Shrinking opens hundreds of journals, which shows on PostgreSQL nothing that the others do not show.
test.each(storeNames.filter((name) => name !== "postgres"))(
  "L01 a bug that the model finds is found again, the same way, by the one line that is printed, on %s",
  async (name) => {
    const decide: Decide = (_, input, context) => soundly({ desk: null }, { ...input, limit: 1 }, context);
    const first = (await broken(decide, [folded], drifting, name)).get(folded) as LawBroken;
    const [, seed, path, replayPath] = /RUNLEDGER_RERUN="(-?\d+)\|([\d:]+)\|([^|]+)\|/.exec(first.rerun) ?? [];
    expect([seed, path, replayPath]).not.toContain(undefined);

    process.env["RUNLEDGER_RERUN"] = JSON.parse(first.rerun.replace("RUNLEDGER_RERUN=", "")) as string;
    try {
      const second = (await broken(decide, [folded], drifting, name)).get(folded) as LawBroken;

      const strip = (message: string): string => message.replace(/run \d+/, "").replaceAll(/replayPath="[^"]*"/g, "");
      expect(second.message).toContain("broken in run 1 by");
      expect(strip(second.message)).toBe(strip(first.message));
      expect(second.message).toContain("the documents are not the fold of the events");
    } finally {
      delete process.env["RUNLEDGER_RERUN"];
    }
  },
);
