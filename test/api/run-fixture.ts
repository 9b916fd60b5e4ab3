/** What must not change when something about a run is refused. */
import { expect } from "vitest";
import type { Ledger } from "../../src/index.js";
import { refused } from "./queue-fixture.js";

/** The head, and every document of runs, attempts, definitions, captures and of the queue. */
async function stateOf(ledger: Ledger): Promise<unknown> {
  const names = ["run", "attempt", "definition", "session-capture", "queue"];
  const documents = names.map((name) => ledger.projection(name).find({ limit: 1_000 }));
  return { head: (await ledger.status()).head, documents: await Promise.all(documents) };
}

/** Is refused with this code, and leaves nothing but the record of a fence that was issued and is over. */
export async function leavesNothing(ledger: Ledger, call: () => Promise<unknown>, expected: object): Promise<void> {
  const before = await stateOf(ledger);
  expect(await refused(call())).toMatchObject(expected);
  expect(await stateOf(ledger)).toEqual(before);
}
