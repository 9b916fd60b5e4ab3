/** The law of receipts: however commands are sent again, by whom, and whatever happens to the store meanwhile, each id has at
 *  most one receipt and one set of events, and everybody who was answered was told the same. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { Ledger, LedgerError } from "../../src/index.js";
import { asyncMemoryStore } from "../../src/testing/async-memory-store.js";
import { seededFaults } from "../../src/testing/faults.js";
import type { FaultRates } from "../../src/testing/faults.js";
import { faultyStore } from "../../src/testing/faulty-store.js";
import type { FaultyStore } from "../../src/testing/faulty-store.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { fail, note, place, withOrders } from "./orders.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
const runs = { numRuns: long ? 150 : 15 };

/** One call: an id, which says what kind of command it is, and one of two inputs for it; by one of two ledgers. */
interface Send {
  readonly id: number;
  readonly variant: 0 | 1;
  readonly by: 0 | 1;
}

interface Told {
  readonly send: Send;
  /** What it was answered, without whether it was adopted; null: it is not known what became of it. */
  readonly answer: object | null;
  readonly adopted: boolean;
}

const kinds = 4;
const send: fc.Arbitrary<Send> = fc.record({
  id: fc.nat({ max: 7 }),
  variant: fc.constantFrom(0 as const, 0 as const, 0 as const, 1 as const),
  by: fc.constantFrom(0 as const, 1 as const),
});
const waves = fc.array(fc.array(send, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 8 });

/** Refusals that are nobody's receipt. */
const passing: ReadonlySet<string> = new Set(["NO_STAFF", "IDEMPOTENCY_CONFLICT"]);
const isPassing = (told: Told): boolean => passing.has(codeOf(told) ?? "");
const isRefusal = (code: string): boolean => code === "NEVER" || code === "ALREADY_PLACED" || passing.has(code);

async function carryOut(ledger: Ledger, { id, variant }: Send): Promise<object> {
  const options = { id: `c${id}` };
  const input = { order: `o${id}`, total: variant };
  switch (id % kinds) {
    case 0:
      return ledger.execute(place(input), options);
    case 1:
      return ledger.execute([place(input), note({ order: input.order, text: "x" })], options);
    case 2:
      return ledger.execute(fail({ how: "good", secret: variant }), options);
    default:
      return ledger.execute(fail({ how: "moment", secret: variant }), options);
  }
}

async function tell(ledger: Ledger, each: Send): Promise<Told> {
  try {
    const { adopted, ...answer } = (await carryOut(ledger, each)) as { readonly adopted: boolean };
    return { send: each, answer, adopted };
  } catch (error) {
    const { code, message, details, adopted } = error as LedgerError;
    const answer = isRefusal(code) ? { code, message, details } : null;
    return { send: each, answer, adopted };
  }
}

function codeOf({ answer }: Told): string | null {
  return answer !== null && "code" in answer ? String(answer.code) : null;
}

/** Opens ledgers on the store as it lives, however often that takes. */
async function openBoth(
  first: FaultyStore,
): Promise<{ readonly store: FaultyStore; readonly ledgers: readonly Ledger[] }> {
  for (let store = first; ;) {
    if (store.crashed) store = await store.restart();
    const ledgers: Ledger[] = [];
    try {
      for (let by = 0; by < 2; by++) ledgers.push(await openLedger(store, { ...withOrders, busyTimeoutMs: 50 }));
      return { store, ledgers };
    } catch {
      await Promise.all(ledgers.map((ledger) => ledger.close()));
    }
  }
}

/** Sends wave after wave, opening anew what died, and answers what everybody was told. */
async function live(first: FaultyStore, history: readonly (readonly Send[])[]): Promise<[FaultyStore, Told[]]> {
  const told: Told[] = [];
  let { store, ledgers } = await openBoth(first);
  for (const wave of history) {
    told.push(...(await Promise.all(wave.map((each) => tell(ledgers[each.by]!, each)))));
    if (!store.crashed) continue;
    await Promise.all(ledgers.map((ledger) => ledger.close()));
    ({ store, ledgers } = await openBoth(store));
  }
  await Promise.all(ledgers.map((ledger) => ledger.close()));
  return [await store.restart(() => null), told];
}

async function check(store: FaultyStore, told: readonly Told[]): Promise<void> {
  const ledger = await openLedger(store, withOrders);
  for (let id = 0; id < 8; id++) {
    const mine = told.filter((each) => each.send.id === id);
    const receipts = await ledger.readStream("client/default").toArray();
    const own = receipts.filter(({ data }) => data["id"] === `c${id}`);
    const events = await ledger.readStream(`order/o${id}`).toArray();
    const answered = mine.filter((each) => each.answer !== null && !isPassing(each));

    expect(own.length).toBeLessThanOrEqual(1);
    expect(mine.map(codeOf)).not.toContain("ALREADY_PLACED");
    const isAccepted = own[0]?.data["outcome"] === "accepted";
    expect(events.length).toBe(isAccepted ? [1, 3][id % kinds]! : 0);
    if (id % kinds === 3) expect([own.length, answered.length]).toEqual([0, 0]);
    // Whoever was answered was told the same, and only the input that came first was.
    if (answered.length > 0) expect(own.length).toBe(1);
    for (const {
      answer,
      send: { variant },
    } of answered) {
      expect(answer).toEqual(answered[0]!.answer);
      expect(variant).toBe(answered[0]!.send.variant);
    }
    expect(answered.filter(({ adopted }) => !adopted).length).toBeLessThanOrEqual(1);
    // A conflict is told to the other input alone.
    const winner = answered[0]?.send.variant;
    for (const each of mine)
      if (codeOf(each) === "IDEMPOTENCY_CONFLICT" && winner !== undefined) expect(each.send.variant).not.toBe(winner);

    const again = await tell(ledger, { id, variant: winner ?? 0, by: 0 });
    if (answered.length > 0) expect(again).toMatchObject({ answer: answered[0]!.answer, adopted: true });
    else if (own.length === 0) expect(again.adopted).toBe(false);
  }
  expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });
  await ledger.close();
}

const rates: readonly (readonly [string, FaultRates])[] = [
  ["of lost replies", { lostReply: 0.3, conflict: 0.1 }],
  ["of crashes", { crash: 0.02, lostReply: 0.05 }],
  ["of all kinds", { crash: 0.01, full: 0.02, busy: 0.05, conflict: 0.05, lostReply: 0.05, slow: 0.2, slowMsMax: 0 }],
];

test.each(rates)(
  "F01 any order of sending again and %s leaves each id one receipt and one set of events",
  { timeout: 300_000 },
  async (_title, faults) => {
    await fc.assert(
      fc.asyncProperty(waves, fc.integer({ min: 1, max: 2 ** 31 - 1 }), fc.boolean(), async (history, seed, isSlow) => {
        const inner = isSlow ? asyncMemoryStore(seed) : createMemoryStore();
        const [store, told] = await live(faultyStore(inner, seededFaults(seed, faults)), history);
        await check(store, told);
        await store.close();
      }),
      runs,
    );
  },
);
