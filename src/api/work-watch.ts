/** Waiting for work without asking for it all the time: one look for all idle hands of a worker, behind each commit of this
 *  process or another, at the next due time, and at the latest after `pollMs`. A look reads a snapshot and takes no lock.
 *  Invariants: who waits is woken one at a time, for one item is one hand's work, and the next when that one has claimed;
 *  what was looked for in vain at one position is not looked for again before something changed. */
import type { Scheduled } from "../kernel/clock.js";
import type { FindQuery } from "../../projections/define-projection.js";
import { queue } from "../../projections/queue.js";
import type { QueueItem } from "../../projections/queue.js";
import type { ClaimSource } from "./worker-claim.js";
import { backoffMs } from "./worker-retry.js";

/** When nothing was found. */
export interface Vain {
  readonly position: number;
  /** Engine time. */
  readonly at: number;
}

/** Between two looks, so that whoever waits beside thousands of commits that do not concern it does not slow them down. */
const gapMs = 5;
const retry = { baseMs: 100, maxMs: 30_000 };

export class WorkWatch {
  private readonly source: ClaimSource & { readonly pollMs: number };
  private readonly idle: (() => void)[] = [];
  /** Ends each wait that is going on. */
  private readonly waits = new Set<() => void>();
  private looking = false;
  private ended = false;
  /** When somebody claimed in vain last, unless it is time to try again. */
  private vain: Vain | null = null;

  constructor(source: ClaimSource & { readonly pollMs: number }) {
    this.source = source;
  }

  /** Resolves when there may be something to claim, for who found nothing; or when it ends. */
  work(vain: Vain): Promise<void> {
    if (this.ended) return Promise.resolve();
    this.vain = vain;
    return new Promise((resolve) => {
      this.idle.push(resolve);
      this.look();
    });
  }

  /** Somebody has claimed something: there may be more. */
  more(): void {
    this.vain = null;
    this.look();
  }

  /** Resolves after a while, or when it ends. */
  async rest(ms: number): Promise<void> {
    if (ms > 0) await this.wait(ms, null);
  }

  /** Nobody waits any longer. */
  end(): void {
    this.ended = true;
    for (const wake of [...this.idle.splice(0), ...this.waits]) wake();
  }

  private look(): void {
    if (this.looking || this.idle.length === 0) return;
    this.looking = true;
    void this.untilWork().then(() => {
      this.looking = false;
      this.idle.shift()?.();
    });
  }

  /** Resolves when somebody should claim. Never rejects. */
  private async untilWork(): Promise<void> {
    const { engine, clock, reports, pollMs, chance } = this.source;
    for (let failures = 0; !this.ended;) {
      try {
        const { position, at } = await engine.moment();
        const { vain } = this;
        // Where nothing was written since somebody claimed in vain, only what came due since then is new.
        const due = vain?.position === position ? await this.dueAfter(vain.at) : await this.dueAt();
        failures = 0;
        if (due <= at) {
          // Claimed for in vain at this very head: the writer may have seen it later than this look, and has a time behind ours.
          if (vain?.position === position) await this.rest(gapMs);
          return;
        }
        const lookedAt = clock.monotonic();
        if (await this.wait(Math.min(due - at, pollMs), position)) this.vain = null;
        else await this.rest(lookedAt + gapMs - clock.monotonic());
      } catch (error) {
        if (this.ended) return;
        reports.tell(error, "look");
        await this.rest(backoffMs(retry, failures++, chance()));
      }
    }
  }

  /** Resolves after a while, with true, when the journal goes on behind a position, or when it ends. */
  private async wait(ms: number, position: number | null): Promise<boolean> {
    if (this.ended) return false;
    let timer: Scheduled | null = null;
    let stop = (): void => {};
    let wake = (): void => {};
    try {
      return await new Promise<boolean>((resolve) => {
        wake = () => resolve(false);
        this.waits.add(wake);
        timer = this.source.clock.schedule(ms, () => resolve(true));
        if (position !== null) stop = this.source.engine.heads.wait(position, wake);
      });
    } finally {
      this.waits.delete(wake);
      (timer as Scheduled | null)?.cancel();
      stop();
    }
  }

  /** The engine time at which something can be claimed. */
  private async dueAt(): Promise<number> {
    const [ready] = await this.first({ index: "ready" });
    if (ready !== undefined) return -Infinity;
    return this.dueAfter(-1);
  }

  /** The same, of what comes after a moment. */
  private async dueAfter(at: number): Promise<number> {
    const range = { gt: at };
    const [later] = await this.first({ index: "later", range });
    const [expiring] = await this.first({ index: "expiring", range });
    return Math.min(later?.availableAt ?? Infinity, expiring?.claim?.expiresAt ?? Infinity);
  }

  private async first(query: FindQuery): Promise<readonly QueueItem[]> {
    const { documents } = await this.source.engine.projection(queue).find({ ...query, limit: 1 });
    return documents.map(({ document }) => document);
  }
}
