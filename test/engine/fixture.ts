/** The stores that every law of the engine is held to, and small tools to open ledgers on them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe } from "vitest";
import { openLedger } from "../../src/index.js";
import type { Ledger, LedgerOptions, Store } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { asyncMemoryStore } from "../../src/testing/async-memory-store.js";
import type { AsyncMemoryStoreOptions } from "../../src/testing/index.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";

export type StoreName = "memory" | "async memory" | "sqlite";
export const storeNames: readonly StoreName[] = ["memory", "async memory", "sqlite"];

/** The one seed of this run, printed at its start. */
export const runSeed = Number(process.env["RUNLEDGER_SEED"]);

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

export function onCleanup(clean: () => Promise<void> | void): void {
  cleanups.push(clean);
}

/** A directory that is gone after the test. */
export function directory(): string {
  const path = mkdtempSync(join(tmpdir(), "runledger-test-"));
  onCleanup(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A path for a ledger in a directory of its own. */
export function ledgerPath(): string {
  return join(directory(), "state.ledger");
}

let stores = 0;

/** `luck`: how much trouble the async memory store makes. */
export async function openStore(name: StoreName, luck: AsyncMemoryStoreOptions = {}): Promise<Store> {
  const store =
    name === "memory"
      ? createMemoryStore()
      : name === "async memory"
        ? asyncMemoryStore(runSeed + ++stores, luck)
        : await openSqliteStore(ledgerPath(), {});
  onCleanup(() => store.close());
  return store;
}

export async function open(store: Store | string, options: LedgerOptions = {}): Promise<Ledger> {
  const ledger = await openLedger(store, options);
  onCleanup(() => ledger.close());
  return ledger;
}

/** Runs the same tests over every store. */
export function describeStores(
  title: string,
  body: (
    openOne: (options?: LedgerOptions) => Promise<Ledger>,
    openStoreOf: (luck?: AsyncMemoryStoreOptions) => Promise<Store>,
  ) => void,
): void {
  for (const name of storeNames) {
    describe(`${title}, on ${name}`, () => {
      body(
        async (options) => open(await openStore(name), options),
        (luck) => openStore(name, luck),
      );
    });
  }
}
