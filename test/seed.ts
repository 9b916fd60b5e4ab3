/** Draws the one seed of a test run, before any worker starts, and says how to run it again.
 *  Workers inherit the environment, so every file of the run derives its choices from the same number. */
import { randomInt } from "node:crypto";

export function setup(): void {
  const given = process.env.RUNLEDGER_SEED;
  const seed = given === undefined || given === "" ? randomInt(1, 2 ** 31) : Number(given);
  if (!Number.isInteger(seed) || Math.abs(seed) >= 2 ** 31) {
    throw new Error(`RUNLEDGER_SEED must be a whole number of 32 bits, found ${JSON.stringify(given)}`);
  }

  process.env.RUNLEDGER_SEED = String(seed);
  process.stdout.write(`seed ${seed} (the same run again: RUNLEDGER_SEED=${seed} npm test)\n`);
}
