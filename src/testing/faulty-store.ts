/** A store in front of another, as a process sees it that has bad luck: disks that are full, locks that are not had, answers
 *  that are lost, and its own death. For hosts that want to know what they do then, and for the engine itself.
 *  Invariants: what is not struck passes unchanged; a dead process changes nothing any more; what it had committed stands,
 *  what it had open is undone, as an operating system does for a process that was killed. */
import { setTimeout as sleep } from "node:timers/promises";
import type { DocumentWrites } from "../journal/documents.js";
import type { DurableStep, Store, StoreSnapshot, StoreTransaction } from "../journal/store.js";
import { invalid, LedgerError } from "../kernel/errors.js";
import { canStrike } from "./faults.js";
import type { Fault, FaultPlan, FaultPoint } from "./faults.js";

/** A fault that struck. @public */
export interface StruckFault extends FaultPoint {
  readonly fault: Fault;
}

/** A store that has faults. @public */
export interface FaultyStore extends Store {
  /** Is the process that had it dead? Each call is then refused with `CLOSED`. */
  readonly crashed: boolean;
  /** What has struck, in order, over all lives. */
  readonly struck: readonly StruckFault[];
  /** How many points were passed, over all lives. */
  readonly points: number;
  /** How many calls are under way, of all lives. */
  readonly pending: number;
  /** Ends this life, when it has not ended yet, and begins another one on what is committed: what a new process sees. The
   *  plan goes on, or is replaced. */
  restart(plan?: FaultPlan): Promise<FaultyStore>;
}

/** The store with the faults of a plan. It closes the store underneath when it is closed alive. @public */
export function faultyStore(store: Store, plan: FaultPlan): FaultyStore {
  return new Life(store, { plan, points: 0, pending: 0, struck: [] }).port();
}

/** What outlives a process. */
interface Fate {
  plan: FaultPlan;
  points: number;
  pending: number;
  readonly struck: StruckFault[];
}

type Call = keyof Store | keyof StoreTransaction | keyof DocumentWrites | keyof StoreSnapshot;

/** The step that a call takes; a call that is not named reads. */
const steps: Readonly<Partial<Record<Call, DurableStep>>> = {
  begin: "begin",
  append: "entries",
  erase: "erase",
  putCheckpoint: "operational",
  putConsumer: "operational",
  deleteConsumer: "operational",
  putProjection: "projections",
  dropProjection: "projections",
  putFolded: "projections",
  putDocuments: "documents",
  commit: "commit",
  scrub: "scrub",
  maintain: "checkpoint",
  close: "close",
};

/** Calls that never throw, and what a dead process hears of them. */
const quiet: ReadonlyMap<string, unknown> = new Map<Call, unknown>([
  ["maintain", undefined],
  ["scrub", false],
  ["close", undefined],
]);

/** Calls that only let go of something: no points, and always allowed. */
const free: ReadonlySet<string> = new Set<Call>(["rollback", "release"]);

/** One life of a process: its store, until it dies. */
class Life {
  private readonly store: Store;
  private readonly fate: Fate;
  /** What is open, and how it is undone or let go of. */
  private readonly open = new Map<object, () => Promise<void>>();
  /** How those who listen hear no more. */
  private readonly listening = new Set<() => void>();
  private crashed = false;

  constructor(store: Store, fate: Fate) {
    this.store = store;
    this.fate = fate;
  }

  port(): FaultyStore {
    const { fate } = this;
    const isCrashed = (): boolean => this.crashed;
    const own = {
      get crashed() {
        return isCrashed();
      },
      get struck() {
        return fate.struck;
      },
      get points() {
        return fate.points;
      },
      get pending() {
        return fate.pending;
      },
      listen: (hint: (position: number) => void) => this.listen(hint),
      // Whoever writes goes on from a batch that is on its way, as on a store that can assume something; but nothing is assumed, for
      // whether that is worth it depends on how fast the machine is, which no plan may.
      assume: () => null,
      restart: async (plan: FaultPlan = fate.plan) => {
        await this.die();
        fate.plan = plan;
        return new Life(this.store, fate).port();
      },
    };
    const guarded = this.guard(this.store, {
      begin: async (streams) => {
        const transaction = await this.store.begin(streams);
        await this.keepOpen(transaction, () => transaction.rollback());
        return this.guard(transaction, {}, transaction);
      },
      snapshot: async (waitMs) => {
        const snapshot = await this.store.snapshot(waitMs);
        await this.keepOpen(snapshot, () => snapshot.release());
        return this.guard(snapshot, {});
      },
    });
    // What is not its own is the guarded store's.
    return new Proxy<Partial<FaultyStore>>(own, {
      get: (target, name) => Reflect.get(name in target ? target : guarded, name) as unknown,
    }) as FaultyStore;
  }

