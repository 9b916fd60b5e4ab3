/** Laws of claims and fences as they are verified from history: what the engine writes is legal, whatever its callers do, and
 *  what somebody changes and hashes anew is found, unless it is legal too. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { verify } from "../../src/forensic/index.js";
import type { EntryFields } from "../../src/journal/entry.js";
import { arrayRawReader } from "../../src/testing/array-raw-reader.js";
import type { RawEvent } from "../../src/testing/raw-journal.js";
import { histories, rebuilt, txsOf, withHistory } from "./claim-histories.js";
import type { RawTx } from "./claim-histories.js";
import { firstIllegal } from "./naive-claims.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
const runs = (count: number): { readonly numRuns: number } => ({ numRuns: long ? count : Math.max(5, count / 10) });
const ticks = fc.array(fc.constantFrom(0, 0, 0, 1, 2, 7), { minLength: 1, maxLength: 9 });

const changes = [
  "expiresAt",
  "generation",
  "superseded",
  "at",
  "mark",
  "unmark",
  "drop",
  "swap",
  "refusal",
  "repeat",
] as const;

/** Changes one fact of a journal. Null: there is nothing of the kind to change. */
function changed(txs: readonly RawTx[], what: (typeof changes)[number], where: number, by: number): RawTx[] | null {
  const events = txs.flatMap((tx, index) => tx.events.map((event, place) => ({ event, index, place })));
  const pick = (isOne: (event: RawEvent) => boolean): (typeof events)[number] | undefined => {
    const found = events.filter(({ event }) => isOne(event));
    return found[where % Math.max(1, found.length)];
  };
  const put = (at: (typeof events)[number] | undefined, make: (event: RawEvent) => RawEvent | null): RawTx[] | null => {
    if (at === undefined) return null;
    return txs.map((tx, index) => {
      if (index !== at.index) return tx;
      return {
        ...tx,
        events: tx.events.flatMap((event, place) => (place === at.place ? (make(event) ?? []) : [event])),
      };
    });
  };
  const facts = (event: RawEvent): Record<string, unknown> => event.data as Record<string, unknown>;
  const claimOf = (event: RawEvent): Record<string, unknown> | undefined =>
    facts(event)["claim"] as Record<string, unknown> | undefined;
  const inClaim = (member: string) => (event: RawEvent) => {
    const claim = claimOf(event);
    const data = claim === undefined ? facts(event) : claim;
    const value = (typeof data[member] === "number" ? data[member] : 0) + by;
    const next = { ...data, [member]: member === "superseded" && value < 1 ? null : Math.max(1, value) };
    return { ...event, data: claim === undefined ? next : { ...facts(event), claim: next } };
  };
  switch (what) {
    case "expiresAt":
      return put(
        pick((event) => claimOf(event) !== undefined || event.type === "queue.renewed"),
        inClaim(what),
      );
    case "generation":
    case "superseded":
      return put(
        pick((event) => claimOf(event) !== undefined),
        inClaim(what),
      );
    case "at":
      return txs.length === 0
        ? null
        : txs.map((tx, index) => (index === where % txs.length ? { ...tx, at: Math.max(0, tx.at + by) } : tx));
    case "mark":
      return put(
        pick(({ fence }) => fence !== undefined),
        ({ fence, ...event }) => {
          const [key, incarnation, generation] = fence!;
          if (by % 3 === 0)
            return { ...event, fence: [key === "queue/a" ? "queue/b" : "queue/a", incarnation, generation] };
          if (by % 3 === 1) return { ...event, fence: [key, incarnation + 1, generation] };
          return { ...event, fence: [key, incarnation, Math.max(1, generation + (by < 0 ? -1 : 1))] };
        },
      );
    case "unmark":
      return put(
        pick(({ fence }) => fence !== undefined),
        ({ fence: _, ...event }) => event,
      );
    case "drop":
      return put(
        pick(({ type }) => type.startsWith("queue.")),
        () => null,
      );
    case "swap": {
      if (txs.length < 2) return null;
      const at = where % (txs.length - 1);
      const [one, other] = [txs[at]!, txs[at + 1]!];
      // The time stays where it was: the events change their places.
      return [...txs.slice(0, at), { ...other, at: one.at }, { ...one, at: other.at }, ...txs.slice(at + 2)];
    }
    case "refusal":
      return put(
        pick(({ type }) => type === "fence.refused"),
        (event) => ({
          ...event,
          data: { ...event.data, generation: Math.max(1, Number(facts(event)["generation"]) + by) },
        }),
      );
    case "repeat": {
      if (txs.length === 0) return null;
      const at = where % txs.length;
      return [...txs.slice(0, at + 1), { ...txs[at]!, at: (txs[at + 1] ?? txs[at])!.at }, ...txs.slice(at + 1)];
    }
  }
}

function fieldsOf(journal: ReturnType<typeof rebuilt>): EntryFields[] {
  return journal.rows.entries.map(({ entry }) => JSON.parse(String(entry)) as EntryFields);
}

describe("T61 claims and fences", () => {
  test("that the engine wrote are legal, whatever was asked of it", async () => {
    const seen = { claims: 0, fencedEvents: 0, refusals: 0 };
    await fc.assert(
      fc.asyncProperty(histories, ticks, async (history, looks) => {
        await withHistory(history, looks, async (ledger, entries) => {
          const { findings, checked } = await ledger.verify({ level: "deep" });

          expect(findings.filter(({ code }) => code !== "W_CLOCK")).toEqual([]);
          expect(firstIllegal(entries)).toBeNull();
          seen.claims += checked.claims;
          seen.fencedEvents += checked.fencedEvents;
          seen.refusals += entries.filter(({ type }) => type === "fence.refused").length;
        });
      }),
      runs(1_000),
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
  }, 600_000);

  test("of which one fact was changed, and all hashed anew, are found at the first that is not legal, if one is", async () => {
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(
        histories,
        ticks,
        fc.constantFrom(...changes),
        fc.nat(10_000),
        fc
          .oneof({ weight: 9, arbitrary: fc.integer({ min: -600, max: 600 }) }, fc.constant(86_400_000))
          .filter((by) => by !== 0),
        async (history, looks, what, where, by) => {
          const entries = await withHistory(history, looks, async (_, read) => read);
          const txs = changed(
            txsOf(entries),
            what,
            where,
            what === "generation" || what === "refusal" ? Math.sign(by) : by,
          );
          fc.pre(txs !== null);
          const journal = rebuilt(entries[0]!.at, txs);
          const { findings } = await verify(arrayRawReader(journal.rows), { level: "deep", findingsMax: 10_000 });
          const found = findings.filter(({ check }) => check === "claims").map(({ position }) => position!);

          const illegal = firstIllegal(fieldsOf(journal));
          expect(found.length === 0 ? null : Math.min(...found)).toBe(illegal);
          if (illegal !== null) seen.set(what, (seen.get(what) ?? 0) + 1);
        },
      ),
      runs(2_000),
    );
    if (long) expect([...seen.keys()].sort()).toEqual([...changes].sort());
  }, 600_000);
});
