/** How laws are tried, and what is said when one is broken: the counterexample, why, and one line that tries it again. */
import fc from "fast-check";

/** One law: a sentence, and the property that holds when it does. @public */
export interface Law {
  readonly title: string;
  /** `replayPath`: how the commands of a model test are replayed, for `fc.commands`; undefined when it is tried afresh. */
  readonly property: (replayPath: string | undefined) => fc.IRawProperty<unknown>;
}

/** Tries a law. Seed and number of runs are fast-check's (`fc.configureGlobal`), unless `numRuns` is given. When it is broken
 *  the error ends with a line `RUNLEDGER_RERUN=…`: with that in the environment the same law fails the same way at once, also
 *  for the commands of a model, whose path fast-check needs beside seed and path. @public */
export async function checkLaw({ title, property }: Law, numRuns?: number): Promise<void> {
  const again = rerunOf(title);
  const parameters = again === null ? {} : { seed: again.seed, path: again.path, endOnFailure: true };
  const details = await fc.check(property(again?.replayPath), {
    ...parameters,
    ...(numRuns === undefined ? {} : { numRuns }),
  });
  if (!details.failed) return;
  throw new LawBroken(title, details);
}

/** A law does not hold. @public */
export class LawBroken extends Error {
  override readonly name = "LawBroken";
  /** The sentence. */
  readonly title: string;
  /** `RUNLEDGER_RERUN=…`: tries the same again. */
  readonly rerun: string;

  /** @internal */
  constructor(title: string, details: fc.RunDetails<unknown>) {
    const { seed, counterexamplePath, counterexample, numRuns, errorInstance } = details;
    const example = fc.stringify(counterexample);
    const replayPath = /replayPath=\\?"([^"\\]*)\\?"/.exec(example)?.[1] ?? "";
    const rerun = `RUNLEDGER_RERUN=${JSON.stringify([seed, counterexamplePath ?? "", replayPath, title].join("|"))}`;
    const why = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
    const tried =
      counterexamplePath === null ? "found no history to try it on" : `broken in run ${numRuns} by ${example}`;
    super(`${title}: ${tried}\n${why}\ntry it again: ${rerun}`, { cause: errorInstance });
    this.title = title;
    this.rerun = rerun;
  }
}

interface Rerun {
  readonly seed: number;
  readonly path: string;
  readonly replayPath: string | undefined;
}

/** What the environment says to try again, when it is this law. */
function rerunOf(title: string): Rerun | null {
  const [seed = "", path = "", replayPath = "", ...named] = (process.env["RUNLEDGER_RERUN"] ?? "").split("|");
  if (named.join("|") !== title) return null;
  return { seed: Number(seed), path, replayPath: replayPath === "" ? undefined : replayPath };
}
