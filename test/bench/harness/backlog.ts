/** A run queue with so many items in it, and workers that take them off again. */
import { openLedger, queueCommands } from "../../../src/index.js";
import type { Ledger } from "../../../src/index.js";
import { itemName, jobEvents } from "./events.js";

/** Items that are enqueued in one call. */
const itemsPerCall = 1_000;

/** So that it is written: one to the same millisecond as before changes nothing. */
const renewedLeaseMs = 60_000;

export class Backlog {
  private readonly ledger: Ledger;
  private readonly size: number;
  private made = 0;
  private left = 0;

  /** Of a ledger whose queue is empty. */
  constructor(ledger: Ledger, size: number) {
    this.ledger = ledger;
    this.size = size;
  }

  /** Enqueues what is missing to the size, and `more`. */
  async fill(more: number): Promise<void> {
    for (let missing = this.size + more - this.left; missing > 0; missing -= itemsPerCall) {
      const count = Math.min(missing, itemsPerCall);
      const items = Array.from({ length: count }, (_, index) => itemName(this.made + index));
      await this.ledger.execute(items.map((runId) => queueCommands.enqueue({ runId })));
      this.made += count;
      this.left += count;
    }
  }

  /** One item: claimed, renewed, completed, each when the one before it is on disk. */
  async work(worker: string): Promise<void> {
    const { queue } = this.ledger;
    const work = await queue.claimNext({ holder: worker });
    if (work === null) throw new Error("an item that waits must be claimed");
    this.left--;
    await queue.renew(work.fence, renewedLeaseMs);
    await queue.complete(work.fence);
  }
}

/** Opens a ledger for work on its queue, and for the appends of the others. */
export function openQueueLedger(path: string): Promise<Ledger> {
  return openLedger(path, { events: [jobEvents] });
}

/** Works until code is compiled. */
export async function warmUpQueue(backlog: Backlog): Promise<void> {
  for (let group = 0; group < 100; group++) {
    await backlog.fill(64);
    await Promise.all(Array.from({ length: 64 }, (_, worker) => backlog.work(`worker-${worker}`)));
  }
  await backlog.fill(200);
  for (let count = 0; count < 200; count++) await backlog.work("worker-0");
}
