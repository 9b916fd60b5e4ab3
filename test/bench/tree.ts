/** TREE: the time of a checkpoint, which is a root, and of proofs, in closed ledgers of three sizes. */
import { openLedger } from "../../src/index.js";
import type { Measure } from "./harness/measure.js";
import { most, short } from "./harness/report.js";
import type { Line } from "./harness/report.js";
import { interleave, latency, oneCaller, spreadOf } from "./harness/rounds.js";

export const treeMeasure: Measure = {
  ids: ["TREE"],
  title: "a checkpoint, and a proof at a place of its own each time",
  async run({ settings, filled }) {
    const lines: Line[] = [];
    const sizes = [10_000, 100_000, 1_000_000].filter((size) => size <= settings.events);
    for (const events of sizes) {
      const ledger = await openLedger(await filled.shared(events), { readOnly: true });
      const size = events + 1;
      // A stride that shares no factor with the size comes by everywhere.
      let place = 0;
      const next = (): number => (place = (place + 7_919) % events);
      const turn = (operation: () => Promise<unknown>) => () => oneCaller(settings.turnMs, operation);
      const samples = await interleave(
        {
          checkpoint: turn(() => ledger.checkpoint({ size: size - (next() % 256) })),
          inclusion: turn(() => ledger.prove(next(), { size })),
          consistency: turn(() => ledger.consistency(next() + 1, size)),
        },
        settings.rounds,
      );
      await ledger.close();
      for (const [what, of] of Object.entries(samples)) {
        const { median: worst } = spreadOf(of, latency(99));
        lines.push({
          id: "TREE",
          what: `${what} at ${short(events)} events, p50`,
          value: spreadOf(of, latency(50)),
          unit: " ms",
          target: most(10, 5),
          note: `p99 ${short(worst)} ms; warm page cache`,
        });
      }
    }
    return lines;
  },
};
