/** Small tools of the tests of workers: a worker whose handler is held, what the hook heard, and time that passes by hand. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Job, Ledger, LedgerWorker, WorkerOptions, WorkerTrouble } from "../../src/index.js";
import type { ManualClock } from "../../src/testing/index.js";
import { onCleanup } from "../engine/fixture.js";

/** What the hook heard. */
export interface Heard extends WorkerTrouble {
  readonly error: unknown;
}

/** A job in the hand of a handler that waits for what the test says. */
export interface HeldJob {
  readonly job: Job;
  readonly end: () => void;
  readonly fail: (error: unknown) => void;
}

export interface Working {
  readonly worker: LedgerWorker;
  readonly heard: Heard[];
  /** The jobs that its handler got, in order. */
  readonly jobs: HeldJob[];
}

/** Starts a worker that holds its jobs until the test ends them. */
export function work(ledger: Ledger, options: Partial<WorkerOptions> = {}): Working {
  const heard: Heard[] = [];
  const jobs: HeldJob[] = [];
  const worker = ledger.worker({
    queue: {},
    holder: "A",
    leaseMs: 1_000,
    drainMs: 0,
    onError: (error, trouble) => void heard.push({ error, ...trouble }),
    handle: (job) =>
      new Promise<void>((resolve, reject) => {
        jobs.push({ job, end: resolve, fail: reject });
      }),
    ...options,
  });
  onCleanup(async () => {
    for (const { end } of jobs) end();
    await worker.stop({ drainMs: 0 });
  });
  return { worker, heard, jobs };
}

/** Waits in real time until something holds, for stores answer when they do. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await holds())) {
    if (performance.now() > deadline) expect.fail(`it must hold in the end: ${holds.toString()}`);
    await sleep(1);
  }
}

/** Lets time pass in small steps until something holds, and only while somebody waits for it: a worker that is at its store, which
 *  takes as long as it does, would find when it comes back that its new lease is over. */
export async function passUntil(
  clock: ManualClock,
  holds: () => boolean | Promise<boolean>,
  stepMs = 10,
): Promise<void> {
  await until(async () => {
    if (await holds()) return true;
    if (clock.waiting > 0) clock.advance(stepMs);
    await settled();
    return holds();
  });
}

/** Whatever was set going has had some turns of the event loop. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export async function statusOf(ledger: Ledger, runId: string): Promise<string | undefined> {
  return (await ledger.queue.get(runId))?.status;
}
