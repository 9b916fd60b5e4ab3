/** Workers in processes of their own that are killed, stopped, or held up: what one had in hand another gets, once. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { Ledger, LedgerEvent } from "../../src/index.js";
import { directory, freshPlace, onCleanup, open, sharedStoreNames } from "../engine/fixture.js";
import type { SharedStoreName } from "../engine/fixture.js";
import { queue } from "../../projections/queue.js";
import { startChild } from "./child.js";
import type { Child } from "./child.js";

/** Starts a worker, which is gone after the test whatever becomes of it. */
function startWorker(...args: readonly string[]): Child {
  const child = startChild("draining-worker.mjs", args);
  onCleanup(() => void child.process.kill("SIGKILL"));
  return child;
}

async function queued(name: SharedStoreName): Promise<{ readonly path: string; readonly ledger: Ledger }> {
  const path = freshPlace(name);
  const ledger = await open(path);
  await ledger.queue.enqueue({ runId: "r1" });
  return { path, ledger };
}

async function eventsOf(ledger: Ledger, type: string): Promise<LedgerEvent[]> {
  const events: LedgerEvent[] = [];
  for await (const event of ledger.readStream("queue/r1")) if (event.type === type) events.push(event);
  return events;
}

async function stop(child: Child): Promise<readonly string[]> {
  child.process.kill("SIGTERM");
  const { code, signal, lines, stderr } = await child.finished;
  expect([code, signal, stderr]).toEqual([0, null, ""]);
  return lines;
}

test.each(sharedStoreNames)(
  "G04 what a killed worker had in hand another one gets when the lease is over, and not before, on %s",
  async (name) => {
    const { path, ledger } = await queued(name);
    const killed = startWorker(path, "A", "1500", "hold");
    await killed.line("claimed r1 1");
    const other = startWorker(path, "B", "1500", "quick");
    await other.line("ready");
    killed.process.kill("SIGKILL");
    await killed.finished;
    await ledger.waitFor(queue.get("r1"), (item) => item?.status === "done");

    const [before, after] = await eventsOf(ledger, "queue.claimed");
    const { expiresAt } = before!.data["claim"] as { expiresAt: number };
    expect(after!.at).toBeGreaterThanOrEqual(expiresAt);
    expect(after!.data["claim"]).toMatchObject({ holder: "B", generation: 2, superseded: 1 });
    expect(await stop(other)).toEqual(["ready", "claimed r1 2", "stopped"]);
  },
);

test.each(sharedStoreNames)(
  "G20 what a worker had in hand at SIGTERM is claimable at once, and the process ends by itself, on %s",
  async (name) => {
    const { path, ledger } = await queued(name);
    const first = startWorker(path, "A", "3600000", "hold");
    await first.line("claimed r1 1");

    expect(await stop(first)).toEqual(["ready", "claimed r1 1", "aborted ABORTED drained", "stopped"]);
    expect(await ledger.queue.get("r1")).toMatchObject({ status: "parked", failures: 0, cancel: null });
    const second = startWorker(path, "B", "3600000", "quick");
    await ledger.waitFor(queue.get("r1"), (item) => item?.status === "done");

    expect(await stop(second)).toEqual(["ready", "claimed r1 2", "stopped"]);
    expect(await eventsOf(ledger, "queue.completed")).toHaveLength(1);
  },
);

test.each(sharedStoreNames)(
  "G01 a worker whose event loop was blocked past its lease is refused: another one has done the work, once, on %s",
  async (name) => {
    const { path, ledger } = await queued(name);
    const flag = join(directory(), "flag");
    const blocked = startWorker(path, "A", "1000", "block", flag);
    await blocked.line("claimed r1 1");
    const other = startWorker(path, "B", "1000", "quick");
    await ledger.waitFor(queue.get("r1"), (item) => item?.status === "done");
    writeFileSync(flag, "");
    await blocked.line("error complete FENCED");

    const completed = await eventsOf(ledger, "queue.completed");
    expect(completed.map(({ fence }) => fence)).toEqual([["queue/r1", 1, 2]]);
    expect(await stop(blocked)).toEqual(["ready", "claimed r1 1", "error complete FENCED", "stopped"]);
    expect(await stop(other)).toEqual(["ready", "claimed r1 2", "stopped"]);
    await ledger.close();
    await using again = await openLedger(path);
    expect((await again.verify({ level: "deep" })).verdict).toBe("OK");
  },
);
