/** IDLE: what subscriptions cost while nothing happens, in percent of a core, and how long they take to hear of something
 *  that another ledger appends, by polling, and that their own does, by its hint. */
import { openLedger } from "../../src/index.js";
import type { Subscription } from "../../src/index.js";
import { jobEvent, jobEvents, jobStream } from "./harness/events.js";
import type { Measure } from "./harness/measure.js";
import { most, short } from "./harness/report.js";
import type { Line, Target } from "./harness/report.js";
import { spread } from "./harness/statistics.js";

/** Of a subscription that has been idle for long, so that it asks as seldom as it ever does. */
const settleMs = 1_500;

export const idleMeasure: Measure = {
  ids: ["IDLE"],
  title: "subscriptions that wait",
  async run({ settings, filled }) {
    const path = await filled.copy(10_000);
    const options = { events: [jobEvents] };
    const [reader, writer] = [await openLedger(path, options), await openLedger(path, options)];
    const rounds = Math.min(settings.rounds, 3);
    const open: Subscription[] = [];
    const waiting: Promise<unknown>[] = [];
    const wait = async (count: number, consumer?: string): Promise<void> => {
      for (let n = 0; n < count; n++) {
        const subscription = reader.subscribe({ from: "head", ...(consumer === undefined ? {} : { consumer }) });
        await subscription.next();
        open.push(subscription);
        waiting.push(subscription.next());
      }
    };
    const leave = async (): Promise<void> => {
      for (const subscription of open.splice(0)) await subscription.return();
      await Promise.all(waiting.splice(0));
    };
    const lines: Line[] = [];
    const line = (what: string, values: readonly number[], unit: string, target: Target, note: string): void =>
      void lines.push({ id: "IDLE", what, value: spread(values), unit, target, note });

    const nobody = await idleShares(rounds);
    for (const [what, count, consumer] of [
      ["one subscription", 1, undefined],
      ["one durable consumer", 1, "mailer"],
      ["a thousand subscriptions", 1_000, undefined],
    ] as const) {
      await wait(count, consumer);
      const shares = await idleShares(rounds);
      await leave();
      line(`${what}, idle`, shares, " %", most(1, 0.2), `of a core; ${short(spread(nobody).median)} % without`);
    }

    for (const [what, from] of [
      ["another ledger's append is handed out after", writer],
      ["its own ledger's append is handed out after", reader],
    ] as const) {
      const tookMs: number[] = [];
      for (let n = 0; n < rounds * 5; n++) {
        await wait(1);
        await pause((n * 97) % 400);
        await from.append(jobStream(n), [jobEvent(n)]);
        const appended = performance.now();
        await waiting[0];
        tookMs.push(performance.now() - appended);
        await leave();
      }
      line(
        what,
        tookMs,
        " ms",
        most(from === writer ? 250 : 20),
        "from the acknowledgement on; idle for up to 0.4 s before",
      );
    }
    await reader.close();
    await writer.close();
    return lines;
  },
};

/** The share of a core that this process takes in seconds in which nothing happens, in percent. */
async function idleShares(rounds: number): Promise<number[]> {
  await pause(settleMs);
  const shares: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const [before, started] = [process.cpuUsage(), performance.now()];
    await pause(2_000);
    const { user, system } = process.cpuUsage(before);
    shares.push((user + system) / 10 / (performance.now() - started));
  }
  return shares;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
