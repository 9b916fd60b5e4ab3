/** Waiting at the end of the journal: how often the head is asked for, and that nothing is left behind. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { HeadWatch } from "../../src/engine/head-watch.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A watch on a head that is set by hand, and the moments at which it was asked for, in ms. */
function watched(): { watch: HeadWatch; head: { position: number; fails: boolean }; asked: number[] } {
  const head = { position: 0, fails: false };
  const asked: number[] = [];
  const start = performance.now();
  const watch = new HeadWatch(async () => {
    asked.push(Math.round(performance.now() - start));
    if (head.fails) throw new Error("no answer");
    return head.position;
  });
  return { watch, head, asked };
}

describe("the watch on the head", () => {
  test("asks after 20 ms, then less often the longer nothing happens, down to four times a second", async () => {
    const { watch, asked } = watched();
    watch.wait(0, () => {});

    await vi.advanceTimersByTimeAsync(2_000);

    const pauses = asked.map((at, index) => at - (asked[index - 1] ?? 0));
    const expected = [20, 30, 45, 68, 101, 152, 228, 250, 250, 250];
    expect(pauses.map((ms, index) => Math.abs(ms - (expected[index] ?? 250)) <= 1)).toEqual(pauses.map(() => true));
    expect(pauses.length).toBeGreaterThan(10);
  });

  test("asks once for all who wait", async () => {
    const { watch, asked } = watched();
    for (let n = 0; n < 100; n++) watch.wait(0, () => {});

    await vi.advanceTimersByTimeAsync(25);

    expect(asked.length).toBe(1);
  });

  test("asks soon again for somebody who comes while it has become slow, and goes on asking whoever comes", async () => {
    const { watch, asked } = watched();
    watch.wait(0, () => {});
    await vi.advanceTimersByTimeAsync(2_000);
    asked.length = 0;
    for (let n = 0; n < 100; n++) {
      watch.wait(0, () => {})();
      await vi.advanceTimersByTimeAsync(2);
    }

    expect(asked.length).toBeGreaterThanOrEqual(6);
    expect(asked.length).toBeLessThanOrEqual(11);
  });

  test("wakes each of those for whom the head is elsewhere, once", async () => {
    const { watch, head } = watched();
    const woken: number[] = [];
    for (const position of [4, 5, 6]) watch.wait(position, () => void woken.push(position));
    head.position = 5;

    await vi.advanceTimersByTimeAsync(3_000);

    // The one at 6 has read what is no longer there, and has to see that.
    expect(woken).toEqual([4, 6]);
  });

  test("a hint wakes those who are before it at once, and nobody else", async () => {
    const { watch, asked } = watched();
    const woken: number[] = [];
    for (const position of [4, 5, 6]) watch.wait(position, () => void woken.push(position));

    watch.hint(5);

    expect(woken).toEqual([4]);
    expect(asked).toEqual([]);
  });

  test("wakes all when the head cannot be read: whoever reads on will see why", async () => {
    const { watch, head } = watched();
    let woken = 0;
    for (let n = 0; n < 3; n++) watch.wait(0, () => void woken++);
    head.fails = true;

    await vi.advanceTimersByTimeAsync(25);

    expect(woken).toBe(3);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("has no timer when nobody waits", async () => {
    const { watch, asked } = watched();
    expect(vi.getTimerCount()).toBe(0);
    const stops = [1, 2, 3].map(() => watch.wait(0, () => {}));
    expect(vi.getTimerCount()).toBe(1);
    stops[0]!();
    stops[0]!();
    expect(vi.getTimerCount()).toBe(1);
    for (const stop of stops) stop();
    expect(vi.getTimerCount()).toBe(0);

    watch.wait(0, () => {});
    watch.hint(1);
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(asked).toEqual([]);
  });

  test("does not ask again while an answer is on its way", async () => {
    let asked = 0;
    let answer = (_: number): void => {};
    const watch = new HeadWatch(() => {
      asked++;
      return new Promise((resolve) => (answer = resolve));
    });
    let woken = 0;
    watch.wait(0, () => void woken++);
    await vi.advanceTimersByTimeAsync(1_000);
    watch.wait(0, () => void woken++);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([asked, woken]).toEqual([1, 0]);

    answer(0);
    await vi.advanceTimersByTimeAsync(100);
    expect(asked).toBe(2);
    answer(1);
    await vi.advanceTimersByTimeAsync(100);

    expect([asked, woken]).toEqual([2, 2]);
  });
});
