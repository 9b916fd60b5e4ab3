/** Commands in any order with all that befalls a ledger: batches, lists, other processes, ids that are sent again, restarts.
 *  Beside it runs the simplest model there is: what was acknowledged is remembered. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Command } from "../commands/define-command.js";
import { canonicalize } from "../kernel/canonical.js";
import type { CommandWorld } from "./command-world.js";

/** What was answered for each id. */
interface Model {
  readonly answered: Map<string, { readonly wish: Command; readonly said: string }>;
}

type Step = fc.AsyncCommand<Model, CommandWorld>;

/** The steps of a history. */
export function modelSteps(
  wishes: fc.Arbitrary<Command>,
  replayPath: string | undefined,
): fc.Arbitrary<Iterable<Step>> {
  const some = fc.array(wishes, { minLength: 1, maxLength: 4 });
  const ids = fc.nat({ max: 9 }).map((number) => `id ${number}`);
  return fc.commands<Model, CommandWorld, false>(
    [
      wishes.map(executeOne),
      wishes.map(executeElsewhere),
      fc.tuple(wishes, ids).map(([wish, id]) => executeWithId(wish, id)),
      ids.map(sendAgain),
      some.map(executeTogether),
      some.map(executeList),
      fc.integer({ min: 1, max: 100_000 }).map(wait),
      fc.constant(restart),
    ],
    { maxCommands: 20, ...(replayPath === undefined ? {} : { replayPath }) },
  );
}

/** Runs a history and holds what it led to against the events alone. */
export async function runModel(world: CommandWorld, steps: Iterable<Step>): Promise<void> {
  await fc.asyncModelRun(() => ({ model: { answered: new Map() }, real: world }), steps);
  await world.expectFolded();
}

function step(
  says: string,
  run: (world: CommandWorld, model: Model) => Promise<void>,
  check: (model: Readonly<Model>) => boolean = () => true,
): Step {
  return { check, run: (model, world) => run(world, model), toString: () => says };
}

function executeOne(wish: Command): Step {
  return step(sayWish(wish), async (world) => void (await world.execute(wish)));
}

function executeElsewhere(wish: Command): Step {
  return step(`elsewhere ${sayWish(wish)}`, async (world) => void (await world.executeElsewhere(wish)));
}

/** The first time that an id is used. */
function executeWithId(wish: Command, id: string): Step {
  return step(
    `${sayWish(wish)} as ${id}`,
    async (world, { answered }) => {
      const { type, adopted, said } = await world.execute(wish, { id });
      assert.equal(adopted, false, "the first answer to an id cannot be an earlier one");
      if (type === "accepted" || !world.guarded.transient) answered.set(id, { wish, said });
    },
    ({ answered }) => !answered.has(id),
  );
}

function sendAgain(id: string): Step {
  return step(
    `again ${id}`,
    async (world, { answered }) => {
      const first = answered.get(id);
      if (first === undefined) return;
      const { head } = await world.ledger.status();
      const { said } = await world.execute(first.wish, { id });
      assert.equal(said, first.said, "sent again, it answered otherwise");
      assert.deepEqual((await world.ledger.status()).head, head, "sent again, it left something");
    },
    ({ answered }) => answered.has(id),
  );
}

function executeTogether(wishes: readonly Command[]): Step {
  return step(
    `together(${wishes.map(sayWish).join(", ")})`,
    async (world) => void (await world.executeTogether(wishes)),
  );
}

function executeList(wishes: readonly Command[]): Step {
  return step(`[${wishes.map(sayWish).join(", ")}]`, async (world) => void (await world.execute(wishes)));
}

function wait(ms: number): Step {
  return step(`wait(${ms})`, async (world) => world.clock.advance(ms));
}

const restart: Step = step("restart", async (world) => {
  await world.reopen();
  await world.expectFolded();
});

/** A command as failures show it. */
export function sayWish({ name, input }: Command): string {
  return `${name}(${input === undefined ? "" : sayInput(input)})`;
}

/** An input may hold contents, which are no JSON. */
function sayInput(input: unknown): string {
  try {
    return canonicalize(input);
  } catch {
    return fc.stringify(input);
  }
}
