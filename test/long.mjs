/** `npm run test:long`: the whole suite with long searches, or with `--runs M` the simulation of M seeds alone, from `--seed N` on. */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

const options = readOptions();
process.exitCode = options === null ? 2 : run(options);

function run({ seed, runs }) {
  const only = runs === undefined ? [] : ["test/testing/simulation.test.ts", "-t", "every seed of"];
  const { status } = spawnSync(process.execPath, ["node_modules/vitest/vitest.mjs", "run", ...only], {
    stdio: "inherit",
    env: {
      ...process.env,
      RUNLEDGER_LONG: "1",
      ...(seed !== undefined && { RUNLEDGER_SEED: seed }),
      ...(runs !== undefined && { RUNLEDGER_RUNS: runs }),
    },
  });
  return status ?? 1;
}

function readOptions() {
  try {
    const { values } = parseArgs({ options: { seed: { type: "string" }, runs: { type: "string" } } });
    return { seed: whole("--seed", values.seed, 2 ** 31 - 1), runs: whole("--runs", values.runs, 1_000_000) };
  } catch (error) {
    process.stderr.write(`${error.message}\nusage: npm run test:long [-- [--seed N] [--runs M]]\n`);
    return null;
  }
}

function whole(name, text, max) {
  if (text === undefined || (/^[1-9][0-9]*$/.test(text) && Number(text) <= max)) return text;
  throw new Error(`${name} must be a whole number from 1 to ${max}, found ${JSON.stringify(text)}`);
}
