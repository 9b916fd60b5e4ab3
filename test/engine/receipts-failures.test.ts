/** Commands with ids when the store fails at each point in turn, when nobody knows what became of a commit, and when the
 *  receipts are not at hand. */
import { describe, expect, test } from "vitest";
import type { Ledger, LedgerError } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { faultAt } from "../../src/testing/faults.js";
import type { Fault, FaultPlan } from "../../src/testing/faults.js";
import { faultyStore } from "../../src/testing/faulty-store.js";
import { describeStores, open, runSeed } from "./fixture.js";
import { appendRaw } from "./raw-append.js";
import { echo, fail, orders, place, withOrders } from "./orders.js";

/** Every point in the long run, every fourth otherwise. */
const step = process.env["RUNLEDGER_LONG"] === undefined ? 4 : 1;
const c1 = { id: "c1" };
const order = { order: "7", total: 1 };
const codeOf = (error: unknown): string => (error as LedgerError).code;

async function countOf(ledger: Ledger, type: string): Promise<number> {
  return (await ledger.read({ types: [type] }).toArray()).length;
}

test.each<Fault>(["crash", "full", "busy", "conflict", "lostReply"])(
  "a command and a refusal that are struck by %s at any point are sent again and carried out once",
  async (fault) => {
    let struck = 0;
    for (let number = 1 + (runSeed % step); ; number += step) {
      const store = faultyStore(createMemoryStore(), faultAt(number, fault));
      let living = store;
      const told: unknown[] = [];
      // The first may die while it opens.
      for (let attempt = 0; attempt < 2; attempt++) {
        try {
          const ledger = await open(living, { ...withOrders, busyTimeoutMs: 50 });
          told.push(...(await Promise.all([0, 1].map(() => ledger.execute(place(order), c1)))));
          told.push(await ledger.execute(fail({ how: "good" }), { id: "c2" }).catch(codeOf));
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/^(CLOSED|STORE_.*)$/) as string });
        }
        if (living.crashed) living = await living.restart();
      }
      const ledger = await open(await living.restart(() => null), withOrders);
      const { adopted, ...answer } = await ledger.execute(place(order), c1);

      const answers = told.filter((each): each is typeof answer => typeof each === "object");
      for (const each of answers) expect(each).toMatchObject(answer);
      if (answers.length > 0) expect(adopted).toBe(true);
      expect(await countOf(ledger, "order.placed")).toBe(1);
      expect(await countOf(ledger, "receipt.recorded")).toBeLessThanOrEqual(2);
      expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });
      if (store.struck.length === 0) break;
      struck++;
    }
    expect(struck).toBeGreaterThan(1);
  },
);

describe("after a commit of which nobody knows", () => {
  test.each([
    ["before", false],
    ["after", false],
    ["before", true],
    ["after", true],
  ] as const)("whether it happened (answer lost %s it, refused: %s), the id tells", async (moment, isRefused) => {
    let isArmed = false;
    let isAway = false;
    const plan: FaultPlan = (point) => {
      if (isAway && point.step === "begin" && point.moment === "before") return "busy";
      if (!isArmed || point.step !== "commit" || point.moment !== moment) return null;
      [isArmed, isAway] = [false, true];
      return "lostReply";
    };
    const ledger = await open(faultyStore(createMemoryStore(), plan), { ...withOrders, busyTimeoutMs: 50 });
    await ledger.execute(echo({ answer: 1 }), { id: "c0" });
    isArmed = true;

    const call = (): Promise<unknown> => ledger.execute(isRefused ? fail({ how: "good" }) : place(order), c1);
    const first = await call().catch(codeOf);
    isAway = false;
    const again = await call().catch((error: unknown) => error);

    expect(first).toBe("STORE_IN_DOUBT");
    expect(again).toMatchObject({ adopted: moment === "after", ...(isRefused ? { code: "NEVER" } : { revision: 1 }) });
    expect(await countOf(ledger, "order.placed")).toBe(isRefused ? 0 : 1);
    expect(await countOf(ledger, "receipt.recorded")).toBe(2);
  });
});

test("a receipt that is not as it was written refuses who sends its id, and nobody else", async () => {
  const store = createMemoryStore();
  const ledger = await open(store, withOrders);
  await appendRaw(store, "client/default", "receipt.recorded", { id: "c80", outcome: "accepted" });
  const salt = { $content: "0".repeat(64), bytes: 32, n: 7 };
  const forged = { id: "c90", name: "order.place", fingerprint: "0".repeat(64), salt, outcome: "accepted" };
  await appendRaw(store, "client/default", "receipt.recorded", forged);

  // Late among many, so that they share a batch with others.
  const ids = Array.from({ length: 100 }, (_, index) => `c${index}`);
  const sent = await Promise.allSettled(ids.map((id) => ledger.execute(echo({ answer: id }), { id })));

  for (const [index, each] of sent.entries()) {
    const isForged = index === 80 || index === 90;
    expect(each).toMatchObject(isForged ? { reason: { code: "STORE_DAMAGED" } } : { value: { adopted: false } });
  }
  await expect(ledger.receipt("c80")).rejects.toMatchObject({ code: "STORE_DAMAGED" });
});

describeStores("receipts that are not at hand", (openOne, openStoreOf) => {
  test("an id that waits in the queue behind a whole batch is adopted in a later one", async () => {
    const ledger = await openOne(withOrders);

    const first = ledger.execute(place(order), c1);
    const between = Array.from({ length: 600 }, () => ledger.append("thing/1", [{ type: "thing.happened" }]));
    const again = ledger.execute(place(order), c1);

    await Promise.all(between);
    expect(await again).toEqual({ ...(await first), adopted: true });
  });

  test("the first id on a long journal waits until the receipts of it are folded", async () => {
    const store = await openStoreOf();
    const writer = await open(store, withOrders);
    const first = await writer.execute(place(order), c1);
    const plain = await open(store, { events: [], projections: [] });
    for (let from = 0; from < 3; from++) {
      const events = Array.from({ length: 500 }, () => ({ type: "thing.happened" }));
      await plain.append("thing/1", events);
    }

    const late = await open(store, withOrders);
    const [again, other] = await Promise.all([
      late.execute(place(order), c1),
      late.execute(place({ order: "8", total: 1 }), { id: "c2" }),
    ]);

    expect(again).toEqual({ ...first, adopted: true });
    expect(other.adopted).toBe(false);
  });

  test("ids on a journal that had none before are looked for in all of it", async () => {
    const store = await openStoreOf();
    const plain = await open(store, {});
    for (let from = 0; from < 3; from++)
      await plain.append(
        "thing/1",
        Array.from({ length: 500 }, () => ({ type: "thing.happened" })),
      );

    const ledger = await open(store, withOrders);
    const sent = await Promise.all([0, 1, 2].map(() => ledger.execute(place(order), c1)));

    expect(sent.map(({ adopted }) => adopted).filter((adopted) => !adopted).length).toBe(1);
    expect(await ledger.projection(orders).get("order/7")).toEqual({ total: 1, notes: 0 });
    expect(await ledger.receipt("c1")).toMatchObject({ position: sent[0]!.position });
  });
});
