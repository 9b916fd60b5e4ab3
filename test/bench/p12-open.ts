/** P12: from `openLedger` on a large closed ledger to its head and its first stream, against reading all of it. */
import { openLedger } from "../../src/index.js";
import { jobEvents, jobStream } from "./harness/events.js";
import type { Measure } from "./harness/measure.js";
import { most, short } from "./harness/report.js";
import type { Line } from "./harness/report.js";
import { block, interleave } from "./harness/rounds.js";
import { spread } from "./harness/statistics.js";

export const openMeasure: Measure = {
  ids: ["P12"],
  title: "open until the head and the first stream are readable",
  async run({ settings, filled }) {
    const path = await filled.copy(settings.events);
    const open = async (readOnly: boolean): Promise<number> => {
      const started = performance.now();
      const ledger = await openLedger(path, { readOnly, events: [jobEvents] });
      const { size } = await ledger.status();
      const first = await ledger.readStream(jobStream(0), { limit: 1 }).toArray();
      const elapsedMs = performance.now() - started;
      await ledger.close();
      if (size < settings.events || first.length !== 1)
        throw new Error(`the ledger must have ${settings.events} events, found ${size}`);
      return elapsedMs;
    };
    const times: Record<"write" | "read", number[]> = { write: [], read: [] };
    for (let round = 0; round <= settings.rounds; round++) {
      const [write, read] = [await open(false), await open(true)];
      if (round > 0) times.write.push(write);
      if (round > 0) times.read.push(read);
    }
    const reader = await openLedger(path, { readOnly: true, events: [jobEvents] });
    const replayAll = async (): Promise<void> => {
      for await (const _ of reader.read());
    };
    const { replay } = await interleave(
      { replay: () => block(settings.events, replayAll) },
      settings.name === "quick" ? 1 : 2,
      "all",
    );
    await reader.close();
    const replayMs = spread(replay.map(({ elapsedMs }) => elapsedMs)).median;
    const line = (what: string, elapsedMs: readonly number[]): Line => ({
      id: "P12",
      what: `open ${what} at ${short(settings.events)} events`,
      value: spread(elapsedMs),
      unit: " ms",
      target: most(20, 5),
      note: "warm page cache",
    });
    return [
      line("for writing", times.write),
      line("for reading", times.read),
      {
        id: "P12",
        what: `open for writing / reading all ${short(settings.events)} events`,
        value: spread(times.write.map((each) => each / replayMs)),
        target: most(0.01),
        note: `reading all takes ${short(replayMs)} ms, ${short((settings.events / replayMs) * 1_000)} events/s, without projections`,
      },
    ];
  },
};
