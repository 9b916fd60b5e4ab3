/** Faults of the network at moments that the seed chooses, under callers of several ledgers and processes: what each was told is
 *  what is there. One round is one journal; `RUNLEDGER_LONG=1` makes a hundred of them. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { seededNumbers } from "../../src/testing/seeded.js";
import { onCleanup, open, runSeed } from "../engine/fixture.js";
import { startChild } from "../processes/child.js";
import { call, judge } from "./callers.js";
import type { Counts, Told } from "./callers.js";
import { ask, behindProxy, expectSound } from "./place.js";
import type { Proxy } from "./proxy.js";

const long = process.env["RUNLEDGER_LONG"] === "1";
const rounds = long ? 100 : 6;
const callersPerLedger = 3;
const wishesPerCaller = 6;
const busyTimeoutMs = 1_000;

/** The statements at which a connection is cut. */
const statements = [/^COMMIT/i, /^COMMIT/i, /FOR UPDATE/i, /^INSERT/i, /^SELECT/i, /^BEGIN/i];
const moments = ["before", "sent", "answered"] as const;

type Fault = (proxy: Proxy, chance: () => number) => Promise<void>;

const faults: readonly Fault[] = [
  // Most of all, a connection that is lost in the middle of a statement.
  ...Array.from({ length: 4 }, () => cutSoon),
  async (proxy) => proxy.cutAll(),
  async (proxy, chance) => {
    proxy.fail();
    // Now and then for longer than anybody waits.
    await sleep(chance() < 0.2 ? busyTimeoutMs * 1.5 : 100 * chance());
    proxy.restore();
  },
  // A commit whose answer is lost with the database.
  async (proxy, chance) => {
    const moment = moments[Math.floor(chance() * moments.length)]!;
    const struck = proxy.cutWhen({ query: /^COMMIT/i, moment }).then(() => proxy.fail());
    await Promise.race([struck, sleep(200)]);
    if (proxy.failing) await sleep(busyTimeoutMs * 1.5 * chance());
    proxy.restore();
  },
  async (proxy, chance) => {
    proxy.hush();
    await sleep(100 * chance());
    proxy.restore();
  },
  async (proxy, chance) => {
    proxy.delayMs = Math.ceil(20 * chance());
    await sleep(100 * chance());
    proxy.delayMs = 0;
  },
  async (proxy, chance) => {
    const { backends } = proxy;
    const one = backends[Math.floor(chance() * backends.length)];
    if (one !== undefined) await ask(proxy.target.href, `SELECT pg_terminate_backend($1)`, [one]);
  },
];

async function cutSoon(proxy: Proxy, chance: () => number): Promise<void> {
  const query = statements[Math.floor(chance() * statements.length)]!;
  const moment = moments[Math.floor(chance() * moments.length)]!;
  const struck = proxy.cutWhen({ query, moment, after: Math.floor(chance() * 3) });
  await Promise.race([struck, sleep(100)]);
}

async function playRound(seed: number): Promise<Counts & { readonly faults: number }> {
  const chance = seededNumbers(seed);
  const { proxy, url, direct } = await behindProxy();
  const told: Told[] = [];
  const tell = (each: Told): void => void told.push(each);
  const ledgers = [await open(url, { busyTimeoutMs }), await open(url, { busyTimeoutMs })];
  const child = startChild("wisher.mjs", [url, "child", String(wishesPerCaller), String(busyTimeoutMs)], (line) => {
    if (line !== "ready") tell(JSON.parse(line) as Told);
  });
  onCleanup(() => void child.process.kill("SIGKILL"));
  await Promise.race([child.line("ready"), child.finished]); // one that could not begin shows it below

  const run = { going: true };
  const calling = Promise.all([
    child.finished,
    ...ledgers.flatMap((ledger, which) =>
      Array.from({ length: callersPerLedger }, (_, n) =>
        call(ledger, `l${which}-c${n}`, wishesPerCaller, seededNumbers(seed + 31 * which + n + 1), tell, 10),
      ),
    ),
  ]).finally(() => (run.going = false));
  let struck = 0;
  for (; run.going; struck++) {
    await faults[Math.floor(chance() * faults.length)]!(proxy, chance);
    await Promise.race([calling, sleep(60 * chance())]);
  }
  proxy.restore();
  const [{ code, stderr }] = await calling;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });

  // Whoever was cut off still writes without faults.
  for (const [n, ledger] of ledgers.entries()) await call(ledger, `after${n}`, 1, chance, tell);
  const checker = await open(direct);
  const counts = await judge(told, checker);
  expect(told.filter(({ wish }) => wish.startsWith("after")).map(({ outcome }) => outcome)).toEqual(["done", "done"]);
  expect(told.length).toBe((callersPerLedger * ledgers.length + 1) * wishesPerCaller + ledgers.length);
  await expectSound(checker);
  await Promise.all([checker, ...ledgers].map((ledger) => ledger.close()));
  return { ...counts, faults: struck };
}

test(
  `what callers were told is what is there, in ${rounds} rounds of faults`,
  { timeout: rounds * 60_000 },
  async () => {
    const sums = { done: 0, refused: 0, inDoubt: 0, doubtsDone: 0, faults: 0 };
    for (let round = 0; round < rounds; round++) {
      const counts = await playRound(runSeed + round);
      for (const key of Object.keys(sums) as (keyof typeof sums)[]) sums[key] += counts[key];
    }
    process.stdout.write(
      `seed ${runSeed}, ${rounds} rounds, ${sums.faults} faults: ${sums.done} done, ${sums.refused} refused, ` +
        `${sums.inDoubt} in doubt of which ${sums.doubtsDone} were done\n`,
    );
    expect(sums.done).toBeGreaterThan(0);
    expect(sums.refused).toBeGreaterThan(0);
  },
);
