/** The law of a ledger on a store that has bad luck, tried at every point where each fault can strike, and itself tried on
 *  stores that lie. */
import { expect, test } from "vitest";
import { accept, defineCommand, defineEvents, refuse } from "../../src/index.js";
import type { Store } from "../../src/index.js";
import type { Command } from "../../src/commands/define-command.js";
import { defineProjection } from "../../projections/define-projection.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import type { CommandArea } from "../../src/testing/command-world.js";
import { checkCrashes } from "../../src/testing/crash-law.js";
import { canStrike, faultAt, seededFaults } from "../../src/testing/faults.js";
import type { Fault, FaultPoint } from "../../src/testing/faults.js";
import type { StruckFault } from "../../src/testing/faulty-store.js";
import { openStore, runSeed, runsOn } from "../engine/fixture.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;

const counters = defineProjection<{ count: number }>()({
  name: "counter",
  version: 1,
  indexes: { byCount: ({ count }) => [count] },
  on: {
    "counter.raised": {
      key: ({ data }) => String(data["counter"]),
      apply: (counter, { data }) => ({ count: (counter?.count ?? 0) + Number(data["by"]) }),
    },
  },
});
const raise = defineCommand("counter.raise", {
  reads: [(input: { counter: string; by: number }) => ({ counter: counters.get(input.counter) })],
  decide({ counter }, input, context) {
    const count = counter?.count ?? 0;
    if (count + input.by > 9) return refuse("TOO_HIGH", { count });
    const note = context.content(`raised by ${input.by}`);
    return accept([{ stream: `counter/${input.counter}`, type: "counter.raised", data: { ...input, note } }], {
      count,
    });
  },
});
const area: CommandArea = {
  commands: [raise],
  projections: [counters],
  events: [defineEvents("counter", { open: false }, { "counter.raised": {} })],
};
const wishes: readonly Command[] = [3, 4, 1, 5, 2, 2, 7, 1, 1, 6, 1, 8].map((by, index) =>
  raise({ counter: index % 2 === 0 ? "even" : "odd", by }),
);

const faults: readonly Fault[] = ["crash", "full", "busy", "conflict", "lostReply"];

test(
  "T50 whatever fault strikes at whatever point, what was acknowledged is there, what was refused is not, documents are the fold",
  { timeout: 600_000 },
  async () => {
    const points: FaultPoint[] = [];
    await checkCrashes(area, wishes, 1, (point) => {
      points.push(point);
      return null;
    });
    const first = points[0]!.number;
    const struck: StruckFault[] = [];
    let tried = 0;
    for (const fault of faults) {
      const possible = points.filter((point) => canStrike(fault, point));
      for (const { number } of possible.filter((each) => long || (each.number + runSeed) % 5 === 0)) {
        const found = await checkCrashes(area, wishes, 1, faultAt(number, fault)).catch((cause: unknown) => {
          throw new Error(`${JSON.stringify(fault)} at point ${number}`, { cause });
        });
        // How callers share commits depends on how busy the machine is, so the last points may not be passed again.
        struck.push(...found);
        expect(found.every((each) => each.fault === fault)).toBe(true);
        tried++;
      }
    }
    expect(struck.length).toBeGreaterThan(tried / 2);
    process.stdout.write(`${struck.length} faults at ${points.length} points from ${first} on\n`);
  },
);

test.each(["memory", "sqlite", "postgres"] as const)(
  "any mix of faults leaves a ledger on %s that its callers were told the truth about",
  { timeout: 600_000 },
  async (name) => {
    const many = [...wishes, ...wishes, ...wishes];
    let struck = 0;
    for (let round = 0; round < runsOn(name, long ? 200 : 10); round++) {
      const seed = runSeed + round;
      const plan = seededFaults(seed, {
        crash: 0.02,
        full: 0.02,
        busy: 0.05,
        conflict: 0.05,
        lostReply: 0.1,
        slow: 0.1,
      });
      const open = async () => ({ store: await openStore(name), dispose: async () => {} });
      const found = await checkCrashes({ ...area, open }, many, seed, plan).catch((cause: unknown) => {
        throw new Error(`seed ${seed}`, { cause });
      });
      struck += found.length;
    }
    expect(struck).toBeGreaterThan(runsOn(name, 50));
  },
);

test("a refusal for the moment may become another answer when its id is sent again", async () => {
  const spend = defineCommand("counter.spend", {
    reads: [(input: { counter: string; by: number }) => ({ counter: counters.get(input.counter) })],
    decide({ counter }, { counter: name, by }) {
      if ((counter?.count ?? 0) < by) return refuse("TOO_LOW", {}, { transient: true });
      return accept([{ stream: `counter/${name}`, type: "counter.raised", data: { counter: name, by: -by } }]);
    },
  });
  const refusedAtFirst = [spend({ counter: "one", by: 4 }), spend({ counter: "one", by: 3 })];

  await checkCrashes(
    { ...area, commands: [raise, spend] },
    [...refusedAtFirst, raise({ counter: "one", by: 9 })],
    1,
    () => null,
  );
});

/** A memory store, some of whose methods of a transaction do other than they say. */
function lying(lie: (transaction: Record<string, (...args: unknown[]) => Promise<unknown>>) => object): CommandArea {
  const store = createMemoryStore();
  const begin = store.begin.bind(store);
  const lies: Pick<Store, "begin"> = {
    begin: async () => {
      const transaction = await begin();
      return Object.assign(transaction, lie(transaction as never));
    },
  };
  return { ...area, open: async () => ({ store: Object.assign(store, lies), dispose: async () => {} }) };
}

test("L03 a store that loses a commit or a document is found out", async () => {
  let commits = 0;
  const losesCommits = lying((transaction) => {
    const commit = transaction["commit"]!.bind(transaction);
    return { commit: () => (++commits === 3 ? transaction["rollback"]!() : commit()) };
  });
  await expect(checkCrashes(losesCommits, wishes, 1, () => null)).rejects.toThrow(
    /acknowledged is not there|answered otherwise/,
  );

  let writes = 0;
  const losesDocuments = lying((transaction) => {
    const putDocuments = transaction["putDocuments"]!.bind(transaction);
    return { putDocuments: async (...args: unknown[]) => (++writes > 3 ? undefined : putDocuments(...args)) };
  });
  await expect(checkCrashes(losesDocuments, wishes, 1, () => null)).rejects.toThrow(/not the fold|answered otherwise/);
});
