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
import type { Worker } from "./workload.js";

/** What a process is started with. */
export interface ProcessOptions {
  readonly number: number;
  readonly store: Store;
  readonly plan: FaultPlan;
  /** The time of the world, ms. */
  readonly now: () => number;
  readonly skewMs: number;
  readonly workers: readonly Worker[];
}

export class Process {
  readonly number: number;
  readonly clock: Clock;
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
      now: () => options.now() + this.skewMs,
      monotonic: () => options.now() - this.startedAt,
    };
  }

  /** Null: it is dead, or was not started. */
  get ledger(): Ledger | null {
    return this.front.crashed ? null : this.opened;
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

  /** Ends it, dead or alive. */
  async end(): Promise<void> {
    const ledger = this.opened;
    this.opened = null;
    await ledger?.close().catch(() => {}); // a dead one cannot
  }
}
