/** A process of the simulation: a ledger on a store that others have open too, a clock of its own, and the workers that live in it.
 *  When it dies, its open transaction is undone, its ledger and what its workers knew are gone, and what was committed stands. */
import type { Ledger } from "../../api/ledger.js";
import type { Store } from "../../journal/store.js";
import type { Clock } from "../../kernel/clock.js";
import { LedgerError } from "../../kernel/errors.js";
import { openLedger } from "../../open-ledger.js";
import type { FaultPlan } from "../faults.js";
import { faultyStore } from "../faulty-store.js";
import type { FaultyStore } from "../faulty-store.js";
import { seededBytes } from "../seeded.js";
import type { Timers } from "./timers.js";
import type { Worker } from "./workload.js";

/** What a process is started with. */
export interface ProcessOptions {
  readonly number: number;
  readonly store: Store;
  readonly plan: FaultPlan;
  /** The time of the world, ms. */
  readonly now: () => number;
  readonly timers: Timers;
  readonly skewMs: number;
  readonly workers: readonly Worker[];
}

/** Between two calls of a store nobody takes more turns of the event loop, but for who waits for time. */
export const restTurns = 8;

export class Process {
  readonly number: number;
  readonly clock: Required<Clock>;
  readonly workers: readonly Worker[];
  /** Not before this moment of the world does it go on. */
  pausedUntil = 0;
  skewMs: number;
  crashes = 0;
  private readonly options: ProcessOptions;
  private readonly randomBytes: (size: number) => Uint8Array;
  private front: FaultyStore;
  private opened: Ledger | null = null;
  private startedAt: number;

  constructor(options: ProcessOptions) {
    this.options = options;
    this.number = options.number;
    this.workers = options.workers;
    this.skewMs = options.skewMs;
    this.front = faultyStore(options.store, options.plan);
    this.randomBytes = seededBytes(options.number);
    this.startedAt = options.now();
    this.clock = {
      // Timers may be due between two ms.
      now: () => Math.floor(options.now()) + this.skewMs,
      monotonic: () => options.now() - this.startedAt,
      schedule: (ms, callback) => options.timers.schedule(this, options.now() + ms, callback),
    };
  }

  /** Null: it is dead, or was not started. */
  get ledger(): Ledger | null {
    return this.front.crashed ? null : this.opened;
  }

  /** How many calls of its store began and ended so far. */
  get points(): number {
    return this.front.points;
  }

  /** How many calls of its store are under way. */
  get pending(): number {
    return this.front.pending;
  }

  get struck(): number {
    return this.front.struck.length;
  }

  /** Starts it, again or for the first time; false when bad luck kept it from starting. */
  async start(): Promise<boolean> {
    await this.end();
    this.front = await this.front.restart();
    this.startedAt = this.options.now();
    try {
      this.opened = await openLedger(this.front, {
        origin: "testing/simulation",
        clock: this.clock,
        // Waiting is for real time, which stands still here: who finds the lock taken is told so at once.
        busyTimeoutMs: 0,
        testing: { randomBytes: this.randomBytes },
      });
      return true;
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error;
      return false;
    }
  }

  /** It is killed: whoever waits for it hears of it. */
  async kill(): Promise<void> {
    this.crashes++;
    this.front = await this.front.restart();
    await this.end();
  }

  /** Ends it, dead or alive. What waits for a time that does not come any more, as what handlers of workers do, is left behind. */
  async end(): Promise<void> {
    const ledger = this.opened;
    this.opened = null;
    this.options.timers.drop(this);
    if (ledger === null) return;
    const closing = { over: false };
    const closed = (): void => void (closing.over = true); // a dead one cannot be closed
    ledger.close().then(closed, closed);
    let points = this.points;
    for (let quiet = 0; quiet < restTurns && !closing.over; quiet++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (points !== this.points || this.pending > 0) quiet = 0;
      points = this.points;
    }
    this.options.timers.drop(this);
  }
}
