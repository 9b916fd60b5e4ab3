/** The world of a simulation: one shared store, the processes that have it open, time, and luck. Everything is drawn from one seed;
 *  the production code runs, only the edges are fake. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../journal/store.js";
import { createMemoryStore } from "../../store/memory/store.js";
import { openSqliteStore } from "../../store/sqlite/store.js";
import { asyncMemoryStore } from "../async-memory-store.js";
import { seededFaults } from "../faults.js";
import type { FaultPlan, FaultRates } from "../faults.js";
import type { Draw } from "./draw.js";
import { Process, restTurns } from "./process.js";
import { Timers } from "./timers.js";

/** What processes share. @public */
export type SimulatedStore = "memory" | "async memory" | "sqlite";

/** A store that is simulated by name, or how it is opened: once for each process and once for who looks on. */
export type SharedStore = SimulatedStore | (() => Promise<Store>);

/** How bad the luck is, by name. */
const weathers: Readonly<Record<string, FaultRates>> = {
  calm: {},
  rough: { crash: 0.0005, full: 0.003, busy: 0.02, conflict: 0.02, lostReply: 0.02, slow: 0.05, slowMsMax: 0 },
  stormy: { crash: 0.003, full: 0.01, busy: 0.08, conflict: 0.05, lostReply: 0.08, slow: 0.2, slowMsMax: 0 },
};

/** How far clocks are apart, ms. */
const skews: readonly (readonly number[])[] = [[0], [0], [0, -3_000, 5_000], [0, -3_600_000, 7_200_000]];

export class World {
  readonly kind: SimulatedStore | "given";
  readonly processes: readonly Process[];
  readonly timers: Timers = new Timers();
  /** Milliseconds since the epoch, as nobody knows it. */
  now: number = Date.UTC(2026, 0, 1);
  /** Do faults strike, and does time pass inside of calls? */
  isStormy = false;
  private readonly draw: Draw;
  /** How often the first commits get no answer. */
  private readonly early: number;
  private commits = 0;
  private readonly skews: readonly number[];
  private readonly observer: Store;
  private readonly closing: (() => Promise<void> | void)[] = [];

  private constructor(kind: SharedStore, draw: Draw, stores: Stores) {
    this.kind = typeof kind === "string" ? kind : "given";
    this.draw = draw;
    this.skews = draw.one(skews);
    this.early = draw.one([0, 0.4]);
    this.observer = stores.observer;
    this.closing.push(...stores.closing);
    const rates = weathers[draw.weighed({ calm: 1, rough: 3, stormy: 2 })]!;
    let workers = 0;
    this.processes = stores.forProcesses.map(
      (store, index) =>
        new Process({
          number: index + 1,
          store,
          plan: this.plan(draw.for(`faults ${index}`), rates),
          now: () => this.now,
          timers: this.timers,
          skewMs: draw.one(this.skews),
          workers: Array.from({ length: draw.integer(1, 3) }, () => ({ name: `worker ${++workers}`, held: [] })),
        }),
    );
  }

  static async open(seed: number, kind: SharedStore, draw: Draw): Promise<World> {
    return new World(kind, draw, await openStores(kind, seed, draw.integer(1, 4)));
  }

  /** The position of the last entry; −1 before the first. */
  async head(): Promise<number> {
    const snapshot = await this.observer.snapshot();
    const head = await snapshot.head();
    await snapshot.release();
    return head?.seq ?? -1;
  }

  get store(): Store {
    return this.observer;
  }

  /** Those that can be asked something. */
  get alive(): readonly Process[] {
    return this.processes.filter(({ ledger, pausedUntil }) => ledger !== null && pausedUntil <= this.now);
  }

  get lowestClock(): number {
    return Math.min(...this.processes.map(({ clock }) => clock.now()));
  }

