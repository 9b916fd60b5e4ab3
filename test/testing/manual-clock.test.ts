/** The clock that is moved by hand, and what it calls. */
import { expect, test } from "vitest";
import { manualClock } from "../../src/testing/index.js";

test("what is due is called in order, each at its own time, also what is scheduled on the way", () => {
  const clock = manualClock(1_000);
  const called: string[] = [];
  const at = (name: string, ms: number, then = (): void => {}): void =>
    void clock.schedule(ms, () => {
      called.push(`${name} ${clock.now()} ${clock.monotonic()}`);
      then();
    });
  at("late", 30);
  at("early", 10, () => at("between", 10));
  at("with late", 30);

  clock.advance(9);
  expect(called).toEqual([]);
  clock.advance(21);

  expect(called).toEqual(["early 1010 10", "between 1020 20", "late 1030 30", "with late 1030 30"]);
  expect(clock.waiting).toBe(0);
});

test("what was cancelled is not called, and cancelling what was called does nothing", () => {
  const clock = manualClock();
  let called = 0;
  const one = clock.schedule(5, () => called++);
  const other = clock.schedule(5, () => called++);
  other.cancel();

  clock.advance(5);
  one.cancel();

  expect(called).toBe(1);
});

test("a host that sleeps: the wall clock jumps, and no timer notices", () => {
  const clock = manualClock(0);
  let called = 0;
  clock.schedule(1_000, () => called++);

  clock.set(600_000);
  expect([called, clock.monotonic()]).toEqual([0, 0]);
  clock.advance(1_000);

  expect([called, clock.now()]).toEqual([1, 601_000]);
});

test("fractions of ms add up, and time never goes back for a callback that moves it on", () => {
  const clock = manualClock(0);
  clock.schedule(0.5, () => clock.advance(10));
  clock.advance(0.25);
  clock.advance(0.25);

  expect([clock.now(), clock.monotonic()]).toEqual([10, 10.5]);
});
