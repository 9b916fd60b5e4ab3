/** The stores that every law of the engine is held to, and small tools to open ledgers on them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { DatabaseError } from "pg";
import { describe } from "vitest";
import { openLedger } from "../../src/index.js";
import type { Ledger, LedgerOptions, Store } from "../../src/index.js";
import type { FaultSeam } from "../../src/journal/store.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { asyncMemoryStore } from "../../src/testing/async-memory-store.js";
import type { AsyncMemoryStoreOptions } from "../../src/testing/index.js";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { onCleanup, onEndOfFile } from "../cleanups.js";
import { addressOf, dropJournal, freshName, sql } from "../postgres/journal.js";

/** Those that other processes open too, by the place where the journal is. */
export type SharedStoreName = "sqlite" | "postgres";
export const sharedStoreNames: readonly SharedStoreName[] = ["sqlite", "postgres"];

export type StoreName = "memory" | "async memory" | SharedStoreName;
export const storeNames: readonly StoreName[] = ["memory", "async memory", ...sharedStoreNames];

/** How many histories a property tries on a store, of so many in memory. In a file and where calls take turns each takes longer;
 *  on PostgreSQL each one makes a schema, and each read goes to another process. */
export function runsOn(name: StoreName, count: number): number {
  if (name === "postgres") return Math.max(2, Math.ceil(count / 10));
  return name === "memory" || process.env["RUNLEDGER_LONG"] === "1" ? count : Math.max(2, Math.ceil(count / 3));
}

/** Is the k-th of many things one of those that are tried, of which there is one in so many? On PostgreSQL one in four times as
 *  many. Which ones, the seed chooses. */
export function isTried(name: StoreName, k: number, oneIn: number): boolean {
  return (k + runSeed) % (name === "postgres" ? 4 * oneIn : oneIn) === 0;
}

/** At which of the steps that a whole run passed ("entries before", …) a process is killed, by their numbers from 1 on. Each kind of
 *  step at its first, or at its last, before or after it as the seed has it; commits on both sides; and one in so many of the rest.
 *  All of them in the long run. */
export function killedAt(
  name: SharedStoreName,
  steps: readonly string[],
  oneIn: number,
  place: "first" | "last" = "first",
): readonly number[] {
  const isOfKind = (step: string, index: number): boolean => {
    const [kind = ""] = step.split(" ");
    const moments = [...new Set(steps.filter((each) => each.startsWith(`${kind} `)))];
    const kinds = [...new Set(steps.map((each) => each.split(" ")[0]))];
    const isDrawn = kind === "commit" || step === moments[Math.abs(kinds.indexOf(kind) + runSeed) % moments.length];
    return isDrawn && index === (place === "first" ? steps.indexOf(step) : steps.lastIndexOf(step));
  };
  const isLong = process.env["RUNLEDGER_LONG"] === "1";
  return steps.flatMap((step, index) =>
    isLong || isOfKind(step, index) || isTried(name, index + 1, oneIn) ? [index + 1] : [],
  );
}

/** The one seed of this run, printed at its start. */
export const runSeed = Number(process.env["RUNLEDGER_SEED"]);

export { onCleanup };

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

/** The address of a journal of its own on the PostgreSQL of the run; gone after the test. */
export function journalUrl(): string {
  const name = freshName();
  onCleanup(() => dropJournal(name));
  return addressOf(name);
}

/** Where nothing is yet: a path, or the address of a journal. */
export function freshPlace(name: SharedStoreName): string {
  return name === "sqlite" ? ledgerPath() : journalUrl();
}

/** What both take that open a store by its place. */
export interface SharedStoreOptions {
  readonly readOnly?: boolean;
  readonly create?: boolean;
  readonly busyTimeoutMs?: number;
  readonly faults?: FaultSeam;
}

/** Opens a store by its place, as another process would. */
export function openShared(place: string, options: SharedStoreOptions = {}): Promise<Store> {
  return isJournalUrl(place) ? openPostgresStore(place, options) : openSqliteStore(place, options);
}

/** What fails underneath a store, as its driver says it. */
export function failureOf(name: SharedStoreName, what: "busy" | "full"): Error {
  if (name === "sqlite")
    return Object.assign(new Error(`injected: ${what}`), { code: what === "busy" ? "SQLITE_BUSY" : "SQLITE_FULL" });
  const error = new DatabaseError(`injected: ${what}`, 0, "error");
  return Object.assign(error, { code: what === "busy" ? "40001" : "53100" });
}

/** Changes rows of a journal behind its back, as a person at a shell would; no guard is in the way. */
export async function editRows(place: string, statement: string): Promise<void> {
  if (isJournalUrl(place)) {
    const journal = new URL(place).searchParams.get("journal")!;
    await sql(`SET search_path TO "${journal}"; SET session_replication_role = replica`);
    await sql(statement);
    await sql("RESET search_path; RESET session_replication_role");
    return;
  }
  const database = new Database(place);
  database.exec(statement);
  database.close();
}

function isJournalUrl(place: string): boolean {
  return place.startsWith("postgres:");
}

/** Counted in each file anew: what a seed leads to does not depend on which file came first. */
let stores = 0;

/** `luck`: how much trouble the async memory store makes. */
export async function openStore(name: StoreName, luck: AsyncMemoryStoreOptions = {}): Promise<Store> {
  if (stores === 0) onEndOfFile(() => void (stores = 0));
  const store =
    name === "memory"
      ? createMemoryStore()
      : name === "async memory"
        ? asyncMemoryStore(runSeed + ++stores, luck)
        : await openShared(freshPlace(name));
  onCleanup(() => store.close());
  return store;
}

export async function open(store: Store | string, options: LedgerOptions = {}): Promise<Ledger> {
  // A store may have a clock, beside which another one is for tests alone.
  const seams = options.clock === undefined ? {} : { testing: {} };
  const ledger = await openLedger(store, { ...seams, ...options });
  onCleanup(() => ledger.close());
  return ledger;
}

/** Runs the same tests over every store. */
export function describeStores(
  title: string,
  body: (
    openOne: (options?: LedgerOptions) => Promise<Ledger>,
    openStoreOf: (luck?: AsyncMemoryStoreOptions) => Promise<Store>,
    name: StoreName,
  ) => void,
): void {
  for (const name of storeNames) {
    describe(`${title}, on ${name}`, () => {
      body(
        async (options) => open(await openStore(name), options),
        (luck) => openStore(name, luck),
        name,
      );
    });
  }
}
