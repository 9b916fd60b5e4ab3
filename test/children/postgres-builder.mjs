/** Opens the journal at an address, making it when it is not there, appends a few events and reads a projection of the version
 *  that it is told, which builds its table; says what it found. With a signal it sends that to itself in the middle of the making,
 *  or at the moments that are named: "before" its last step, "after" it.
 *  usage: postgres-builder.mjs ADDRESS VERSION [SIGNAL [MOMENT...]] */
import { writeSync } from "node:fs";
import { defineEvents, openLedger } from "../../dist/src/index.js";
import { defineProjection } from "../../dist/projections/index.js";

const [address, version, signal, ...moments] = process.argv.slice(2);
if (moments.length === 0) moments.push("before");
const notes = defineEvents("note", { open: true }, { "note.written": {} });
const counts = defineProjection()({
  name: "counts",
  version: Number(version),
  on: { "note.written": { key: () => "all", apply: (found) => ({ count: (found?.count ?? 0) + 1 }) } },
});
const faults = (step, moment) => {
  if (signal !== undefined && step === "schema" && moments.includes(moment)) process.kill(process.pid, signal);
};
const ledger = await openLedger(address, {
  events: [notes],
  projections: [counts],
  busyTimeoutMs: 60_000,
  testing: { faults },
});
await ledger.append(
  `note/${version}`,
  Array.from({ length: 20 }, () => ({ type: "note.written", data: {} })),
);
const { count } = await ledger.projection(counts).get("all");
await ledger.close();
writeSync(1, `${JSON.stringify({ origin: ledger.origin, count })}\n`);
