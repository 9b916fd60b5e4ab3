/** Commits that fail, that give no answer, or that must be done again: what callers are told is what is stored, documents are
 *  the fold of the journal, and what is decided again has the same bytes. */
import { describe, expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import { content, LedgerError } from "../../src/index.js";
import type { Ledger, LedgerEvent, LedgerOptions, Store } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { faultAt } from "../../src/testing/faults.js";
import type { Fault } from "../../src/testing/faults.js";
import { faultyStore } from "../../src/testing/faulty-store.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { seededBytes } from "../../src/testing/seeded.js";
import { accounts, ask, bank, deposit, openAccount, transfer } from "./bank.js";
import { describeStores, open, openStore } from "./fixture.js";
import { storedTable } from "./tables.js";

/** What is injected, so that the same calls give the same bytes. */
const fixed = (): LedgerOptions => ({
  ...bank,
  origin: "test/bank",
  clock: manualClock(1_000),
  testing: { randomBytes: seededBytes(7) },
});

/** Calls that share a batch: some accepted, some refused, one list, one that throws. */
function callAll(ledger: Ledger): Promise<PromiseSettledResult<unknown>[]> {
  return Promise.allSettled([
    ledger.execute(openAccount({ account: "a", owner: "ada" })),
    ledger.append("log/1", [{ type: "log.written", data: { text: content("hello") } }]),
    ledger.execute([
      openAccount({ account: "b", owner: "bob" }),
      deposit({ account: "b", cents: 9, note: content("x") }),
    ]),
    ledger.execute(transfer({ from: "a", to: "b", cents: 1 })),
    ledger.execute(deposit({ account: "a", cents: 666 })),
    ledger.execute(deposit({ account: "a", cents: 3, note: content("y") })),
  ]);
}

const told = (results: readonly PromiseSettledResult<unknown>[]): readonly string[] =>
  results.map((result) => {
    if (result.status === "fulfilled") return "done";
    return result.reason instanceof LedgerError ? result.reason.code : String(result.reason);
  });

/** How many entries the callers know of. */
const acknowledged = (results: readonly PromiseSettledResult<unknown>[]): number =>
  results.reduce(
    (sum, result) => sum + (result.status === "fulfilled" ? (result.value as { readonly count: number }).count : 0),
    0,
  );

const ids = async (ledger: Ledger): Promise<readonly string[]> => (await ledger.read().toArray()).map(({ id }) => id);

/** A naive fold: nothing of the engine's own. */
function balances(events: readonly LedgerEvent[]): Readonly<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const { type, data } of events) {
    const { account, cents } = data as { readonly account: string; readonly cents: number };
    if (type === "bank.opened") found[account] = 0;
    if (type === "bank.deposited") found[account]! += cents;
    if (type === "bank.withdrawn") found[account]! -= cents;
  }
  return found;
}

async function expectFolded(ledger: Ledger, store: Store): Promise<void> {
  await ledger.execute(transfer({ from: "nobody", to: "nobody", cents: 1 })).catch(() => {});
  const events = await ledger.read().toArray();
  const { documents } = await storedTable(store, accounts);
  const kept = Object.entries(documents).map(([key, document]) => [
    key,
    (document as { readonly balance: number }).balance,
  ]);
  expect(Object.fromEntries(kept)).toEqual(balances(events));
  expect((await ledger.verify()).verdict).toBe("OK");
}

const done = ["done", "done", "done", "POOR", "RangeError: never that sum", "done"];

/** Where the batch of `callAll` passes. */
async function pointsOf(): Promise<{ readonly from: number; readonly to: number; readonly bytes: readonly string[] }> {
  const store = faultyStore(createMemoryStore(), () => null);
  const ledger = await open(store, fixed());
  const from = store.points;
  await callAll(ledger);
  return { from, to: store.points, bytes: await ids(ledger) };
}

describe("a batch of commands", () => {
  const faults: readonly Fault[] = ["full", "conflict", "lostReply", { slow: 0 }];

  test("tells its callers what is stored, wherever the store fails them once", async () => {
    const { from, to, bytes } = await pointsOf();
    for (const fault of faults) {
      for (let point = from + 1; point <= to; point++) {
        const inner = createMemoryStore();
        const store = faultyStore(inner, faultAt(point, fault));
        const ledger = await open(store, fixed());

        const results = await callAll(ledger);

        const where = `${JSON.stringify(fault)} at ${point}: ${told(results).join()}`;
        expect((await ledger.status()).size, where).toBe(1 + acknowledged(results));
        const [struck] = store.struck;
        if (struck !== undefined && (fault === "full" || (fault === "lostReply" && struck.moment === "before"))) {
          // The disk had no room, or the request to commit never arrived: nothing of that batch was written.
          expect(told(results), where).toContain(fault === "full" ? "STORE_FULL" : "STORE_UNAVAILABLE");
        } else {
          expect(told(results), where).toEqual(done);
          expect(await ids(ledger), where).toEqual(bytes);
        }
        await expectFolded(ledger, inner);
        await ledger.close();
      }
    }
  });

  test("is in doubt when the store is gone for good, and the next process sees whole calls, those that were acknowledged among them", async () => {
    const { from, to } = await pointsOf();
    for (let point = from + 1; point <= to; point++) {
      const store = faultyStore(createMemoryStore(), faultAt(point, "crash"));
      const ledger = await open(store, { ...fixed(), busyTimeoutMs: 0 });

      const results = await callAll(ledger);

      const next = await store.restart(() => null);
      const again = await open(next, fixed());
      // A call that was in doubt may be there as well.
      expect((await again.status()).size, `crash at ${point}`).toBeGreaterThanOrEqual(1 + acknowledged(results));
      await expectFolded(again, next);
    }
  });
});

