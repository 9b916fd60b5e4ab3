import { describe, expect, test } from "vitest";
import { parseDuration, parseTime, systemClock } from "../../src/kernel/clock.js";
import { leaseMsMax } from "../../src/kernel/limits.js";
import { refusalOf } from "./refusal.js";

describe("times", () => {
  test.each([
    [0, 0],
    [1_767_225_600_000, 1_767_225_600_000],
    [-1, -1],
    [8.64e15, 8.64e15],
    [-8.64e15, -8.64e15],
    [new Date(0), 0],
    [new Date("2026-01-01T00:00:00.123Z"), 1_767_225_600_123],
    [new Date(8.64e15), 8.64e15],
  ])("G-07 %o is %d ms", (value, ms) => {
    expect(parseTime(value, "at")).toBe(ms);
  });

  test.each([
    undefined,
    null,
    "",
    "2026-01-01",
    "0",
    1.5,
    NaN,
    Infinity,
    2 ** 53,
    8.64e15 + 2,
    -8.64e15 - 2,
    1n,
    {},
    [0],
    new Proxy(new Date(0), {}),
  ])("G-07 %o is refused", (value) => {
    const refusal = refusalOf(() => parseTime(value, "at"));
    expect(refusal.code).toBe("INVALID_ARGUMENT");
    expect(refusal.details).toMatchObject({ path: "at" });
  });

  test("C11 an invalid Date, NaN and 8.64e15+1 are refused with what was found", () => {
    expect(refusalOf(() => parseTime(new Date(NaN), "at")).details).toMatchObject({ found: "NaN" });
    expect(refusalOf(() => parseTime(NaN, "at")).details).toMatchObject({ found: "NaN" });
    expect(refusalOf(() => parseTime(8.64e15 + 1, "at")).details).toMatchObject({ found: "8640000000000001" });
    expect(refusalOf(() => parseTime(new Date(8.64e15 + 1), "at")).code).toBe("INVALID_ARGUMENT");
  });

  test("a Date is asked by its own means: what it says of itself is not called", () => {
    class Liar extends Date {
      override getTime(): number {
        throw new Error("called");
      }
    }

    expect(parseTime(new Liar(5), "at")).toBe(5);
    expect(refusalOf(() => parseTime(Object.create(Date.prototype), "at")).code).toBe("INVALID_ARGUMENT");
  });

  test("-0 ms becomes 0", () => {
    expect(Object.is(parseTime(-0, "at"), 0)).toBe(true);
  });

  test("B08 fractions of a ms are refused, never rounded", () => {
    expect(refusalOf(() => parseTime(1_767_225_600_000.25, "at")).code).toBe("INVALID_ARGUMENT");
    expect(refusalOf(() => parseTime(performance.timeOrigin + 0.5 - (performance.timeOrigin % 1), "at")).code).toBe(
      "INVALID_ARGUMENT",
    );
  });

  test("B08 the host's clock shows whole ms", () => {
    expect(Number.isSafeInteger(systemClock.now())).toBe(true);
    const before = systemClock.monotonic();
    expect(systemClock.monotonic()).toBeGreaterThanOrEqual(before);
  });
});

describe("durations", () => {
  test("G-08 a lease is a whole number of ms from 1 to 24 hours", () => {
    expect(parseDuration(1, "leaseMs", leaseMsMax)).toBe(1);
    expect(parseDuration(24 * 60 * 60 * 1000, "leaseMs", leaseMsMax)).toBe(86_400_000);

    for (const value of [0, -0, -1, 0.5, 1.5, 86_400_001, NaN, Infinity, 2 ** 53, "1", null, undefined, 1n]) {
      const refusal = refusalOf(() => parseDuration(value, "leaseMs", leaseMsMax));
      expect(refusal.code).toBe("INVALID_ARGUMENT");
      expect(refusal.message).toContain("leaseMs must be a whole number of ms from 1 to 86400000, found ");
    }
  });
});
