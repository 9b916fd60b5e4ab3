/** Eight processes on the run queue of one file, killed, and stopped until their leases are over, at items that the seed chooses. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openLedger, queueCommands } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { seededNumbers } from "../../src/testing/seeded.js";
import { call } from "../cli/command.js";
import { ledgerPath, onCleanup, runSeed } from "../engine/fixture.js";
import { Fleet } from "./fleet.js";
import { QueueJudge } from "./queue-judge.js";

const long = process.env["RUNLEDGER_LONG"] === "1";
const itemsMax = long ? 20_000 : 2_000;
const killsMax = long ? 40 : 8;
const stopsMax = long ? 24 : 6;
const itemsPerList = 500;
const leaseMs = 4_000;

type Deed = { readonly behind: number; readonly what: "kill" | "stop" };

test(
  `eight processes that are killed, and stopped past their leases, complete ${itemsMax} items, each exactly once`,
  { timeout: long ? 1_800_000 : 600_000 },
  async () => {
    const path = ledgerPath();
    const ledger = await openLedger(path, { busyTimeoutMs: 600_000 });
    onCleanup(() => ledger.close());
    const next = seededNumbers(runSeed);
    await enqueue(ledger, next);

    const plan = deeds(next);
    const carryOut = (done: number): void => {
      while (plan.length > 0 && plan[0]!.behind <= done && fleet[plan[0]!.what](next())) plan.shift();
    };
    const fleet = new Fleet({ path, ledger, width: 8, leaseMs, onDone: carryOut });
    onCleanup(() => fleet.abandon());
    const started = performance.now();
    for (let n = 0; n < 8; n++) fleet.start(n % 2 === 0 ? "loop" : "worker");
    while (!(await isIdle(ledger))) await sleep(100);
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
      `${itemsMax} items in ${(tookMs / 1_000).toFixed(1)} s: ${killed.length} kills, ${stops.length} stops of which ` +
        `${refusedStops} woke to refusals, ${takeovers} takeovers, ${refusals} refusals recorded, ${lostEffects} effects lost\n`,
    );
    expect(wrong.slice(0, 20)).toEqual([]);
    expect(done).toBe(itemsMax);
    for (const figure of [killed.length, stops.length, refusedStops, takeovers, refusals])
      expect(figure).toBeGreaterThan(0);
    expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });
    await ledger.close();
    expect(await call(["verify", path, "--deep"])).toMatchObject({ code: 0, stderr: "" });
  },
);

async function enqueue(ledger: Ledger, next: () => number): Promise<void> {
  for (let from = 0; from < itemsMax; from += itemsPerList) {
    const items = Array.from({ length: itemsPerList }, (_, n) =>
      queueCommands.enqueue({ runId: `r${from + n}`, priority: Math.floor(next() * 4), reclaimsMax: 1_000 }),
    );
    await ledger.execute(items);
  }
}

/** What is done to whom when so many items are done, in order; the last tenth is left in peace. */
function deeds(next: () => number): Deed[] {
  const of = (what: Deed["what"], count: number): Deed[] =>
    Array.from({ length: count }, () => ({ what, behind: Math.floor(next() * itemsMax * 0.9) }));
  return [...of("kill", killsMax), ...of("stop", stopsMax)].sort((one, other) => one.behind - other.behind);
}

/** Is there nothing to be worked on, nor anybody at work? */
async function isIdle(ledger: Ledger): Promise<boolean> {
  for (const status of ["queued", "claimed", "parked"] as const) {
    const { items } = await ledger.queue.list({ status, limit: 1 });
    if (items.length > 0) return false;
  }
  return true;
}
