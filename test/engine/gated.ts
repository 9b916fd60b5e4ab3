import type { Store } from "../../src/index.js";

/** A store whose snapshots hand out so many pages of entries, and the next ones when the gate is opened: builds wait there. */
export function gated(store: Store, pages: number): { readonly store: Store; readonly openGate: () => void } {
  let left = pages;
  let openGate = (): void => {};
  const opened = new Promise<void>((resolve) => (openGate = resolve));
  const over = <Port extends object>(port: Port, own: Partial<Port>): Port =>
    new Proxy(port, {
      get: (target, name) => {
        const value: unknown = Reflect.get(own, name) ?? Reflect.get(target, name);
        return typeof value === "function" && !(name in own) ? (value.bind(target) as unknown) : value;
      },
    });
  const snapshot: Store["snapshot"] = async () => {
    const reads = await store.snapshot();
    return over(reads, {
      entries: async (from, limit) => {
        if (left-- <= 0) await opened;
        return reads.entries(from, limit);
      },
    });
  };
  return { store: over(store, { snapshot }), openGate };
}
