/** Runs before the tests of each file, also where files share a process: properties take the run's seed (see `seed.ts`), and search longer
 *  when asked to. A property that needs another number of runs says so itself. */
import { configureGlobal } from "fast-check";
import { afterAll, afterEach } from "vitest";
import { endFile, endTest } from "./cleanups.js";

configureGlobal({
  seed: Number(process.env.RUNLEDGER_SEED),
  numRuns: process.env.RUNLEDGER_LONG === "1" ? 2_000 : 100,
});

afterAll(endFile);
afterEach(endTest);
