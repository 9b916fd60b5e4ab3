/** The simulation: seeds that are pinned, fresh ones, and what it says of itself. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { sayViolations } from "../../src/testing/simulation/report.js";
import { simulate } from "../../src/testing/simulation/simulate.js";
import type { SimulateOptions } from "../../src/testing/simulation/simulate.js";
import { simulateWorkers } from "../../src/testing/simulation/simulate-workers.js";
import { Steps } from "../../src/testing/simulation/steps.js";
import { journalUrl, openShared, runSeed, storeNames } from "../engine/fixture.js";
import type { StoreName } from "../engine/fixture.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
const runs = Number(process.env["RUNLEDGER_RUNS"] ?? (long ? 10_000 : 30));

/** What processes share; on PostgreSQL each of them has connections of its own. */
function shared(name: StoreName): NonNullable<SimulateOptions["store"]> {
  if (name !== "postgres") return name;
  const url = journalUrl();
  return () => openShared(url, { busyTimeoutMs: 0 });
}

/** Each of them finds something in an engine without the repair: 22 and 25 a commit that is taken for that of another process, 73
 *  and 123 a refusal because of what was never written. Both mistakes stand in the table of `test/defects` too. */
const pinned = [22, 25, 73, 123];

test(
  "every seed of this run leaves a ledger that its callers were told the truth about",
  { timeout: 7_200_000 },
  async () => {
    const seen = { steps: 0, faults: 0, crashes: 0, refused: 0 };
    for (let seed = runSeed; seed < runSeed + runs; seed++) {
      const report = await simulate({ seed });
      expect(report.violations.length, sayViolations(report)).toBe(0);
      seen.steps += report.steps;
      seen.faults += report.faults;
      seen.crashes += report.crashes;
      seen.refused += Object.entries(report.answers).reduce(
        (sum, [answer, count]) => (answer.startsWith("FENCED") ? sum + count : sum),
        0,
      );
    }
    process.stdout.write(`${runs} seeds from ${runSeed} on: ${JSON.stringify(seen)}\n`);
  },
);

test(
  "every seed of workers brings every run to its end once, whatever befalls their processes, and no failure is left to nobody",
  { timeout: 7_200_000 },
  async () => {
    for (let seed = runSeed; seed < runSeed + Math.ceil(runs / 10); seed++) {
      const report = await simulateWorkers({ seed });
      expect(report.violations.length, sayViolations(report)).toBe(0);
      expect(report.steps).toBeGreaterThan(0);
    }
  },
);

test(
  "fresh seeds on PostgreSQL leave a ledger that its callers were told the truth about, and bring every run to its end once",
  { timeout: 7_200_000 },
  async () => {
    for (let seed = runSeed; seed < runSeed + Math.ceil(runs / 30); seed++) {
      for (const of of [simulate, simulateWorkers]) {
        const report = await of({ seed, store: shared("postgres") });
        expect(report.violations.length, sayViolations(report)).toBe(0);
        expect(report.steps).toBeGreaterThan(0);
      }
    }
  },
);

test.each(storeNames)(
  "seeds that found something find nothing any more, on %s",
  { timeout: 600_000 },
  async (store) => {
    for (const seed of pinned) {
      const report = await simulate({ seed, store: shared(store) });
      expect(report.violations.length, sayViolations(report)).toBe(0);
    }
  },
);

test.each(["memory", "async memory"] as const)(
  "the same seed gives the same journal, byte for byte, on %s",
  async (store) => {
    for (const seed of [1, 2, 3, runSeed]) {
      const [one, other] = [await simulate({ seed, store }), await simulate({ seed, store })];

      // The id of the last entry covers every byte before it.
      expect(other.head).toBe(one.head);
      expect(other).toEqual(one);
      expect(one.entries).toBeGreaterThan(20);
    }
  },
);

test(
  "seeds draw other journals, processes that die, faults, and every kind of refusal",
  { timeout: 600_000 },
  async () => {
    const heads = new Set<string>();
    const answers = new Set<string>();
    let [faults, crashes] = [0, 0];
    for (let seed = 1; seed <= 25; seed++) {
      const report = await simulate({ seed, store: "memory" });
      heads.add(report.head);
      Object.keys(report.answers).forEach((answer) => answers.add(answer));
      faults += report.faults;
      crashes += report.crashes;
    }

    expect(heads.size).toBe(25);
    expect(faults).toBeGreaterThan(300);
    expect(crashes).toBeGreaterThan(5);
    expect([...answers]).toEqual(
      expect.arrayContaining([
        "accepted",
        "ALREADY_EXISTS",
        "CLOSED",
        "FENCED expired",
        "FENCED generation",
        "FENCED released",
        "IDEMPOTENCY_CONFLICT",
        "STORE_BUSY",
        "STORE_FULL",
        "STORE_IN_DOUBT",
      ]),
    );
  },
);

test("L04 what waits for all steps waits for those too that were begun after an await, and says how many ran", async () => {
  const steps = new Steps();
  const done: string[] = [];
  steps.begin(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    steps.begin(async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      done.push("later");
    });
    done.push("first");
  });

  await steps.settled();

  expect(done).toEqual(["first", "later"]);
  expect({ begun: steps.begun, ended: steps.ended }).toEqual({ begun: 2, ended: 2 });
});

test("L04 a step that fails is heard of when all have ended, and not before", async () => {
  const steps = new Steps();
  let ended = false;
  steps.begin(() => Promise.reject(new Error("a step failed")));
  steps.begin(async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    ended = true;
  });

  await expect(steps.settled()).rejects.toThrow("a step failed");

  expect(ended).toBe(true);
  await steps.settled();
});

test.each(storeNames)(
  "L04 a simulation ends when every step has ended: more than there are rounds, and none is left, on %s",
  async (store) => {
    const { steps, answers } = await simulate({ seed: 1, store: shared(store), calls: 30 });

    expect(steps).toBeGreaterThan(20);
    expect(answers).not.toHaveProperty("none");
  },
);

test("test:long takes a seed and a number of runs, and refuses everything else", () => {
  const refused = [["--seed", "0"], ["--seed", "x"], ["--runs", "1.5"], ["--runs", "-1"], ["--quick"], ["test/kernel"]];
  for (const given of refused) {
    const { status, stderr } = spawnSync(process.execPath, ["test/long.mjs", ...given], { encoding: "utf8" });
    expect(status, given.join(" ")).toBe(2);
    expect(stderr).toContain("usage: npm run test:long");
  }
});
