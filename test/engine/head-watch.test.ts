/** Waiting at the end of the journal: how often the head is asked for, what hints do, and that nothing is left behind. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { HeadWatch } from "../../src/engine/head-watch.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A watch on a head that is set by hand, the moments at which it was asked for, in ms, and who listens to the store. */
function watched() {
  const head = { position: 0, fails: false };
  const asked: number[] = [];
  const heard = new Set<(position: number) => void>();
  const start = performance.now();
  const readHead = async (): Promise<number> => {
    asked.push(Math.round(performance.now() - start));
    if (head.fails) throw new Error("no answer");
    return head.position;
  };
  const watch = new HeadWatch(readHead, (hint) => {
    heard.add(hint);
    return () => heard.delete(hint);
  });
  const tell = (position: number): void => heard.forEach((hint) => hint(position));
  return { watch, head, asked, heard, tell };
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

  test("listens to the store while somebody waits, and only then", async () => {
    const { watch, heard, tell, asked } = watched();
    let woken = 0;
    expect(heard.size).toBe(0);
    const stops = [0, 0].map((position) => watch.wait(position, () => void woken++));
    expect(heard.size).toBe(1);

    tell(1);
    expect([woken, heard.size]).toEqual([2, 0]);
    for (const stop of stops) stop();
    const stop = watch.wait(1, () => void woken++);
    expect(heard.size).toBe(1);
    stop();

    expect([woken, heard.size, asked]).toEqual([2, 0, []]);
  });

  test("a hint that came before whoever it is for has the head asked for at once", async () => {
    const { watch, head, asked } = watched();
    let woken = 0;
    head.position = 3;
    watch.hint(3);
    watch.hint(2);

    watch.wait(2, () => void woken++);
    await vi.advanceTimersByTimeAsync(0);

    expect([asked, woken]).toEqual([[0], 1]);
  });

  test("a wrong hint wakes once, and is forgotten when the head was read", async () => {
    const { watch, asked, tell } = watched();
    let woken = 0;
    watch.wait(0, () => void woken++);
    tell(Number.MAX_SAFE_INTEGER);
    watch.wait(0, () => void woken++);
    await vi.advanceTimersByTimeAsync(0);
    expect([asked, woken]).toEqual([[0], 1]);

    watch.wait(0, () => void woken++);
    await vi.advanceTimersByTimeAsync(10);

    expect([asked, woken]).toEqual([[0], 1]);
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
    const readHead = (): Promise<number> => {
      asked++;
      return new Promise((resolve) => (answer = resolve));
    };
    const watch = new HeadWatch(readHead, () => () => {});
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
