/** Several hosts whose clocks are hours apart on one database, behind a network that loses commits at moments that the seed chooses,
 *  and with a server that goes and comes back under load: each item is done once, and nothing that was acknowledged is lost.
 *  The processes believe what they are told: what was refused for certain they ask for again. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { seededNumbers } from "../../src/testing/seeded.js";
import { onCleanup, runSeed } from "../engine/fixture.js";
import { workThroughQueue } from "../processes/queue-work.js";
import type { QueueWork } from "../processes/queue-work.js";
import { behindProxy } from "./place.js";
import type { Behind } from "./place.js";
import type { Cut } from "./proxy.js";
import { startServer } from "./server.js";

const long = process.env["RUNLEDGER_LONG"] === "1";
const items = long ? 2_000 : 120;
const cuts = long ? 60 : 9;
const hourMs = 3_600_000;
const moments = ["before", "sent", "answered"] as const;

/** Cuts commits behind so many items, at each moment as often; the last third is left in peace. Says which have struck. */
function loseCommits({ proxy }: Behind, chance: () => number): { disturb: (done: number) => void; struck: Cut[] } {
  const plan = Array.from({ length: cuts }, (_, n) => ({
    behind: Math.floor(chance() * items * 0.7),
    cut: { query: /^COMMIT/i, moment: moments[n % moments.length]!, after: Math.floor(chance() * 3) },
  })).sort((one, other) => one.behind - other.behind);
  const struck: Cut[] = [];
  const disturb = (done: number): void => {
    while (plan.length > 0 && plan[0]!.behind <= done) {
      const { cut } = plan.shift()!;
      void proxy.cutWhen(cut).then(() => struck.push(cut));
    }
  };
  return { disturb, struck };
}

async function work(behind: Behind, disturb: (done: number) => void, more: Partial<QueueWork> = {}): Promise<void> {
  const ledger = await openLedger(behind.direct, { busyTimeoutMs: 600_000 });
  onCleanup(() => ledger.close());
  await workThroughQueue({
    path: behind.url,
    ledger,
    processes: 4,
    items,
    ...(long ? { kills: 12, stops: 8 } : { kills: 1, stops: 2 }),
    width: 4,
    leaseMs: 2_000,
    skewsMs: [5 * hourMs, -7 * hourMs, 40 * 24 * hourMs, 0],
    disturb,
    ...more,
  });
}

test(
  `four hosts whose clocks are hours apart complete ${items} items, each exactly once, while ${cuts} commits lose their connection`,
  { timeout: 1_200_000 },
  async () => {
    const behind = await behindProxy();
    const { disturb, struck } = loseCommits(behind, seededNumbers(runSeed));

    await work(behind, disturb);

    expect(struck).toHaveLength(cuts);
    expect(new Set(struck.map(({ moment }) => moment))).toEqual(new Set(moments));
  },
);

test("so they do while the server goes and comes back under load", { timeout: 1_200_000 }, async () => {
  const server = await startServer();
  onCleanup(() => server.stop());
  const behind = await behindProxy(server.url);
  const chance = seededNumbers(runSeed + 1);
  const { disturb, struck } = loseCommits(behind, chance);
  const restartBehind = Math.floor(items * (0.2 + 0.4 * chance()));
  const isKilled = chance() < 0.5;
  let restarting: Promise<void> | undefined;
  const restart = async (): Promise<void> => {
    if (isKilled) await server.kill();
    await server.restart();
  };

  await work(behind, (done) => {
    disturb(done);
    if (done >= restartBehind) restarting ??= restart();
  });

  expect(restarting).toBeDefined();
  await restarting;
  expect(struck).toHaveLength(cuts);
});
