/** The example's area with types, and the built package by its own name: the example takes it from there, and what two copies
 *  of a library define is not the same. The types are those of the sources. */
import { fileURLToPath } from "node:url";
import type * as Projections from "../../projections/index.js";
import type * as Runledger from "../../src/index.js";
import type * as Postgres from "../../src/store/postgres/store.js";
import type * as Sqlite from "../../src/store/sqlite/store.js";
import type * as Testing from "../../src/testing/index.js";

const published = async <Module>(name: string): Promise<Module> => (await import(name)) as Module;

export const { openLedger } = await published<typeof Runledger>("runledger");
export const { replay } = await published<typeof Projections>("runledger/projections");
export const { asyncMemoryStore, describeCommands, describeProjection } =
  await published<typeof Testing>("runledger/testing");

/** The stores as they were built: a host names a place, and the laws want a store. */
const built = (store: string): string =>
  fileURLToPath(new URL(`../../dist/src/store/${store}/store.js`, import.meta.url));
export const { openSqliteStore } = await published<typeof Sqlite>(built("sqlite"));
export const { openPostgresStore } = await published<typeof Postgres>(built("postgres"));

export interface StockItem {
  readonly free: number;
  readonly reserved: readonly { readonly order: string; readonly count: number }[];
}

interface Stock {
  readonly stockEvents: Runledger.EventDefinitions;
  readonly stock: Projections.Projection<StockItem>;
  readonly receive: (input: object) => Runledger.Command<undefined>;
  readonly reserve: (input: object) => Runledger.Command<{ left: number }>;
  readonly area: Pick<Testing.CommandsSubject, "events" | "projections" | "commands">;
}

export const stockPath: string = fileURLToPath(new URL("stock.mjs", import.meta.url));
export const { area, receive, reserve, stock, stockEvents } = await published<Stock>(stockPath);
