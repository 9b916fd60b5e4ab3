import { describe, expect, test } from "vitest";
import { parseIsoTime, parseRange, parseSelector } from "../../src/cli/selector.js";

describe("a selector", () => {
  test.each([
    ["@", { kind: "head", back: 0 }],
    ["@~", { kind: "head", back: 1 }],
    ["@~3", { kind: "head", back: 3 }],
    ["#0", { kind: "position", position: 0 }],
    ["#123456789", { kind: "position", position: 123_456_789 }],
    ["123", { kind: "position", position: 123 }],
    ["1d0c41", { kind: "id", prefix: "1d0c41" }],
    ["1D0C41B2E7A9", { kind: "id", prefix: "1d0c41b2e7a9" }],
    ["123456", { kind: "digits", position: 123_456, prefix: "123456" }],
    ["run/r17@9", { kind: "revision", stream: "run/r17", revision: 9 }],
    ["user/a@example.com@2", { kind: "revision", stream: "user/a@example.com", revision: 2 }],
    ["log/cafe\u0301@1", { kind: "revision", stream: "log/cafe\u0301", revision: 1 }],
    ["2026-03-01", { kind: "time", at: Date.UTC(2026, 2, 1) }],
    ["cp:latest", { kind: "checkpoint" }],
    ["2026-03-01T12:30Z", { kind: "time", at: Date.UTC(2026, 2, 1, 12, 30) }],
  ])("%s", (text, selector) => {
    expect(parseSelector(text)).toEqual(selector);
  });

  test.each([
    "",
    "#",
    "#-1",
    "#07",
    "007",
    "#1e3",
    "@3",
    "@~x",
    "12ab",
    "abc",
    "run/r17",
    "run/r17@0",
    "run/r17@",
    "Run/r17@1",
    "@@",
    "-1",
    " @",
    "cp:",
    "cp:first",
    "#99999999999999999999",
    "2026-02-31",
    "2026-13-01",
  ])("%j is none", (text) => {
    expect(() => parseSelector(text)).toThrow(/a selector must be/);
  });

  test("a range is said to be one", () => {
    expect(() => parseSelector("#1..#3")).toThrow(/must name one event, found the range/);
  });
});

describe("a range", () => {
  test.each([
    ["#3..#9", { kind: "position", position: 3 }, { kind: "position", position: 9 }],
    ["@~3..@", { kind: "head", back: 3 }, { kind: "head", back: 0 }],
    ["7..", { kind: "position", position: 7 }, null],
    ["..@~1", null, { kind: "head", back: 1 }],
    ["..", null, null],
    ["run/a..b@3..@", { kind: "revision", stream: "run/a..b", revision: 3 }, { kind: "head", back: 0 }],
    [
      "2026-03-01T00:00:00.000Z..2026-03-02",
      { kind: "time", at: Date.UTC(2026, 2, 1) },
      { kind: "time", at: Date.UTC(2026, 2, 2) },
    ],
  ])("%s", (text, from, to) => {
    expect(parseRange(text)).toEqual({ from, to });
  });

  test.each(["", "@", "#1...#3", "#1..nope", "a..b"])("%j is none", (text) => {
    expect(() => parseRange(text)).toThrow(/a range must be/);
  });

  test("a range that can be read in two ways is refused", () => {
    expect(() => parseRange("run/a@1..run/b@2..run/c@3")).toThrow(/readable in one way/);
  });
});

describe("a time", () => {
  test.each([
    ["2026-03-01", "2026-03-01T00:00:00.000Z"],
    ["2026-03-01T12:30", "2026-03-01T12:30:00.000Z"],
    ["2026-03-01 12:30:15", "2026-03-01T12:30:15.000Z"],
    ["2026-03-01T12:30:15.5Z", "2026-03-01T12:30:15.500Z"],
    ["2026-03-01T12:30+02:00", "2026-03-01T10:30:00.000Z"],
    ["2024-02-29", "2024-02-29T00:00:00.000Z"],
  ])("%s is %s, whatever the zone of the machine", (text, iso) => {
    expect(new Date(parseIsoTime(text) ?? Number.NaN).toISOString()).toBe(iso);
  });

  test.each([
    "2026",
    "2026-3-1",
    "2026-02-29",
    "2026-03-01T25:00",
    "2026-03-01T12",
    "2026-03-01T12:30:15.1234Z",
    "yesterday",
    "2026-03-01Z",
  ])("%j is none", (text) => {
    expect(parseIsoTime(text)).toBeNull();
  });
});
