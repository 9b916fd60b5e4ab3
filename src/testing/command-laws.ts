/** What commands owe to whoever batches, repeats, retries or replays them: laws over any sequence of them. Each is a sentence
 *  and a check that throws. Source: design sections 2, 6 and 9; cases A18, H10, L03. */
import assert from "node:assert/strict";
import type { Command } from "../commands/define-command.js";
import { checkCrashes } from "./crash-law.js";
import { CommandWorld } from "./command-world.js";
import type { CommandArea, Outcome } from "./command-world.js";
import { seededFaults } from "./faults.js";
import type { FaultPlan } from "./faults.js";
import { faultyStore } from "./faulty-store.js";

/** A law of commands. */
export interface CommandLaw {
  readonly title: string;
  /** Throws when it does not hold. `seed` is any number. */
  readonly check: (area: CommandArea, wishes: readonly Command[], seed: number) => Promise<void>;
}

export const commandLaws: readonly CommandLaw[] = [
  {
    title:
      "a command is accepted or refused, whatever it is given; it never throws and reads nothing but its arguments",
    check: (area, wishes) =>
      CommandWorld.in(area, async (world) => {
        for (const wish of wishes) {
          await world.execute(wish);
          world.clock.advance(1_000);
        }
      }),
  },
  {
    title: "a batch leaves the same bytes and answers as its commands one by one",
    async check(area, wishes) {
      const oneByOne = await CommandWorld.in(area, async (world) => {
        const outcomes: Outcome[] = [];
        for (const wish of wishes) outcomes.push(await world.execute(wish));
        return { outcomes: outcomes.map(say), state: await world.state() };
      });
      const together = await CommandWorld.in(area, async (world) => {
        const outcomes = await world.executeTogether(wishes);
        return { outcomes: outcomes.map(say), state: await world.state() };
      });
      assert.deepEqual(together, oneByOne, "in one batch it went otherwise");
    },
  },
  {
    title: "a refused command changes nothing",
    check: (area, wishes) =>
      CommandWorld.in(area, async (world) => {
        for (const wish of wishes) {
          const before = await world.state();
          const outcome = await world.execute(wish);
          if (outcome.type === "refused") assert.deepEqual(await world.state(), before, "a refusal left something");
        }
      }),
  },
  {
    title: "a list happens in whole or not at all, and goes as its commands would one by one",
    async check(area, wishes) {
      if (wishes.length === 0) return;
      const oneByOne = await CommandWorld.in(area, async (world) => {
        for (const [index, wish] of wishes.entries()) {
          const outcome = await world.execute(wish);
          if (outcome.refusal !== null) return { refused: { ...outcome.refusal, index } };
        }
        return { count: (await world.ledger.read({ from: 1 }).toArray()).length };
      });
      const listed = await CommandWorld.in(area, async (world) => {
        const before = await world.state();
        const outcome = await world.execute(wishes);
        const events = await world.ledger.read({ from: 1 }).toArray();
        if (outcome.type === "accepted") {
          for (const { tx } of events) assert.deepEqual(tx, { first: 1, count: events.length }, "it is not one tx");
          return { count: events.length };
        }
        assert.deepEqual(await world.state(), before, "a refused list left something");
        return { refused: outcome.refusal };
      });
      assert.deepEqual(listed, oneByOne, "as a list it went otherwise");
    },
  },
  {
    title: "sent again with its id a command answers the same and writes nothing",
    check: (area, wishes) =>
      CommandWorld.in(area, async (world) => {
        for (const [index, wish] of wishes.entries()) {
          const id = `id ${index}`;
          const [first, meanwhile] = await Promise.all([world.execute(wish, { id }), world.execute(wish, { id })]);
          const kept = first.type === "accepted" || !world.guarded.transient;
          const before = await world.state();
          if (index % 3 === 2) await world.reopen();
          const again = await world.execute(wish, { id });
          assert.equal(say(meanwhile), say(first), "sent again at once, it answered otherwise");
          assert.equal(say(again), say(first), "sent again, it answered otherwise");
          assert.deepEqual(await world.state(), before, "sent again, it left something");
          const adopted = [first, meanwhile, again].map((each) => each.adopted);
          assert.deepEqual(adopted, [false, kept, kept], "it is not said which answer was the first one's");
        }
      }),
  },
  {
    title: "decided again after a conflict it leaves the same bytes and answers",
    async check(area, wishes, seed) {
      const run = async (world: CommandWorld): Promise<unknown> => {
        const outcomes = [...(await world.executeTogether(wishes.slice(0, 3)))];
        for (const wish of wishes.slice(3)) outcomes.push(await world.execute(wish));
        return { outcomes: outcomes.map(say), state: await world.state() };
      };
      const calm = await CommandWorld.in(area, run);
      const plan = seededFaults(seed, { conflict: 0.2, lostReply: 0.1 });
      // A request that was lost is a failure that callers are told of; an answer that was lost is found again.
      const found: FaultPlan = (point) => {
        const fault = plan(point);
        return fault === "lostReply" && point.moment === "before" ? null : fault;
      };
      const restless = await CommandWorld.in(area, run, { front: (store) => faultyStore(store, found) });
      assert.deepEqual(restless, calm, "decided again, it went otherwise");
    },
  },
  {
    title: "cold, warm and evicted caches leave the same bytes and answers",
    async check(area, wishes) {
      const runs = [
        { cacheDocuments: undefined, cold: false },
        { cacheDocuments: undefined, cold: true },
        { cacheDocuments: 2, cold: false }, // the last one alone: each other one is forgotten
        { cacheDocuments: 0, cold: false },
      ].map(({ cacheDocuments, cold }) =>
        CommandWorld.in(
          area,
          async (world) => {
            const outcomes: Outcome[] = [];
            for (const wish of wishes) {
              if (cold) await world.reopen();
              outcomes.push(await world.execute(wish));
              world.clock.advance(1_000);
            }
            return { outcomes: outcomes.map(say), state: await world.state() };
          },
          cacheDocuments === undefined ? {} : { cacheDocuments },
        ),
      );
      const [warm, ...others] = await Promise.all(runs);
      for (const other of others) assert.deepEqual(other, warm, "with other caches it went otherwise");
    },
  },
  {
    title:
      "whatever its store suffers, what was acknowledged is there, what was refused is not, and nothing is there twice",
    async check(area, wishes, seed) {
      await checkCrashes(area, wishes, seed);
    },
  },
];

function say({ type, said }: Outcome): string {
  return `${type} ${said}`;
}
