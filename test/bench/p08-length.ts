/** P8: appends to long streams, and commands on long runs, against short ones, in time and in bytes handed to the operating
 *  system. */
import { readFileSync } from "node:fs";
import type { Ledger, NewEvent } from "../../src/index.js";
import { jobEvent, jobStream } from "./harness/events.js";
import type { Bench, Measure } from "./harness/measure.js";
import { least, most, short } from "./harness/report.js";
import type { Line } from "./harness/report.js";
import { interleave, rate, ratio, spreadOf } from "./harness/rounds.js";
import type { Sample, Turn } from "./harness/rounds.js";
import { openRunLedger, step } from "./harness/run-area.js";
import { spread } from "./harness/statistics.js";
import { warmUp, warmUpCommands } from "./harness/warm-up.js";

const longLength = 5_000;
const shortLength = 10;
const streamCount = 64;
/** Long runs are made by commands, one event each, so there are fewer of them. */
const runCount = 16;
/** Events of one fill: the results of a list of commands have at most 16 KiB together. */
const perFill = 250;
/** A short stream must stay short: it gets this many events in a turn, then the next turn takes fresh ones. */
const eventsPerStream = 4;

export const lengthMeasure: Measure = {
  ids: ["P8"],
  title: `appends and commands at stream length ${longLength} and ${shortLength}`,
  async run(bench) {
    const ledger = await openRunLedger(bench.scratch.path("length.ledger"));
    await warmUp(ledger);
    await warmUpCommands(ledger);
    const lines: Line[] = [];
    for (const work of [appends(ledger), commands(ledger)]) {
      const longs = Array.from({ length: work.count }, (_, index) => jobStream(2_000_000 + index));
      for (const stream of longs) {
        for (let at = 0; at < longLength; at += perFill) await work.fill(stream, at, perFill);
      }
      lines.push(...(await compare(bench, work, longs, 1)), ...(await compare(bench, work, longs, work.count)));
    }
    await ledger.close();
    return lines;
  },
};

/** What is done to streams, or to the runs that are named like them. */
interface Work {
  readonly what: string;
  readonly count: number;
  once(stream: string, index: number): Promise<unknown>;
  fill(stream: string, first: number, count: number): Promise<unknown>;
}

function appends(ledger: Ledger): Work {
  const events = (first: number, count: number): readonly NewEvent[] =>
    Array.from({ length: count }, (_, index) => jobEvent(first + index));
  return {
    what: "append",
    count: streamCount,
    once: (stream, index) => ledger.append(stream, [jobEvent(index)]),
    fill: (stream, first, count) => ledger.append(stream, events(first, count)),
  };
}

function commands(ledger: Ledger): Work {
  return {
    what: "command",
    count: runCount,
    once: (stream, index) => ledger.execute(step(stream, index)),
    fill: (stream, first, count) =>
      ledger.execute(Array.from({ length: count }, (_, index) => step(stream, first + index))),
  };
}

/** The same number of operations on each of the streams, by one caller or by one for each stream. */
async function compare(
  bench: Bench,
  work: Work,
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
      const sample = await workOnEach(work, targets, callerCount);
      const after = bytesWritten();
      if (before !== null && after !== null) into.push((after - before) / sample.operations);
      return sample;
    };
  const freshShorts = async (): Promise<readonly string[]> => {
    const shorts = Array.from({ length: longs.length }, () => jobStream(3_000_000 * callerCount + made++));
    await Promise.all(shorts.map((stream) => work.fill(stream, 0, shortLength)));
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
      what: `${work.what} at length ${longLength} / ${shortLength}, ${who}`,
      value: ratio(atLong, rate, atShort),
      target: least(0.8, 1),
      note: `${short(spreadOf(atLong, rate).median)}/s to ${short(spreadOf(atShort, rate).median)}/s`,
    },
  ];
  if (bytes.atLong.length === 0) say("P8 bytes not measured: this system does not count what a process writes");
  else {
    lines.push({
      id: "P8",
      what: `bytes written, ${work.what} at length ${longLength} / ${shortLength}, ${who}`,
      value: spread(bytes.atLong.map((each, round) => each / bytes.atShort[round]!)),
      target: most(1.1, 1.02),
      note: `${short(spread(bytes.atLong).median)} to ${short(spread(bytes.atShort).median)} bytes; "flat" is read as 1.1`,
    });
  }
  return lines;
}

async function workOnEach(work: Work, streams: readonly string[], callerCount: number): Promise<Sample> {
  const started = performance.now();
  let next = 0;
  const call = async (): Promise<void> => {
    while (next < streams.length * eventsPerStream) {
      const index = next++;
      await work.once(streams[index % streams.length]!, index);
    }
  };
  await Promise.all(Array.from({ length: callerCount }, call));
  return { operations: next, elapsedMs: performance.now() - started, latenciesMs: [] };
}

/** What this process handed to `write` so far, the page cache included; null where nobody counts. */
function bytesWritten(): number | null {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "latin1"))?.[1] ?? Number.NaN);
  } catch {
    return null;
  }
}
