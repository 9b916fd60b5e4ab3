/** A store as a process sees it that may die: at one of its calls it stops answering, and what it had open is undone, as an
 *  operating system does for a process that was killed. What it had committed stands. */
import type { Store } from "../../src/index.js";
import type { StoreTransaction } from "../../src/journal/store.js";
import { LedgerError } from "../../src/kernel/errors.js";

export class Life {
  /** How many calls are left; a commit is two, before and after it takes effect. */
  callsLeft = Infinity;
  private open: StoreTransaction | null = null;

  get over(): boolean {
    return this.callsLeft <= 0;
  }

  /** Dies now. */
  async end(): Promise<void> {
    this.callsLeft = 0;
    await this.open?.rollback();
    this.open = null;
  }

  /** The store as this process sees it. */
  of(store: Store): Store {
    return this.guard(store, {
      begin: async () => {
        this.open = await store.begin();
        return this.transaction(this.open);
      },
      snapshot: async () => {
        const snapshot = await store.snapshot();
        return this.guard(snapshot, { release: () => snapshot.release() });
      },
      maintain: async () => {},
      close: async () => {},
    });
  }

  private transaction(open: StoreTransaction): StoreTransaction {
    return this.guard(open, {
      commit: async () => {
        await open.commit();
        this.open = null;
        await this.step();
      },
      rollback: async () => {
        await open.rollback();
        this.open = null;
      },
    });
  }

  private async step(): Promise<void> {
    if (--this.callsLeft > 0) return;
    await this.end();
    throw new LedgerError("CLOSED", "the process is dead");
  }

  /** Each call is a step; ending what is open costs nothing and always works. */
  private guard<Port extends object>(port: Port, methods: Partial<Port>): Port {
    const free = new Set<PropertyKey>(["release", "rollback", "close", "maintain"]);
    return new Proxy(port, {
      get: (target, name) => {
        const value: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name);
        if (typeof value !== "function") return value;
        const call = value.bind(target) as (...args: unknown[]) => Promise<unknown>;
        if (free.has(name)) return call;
        return async (...args: unknown[]) => {
          await this.step();
          return call(...args);
        };
      },
    });
  }
}
