/** T61: claims and fences, checked from history. Each rule with a journal that breaks it, forged to the last hash, and its
 *  legal neighbour. */
import { describe, expect, test } from "vitest";
import { formatReport } from "../../src/forensic/index.js";
import { leaseMsMax } from "../../src/kernel/limits.js";
import {
  claim,
  claimed,
  describeRules,
  enqueued,
  hour,
  journalOf,
  leaseMs,
  noted,
  one,
  parked,
  queued,
  renewed,
  two,
  under,
  verifyClaims,
} from "./claim-journal.js";
import type { Rule, Tx } from "./claim-journal.js";
import { codesOf, edit, start, verifyRows } from "./journal.js";

const restored = {
  stream: "journal/main",
  type: "journal.restored",
  data: { incarnation: 2, size: 3, head: "ab".repeat(32), manifestDigest: "ab".repeat(32) },
};
const completed = (run: string, generation: number) => under(run, generation, queued(run, "completed"));
const died = queued("r1", "died", { cause: "reclaims" });
const cancel = queued("r1", "cancelRequested", { reason: "asked for" });
const fenced = under("r1", 1, noted);

/** The last event of each is the one that is found, if one is. */
const rules: readonly Rule[] = [
  // Taking.
  ["a claim of what nobody owns", null, ...one],
  ["a claim from birth", null, [0, enqueued("r1", { claim: claim(1, 0) })]],
  [
    "a claim that is taken while another is live",
    "E_CLAIM",
    ...one,
    [leaseMs - 1, claimed("r1", 2, leaseMs - 1, { superseded: 1 })],
  ],
  ["a claim that is taken when the other has expired, to the ms", null, ...two],
  [
    "a claim that is taken behind a live one in its tx",
    "E_CLAIM",
    [0, enqueued("r1"), claimed("r1", 1, 0), claimed("r1", 2, 0)],
  ],
  [
    "two claims in a tx, of two things",
    null,
    [0, enqueued("r1"), enqueued("r2"), claimed("r1", 1, 0), claimed("r2", 1, 0)],
  ],
  ["the first claim of a generation that is not 1", "E_CLAIM", [0, enqueued("r1")], [0, claimed("r1", 2, 0)]],
  ["a generation that was issued before", "E_CLAIM", ...one, [leaseMs, claimed("r1", 1, leaseMs, { superseded: 1 })]],
  ["a generation that leaves one out", "E_CLAIM", ...one, [leaseMs, claimed("r1", 3, leaseMs, { superseded: 1 })]],
  [
    "a generation that begins anew after a release",
    "E_CLAIM",
    ...one,
    [5, under("r1", 1, queued("r1", "released"))],
    [9, enqueued("r1", { claim: claim(1, 9) })],
  ],
  [
    "the next generation after a release",
    null,
    ...one,
    [5, under("r1", 1, queued("r1", "released"))],
    [9, enqueued("r1", { claim: claim(2, 9) })],
  ],
  ["a takeover that forgets what it superseded", "E_CLAIM", ...one, [leaseMs, claimed("r1", 2, leaseMs)]],
  [
    "a takeover that says that it superseded another",
    "E_CLAIM",
    ...two,
    [2 * leaseMs, claimed("r1", 3, 2 * leaseMs, { superseded: 1 })],
  ],
  [
    "a claim that says that it took over what had been let go",
    "E_CLAIM",
    ...one,
    [5, parked("r1", 1)],
    [9, claimed("r1", 2, 9, { superseded: 1 })],
  ],
  ["a claim after the earlier was let go", null, ...one, [5, parked("r1", 1)], [9, claimed("r1", 2, 9)]],
  [
    "a claim for more than 24 h",
    "E_CLAIM",
    [0, enqueued("r1", { claim: claim(1, 0, { expiresAt: start + leaseMsMax + 1 }) })],
  ],
  ["a claim for 24 h", null, [0, enqueued("r1", { claim: claim(1, 0, { expiresAt: start + leaseMsMax }) })]],
  ["a claim for no time", "E_CLAIM", [0, enqueued("r1", { claim: claim(1, 0, { expiresAt: start }) })]],
  ["a claim for 1 ms", null, [0, enqueued("r1", { claim: claim(1, 0, { expiresAt: start + 1 }) })]],
  [
    "what begins anew with a claim while one stands",
    "E_CLAIM",
    ...one,
    [leaseMs, enqueued("r1", { claim: claim(2, leaseMs, { superseded: 1 }) })],
  ],
  ["what begins anew without a claim while one stands", "E_CLAIM", ...one, [leaseMs, enqueued("r1")]],
  ["a claim on a stream of another kind", "E_CLAIM", [0, { ...claimed("r1", 1, 0), stream: "note/1" }]],
  ["a claim of another version", "E_CLAIM", [0, { ...claimed("r1", 1, 0), tv: 2 }]],
  ...(
    [
      ["none", undefined],
      ["null", null],
      ["an empty holder", claim(1, 0, { holder: "" })],
      ["a holder with a line in it", claim(1, 0, { holder: "A\nB" })],
      ["a generation that is no number", claim(1, 0, { generation: "1" })],
      ["a generation of 2^32", claim(1, 0, { generation: 2 ** 32 })],
      ["a hash that is none", claim(1, 0, { tokenHash: "AB".repeat(32) })],
      ["an expiry that is no whole number", claim(1, 0, { expiresAt: start + 0.5 })],
      ["a generation 0 that it superseded", claim(1, 0, { superseded: 0 })],
      ["a token", claim(1, 0, { token: "secret secret secret" })],
    ] as const
  ).map(([what, value]): Rule => [
    `a claim that is ${what}`,
    "E_CLAIM",
    [0, enqueued("r1")],
    [0, queued("r1", "claimed", value === undefined ? {} : { claim: value })],
  ]),

  // Renewing.
  ["a renewal", null, ...one, [5, renewed("r1", 1, leaseMs + 1)]],
  ["a renewal that shortens", "E_CLAIM", ...one, [5, renewed("r1", 1, leaseMs - 1)]],
  ["a renewal that changes nothing", "E_CLAIM", ...one, [5, renewed("r1", 1, leaseMs)]],
  ["a renewal for 24 h", null, ...one, [5, renewed("r1", 1, 5 + leaseMsMax)]],
  ["a renewal for more than 24 h", "E_CLAIM", ...one, [5, renewed("r1", 1, 6 + leaseMsMax)]],
  ["a renewal at the last moment", null, ...one, [leaseMs - 1, renewed("r1", 1, 2 * leaseMs)]],
  ["a renewal a moment later", "E_CLAIM", ...one, [leaseMs, renewed("r1", 1, 2 * leaseMs)]],
  ["a renewal of what was let go", "E_CLAIM", ...one, [5, parked("r1", 1)], [6, renewed("r1", 1, 2 * leaseMs)]],
  ["a renewal of what was let go in its tx", "E_CLAIM", ...one, [5, parked("r1", 1), renewed("r1", 1, 2 * leaseMs)]],
  ["a renewal of what nobody claimed", "E_CLAIM", [0, enqueued("r1")], [5, renewed("r1", 1, leaseMs)]],
  ["a renewal of what was taken over", "E_CLAIM", ...two, [leaseMs + 5, renewed("r1", 1, 3 * leaseMs)]],
  ["a renewal without a fence", "E_CLAIM", ...one, [5, queued("r1", "renewed", { expiresAt: start + 2 * leaseMs })]],
  [
    "a renewal under the fence of something else",
    "E_CLAIM",
    ...one,
    [0, enqueued("r2", { claim: claim(1, 0) })],
    [5, under("r2", 1, queued("r1", "renewed", { expiresAt: start + 2 * leaseMs }))],
  ],
  [
    "a renewal until a time that is none",
    "E_CLAIM",
    ...one,
    [5, under("r1", 1, queued("r1", "renewed", { expiresAt: null }))],
  ],
  [
    "what is written in the time that a renewal gave",
    null,
    ...one,
    [5, renewed("r1", 1, 2 * leaseMs)],
    [2 * leaseMs - 1, fenced],
  ],
  ["what is written behind that time", "E_FENCE", ...one, [5, renewed("r1", 1, 2 * leaseMs)], [2 * leaseMs, fenced]],

  // Ending.
  ["an end under the live fence", null, ...one, [leaseMs - 1, completed("r1", 1)]],
  ["an end when the claim has expired", "E_CLAIM", ...one, [leaseMs, completed("r1", 1)]],
  ["an end without a fence", "E_CLAIM", ...one, [5, queued("r1", "completed")]],
  ["an end of what nobody owns", "E_CLAIM", [0, enqueued("r1")], [5, queued("r1", "completed")]],
  [
    "an end under the fence of something else",
    "E_CLAIM",
    ...one,
    [0, enqueued("r2", { claim: claim(1, 0) })],
    [5, under("r2", 1, queued("r1", "completed"))],
  ],
  ["a second end", "E_CLAIM", ...one, [5, completed("r1", 1)], [6, completed("r1", 1)]],
  ["a second end in the tx of the first", "E_CLAIM", ...one, [5, completed("r1", 1), completed("r1", 1)]],
  ["a late park", null, ...one, [hour, parked("r1", 1)]],
  ["a late release", null, ...one, [hour, under("r1", 1, queued("r1", "released"))]],
  ["a late requeue", "E_CLAIM", ...one, [hour, under("r1", 1, queued("r1", "requeued", { availableAt: start }))]],
  ["a late park when somebody has reclaimed", "E_CLAIM", ...two, [leaseMs + 5, parked("r1", 1)]],
  ["a late park when it was let go", "E_CLAIM", ...one, [5, parked("r1", 1)], [hour, parked("r1", 1)]],
  ["a park without a fence", "E_CLAIM", ...one, [hour, queued("r1", "parked", { availableAt: start })]],
  ["a death under the live fence", null, ...one, [5, under("r1", 1, queued("r1", "died", { cause: "failures" }))]],
  [
    "a death under a fence that has expired",
    "E_CLAIM",
    ...one,
    [leaseMs, under("r1", 1, queued("r1", "died", { cause: "failures" }))],
  ],
  ["a death of what has expired, without its fence", null, ...one, [leaseMs, died]],
  ["a death of what is live, without its fence", "E_CLAIM", ...one, [leaseMs - 1, died]],
  ["a death of what nobody owns", "E_CLAIM", [0, enqueued("r1")], [leaseMs, died]],
  [
    "a death of what has expired, under the fence of who claims the next",
    null,
    ...one,
    [5, enqueued("r2", { claim: claim(1, 5) })],
    [leaseMs, under("r2", 1, died)],
  ],
  [
    "a death of what is live, under the fence of something else",
    "E_CLAIM",
    ...one,
    [5, enqueued("r2", { claim: claim(1, 5) })],
    [6, under("r2", 1, died)],
  ],
  ["a late park of what somebody asked to end while it was live", null, ...one, [5, cancel], [hour, parked("r1", 1)]],
  [
    "a late park of what somebody asked to end when it had expired",
    "E_CLAIM",
    ...one,
    [leaseMs, cancel],
    [hour, parked("r1", 1)],
  ],
  ["what is written under a claim that somebody asked to end", null, ...one, [5, cancel], [6, fenced]],

  // Fences of other events.
  ["an event while the claim is live", null, ...one, [leaseMs - 1, fenced]],
  ["an event at the moment at which it is lost", "E_FENCE", ...one, [leaseMs, fenced]],
  ["an event under a claim that was taken over", "E_FENCE", ...two, [leaseMs + 1, fenced]],
  ["an event under the claim that took over", null, ...two, [leaseMs + 1, under("r1", 2, noted)]],
  ["an event under a generation that was not issued", "E_FENCE", ...one, [5, under("r1", 2, noted)]],
  ["an event under another incarnation", "E_FENCE", ...one, [5, under("r1", 1, noted, 2)]],
  ["an event under an incarnation that a restore ended", "E_FENCE", ...one, [4, restored], [5, fenced]],
  [
    "an event under the incarnation that a restore began",
    null,
    ...one,
    [4, restored],
    [leaseMs, claimed("r1", 2, leaseMs, { superseded: 1 })],
    [leaseMs + 1, under("r1", 2, noted, 2)],
  ],
  ["a late park under an incarnation that a restore ended", "E_CLAIM", ...one, [4, restored], [5, parked("r1", 1)]],
  ["an event under a key that nobody claimed", "E_FENCE", [0, enqueued("r1")], [5, fenced]],
  ["an event under a key of a kind that nobody owns", "E_FENCE", [5, { ...noted, fence: ["note/1", 1, 1] }]],
  ["an event under a claim that was let go", "E_FENCE", ...one, [5, completed("r1", 1)], [6, fenced]],
  ["an event behind the end of the claim, in its tx", null, ...one, [5, completed("r1", 1), fenced]],
  ["an event behind a late end, in its tx", "E_FENCE", ...one, [leaseMs, parked("r1", 1), fenced]],
  [
    "a claim behind the end under whose fence it is, in its tx",
    "E_CLAIM",
    ...one,
    [5, parked("r1", 1), under("r1", 1, claimed("r1", 2, 5))],
  ],
  ["an event under a claim that was taken in its tx", "E_FENCE", [0, enqueued("r1", { claim: claim(1, 0) }), fenced]],
  ["a claim under its own fence", "E_CLAIM", [0, under("r1", 1, enqueued("r1", { claim: claim(1, 0) }))]],
  ["another thing that begins under a fence", null, ...one, [5, under("r1", 1, enqueued("r2", { parent: "r1" }))]],
  [
    "an event of the owned stream that does nothing to the claim, under a live fence",
    null,
    ...one,
    [5, under("r1", 1, queued("r1", "wanted", { availableAt: start }))],
  ],
  [
    "the same when it has expired",
    "E_FENCE",
    ...one,
    [leaseMs, under("r1", 1, queued("r1", "wanted", { availableAt: start }))],
  ],
  [
    "an event that was dated back to when the claim was live",
    "E_FENCE",
    ...one,
    [leaseMs, noted],
    [leaseMs - 1, fenced],
  ],

  // One fence a tx.
  ["a tx of which one event has no fence, behind one that has", "E_FENCE", ...one, [5, fenced, noted]],
  ["a tx of which one event has a fence, behind one that has none", "E_FENCE", ...one, [5, noted, fenced]],
  [
    "a tx under two fences",
    "E_FENCE",
    ...one,
    [0, enqueued("r2", { claim: claim(1, 0) })],
    [5, fenced, under("r2", 1, noted)],
  ],
  ["a tx under one fence", null, ...one, [5, fenced, fenced]],
  [
    "a tx that begins with the definition of an area",
    null,
    ...one,
    [5, { stream: "journal/main", type: "area.defined", data: { area: "note", open: true, kinds: ["note"] } }, fenced],
  ],
  [
    "a definition of an area under a fence",
    "E_FENCE",
    ...one,
    [
      5,
      {
        stream: "journal/main",
        type: "area.defined",
        data: { area: "note", open: true, kinds: ["note"] },
        fence: ["queue/r1", 1, 1],
      },
    ],
  ],
];

