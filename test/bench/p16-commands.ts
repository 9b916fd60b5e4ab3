/** P16 with commands: how long the event loop stands still while of 64 callers a third appends, a third runs commands, and a
 *  third claims, renews and completes. */
import { Backlog, warmUpQueue } from "./harness/backlog.js";
import { jobEvent } from "./harness/events.js";
import { Jobs } from "./harness/jobs.js";
import type { Measure } from "./harness/measure.js";
import { callers } from "./harness/rounds.js";
import { openRunLedger, step } from "./harness/run-area.js";
import { measureStalls } from "./harness/stalls.js";
import { warmUp, warmUpCommands } from "./harness/warm-up.js";

const callerCount = 64;
const queued = 1_000;

export const commandStallMeasure: Measure = {
  ids: ["P16"],
  title: `stalls of the event loop while ${callerCount} callers append, run commands and work on the queue`,
  async run(bench) {
    const ledger = await openRunLedger(bench.scratch.path("command-stall.ledger"));
    const backlog = new Backlog(ledger, queued);
    await warmUp(ledger);
    await warmUpCommands(ledger);
    await warmUpQueue(backlog);
    const jobs = new Jobs(callerCount);
    let next = 0;
    const operations: readonly ((caller: number) => Promise<unknown>)[] = [
      (caller) => ledger.append(jobs.next(caller), [jobEvent(next++)]),
      (caller) => ledger.execute(step(jobs.next(caller), next++)),
      (caller) => backlog.work(`worker-${caller}`),
    ];
    const lines = await measureStalls(bench, {
      while: "appends, commands and items",
      prepare: () => backlog.fill(bench.settings.turnMs * 20), // more than can be worked off in the turn
      turn: () => callers(callerCount, bench.settings.turnMs * 2, (caller) => operations[caller % 3]!(caller)),
    });
    await ledger.close();
    return lines.map((line) => ({ ...line, what: `${line.what}, with commands` }));
  },
};
