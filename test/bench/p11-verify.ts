/** P11: verify at level full. One thread against hashing and linking the stored text and nothing else; two threads against
 *  one; and what each takes of memory, in a process of its own. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { openLedger } from "../../src/index.js";
import { jobEvents } from "./harness/events.js";
import type { Bench, Measure } from "./harness/measure.js";
import { least, most, short } from "./harness/report.js";
import type { Line } from "./harness/report.js";
import { block, interleave, rate, ratio, spreadOf } from "./harness/rounds.js";
import { hashAndLink } from "./limits/hash-and-link.js";

/** In every run: a smaller journal is verified before a second thread has started. */
const events = 1_000_000;
const program = fileURLToPath(new URL("harness/verify-once.js", import.meta.url));

export const verifyMeasure: Measure = {
  ids: ["P11"],
  title: "verify, one thread and two",
  async run(bench) {
    const { settings, filled } = bench;
    const path = await filled.shared(events);
    const ledger = await openLedger(path, { readOnly: true, events: [jobEvents] });
    const verify = async (workers: number): Promise<void> => {
      const { verdict } = await ledger.verify({ level: "full", workers });
      if (verdict !== "OK") throw new Error(`the ledger must verify, found ${verdict}`);
    };
    const { one, two, limit } = await interleave(
      {
        one: () => block(events, () => verify(1)),
        two: () => block(events, () => verify(2)),
        limit: () => block(events, () => hashAndLink(path)),
      },
      settings.name === "quick" ? 2 : Math.min(settings.rounds, 5),
      "all",
    );
    await ledger.close();
    const [oneRate, twoRate, limitRate] = [one, two, limit].map((taken) => short(spreadOf(taken, rate).median));
    return [
      {
        id: "P11",
        what: `verify full, one thread / string hash + link, ${short(events)}`,
        value: ratio(one, rate, limit),
        target: least(0.75, 0.9),
        note: `${oneRate} to ${limitRate} events/s`,
      },
      {
        id: "P11",
        what: `verify full, two threads / one, ${short(events)}`,
        value: ratio(two, rate, one),
        target: least(1.7),
        note: `${twoRate} to ${oneRate} events/s`,
      },
      ...(await memoryLines(bench)),
    ];
  },
};

/** The most memory that a process takes which verifies once: it must not grow with the journal. */
async function memoryLines({ settings, filled }: Bench): Promise<Line[]> {
  const sizes = settings.name === "full" ? [events, 3 * events] : [events];
  const lines: Line[] = [];
  for (const size of sizes) {
    const path = await filled.shared(size);
    for (const workers of [1, 2]) {
      const { peakMiB, progressed } = JSON.parse(
        execFileSync(process.execPath, [program, path, String(workers)], { encoding: "utf8" }),
      ) as { peakMiB: number; progressed: number };
      lines.push({
        id: "P11",
        what: `peak memory of verify, ${workers === 1 ? "one thread" : "two threads"}, ${short(size)}`,
        value: { median: peakMiB, min: peakMiB, max: peakMiB },
        unit: " MiB",
        target: most(300),
        note: `progress was told ${short(progressed)} times`,
      });
    }
  }
  return lines;
}
