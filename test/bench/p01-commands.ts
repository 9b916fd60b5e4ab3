/** P1 and P2 for commands: one caller that waits for each command, against overwriting a block and waiting for the disk. */
import { overwriteBlocks } from "./limits/raw-disk.js";
import { jobStream } from "./harness/events.js";
import type { Measure } from "./harness/measure.js";
import { least, most, short } from "./harness/report.js";
import { interleave, latency, oneCaller, rate, ratio, spreadOf } from "./harness/rounds.js";
import { openRunLedger, step } from "./harness/run-area.js";
import { warmUp, warmUpCommands } from "./harness/warm-up.js";

export const oneCommandMeasure: Measure = {
  ids: ["P1", "P2"],
  title: "durable commands that change two documents, one caller",
  async run({ settings, scratch }) {
    const raw = overwriteBlocks(scratch.path("raw"));
    const ledger = await openRunLedger(scratch.path("commands.ledger"));
    await warmUp(ledger);
    await warmUpCommands(ledger);
    let next = 0;
    const samples = await interleave(
      {
        raw: () => oneCaller(settings.turnMs, () => raw.write()),
        ledger: () => oneCaller(settings.turnMs, () => ledger.execute(step(jobStream(next % 64), next++))),
      },
      settings.rounds,
    );
    await ledger.close();
    raw.close();
    const rawP50Ms = spreadOf(samples.raw, latency(50)).median;
    const latencies = (percent: number): string =>
      `${spreadOf(samples.ledger, latency(percent)).median.toFixed(2)} ms to ${spreadOf(samples.raw, latency(percent)).median.toFixed(2)} ms raw`;
    return [
      {
        id: "P1",
        what: "command, one caller / raw overwrite",
        value: ratio(samples.ledger, rate, samples.raw),
        target: least(0.55, 0.8),
        rawP50Ms,
        note: `${short(spreadOf(samples.ledger, rate).median)}/s to ${short(spreadOf(samples.raw, rate).median)}/s raw`,
      },
      {
        id: "P2",
        what: "its p50 / raw p50",
        value: ratio(samples.ledger, latency(50), samples.raw),
        target: most(1.8, 1.25),
        rawP50Ms,
        note: latencies(50),
      },
      {
        id: "P2",
        what: "its p99 / raw p99",
        value: ratio(samples.ledger, latency(99), samples.raw),
        target: most(8, 2),
        rawP50Ms,
        note: latencies(99),
      },
    ];
  },
};
