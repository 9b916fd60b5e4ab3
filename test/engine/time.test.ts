import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextTime } from "../../src/engine/time.js";
import type { TimeState } from "../../src/engine/time.js";
import { clockStepMsMax } from "../../src/kernel/limits.js";

const start = Date.UTC(2026, 0, 1);
const year = 365.25 * 24 * 60 * 60 * 1000;

describe("engine time", () => {
  test("is the clock's, as long as the clock runs evenly", () => {
    let state: TimeState = nextTime(null, { clock: start, monotonic: 0 }, false);
    for (let ms = 1; ms <= 1_000; ms++) {
      state = nextTime(state, { clock: start + ms, monotonic: ms + 0.3 }, false);
      expect(state.at).toBe(start + ms);
    }
  });

  test("goes on at real speed after a clock that was 75 years ahead for one event", () => {
    let state = nextTime(null, { clock: start, monotonic: 0 }, true);
    state = nextTime(state, { clock: start + 75 * year, monotonic: 10 }, true);
    const ahead = state.at;

    for (let step = 1; step <= 10_000; step++) {
      state = nextTime(state, { clock: start + 10 + Math.floor(step * 0.37), monotonic: 10 + step * 0.37 }, true);
    }

    expect(state.at - ahead).toBeGreaterThanOrEqual(3_698);
    expect(state.at - ahead).toBeLessThanOrEqual(3_703);
  });

  test("goes on at real speed when two processes take turns on a journal that is ahead", () => {
    let state = nextTime(null, { clock: start + 75 * year, monotonic: 0 }, true);
    const ahead = state.at;

    state = { ...state, clock: start, own: false };
    for (let ms = 1; ms <= 5_000; ms++) {
      const other: TimeState = { at: state.at, clock: state.clock, seen: ms, own: false };
      state = nextTime(other, { clock: start + ms, monotonic: ms }, true);
    }

    expect(state.at - ahead).toBe(5_000);
  });

  test("loses no fraction of a ms, however fast events follow each other", () => {
    let state = nextTime(null, { clock: start + 1_000, monotonic: 0 }, false);
    const ahead = state.at;

    for (let step = 1; step <= 100_000; step++) state = nextTime(state, { clock: start, monotonic: step / 100 }, false);

    expect(state.at - ahead).toBe(1_000);
  });

  test("follows a clock that was put forward, and is not put back with it", () => {
    let state = nextTime(null, { clock: start, monotonic: 0 }, false);
    state = nextTime(state, { clock: start + 3_600_000, monotonic: 5 }, false);
    expect(state.at).toBe(start + 3_600_000);

    state = nextTime(state, { clock: start + 10, monotonic: 10 }, false);
    expect(state.at).toBe(start + 3_600_005);
  });

  test("counts the time that a suspended process did not see", () => {
    let state = nextTime(null, { clock: start + 5_000, monotonic: 0 }, false);
    state = nextTime(state, { clock: start, monotonic: 1 }, false);
    state = nextTime(state, { clock: start + 60_000 - 10_000, monotonic: 2 }, false);
    expect(state.at).toBe(start + 5_001 + 50_000);
  });

  test("refuses a step of more than 366 days past the head, unless it is accepted", () => {
    const state = nextTime(null, { clock: start, monotonic: 0 }, false);
    expect(nextTime(state, { clock: start + clockStepMsMax, monotonic: 1 }, false).at).toBe(start + clockStepMsMax);
    expect(() => nextTime(state, { clock: start + clockStepMsMax + 1, monotonic: 1 }, false)).toThrow(
      expect.objectContaining({ code: "CLOCK_UNSURE" }),
    );
    expect(nextTime(state, { clock: start + clockStepMsMax + 1, monotonic: 1 }, true).at).toBe(
      start + clockStepMsMax + 1,
    );
  });

  test.each([NaN, Infinity, -1, 1.5, 8.64e15 + 1])("refuses a clock that shows %s", (clock) => {
    expect(() => nextTime(null, { clock, monotonic: 0 }, true)).toThrow(
      expect.objectContaining({ code: "CLOCK_UNSURE" }),
    );
  });

  test("never falls and never stands still for good, whatever the wall clock does", () => {
    const steps = fc.array(
      fc.record({
        passed: fc.double({ min: 0, max: 50, noNaN: true }),
        wall: fc.integer({ min: -1e9, max: 1e9 }),
        other: fc.boolean(),
      }),
      { minLength: 1, maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, (history) => {
        let monotonic = 0;
        let state = nextTime(null, { clock: start, monotonic }, true);
        let real = 0;
        const first = state.at;
        for (const { passed, wall, other } of history) {
          monotonic += passed;
          real += passed;
          // Another process writes at the same moment now and then; this one sees it at once.
          if (other) state = { ...state, seen: monotonic - (monotonic - state.seen), own: false };
          const next = nextTime(state, { clock: start + wall, monotonic }, true);
          expect(next.at).toBeGreaterThanOrEqual(state.at);
          state = next;
        }
        expect(state.at - first).toBeGreaterThanOrEqual(Math.floor(real) - history.length);
      }),
    );
  });
});
