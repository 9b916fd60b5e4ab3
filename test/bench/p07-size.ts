/** P7: bulk appends to a large journal against the same appends to a small one. */
import { openLedger } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { jobEvents } from "./harness/events.js";
import { appendBulk } from "./harness/filled-ledger.js";
import type { Measure } from "./harness/measure.js";
import { least, short } from "./harness/report.js";
import { block, interleave, rate, ratio, spreadOf } from "./harness/rounds.js";

const eventsPerTurn = 10_000;

export const sizeMeasure: Measure = {
  ids: ["P7"],
  title: "bulk appends, a thousand events each, at size",
  async run({ settings, filled }) {
    const options = { events: [jobEvents] };
    const large = await openLedger(await filled.copy(settings.bulkEvents), options);
    let largeEvents = settings.bulkEvents;
    // Each turn at 10,000 events needs a journal that has just 10,000.
    const smalls: Ledger[] = [];
    for (let round = 0; round <= settings.rounds; round++)
      smalls.push(await openLedger(await filled.copy(eventsPerTurn), options));
    const { atLarge, atSmall } = await interleave(
      {
        atLarge: () =>
          block(eventsPerTurn, async () => {
            await appendBulk(large, largeEvents, eventsPerTurn);
            largeEvents += eventsPerTurn;
          }),
        atSmall: async () => {
          const small = smalls.pop()!;
          const sample = await block(eventsPerTurn, () => appendBulk(small, eventsPerTurn, eventsPerTurn));
          await small.close();
          return sample;
        },
      },
      settings.rounds,
      "all",
    );
    await large.close();
    return [
      {
        id: "P7",
        what: `bulk append at ${short(settings.bulkEvents)} events / at 10k`,
        value: ratio(atLarge, rate, atSmall),
        target: least(0.8, 1),
        note: `${short(spreadOf(atLarge, rate).median)} to ${short(spreadOf(atSmall, rate).median)} events/s, ${eventsPerTurn} at a time${settings.name === "full" ? "" : "; --full goes to 3M"}`,
      },
    ];
  },
};
