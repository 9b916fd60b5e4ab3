/** T60: refusals of fences, checked from history. Each rule with a journal that breaks it, forged to the last hash, and its
 *  legal neighbour. */
import { describe, expect, test } from "vitest";
import { formatReport } from "../../src/forensic/index.js";
import { refusedNamesMax } from "../../src/kernel/limits.js";
import type { RawEvent } from "../../src/testing/raw-journal.js";
import {
  claim,
  enqueued,
  hour,
  journalOf,
  leaseMs,
  noted,
  one,
  parked,
  receiptOf,
  refused,
  two,
  verifyClaims,
} from "./claim-journal.js";
import type { Tx } from "./claim-journal.js";
import { codesOf, start } from "./journal.js";

type Rule = readonly [says: string, forged: boolean, ...txs: readonly Tx[]];

const late = refused("r1", 1, "append");

function with_(change: object, event: RawEvent = late): RawEvent {
  return { ...event, data: { ...event.data, ...change } };
}

/** So many refusals, each of another command. */
function many(count: number): readonly Tx[] {
  return Array.from({ length: count }, (_, n): Tx => [hour, refused("r1", 1, `note.add${n}`)]);
}

/** The last event of each is the one that is found, if one is. */
const rules: readonly Rule[] = [
  ["of a claim that had expired", false, ...one, [leaseMs, late]],
  ["of a generation that was taken over", false, ...two, [leaseMs + 1, refused("r1", 1, "append", "generation")]],
  ["of a generation that was never issued", true, ...two, [leaseMs + 1, refused("r1", 3, "append", "generation")]],
  [
    "of the last generation, for it is not the last",
    true,
    ...two,
    [leaseMs + 1, refused("r1", 2, "append", "generation")],
  ],
  ["of a generation that was taken over, for it has expired", true, ...two, [leaseMs + 1, late]],
  [
    "of an earlier generation, for its incarnation is over",
    false,
    ...two,
    [leaseMs + 1, refused("r1", 1, "append", "incarnation")],
  ],
  ["of what was let go", false, ...one, [5, parked("r1", 1)], [6, refused("r1", 1, "append", "released")]],
  ["of another token", false, ...one, [5, refused("r1", 1, "queue.renew", "token")]],
  ["of what is of something else, which no engine records", true, ...one, [5, refused("r1", 1, "queue.renew", "key")]],
  ["of no fence at all, which no engine records", true, ...one, [5, refused("r1", 1, "queue.renew", "missing")]],
  ["for a reason that there is not", true, ...one, [5, refused("r1", 1, "queue.renew", "tired")]],
  ["of a key that nobody claimed", true, [0, enqueued("r1")], [leaseMs, late]],
  ["of a key that is not there", true, [leaseMs, late]],
  ["on the stream of another key", true, ...one, [leaseMs, { ...late, stream: "fence/queue/r2" }]],
  ["on a stream of another kind", true, ...one, [leaseMs, { ...late, stream: "note/1" }]],
  ["with a fence", true, ...one, [leaseMs - 1, { ...late, fence: ["queue/r1", 1, 1] }]],
  ["of another version", true, ...one, [leaseMs, { ...late, tv: 2 }]],
  ["twice for a generation and a command", true, ...one, [leaseMs, late], [hour, late]],
  ["of a command and another", false, ...one, [leaseMs, late], [hour, refused("r1", 1, "note.add")]],
  [
    "of two generations and one command",
    false,
    ...one,
    [leaseMs, late],
    ...two.slice(2),
    [hour, refused("r1", 2, "append")],
  ],
  [
    "of two keys",
    false,
    ...one,
    [0, enqueued("r2", { claim: claim(1, 0) })],
    [leaseMs, late],
    [leaseMs, refused("r2", 1, "append")],
  ],
  ["for the 32nd time", false, ...one, ...many(refusedNamesMax)],
  ["for the 33rd time", true, ...one, ...many(refusedNamesMax + 1)],
  ["in a tx with something else, behind it", true, ...one, [leaseMs, noted, late]],
  ["of a command whose name is none", true, ...one, [leaseMs, with_({ command: "note add" })]],
  ["of generation 0", true, ...one, [leaseMs, with_({ generation: 0 })]],
  ["of a key that is no stream", true, ...one, [leaseMs, { ...with_({ key: "r1" }), stream: "fence/r1" }]],
  ["that says more", true, ...one, [leaseMs, with_({ token: "secret secret secret" })]],
  ["that says less", true, ...one, [leaseMs, { ...late, data: { key: "queue/r1", generation: 1, command: "append" } }]],
  ["that is another event on such a stream", true, ...one, [leaseMs, { ...noted, stream: "fence/queue/r1" }]],
];

describe("T60 the refusal of a fence", () => {
  test.each(rules.map(([says, forged, ...txs]) => ({ says, forged, txs })))(
    "$says: forged $forged",
    async ({ forged, txs }) => {
      const journal = journalOf(txs);
      const report = await verifyClaims(journal.rows);

      const last = journal.next - 1;
      // A later event of a tx that is wrong together with it does not hide which one is.
      expect([...new Set(codesOf(report))]).toEqual(forged ? [`E_FENCE#${last}`] : []);
      if (forged) expect(report).toMatchObject({ verdict: "TAMPERED", exitCode: 1, firstBad: last });
      else expect(report).toMatchObject({ verdict: "OK", exitCode: 0 });
    },
  );

  test("stands in a tx with the receipt of it, and nothing else", async () => {
    const behind = async (
      makeOthers: (journal: ReturnType<typeof journalOf>) => readonly RawEvent[],
    ): Promise<string[]> => {
      const journal = journalOf(one);
      const others = makeOthers(journal);
      journal.append(start + leaseMs, [late, ...others]);
      journal.append(start + hour, [noted]);
      return codesOf(await verifyClaims(journal.rows));
    };

    expect(await behind((journal) => [receiptOf(journal, "c-1")])).toEqual([]);
    expect(await behind((journal) => [receiptOf(journal, "c-1", "NOT_FOUND")])).toEqual(["E_FENCE#4"]);
    expect(await behind(() => [noted])).toEqual(["E_FENCE#4"]);
    expect(await behind((journal) => [noted, receiptOf(journal, "c-1")])).toContain("E_FENCE#3");
  });

  test("of another tx does not let the receipt of a refusal stand in one with other events", async () => {
    const journal = journalOf([...one, [leaseMs, late]]);
    journal.append(start + leaseMs, [noted, receiptOf(journal, "c-1")]);

    expect(codesOf(await verifyClaims(journal.rows))).toEqual(["E_JOURNAL_EVENT#5"]);
  });

  test("is counted in the report", async () => {
    const report = await verifyClaims(journalOf([...one, [leaseMs, late]]).rows);

    expect(formatReport(report)).toMatch(/ok +claims +1 claim legal, 0 events under the live one, 1 refusal\n/);
  });
});