  /** Between calls: time goes on, processes die, stop and start, clocks are set. */
  async happen(): Promise<void> {
    const { draw, processes } = this;
    this.now += draw.one([0, 0, 1, 10, 1_000, 5_000, 31_000]);
    for (const process of processes) if (process.ledger === null && draw.chance(0.5)) await process.start();
    const process = draw.one(processes);
    switch (draw.weighed({ nothing: 80, kill: 4, restart: 4, stop: 6, set: 6 })) {
      case "kill":
        await process.kill();
        forget(process, draw);
        break;
      case "restart":
        await process.start();
        break;
      case "stop":
        process.pausedUntil = this.now + draw.one([2_000, 45_000, 900_000]);
        break;
      case "set":
        process.skewMs = draw.one(this.skews);
        break;
      case "nothing":
    }
    // When nobody can do anything, it is over with the pauses.
    if (this.alive.length === 0) await this.wake();
  }

  /** Time passes, and what becomes due on the way is called, one after the other. */
  async pass(ms: number): Promise<void> {
    const end = this.now + ms;
    await this.rest();
    for (let next = this.timers.next; next !== null && next <= end; next = this.timers.next) {
      this.now = Math.max(this.now, next);
      this.timers.fire();
      await this.rest();
    }
    this.now = Math.max(this.now, end);
  }

  /** Waits until no store is at work, nor was called for some turns of the event loop: then everybody waits for time. */
  async rest(): Promise<void> {
    let points = this.points;
    for (let quiet = 0; quiet < restTurns; quiet++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.points === points && this.processes.every(({ pending }) => pending === 0)) continue;
      points = this.points;
      quiet = 0;
    }
  }

  private get points(): number {
    return this.processes.reduce((sum, process) => sum + process.points, 0);
  }

  /** All of them run. */
  async wake(): Promise<void> {
    for (const process of this.processes) {
      process.pausedUntil = 0;
      for (let tries = 0; process.ledger === null && !(await process.start()); tries++)
        if (tries === 100) throw new Error("a process must start within a hundred tries, found none that did");
    }
  }

  async close(): Promise<void> {
    for (const process of this.processes) await process.end();
    for (const close of this.closing) await close();
  }

  private plan(draw: Draw, rates: FaultRates): FaultPlan {
    const faults = seededFaults(draw.integer(1, 2 ** 31), rates);
    return (point) => {
      if (!this.isStormy) return null;
      if (draw.chance(0.01)) this.now += draw.one([1, 50, 2_000, 40_000]);
      // While areas are new, processes write the same first entry: whose commit is it that is found?
      if (point.step === "commit" && this.commits++ < 8 && draw.chance(this.early)) return "lostReply";
      return faults(point);
    };
  }
}

/** What a worker knew is gone with its process; but somebody may have it still. */
function forget({ workers }: Process, draw: Draw): void {
  for (const { held } of workers) if (draw.chance(0.5)) held.length = 0;
}

interface Stores {
  readonly observer: Store;
  readonly forProcesses: readonly Store[];
  readonly closing: readonly (() => Promise<void> | void)[];
}

async function openStores(kind: SharedStore, seed: number, processes: number): Promise<Stores> {
  if (typeof kind === "function") return openEach(kind, processes);
  if (kind === "sqlite") {
    const directory = mkdtempSync(join(tmpdir(), "runledger-simulation-"));
    const { closing, ...opened } = await openEach(
      () => openSqliteStore(join(directory, "state.ledger"), { busyTimeoutMs: 0 }),
      processes,
    );
    return { ...opened, closing: [...closing, () => rmSync(directory, { recursive: true, force: true })] };
  }
  const observer = createMemoryStore();
  const store = kind === "memory" ? observer : asyncMemoryStore(seed, { store: observer, delayMsMax: 0 });
  return { observer, forProcesses: Array.from({ length: processes }, () => store), closing: [] };
}

async function openEach(open: () => Promise<Store>, processes: number): Promise<Stores> {
  const stores: Store[] = [];
  for (let number = 0; number <= processes; number++) stores.push(await open());
  const closing = stores.map((store) => () => store.close());
  return { observer: stores[0]!, forProcesses: stores.slice(1), closing };
}
