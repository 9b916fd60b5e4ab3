/** Writers and consumers that are killed: a subscriber misses nothing, sees nothing twice, and goes on where it was. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { freshPlace, isTried, onCleanup, sharedStoreNames } from "../engine/fixture.js";
import type { SharedStoreName } from "../engine/fixture.js";
import { runChild, startChild } from "./child.js";
import type { Finished } from "./child.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;

interface Filled {
  readonly path: string;
  /** Of the events of thing/1. */
  readonly positions: readonly number[];
}

/** A journal with ten events of thing/1 among others of other/1. */
async function filled(name: SharedStoreName): Promise<Filled> {
  const path = freshPlace(name);
  const ledger = await openLedger(path);
  const positions: number[] = [];
  for (let n = 0; n < 10; n++) {
    positions.push((await ledger.append("thing/1", [{ type: "thing.happened" }])).position);
    if (n % 3 === 0) await ledger.append("other/1", [{ type: "thing.happened" }]);
  }
  await ledger.close();
  return { path, positions };
}

interface Said {
  readonly handed?: readonly number[];
  readonly acknowledged?: readonly number[];
  readonly step?: string;
  readonly moment?: string;
}

const saidBy = (child: Finished): Said[] => child.lines.map((line) => JSON.parse(line) as Said);

/** What was handed out goes on without a hole behind some place, and that place is one where the consumer may have been. */
function expectGoesOn(said: readonly Said[], positions: readonly number[], places: readonly number[]): void {
  const handed = said.flatMap((each) => each.handed ?? []);
  const rest = places.map((place) => positions.filter((position) => position > place));
  expect(rest.map((each) => JSON.stringify(each.slice(0, handed.length)))).toContain(JSON.stringify(handed));
}

/** One consumer is killed at its k-th point, then another one goes on to the end. */
async function killAndGoOn(name: SharedStoreName, k: number): Promise<void> {
  const { path, positions } = await filled(name);
  const killed = await runChild("consumer.mjs", [path, String(k), "0"]);
  expect([k, killed.signal, killed.stderr]).toEqual([k, "SIGKILL", ""]);
  const said = saidBy(killed);
  expectGoesOn(said, positions, [-1]);

  // The other one's clock is ahead by more than the lease, so that it need not wait.
  const next = await runChild("consumer.mjs", [path, "0", "60000"]);

  expect(next.stderr).toBe("");
  const sure = said.flatMap((each) => each.acknowledged ?? []).at(-1) ?? -1;
  const asked = said.flatMap((each) => each.handed ?? []).at(-1) ?? -1;
  expectGoesOn(saidBy(next), positions, [sure, asked]);
  const all = [...said, ...saidBy(next)].flatMap((each) => each.handed ?? []);
  expect([...new Set(all)].sort((a, b) => a - b)).toEqual(positions);
}

test.each(sharedStoreNames)(
  "a consumer that is killed at any step goes on behind what it acknowledged, in another process, on %s",
  { timeout: 600_000 },
  async (name) => {
    const { path, positions } = await filled(name);
    const passed = await runChild("consumer.mjs", [path, "0", "0"]);
    expect(passed.stderr).toBe("");
    expectGoesOn(saidBy(passed), positions, [-1]);
    const steps = saidBy(passed)
      .filter((each) => each.step !== undefined)
      .map((each) => `${each.step} ${each.moment}`);
    for (const step of ["operational before", "commit before", "commit after", "hand out before", "hand out after"])
      expect(steps).toContain(step);

    // Around each commit up to the first acknowledgement, and some of the rest; all in the long run.
    const firstAcknowledged = steps.indexOf("commit after", steps.indexOf("hand out after")) + 1;
    const isOfFirst = (k: number): boolean => k <= firstAcknowledged && /^(commit|hand out)/.test(steps[k - 1]!);
    const chosen = steps.map((_, index) => index + 1).filter((k) => long || isOfFirst(k) || isTried(name, k, 32));
    for (let index = 0; index < chosen.length; index += 2)
      await Promise.all(chosen.slice(index, index + 2).map((k) => killAndGoOn(name, k)));
    process.stdout.write(`killed at ${chosen.length} of ${steps.length} points\n`);
  },
);

test.each(sharedStoreNames)(
  "a subscriber sees what a killed writer committed, and what the next one appends, once and in order, on %s",
  async (name) => {
    const path = freshPlace(name);
    await (await openLedger(path)).close();
    const reader = await openLedger(path, { readOnly: true });
    onCleanup(() => reader.close());
    const seen: number[] = [];
    const subscription = reader.subscribe({ batch: 7 });
    const reading = (async () => {
      for await (const { entries } of subscription) seen.push(...entries.map((event) => event.position));
    })();

    const first = startChild("appender.mjs", [path, "one", "100000", "thing/1", "8"]);
    await expect.poll(() => seen.length).toBeGreaterThan(50);
    first.process.kill("SIGKILL");
    const killed = await first.finished;
    const second = await runChild("appender.mjs", [path, "two", "50", "thing/2"]);

    expect([killed.signal, second.code, second.stderr]).toEqual(["SIGKILL", 0, ""]);
    const { size } = await reader.status();
    await expect.poll(() => seen.length).toBeGreaterThanOrEqual(size - 1);
    await subscription.return();
    await reading;
    expect(seen).toEqual(Array.from({ length: size - 1 }, (_, index) => index + 1));
    const acknowledged = [...killed.lines, ...second.lines].filter((line) => line.startsWith("{"));
    for (const line of acknowledged) {
      const { position } = JSON.parse(line) as { position: number };
      expect(seen[position - 1]).toBe(position);
    }
  },
);

test.each(sharedStoreNames)(
  "a process that only waits for events stays alive, and one that has left its subscription ends, on %s",
  async (name) => {
    const path = freshPlace(name);
    const ledger = await openLedger(path);
    onCleanup(() => ledger.close());
    const waiting = startChild("waiter.mjs", [path, "wait"]);
    await waiting.line("live");
    await new Promise((resolve) => setTimeout(resolve, 500));
    await ledger.append("thing/1", [{ type: "thing.happened" }]);
    const woken = await waiting.finished;
    const left = await runChild("waiter.mjs", [path, "leave"]);

    expect([woken.code, woken.lines, woken.stderr]).toEqual([0, ["live", "handed 1"], ""]);
    expect([left.code, left.lines, left.stderr]).toEqual([0, ["live"], ""]);
  },
);
