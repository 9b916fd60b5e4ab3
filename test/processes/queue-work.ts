/** Several processes on one run queue, killed, and stopped until their leases are over, at items that the seed chooses; and what
 *  must hold of it on every store. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { queueCommands } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { seededNumbers } from "../../src/testing/seeded.js";
import { onCleanup, runSeed } from "../engine/fixture.js";
import { Fleet, inOutages } from "./fleet.js";
import { QueueJudge } from "./queue-judge.js";

export interface QueueWork {
  /** What the processes open. */
  readonly path: string;
  /** The same journal, open here. */
  readonly ledger: Ledger;
  readonly processes: number;
  readonly items: number;
  readonly kills: number;
  readonly stops: number;
  /** How many items each process has in hand. */
  readonly width: number;
  readonly leaseMs: number;
  /** By how many ms the clocks of the hosts are wrong, one after the other. */
  readonly skewsMs?: readonly number[];
  /** Makes the store fail, behind so many items that are done: the processes go on by asking again, and so does the test. */
  readonly disturb?: (done: number) => void;
}

type Deed = { readonly behind: number; readonly what: "kill" | "stop" };

const itemsPerList = 500;

/** Has all items worked on, each completed exactly once, and says how it went. */
export async function workThroughQueue(work: QueueWork): Promise<void> {
  const { path, ledger, processes, items, width, leaseMs, skewsMs = [0], disturb } = work;
  const next = seededNumbers(runSeed);
  await enqueue(ledger, items, next);

  const plan = deeds(work, next);
  const carryOut = (done: number): void => {
    disturb?.(done);
    while (plan.length > 0 && plan[0]!.behind <= done && fleet[plan[0]!.what](next())) plan.shift();
  };
  const fleet = new Fleet({ path, ledger, width, leaseMs, skewsMs, patient: disturb !== undefined, onDone: carryOut });
  onCleanup(() => fleet.abandon());
  const started = performance.now();
  for (let n = 0; n < processes; n++) fleet.start(n % 2 === 0 ? "loop" : "worker");
  while (!(await inOutages(() => isIdle(ledger)))) {
    fleet.requireAll();
    await sleep(100);
  }
  const tookMs = performance.now() - started;
  const stops = await Promise.all(fleet.stops);
  const ended = await fleet.end();

  const killed = await Promise.all(fleet.killed);
  expect(killed.map(({ signal, stderr }) => [signal, stderr])).toEqual(killed.map(() => ["SIGKILL", ""]));
  expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual(ended.map(() => [0, ""]));
  const judge = new QueueJudge();
  for await (const event of ledger.read()) judge.see(event);
  const { wrong, done, takeovers, refusals, lostEffects } = judge.judge(fleet.said);
  const refusedStops = stops.filter(({ refused }) => refused > 0).length;
  process.stdout.write(
    `${items} items in ${(tookMs / 1_000).toFixed(1)} s: ${killed.length} kills, ${stops.length} stops of which ` +
      `${refusedStops} woke to refusals, ${takeovers} takeovers, ${refusals} refusals recorded, ${lostEffects} effects lost\n`,
  );
  expect(wrong.slice(0, 20)).toEqual([]);
  expect(done).toBe(items);
  // How often a stop comes between an answer and what it leads to is a matter of luck, where it comes seldom.
  const lucky = disturb === undefined ? [refusedStops, takeovers, refusals] : [];
  for (const figure of [killed.length, stops.length, ...lucky]) expect(figure).toBeGreaterThan(0);
  expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });
}

async function enqueue(ledger: Ledger, count: number, next: () => number): Promise<void> {
  for (let from = 0; from < count; from += itemsPerList) {
    const items = Array.from({ length: Math.min(itemsPerList, count - from) }, (_, n) =>
      queueCommands.enqueue({ runId: `r${from + n}`, priority: Math.floor(next() * 4), reclaimsMax: 1_000 }),
    );
    await ledger.execute(items);
  }
}

/** What is done to whom when so many items are done, in order; the last tenth is left in peace. */
function deeds({ items, kills, stops }: QueueWork, next: () => number): Deed[] {
  const of = (what: Deed["what"], count: number): Deed[] =>
    Array.from({ length: count }, () => ({ what, behind: Math.floor(next() * items * 0.9) }));
  return [...of("kill", kills), ...of("stop", stops)].sort((one, other) => one.behind - other.behind);
}

/** Is there nothing to be worked on, nor anybody at work? */
export async function isIdle(ledger: Ledger): Promise<boolean> {
  for (const status of ["queued", "claimed", "parked"] as const) {
    const { items } = await ledger.queue.list({ status, limit: 1 });
    if (items.length > 0) return false;
  }
  return true;
}
