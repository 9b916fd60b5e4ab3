/** The laws of commands, as tests of an area's. Independent of a test runner. */
import fc from "fast-check";
import type { Command } from "../commands/define-command.js";
import { commandLaws } from "./command-laws.js";
import { modelSteps, runModel, sayWish } from "./command-model.js";
import { CommandWorld } from "./command-world.js";
import type { CommandArea } from "./command-world.js";
import type { TestRunner } from "./describe-store.js";
import { checkLaw } from "./laws.js";

/** What `describeCommands` tries. @public */
export interface CommandsSubject extends CommandArea {
  /** Commands that callers may send, made by `commands`: the laws are as good as these. */
  readonly wishes: fc.Arbitrary<Command>;
  /** How many histories each law is tried on. Default: a quarter of fast-check's, which is 100 unless configured. */
  readonly numRuns?: number;
}

/** Declares the laws of commands for an area: total and pure deciders, the same bytes whatever the batches, caches and
 *  conflicts, refusals and repetitions that leave nothing, lists that happen in whole or not at all, and documents that are the
 *  fold of the events after any history. A law that is broken says by which history, and how to try that again (see
 *  `checkLaw`). @public */
export function describeCommands(name: string, subject: CommandsSubject, { describe, test }: TestRunner): void {
  const { wishes, numRuns = Math.ceil((fc.readConfigureGlobal().numRuns ?? 100) / 4) } = subject;
  const histories = fc.array(wishes, { maxLength: 10 }).map(sayable);
  describe(`${name} keeps the laws of commands`, () => {
    for (const { title, check } of commandLaws) {
      const property = (): fc.IRawProperty<unknown> =>
        fc.asyncProperty(histories, fc.nat(), (history, seed) => check(subject, history, seed));
      test(title, () => checkLaw({ title: `${name}: ${title}`, property }, numRuns));
    }
    const title = "after any history the documents are the fold of the events";
    const property = (replayPath: string | undefined): fc.IRawProperty<unknown> =>
      fc.asyncProperty(modelSteps(wishes, replayPath), (steps) =>
        CommandWorld.in(subject, (world) => runModel(world, steps)),
      );
    test(title, () => checkLaw({ title: `${name}: ${title}`, property }, numRuns));
  });
}

/** Commands that failures show as they are written. */
function sayable(wishes: readonly Command[]): readonly Command[] {
  const says = `[${wishes.map(sayWish).join(", ")}]`;
  return Object.assign([...wishes], { [fc.toStringMethod]: () => says });
}