describeStores("commands", (_openOne, openStoreOf) => {
  test("that are decided again mint the same ids and salts: the bytes are those of a run without trouble", async () => {
    const { bytes } = await pointsOf();
    const store = await openStoreOf();
    let conflicts = 0;
    const ledger = await open(
      faultyStore(store, ({ step, moment }) =>
        step === "commit" && moment === "before" && ++conflicts > 1 && conflicts < 5 ? "conflict" : null,
      ),
      fixed(),
    );

    const answers = told(await callAll(ledger));

    // More when the batch took too long and became two.
    expect(conflicts).toBeGreaterThanOrEqual(5);
    expect(answers).toEqual(done);
    expect(await ids(ledger)).toEqual(bytes);
    await expectFolded(ledger, store);
  });
});

describe("a read of the store that fails while a command is decided", () => {
  /** A store whose documents cannot be read `times` times. */
  async function unreadable(code: "STORE_BUSY" | "STORE_UNAVAILABLE", times: number): Promise<Store> {
    const inner = await openStore("memory");
    let left = times;
    return new Proxy(inner, {
      get(target, name) {
        const member = Reflect.get(target, name) as unknown;
        if (name !== "begin") return typeof member === "function" ? (member.bind(target) as unknown) : member;
        return async () => {
          const transaction = await target.begin();
          const documents = transaction.documents.bind(transaction);
          return Object.assign(transaction, {
            documents: (...asked: Parameters<typeof documents>) =>
              left-- > 0 ? Promise.reject(new LedgerError(code, "no answer")) : documents(...asked),
          });
        };
      },
    });
  }
  const both = (ledger: Ledger): Promise<PromiseSettledResult<unknown>[]> =>
    Promise.allSettled([
      ledger.append("log/1", [{ type: "log.written" }]),
      ledger.execute(openAccount({ account: "a", owner: "ada" })),
    ]);

  test("is the whole batch's trouble, not that command's: a busy store has it decided again", async () => {
    const retried: number[] = [];
    const ledger = await open(await unreadable("STORE_BUSY", 2), {
      ...bank,
      onEvent: (event) => event.type === "retried" && retried.push(event.commands),
    });

    expect(told(await both(ledger))).toEqual(["done", "done"]);
    expect(retried.length).toBe(2);
  });

  test("fails its callers with what the store said, and nothing is written", async () => {
    const ledger = await open(await unreadable("STORE_UNAVAILABLE", 1), bank);

    const [, executed] = told(await both(ledger));

    expect(executed).toBe("STORE_UNAVAILABLE");
    expect((await ledger.readStream("account/a").toArray()).length).toBe(0);
    expect(told(await both(ledger))).toEqual(["done", "done"]);
  });
});

describe.each(["before", "after"] as const)(
  "a commit of documents alone whose reply is lost %s it happened",
  (when) => {
    test("is done again: who asked something is answered", async () => {
      const inner = await openStore("memory");
      const writer = await open(inner, bank);
      let armed = false;
      const store = faultyStore(inner, ({ step, moment }) => {
        if (!armed || step !== "commit" || moment !== when) return null;
        armed = false;
        return "lostReply";
      });
      const reader = await open(store, bank);
      await writer.execute(openAccount({ account: "a", owner: "ada" }));
      // A table of another program stands behind, so that the next batch of this one has something to write.
      const other = await open(store, {
        ...bank,
        projections: [defineProjection()({ name: "late", version: 1, on: {} }), accounts],
      });
      armed = true;

      const { result } = await other.execute(ask({ owner: "ada" }));

      expect(store.struck.map(({ fault }) => fault)).toEqual(["lostReply"]);
      expect(result).toEqual(["a: 0"]);
      expect((await reader.execute(ask({ owner: "ada" }))).result).toEqual(["a: 0"]);
    });
  },
);

describeStores("a rollback that throws", (_openOne, openStoreOf) => {
  /** A store whose transactions fail at `append`, and again when they are undone. */
  async function brokenStore(): Promise<{ readonly store: Store; arm(): void }> {
    const inner = await openStoreOf();
    let armed = false;
    const store = new Proxy(inner, {
      get(target, name) {
        const member = Reflect.get(target, name) as unknown;
        if (name !== "begin") return typeof member === "function" ? (member.bind(target) as unknown) : member;
        return async () => {
          const transaction = await target.begin();
          const rollback = transaction.rollback.bind(transaction);
          const append = transaction.append.bind(transaction);
          return Object.assign(transaction, {
            append: (...rows: Parameters<typeof append>) =>
              armed
                ? Promise.reject(new LedgerError("STORE_FULL", "the disk must have room, found none"))
                : append(...rows),
            rollback: async () => {
              await rollback();
              if (armed) throw new Error("cannot rollback - no transaction is active");
            },
          });
        };
      },
    });
    return { store, arm: () => (armed = !armed) };
  }

  test("D-31 does not hide the error that came first, by a command and by append, and the writer goes on", async () => {
    const { store, arm } = await brokenStore();
    const ledger = await open(store, bank);
    arm();

    const results = await Promise.allSettled([
      ledger.execute(openAccount({ account: "a", owner: "ada" })),
      ledger.append("log/1", [{ type: "log.written" }]),
    ]);
    arm();

    expect(told(results)).toEqual(["STORE_FULL", "STORE_FULL"]);
    expect(told(await callAll(ledger))).toEqual(done);
    expect((await ledger.verify()).verdict).toBe("OK");
  });

  test("D-31 does not hide a refusal", async () => {
    const { store, arm } = await brokenStore();
    const ledger = await open(store, bank);
    arm();

    const [poor] = told(await Promise.allSettled([ledger.execute(transfer({ from: "a", to: "b", cents: 1 }))]));

    expect(poor).toBe("ACCOUNT_MISSING");
  });
});
