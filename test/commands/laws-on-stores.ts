/** The laws of commands over each store: many histories on memory, and a few where they take longer. */
import { describe, test } from "vitest";
import { describeCommands } from "../../src/testing/index.js";
import type { CommandsSubject } from "../../src/testing/index.js";
import { openStore, runsOn, storeNames } from "../engine/fixture.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;

export function describeOnStores(name: string, subject: CommandsSubject): void {
  for (const store of storeNames) {
    const numRuns = store === "memory" ? (long ? 200 : 10) : long ? runsOn(store, 30) : 1;
    const open = async () => ({ store: await openStore(store), dispose: async () => {} });
    describeCommands(`${name}, on ${store},`, { ...subject, numRuns, open }, { describe, test });
  }
}
