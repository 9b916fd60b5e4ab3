/** Runs in every worker before its tests: properties take the run's seed (see `seed.ts`), and search longer
 *  when asked to. A property that needs another number of runs says so itself. */
import { configureGlobal } from "fast-check";

configureGlobal({
  seed: Number(process.env.RUNLEDGER_SEED),
  numRuns: process.env.RUNLEDGER_LONG === "1" ? 2_000 : 100,
});
