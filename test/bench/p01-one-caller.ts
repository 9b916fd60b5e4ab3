/** P1 and P2: one caller that waits for each append, against overwriting a block and waiting for the disk. */
import { openLedger } from "../../src/index.js";
import { openEmmett } from "./limits/emmett.js";
import { openPlainSqlite } from "./limits/plain-sqlite.js";
import { overwriteBlocks } from "./limits/raw-disk.js";
import { jobEvent, jobEvents, jobStream } from "./harness/events.js";
import type { Measure } from "./harness/measure.js";
import { least, most, short } from "./harness/report.js";
import { interleave, latency, oneCaller, rate, ratio, spreadOf } from "./harness/rounds.js";
import { warmUp } from "./harness/warm-up.js";

export const oneCallerMeasure: Measure = {
  ids: ["P1", "P2"],
  title: "durable appends, one caller",
  async run({ settings, scratch, figure, say }) {
    const raw = overwriteBlocks(scratch.path("raw"));
    const sqlite = openPlainSqlite(scratch.path("plain.db"), "FULL");
    const ledger = await openLedger(scratch.path("one.ledger"), { events: [jobEvents] });
    const emmett = await openEmmett(scratch.path("emmett.db"), say);
    await warmUp(ledger);
    let next = 0;
    const turns = {
      raw: () => oneCaller(settings.turnMs, () => raw.write()),
      ledger: () => oneCaller(settings.turnMs, () => ledger.append(jobStream(0), [jobEvent(next++)])),
      sqlite: () => oneCaller(settings.turnMs, () => sqlite.insert(1)),
    };
    const samples = await interleave(turns, settings.rounds);
    if (emmett !== null) {
      const { peer } = await interleave(
        { peer: () => oneCaller(settings.turnMs, () => emmett.append(jobStream(0), jobEvent(next++))) },
        Math.min(settings.rounds, 5),
      );
      figure({ what: "emmett-sqlite, one caller", value: spreadOf(peer, rate), unit: "/s" });
    }
    await ledger.close();
    sqlite.close();
    raw.close();
    const rawP50Ms = spreadOf(samples.raw, latency(50)).median;
    const rates = `${short(spreadOf(samples.ledger, rate).median)}/s to ${short(spreadOf(samples.raw, rate).median)}/s raw, SQLite FULL ${short(spreadOf(samples.sqlite, rate).median)}/s`;
    const latencies = (percent: number): string =>
      `${spreadOf(samples.ledger, latency(percent)).median.toFixed(2)} ms to ${spreadOf(samples.raw, latency(percent)).median.toFixed(2)} ms raw, SQLite FULL ${spreadOf(samples.sqlite, latency(percent)).median.toFixed(2)} ms`;
    return [
      {
        id: "P1",
        what: "plain append, one caller / raw overwrite",
        value: ratio(samples.ledger, rate, samples.raw),
        target: least(0.65, 0.85),
        rawP50Ms,
        note: rates,
      },
      {
        id: "P2",
        what: "its p50 / raw p50",
        value: ratio(samples.ledger, latency(50), samples.raw),
        target: most(1.3, 1.15),
        rawP50Ms,
        note: latencies(50),
      },
      {
        id: "P2",
        what: "its p99 / raw p99",
        value: ratio(samples.ledger, latency(99), samples.raw),
        target: most(2, 1.3),
        rawP50Ms,
        note: latencies(99),
      },
    ];
  },
};
