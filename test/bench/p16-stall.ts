/** P16: how long the event loop stands still while 64 callers append. */
import { openLedger } from "../../src/index.js";
import { jobEvent, jobEvents } from "./harness/events.js";
import { Jobs } from "./harness/jobs.js";
import type { Measure } from "./harness/measure.js";
import { callers } from "./harness/rounds.js";
import { measureStalls } from "./harness/stalls.js";
import { warmUp } from "./harness/warm-up.js";

const callerCount = 64;

export const stallMeasure: Measure = {
  ids: ["P16"],
  title: `stalls of the event loop while ${callerCount} callers append`,
  async run(bench) {
    const ledger = await openLedger(bench.scratch.path("stall.ledger"), { events: [jobEvents] });
    await warmUp(ledger);
    const jobs = new Jobs(callerCount);
    let next = 0;
    const lines = await measureStalls(bench, {
      while: "appends",
      turn: () =>
        callers(callerCount, bench.settings.turnMs * 2, (caller) =>
          ledger.append(jobs.next(caller), [jobEvent(next++)]),
        ),
    });
    await ledger.close();
    return lines;
  },
};