  /** Hints strike nobody: no points. A dead process hears none. */
  private listen(hint: (position: number) => void): () => void {
    if (this.crashed) return () => {};
    const stop = this.store.listen(hint);
    const end = (): void => {
      this.listening.delete(end);
      stop();
    };
    this.listening.add(end);
    return end;
  }

  /** The port, with a point before and after each call. */
  private guard<Port extends object>(port: Port, instead: Partial<Port>, transaction?: StoreTransaction): Port {
    return new Proxy(port, {
      get: (target, name) => {
        const value: unknown = Reflect.get(instead, name) ?? Reflect.get(target, name);
        if (typeof value !== "function") return value;
        const act = value.bind(target) as (...args: unknown[]) => Promise<unknown>;
        return async (...args: unknown[]) => {
          this.fate.pending++;
          try {
            return await this.call(String(name), target, () => act(...args), transaction);
          } finally {
            this.fate.pending--;
          }
        };
      },
    });
  }

  private async call(
    name: string,
    port: object,
    act: () => Promise<unknown>,
    transaction?: StoreTransaction,
  ): Promise<unknown> {
    if (free.has(name)) {
      this.open.delete(port);
      return this.crashed ? undefined : act();
    }
    try {
      const step = steps[name as Call] ?? "read";
      if ((await this.pass(step, "before", transaction)) === "busy" && quiet.has(name)) return quiet.get(name);
      const answer = await act();
      if (name === "commit") this.open.delete(port);
      await this.pass(step, "after", transaction);
      return answer;
    } catch (error) {
      if (!this.crashed) throw error;
      if (quiet.has(name)) return quiet.get(name);
      // What was under way when it died was undone meanwhile, which is nothing that a dead process hears of.
      throw dead();
    }
  }

  /** Passes a point: throws when something strikes there that a caller hears of. */
  private async pass(
    step: FaultPoint["step"],
    moment: FaultPoint["moment"],
    transaction: StoreTransaction | undefined,
  ): Promise<Fault | null> {
    if (this.crashed) throw dead();
    const point: FaultPoint = { step, moment, number: ++this.fate.points };
    const fault = this.fate.plan(point);
    if (fault === null) return null;
    if (!canStrike(fault, point)) throw invalid("plan", `a fault that can strike ${moment} ${step}`, fault);
    this.fate.struck.push({ ...point, fault });
    switch (fault) {
      case "crash":
        await this.die();
        throw dead();
      case "full":
        throw new LedgerError("STORE_FULL", "the disk must have room, found none");
      case "busy":
        if (step === "scrub") return fault;
        throw new LedgerError("STORE_BUSY", "the write lock must be free, found another writer");
      case "conflict":
        await transaction?.rollback();
        throw new LedgerError("STORE_BUSY", "the transaction could not be serialised", { hint: "decide again" });
      case "lostReply":
        await transaction?.rollback();
        throw new LedgerError("STORE_UNAVAILABLE", "the connection was lost while the commit was on its way");
      default:
        await (fault.slow === 0 ? new Promise((resolve) => setImmediate(resolve)) : sleep(fault.slow));
        if (this.crashed) throw dead();
        return fault;
    }
  }

  /** What was opened while the process died is undone with the rest. */
  private async keepOpen(port: object, undo: () => Promise<void>): Promise<void> {
    this.open.set(port, undo);
    if (!this.crashed) return;
    await this.die();
    throw dead();
  }

  private async die(): Promise<void> {
    this.crashed = true;
    for (const end of this.listening) end();
    const open = [...this.open.values()];
    this.open.clear();
    for (const undo of open) await undo();
  }
}

function dead(): LedgerError {
  return new LedgerError("CLOSED", "the process must be alive, found it dead");
}
