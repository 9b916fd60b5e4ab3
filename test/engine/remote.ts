/** A store that says that its reads are round trips, and tells what was asked of it. */
import type { Store } from "../../src/index.js";

/** What was asked in one transaction, or of one snapshot: names of calls, in their order. */
export interface Asked {
  readonly of: "transaction" | "snapshot";
  readonly calls: string[];
}

export interface RemoteStore {
  readonly store: Store;
  /** All that was asked since it was emptied last. */
  readonly asked: Asked[];
}

/** `meanwhile`: called with each snapshot, after it was taken. */
export function remoteStore(store: Store, meanwhile: () => Promise<void> | void = () => {}): RemoteStore {
  const asked: Asked[] = [];
  const noting = <Port extends object>(port: Port, of: Asked["of"]): Port => {
    const calls: string[] = [];
    asked.push({ of, calls });
    return over(port, (name) => void calls.push(name));
  };
  const own = {
    remote: true,
    begin: async () => noting(await store.begin(), "transaction"),
    snapshot: async (waitMs?: number) => {
      const snapshot = await store.snapshot(waitMs);
      await meanwhile();
      return noting(snapshot, "snapshot");
    },
  };
  return {
    asked,
    store: new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(own, name) ?? Reflect.get(target, name);
        return typeof value === "function" && !(name in own) ? (value.bind(target) as unknown) : value;
      },
    }),
  };
}

function over<Port extends object>(port: Port, note: (name: string) => void): Port {
  return new Proxy(port, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        note(String(name));
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
}

/** What a transaction was asked to read: what came with the lock, and what is written, is not counted. */
export function readsOf({ calls }: Asked): readonly string[] {
  return calls.filter((name) => !withLock.has(name) && !writes.has(name));
}

const withLock: ReadonlySet<string> = new Set(["head", "folded"]);
const writes: ReadonlySet<string> = new Set([
  "append",
  "erase",
  "addProjection",
  "putProjection",
  "putFolded",
  "putDocuments",
  "commit",
  "rollback",
]);
