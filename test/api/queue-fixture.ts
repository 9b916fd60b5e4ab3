/** A run queue on each store, with a clock that stands still until it is told, and what of it must not change. */
import { expect } from "vitest";
import { queue } from "../../projections/queue.js";
import type { Fence, Ledger, LedgerOptions, Store } from "../../src/index.js";
import { LedgerError } from "../../src/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import type { ManualClock } from "../../src/testing/manual-clock.js";
import { describeStores, open } from "../engine/fixture.js";

export const t0 = 3_600_000_000;
export const minute = 60_000;
export const hour = 60 * minute;

/** A ledger with its clock, which shows `t0`. */
export interface QueueWorld {
  readonly ledger: Ledger;
  readonly clock: ManualClock;
  readonly store: Store;
}

/** Runs the same tests over every store. */
export function describeQueues(
  title: string,
  body: (start: (options?: LedgerOptions) => Promise<QueueWorld>) => void,
): void {
  describeStores(title, (_, openStore) => {
    body(async (options = {}) => {
      const clock = manualClock(t0);
      const store = await openStore();
      return { ledger: await open(store, { clock, ...options }), clock, store };
    });
  });
}

/** The coded refusal that a call ends in. */
export async function refused(call: Promise<unknown>): Promise<LedgerError> {
  const error: unknown = await call.then(
    (answer) => new Error(`it must be refused, and answered ${JSON.stringify(answer)}`),
    (cause: unknown) => cause,
  );
  if (error instanceof LedgerError) return error;
  throw error;
}

/** Claims a run that is there to be claimed, and answers its fence. */
export async function claim(ledger: Ledger, holder: string, leaseMs = 1_000): Promise<Fence> {
  const claimed = await ledger.queue.claimNext({ holder, leaseMs });
  if (claimed === null) throw new Error(`there must be something to claim for ${holder}, found nothing`);
  return claimed.fence;
}

/** The run that a holder gets; null: none. */
export async function claimRun(ledger: Ledger, holder: string, leaseMs = 1_000): Promise<string | null> {
  return (await ledger.queue.claimNext({ holder, leaseMs }))?.item.runId ?? null;
}

/** The head, and all documents of the queue by each index. */
export async function stateOf(ledger: Ledger): Promise<unknown> {
  const { head } = await ledger.status();
  const all = await ledger.projection(queue).find({ limit: 1_000 });
  const indexes: Record<string, readonly string[]> = {};
  for (const index of queue.indexes.keys()) {
    const { documents } = await ledger.projection(queue).find({ index, limit: 1_000 });
    indexes[index] = documents.map(({ key }) => key);
  }
  return { head, documents: all.documents, indexes };
}

/** Is refused with this code, and leaves nothing. */
export async function refusesAndLeavesNothing(
  ledger: Ledger,
  call: () => Promise<unknown>,
  expected: object,
): Promise<void> {
  const before = await stateOf(ledger);
  expect(await refused(call())).toMatchObject(expected);
  expect(await stateOf(ledger)).toEqual(before);
}

/** Types of the events of the queue, in order. */
export async function eventsOf(ledger: Ledger): Promise<readonly string[]> {
  const events = await ledger.read({ from: 1 }).toArray();
  return events.filter(({ type }) => type !== "area.defined").map(({ type }) => type);
}

/** Deep verification finds nothing. */
export async function expectSound(ledger: Ledger): Promise<void> {
  const { verdict, findings } = await ledger.verify({ level: "deep" });
  expect({ verdict, findings }).toEqual({ verdict: "OK", findings: [] });
}
