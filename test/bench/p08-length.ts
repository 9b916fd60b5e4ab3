/** P8: appends to long streams against appends to short ones, in time and in bytes handed to the operating system. */
import { readFileSync } from "node:fs";
import { openLedger } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { jobEvent, jobEvents, jobStream } from "./harness/events.js";
import type { Bench, Measure } from "./harness/measure.js";
import { least, most, short } from "./harness/report.js";
import type { Line } from "./harness/report.js";
import { interleave, rate, ratio, spreadOf } from "./harness/rounds.js";
import type { Sample, Turn } from "./harness/rounds.js";
import { spread } from "./harness/statistics.js";
import { warmUp } from "./harness/warm-up.js";

const longLength = 5_000;
const shortLength = 10;
const streamCount = 64;
/** A short stream must stay short: it gets this many events in a turn, then the next turn takes fresh ones. */
const eventsPerStream = 4;

export const lengthMeasure: Measure = {
  ids: ["P8"],
  title: `appends at stream length ${longLength} and ${shortLength}`,
  async run(bench) {
    const ledger = await openLedger(bench.scratch.path("length.ledger"), { events: [jobEvents] });
    await warmUp(ledger);
    const longs = Array.from({ length: streamCount }, (_, index) => jobStream(2_000_000 + index));
    for (const stream of longs) await fill(ledger, stream, longLength);
    const lines = [...(await compare(bench, ledger, longs, 1)), ...(await compare(bench, ledger, longs, streamCount))];
    await ledger.close();
    return lines;
  },
};

/** The same number of appends to each of the streams, by one caller or by one for each stream. */
async function compare(
  bench: Bench,
  ledger: Ledger,
  longs: readonly string[],
  callerCount: number,
): Promise<readonly Line[]> {
  const { settings, say } = bench;
  const bytes: { atLong: number[]; atShort: number[] } = { atLong: [], atShort: [] };
  let made = 0;
  const turn =
    (into: number[], streams: () => Promise<readonly string[]>): Turn =>
    async () => {
      const targets = await streams();
      const before = bytesWritten();
      const sample = await appendToEach(ledger, targets, callerCount);
      const after = bytesWritten();
      if (before !== null && after !== null) into.push((after - before) / sample.operations);
      return sample;
    };
  const freshShorts = async (): Promise<readonly string[]> => {
    const shorts = Array.from({ length: streamCount }, () => jobStream(3_000_000 * callerCount + made++));
    await ledger.append(
      shorts.map((stream) => ({ stream, events: Array.from({ length: shortLength }, (_, index) => jobEvent(index)) })),
    );
    return shorts;
  };
  const { atLong, atShort } = await interleave(
    { atLong: turn(bytes.atLong, () => Promise.resolve(longs)), atShort: turn(bytes.atShort, freshShorts) },
    settings.rounds * 2,
  );
  const who = callerCount === 1 ? "one caller" : `${callerCount} callers`;
  const lines: Line[] = [
    {
      id: "P8",
      what: `append at length ${longLength} / ${shortLength}, ${who}`,
      value: ratio(atLong, rate, atShort),
      target: least(0.8, 1),
      note: `${short(spreadOf(atLong, rate).median)}/s to ${short(spreadOf(atShort, rate).median)}/s`,
    },
  ];
  if (bytes.atLong.length === 0) say("P8 bytes not measured: this system does not count what a process writes");
  else {
    lines.push({
      id: "P8",
      what: `bytes written an event at length ${longLength} / ${shortLength}, ${who}`,
      value: spread(bytes.atLong.map((each, round) => each / bytes.atShort[round]!)),
      target: most(1.1, 1.02),
      note: `${short(spread(bytes.atLong).median)} to ${short(spread(bytes.atShort).median)} bytes; "flat" is read as 1.1`,
    });
  }
  return lines;
}

async function appendToEach(ledger: Ledger, streams: readonly string[], callerCount: number): Promise<Sample> {
  const started = performance.now();
  let next = 0;
  const call = async (): Promise<void> => {
    while (next < streams.length * eventsPerStream) {
      const index = next++;
      await ledger.append(streams[index % streams.length]!, [jobEvent(index)]);
    }
  };
  await Promise.all(Array.from({ length: callerCount }, call));
  return { operations: next, elapsedMs: performance.now() - started, latenciesMs: [] };
}

async function fill(ledger: Ledger, stream: string, events: number): Promise<void> {
  for (let at = 0; at < events; at += 1_000)
    await ledger.append(
      stream,
      Array.from({ length: 1_000 }, (_, index) => jobEvent(at + index)),
    );
}

/** What this process handed to `write` so far, the page cache included; null where nobody counts. */
function bytesWritten(): number | null {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "latin1"))?.[1] ?? Number.NaN);
  } catch {
    return null;
  }
}
