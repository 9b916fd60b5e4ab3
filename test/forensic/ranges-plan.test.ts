/** Sharing a journal between a thread and workers, simulated: no thread, no clock. */
import { describe, expect, test } from "vitest";
import { RangePlan } from "../../src/forensic/ranges-plan.js";

interface Outcome {
  /** How long it took, when the caller checks one entry in one unit of time. */
  readonly time: number;
  readonly waited: number;
  readonly ranges: readonly (readonly [from: number, to: number])[];
}

const rangeEntries = 8_192;
const pageEntries = 512;

/** A caller and so many workers, each as fast as `speed` says, of which the first range takes so much longer. */
function simulate(size: number, count: number, speed: number, start = 0): Outcome {
  const plan = new RangePlan({ size, rangeEntries, gapEntriesMax: 65_536 });
  const asked: { from: number; to: number; doneAt: number; own: number; learnt: boolean }[] = [];
  const ranges: [number, number][] = [];
  let [time, position, own, waited, late] = [0, 0, 0, 0, start];
  const ask = (): void => {
    while (asked.filter(({ learnt }) => !learnt).length < count) {
      const next = plan.next(
        position,
        asked.reduce((sum, { from, to }) => sum + to - from, 0),
      );
      if (next === null) return;
      ranges.push([next.from, next.to]);
      asked.push({ ...next, doneAt: time + (next.to - next.from) / speed + late, own, learnt: false });
      if (asked.length >= count) late = 0;
    }
  };
  const hear = (awaited?: object): void => {
    for (const range of asked) {
      if (range.learnt || range.doneAt > time) continue;
      range.learnt = true;
      plan.learn(own - range.own, range === awaited);
    }
    ask();
  };
  ask();
  while (position < size) {
    const [range] = asked;
    if (range?.from === position) {
      waited += Math.max(range.doneAt - time, 0);
      time = Math.max(range.doneAt, time);
      hear(range);
      position = range.to;
      asked.shift();
    } else {
      const to = Math.min(range?.from ?? size, position + pageEntries, size);
      time += to - position;
      own += to - position;
      position = to;
    }
    hear();
  }
  return { time, waited, ranges };
}

describe("the plan of ranges", () => {
  test.each([
    [1, 1],
    [1, 0.85],
    [1, 0.4],
    [1, 2.5],
    [2, 0.9],
    [3, 0.8],
    [7, 1],
  ])("keeps a caller and %d workers of speed %d busy", (count, speed) => {
    const size = 1_000_000;
    const { time } = simulate(size, count, speed);

    expect(time).toBeLessThan((size / (1 + count * speed)) * 1.1);
  });

  test("does not wait for workers that start late", () => {
    const { time, waited } = simulate(1_000_000, 1, 0.9, 100_000);

    expect(waited).toBeLessThan(60_000);
    expect(time).toBeLessThan(((1_000_000 + 90_000) / 1.9) * 1.15);
  });

  test("hands out ranges in order, none twice, none beyond the end", () => {
    const { ranges } = simulate(100_001, 2, 0.7);

    expect(ranges.length).toBeGreaterThan(2);
    ranges.forEach(([from, to], index) => {
      expect(from).toBeGreaterThanOrEqual(ranges[index - 1]?.[1] ?? 0);
      expect(from % pageEntries).toBe(0);
      expect(to).toBe(Math.min(from + rangeEntries, 100_001));
    });
  });

  test("without gaps hands out everything", () => {
    const plan = new RangePlan({ size: 1_000, rangeEntries: 300, gapEntriesMax: 0 });
    const ranges = [];
    for (let next = plan.next(0, 0); next !== null; next = plan.next(0, next.to)) ranges.push([next.from, next.to]);

    expect(ranges).toEqual([
      [0, 300],
      [300, 600],
      [600, 900],
      [900, 1_000],
    ]);
  });
});
