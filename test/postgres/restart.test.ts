/** Servers that stop, are killed and come back while ledgers write and workers work: they go on by themselves, and nothing that was
 *  acknowledged is lost. The servers here sync their disks. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { queueCommands } from "../../src/index.js";
import type { Fence, Ledger, LedgerWorker } from "../../src/index.js";
import { seededNumbers } from "../../src/testing/seeded.js";
import { onCleanup, open, runSeed } from "../engine/fixture.js";
import { isIdle } from "../processes/queue-work.js";
import { call, judge } from "./callers.js";
import type { Told } from "./callers.js";
import { expectSound, withJournal } from "./place.js";
import { startServer } from "./server.js";
import type { TestServer } from "./server.js";

const long = process.env["RUNLEDGER_LONG"] === "1";
const items = long ? 400 : 60;

/** How a server goes and comes back. */
const ends: Readonly<Record<string, (server: TestServer) => Promise<void>>> = {
  "that ends its connections and restarts": (server) => server.restart(),
  "that takes no new connections any more, and then restarts": async (server) => {
    process.kill(server.pid, "SIGTERM");
    await sleep(300);
    await server.restart();
  },
  "that is killed and recovers": async (server) => {
    await server.kill();
    await sleep(300);
    await server.restart();
  },
};

/** Works on whatever there is; each item has one effect. */
function work(ledger: Ledger, holder: string, effects: string[]): LedgerWorker {
  return ledger.worker({
    queue: {},
    holder,
    concurrency: 4,
    leaseMs: 2_000,
    retry: { baseMs: 20, maxMs: 200, failuresMax: 1_000 },
    async handle({ runId, fence }) {
      await affect(ledger, runId, fence);
      effects.push(runId);
    },
    onError: () => {},
  });
}

async function affect(ledger: Ledger, runId: string, fence: Fence): Promise<void> {
  await ledger.append(`effect/${runId}`, [{ type: "effect.made", data: { runId } }], { fence });
}

async function countOf(ledger: Ledger, type: string): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for await (const event of ledger.read()) {
    if (event.type !== type) continue;
    const name = event.stream.slice(event.stream.indexOf("/") + 1);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

for (const [how, end] of Object.entries(ends)) {
  test(`workers and callers go on behind a server ${how}, and lose nothing`, async () => {
    // A server that acknowledges by default what is in its memory: the ledger must ask for more.
    const flags = ["max_connections=100", "synchronous_commit=off", "wal_writer_delay=10s"];
    const server = await startServer({ flags: flags.flatMap((flag) => ["-c", flag]) });
    onCleanup(() => server.stop());
    const url = withJournal(server.url, "restarted");
    const ledgers = [await open(url), await open(url)];
    const told: Told[] = [];
    for (let n = 0; n < items; n++) told.push({ wish: `r${n}`, outcome: "done", events: 1 });
    await ledgers[0]!.execute(told.map(({ wish }) => queueCommands.enqueue({ runId: wish, reclaimsMax: 1_000 })));

    const effects: string[] = [];
    const workers = ledgers.map((ledger, n) => work(ledger, `worker${n}`, effects));
    const calling = ledgers.map((ledger, n) =>
      call(ledger, `c${n}`, items, seededNumbers(runSeed + n), (each) => void told.push(each), 10),
    );
    await expect.poll(() => effects.length).toBeGreaterThan(items / 10);
    await end(server);
    await Promise.all(calling);
    await expect.poll(() => isIdle(ledgers[0]!), { timeout: 100_000, interval: 100 }).toBe(true);
    await Promise.all(workers.map((worker) => worker.stop()));

    const enqueued = await countOf(ledgers[0]!, "queue.enqueued");
    expect(enqueued.size).toBeGreaterThanOrEqual(items);
    expect(await countOf(ledgers[0]!, "queue.completed")).toEqual(enqueued);
    const made = await countOf(ledgers[0]!, "effect.made");
    expect(effects.filter((runId) => !made.has(runId))).toEqual([]);
    const counts = await judge(told, ledgers[1]!);
    expect(counts.done).toBeGreaterThan(0);
    await expectSound(ledgers[1]!);
  });
}
