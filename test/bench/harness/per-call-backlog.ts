/** What `Backlog` is, on the per-call store: each step a transaction of its own. */
import { openPerCallStore } from "../limits/per-call-store.js";
import type { PerCallStore } from "../limits/per-call-store.js";
import { itemName } from "./events.js";

export class PerCallBacklog {
  private readonly store: PerCallStore;
  private readonly size: number;
  private made = 0;
  private left = 0;

  constructor(path: string, size: number) {
    this.store = openPerCallStore(path);
    this.size = size;
  }

  /** Enqueues what is missing to the size, and `more`. */
  fill(more: number): void {
    for (; this.left < this.size + more; this.left++) this.store.enqueue(itemName(this.made++));
  }

  work(worker: string): void {
    const run = this.store.claim(worker, Date.now());
    if (run === null) throw new Error("an item that waits must be claimed");
    this.left--;
    this.store.renew(run, worker, Date.now() + 60_000);
    this.store.complete(run, worker);
  }

  close(): void {
    this.store.close();
  }
}