describeRules("T61", rules);

test("T61 an event of a tx that is not under its one fence is found once", async () => {
  const { rows } = journalOf([...one, [5, fenced, noted, noted, fenced, noted]]);

  expect(codesOf(await verifyClaims(rows))).toEqual(["E_FENCE#4"]);
});

test("T61 an end under the fence of something else that has expired is two faults", async () => {
  const other: Tx = [0, enqueued("r2", { claim: claim(1, 0) })];
  const { rows } = journalOf([...one, other, [leaseMs, under("r2", 1, queued("r1", "parked", { availableAt: null }))]]);

  expect(codesOf(await verifyClaims(rows))).toEqual(["E_FENCE#4", "E_CLAIM#4"]);
});

describe("a report", () => {
  test("says how many claims and fenced events were checked, and nothing of them where there are none", async () => {
    const report = await verifyClaims(journalOf([...two, [leaseMs + 1, under("r1", 2, noted)]]).rows);

    expect(report.checked).toMatchObject({ claims: 2, fencedEvents: 1 });
    expect(formatReport(report)).toMatch(/\nok +claims +2 claims legal, 1 event under the live one\n/);
    const none = await verifyClaims(journalOf([[0, enqueued("r1")]]).rows);
    expect(none.checked).toMatchObject({ claims: 0, fencedEvents: 0 });
    expect(formatReport(none)).not.toContain("legal");
  });

  test("of other levels says nothing of claims", async () => {
    const { rows } = journalOf([...one, [1, claimed("r1", 2, 1)]]);

    expect(await verifyRows(rows)).toMatchObject({ verdict: "OK", checked: { claims: 0, fencedEvents: 0 } });
  });

  test("says from where on nothing was checked when the entries are not in order", async () => {
    const { rows } = journalOf([...two, [leaseMs + 1, under("r1", 2, noted)], [hour, fenced]]);
    edit(rows, 4, (fields) => (fields["actor"] = "mallory"));
    const report = await verifyClaims(rows);

    expect(codesOf(report)).toContain("E_ID#4");
    expect(codesOf(report).join()).not.toMatch(/E_CLAIM|E_FENCE/);
    expect(formatReport(report)).toMatch(/info +claims +2 claims legal.*; not checked from #4 on/);
  });

  test("goes on behind a claim that is not legal, from what it says", async () => {
    const { rows } = journalOf([
      ...one,
      [5, claimed("r1", 2, 5, { superseded: 1 })],
      [6, under("r1", 2, noted)],
      [7, fenced],
      [8, completed("r1", 2)],
    ]);

    expect(codesOf(await verifyClaims(rows))).toEqual(["E_CLAIM#3", "E_FENCE#5"]);
  });

  test("names the stream of the claim in the commands that may help, unless it has a name that is odd", async () => {
    const { next } = await verifyClaims(journalOf([...one, [leaseMs, fenced]]).rows);

    expect(next).toContain("runledger log --stream 'queue/r1'");
    const odd = journalOf([[5, { ...noted, fence: ["queue/'; rm -rf ~; '", 1, 1] }]]);
    expect((await verifyClaims(odd.rows)).next.join()).not.toContain("rm -rf");
  });
});
