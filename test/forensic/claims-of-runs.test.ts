/** T61: what is written to a run and to its captures while the claim of its queue item is live, and what closes an item. Each
 *  rule with a journal that breaks it, forged to the last hash, and its legal neighbour. */
import { claim, claimed, describeRules, enqueued, leaseMs, one, parked, queued, under } from "./claim-journal.js";
import type { Rule, Tx } from "./claim-journal.js";

const created = { stream: "run/r1", type: "run.created", data: { definition: null } };
const started = { stream: "run/r1", type: "run.started", data: {} };
const asked = { stream: "run/r1", type: "run.cancelRequested", data: { reason: "no use" } };
const attempt = { stream: "run/r1", type: "attempt.started", data: { attemptId: "a.1", node: "a", number: 1 } };
const bound = { stream: "session/r1", type: "session.bound", data: { runId: "r1", attemptId: "" } };
const boundOf = { stream: "session/r1/a.1", type: "session.bound", data: { runId: "r1", attemptId: "a.1" } };
const other: Tx = [0, enqueued("r2", { claim: claim(1, 0) })];
const closed = queued("r1", "closed");

/** The last event of each is the one that is found, if one is. */
const rules: readonly Rule[] = [
  ["a run that is made while nobody has its claim", null, [0, created, enqueued("r1"), claimed("r1", 1, 0)]],
  ["a run that is made while somebody has its claim", "E_FENCE", ...one, [5, created]],
  ["a run that begins under its claim", null, [0, created], ...one, [5, under("r1", 1, started)]],
  ["a run that begins without its fence", "E_FENCE", [0, created], ...one, [leaseMs - 1, started]],
  ["a run that begins without a fence when its claim has expired", null, [0, created], ...one, [leaseMs, started]],
  [
    "a run that begins without a fence when its claim was let go",
    null,
    [0, created],
    ...one,
    [5, parked("r1", 1)],
    [6, started],
  ],
  [
    "a run that begins under the claim of another",
    "E_FENCE",
    [0, created],
    ...one,
    other,
    [5, under("r2", 1, started)],
  ],
  ["a run that nobody has, under the claim of another", null, [0, created], other, [5, under("r2", 1, started)]],
  ["an attempt without the fence of its run", "E_FENCE", [0, created, started], ...one, [5, attempt]],
  ["an attempt under the fence of its run", null, [0, created, started], ...one, [5, under("r1", 1, attempt)]],
  ["somebody who asks that a run be ended, without a fence", null, [0, created], ...one, [5, asked]],
  ["a capture of a run without its fence", "E_FENCE", ...one, [5, bound]],
  ["a capture of an attempt without the fence of its run", "E_FENCE", ...one, [5, boundOf]],
  ["a capture of an attempt under it", null, ...one, [5, under("r1", 1, boundOf)]],
  ["a capture of a run that nobody has", null, [0, enqueued("r1")], [5, bound]],
  ["another run whose name begins alike", null, ...one, [5, { ...created, stream: "run/r11" }]],
  ["an item that is closed while nobody has it", null, [0, enqueued("r1")], [5, closed]],
  ["an item that is closed when its claim has expired", null, ...one, [leaseMs, closed]],
  ["an item that is closed while somebody has it", "E_CLAIM", ...one, [leaseMs - 1, closed]],
  ["an item that its holder closes", "E_CLAIM", ...one, [5, under("r1", 1, closed)]],
  ["a late park of what was closed", "E_CLAIM", ...one, [leaseMs, closed], [leaseMs, parked("r1", 1)]],
];

describeRules("T61", rules);
