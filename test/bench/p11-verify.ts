/** P11: verify at level full, one thread, against hashing and linking the stored text and nothing else. */
import { openLedger } from "../../src/index.js";
import type { Measure } from "./harness/measure.js";
import { jobEvents } from "./harness/events.js";
import { least, short } from "./harness/report.js";
import { block, interleave, rate, ratio, spreadOf } from "./harness/rounds.js";
import { hashAndLink } from "./limits/hash-and-link.js";

export const verifyMeasure: Measure = {
  ids: ["P11"],
  title: "verify, one thread",
  async run({ settings, filled }) {
    const path = await filled.shared(settings.events);
    const ledger = await openLedger(path, { readOnly: true, events: [jobEvents] });
    const { verify, limit } = await interleave(
      {
        verify: () =>
          block(settings.events, async () => {
            const report = await ledger.verify({ level: "full" });
            if (report.verdict !== "OK") throw new Error(`the ledger must verify, found ${report.verdict}`);
          }),
        limit: () => block(settings.events, () => hashAndLink(path)),
      },
      Math.min(settings.rounds, 5),
    );
    await ledger.close();
    return [
      {
        id: "P11",
        what: `verify full, one thread / string hash + link, ${short(settings.events)}`,
        value: ratio(verify, rate, limit),
        target: least(0.75, 0.9),
        note: `${short(spreadOf(verify, rate).median)} to ${short(spreadOf(limit, rate).median)} events/s`,
      },
    ];
  },
};
