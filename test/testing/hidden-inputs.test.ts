import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as later } from "node:timers";
import { expect, test } from "vitest";
import { HiddenInputError, withoutHiddenInputs } from "../../src/testing/hidden-inputs.js";

const readers: readonly (readonly [input: string, read: () => unknown])[] = [
  ["Date.now()", () => Date.now()],
  ["Date()", () => Date()],
  ["new Date()", () => new Date()],
  ["new Date(year, month, …), which is local time", () => new Date(2026, 0)],
  ["Date.prototype.getHours()", () => new Date(0).getHours()],
  ["Date.prototype.setHours()", () => new Date(0).setHours(1)],
  ["Date.prototype.getTimezoneOffset()", () => new Date(0).getTimezoneOffset()],
  ["Date.prototype.toString()", () => new Date(0).toString()],
  ["Math.random()", () => Math.random()],
  ["performance.now()", () => performance.now()],
  ["crypto.randomUUID()", () => crypto.randomUUID()],
  ["crypto.randomUUID()", () => randomUUID()],
  ["crypto.getRandomValues()", () => crypto.getRandomValues(new Uint8Array(1))],
  ["crypto.randomBytes()", () => randomBytes(1)],
  ["process.hrtime()", () => process.hrtime()],
  ["process.hrtime()", () => process.hrtime.bigint()],
  ["process.uptime()", () => process.uptime()],
  ["process.nextTick()", () => process.nextTick(() => {})],
  ["process.env", () => process.env["HOME"]],
  ["setTimeout()", () => setTimeout(() => {}, 0)],
  ["setInterval()", () => setInterval(() => {}, 0)],
  ["setImmediate()", () => setImmediate(() => {})],
  ["timers.setTimeout()", () => later(() => {}, 0)],
  ["queueMicrotask()", () => queueMicrotask(() => {})],
  ["fetch()", () => fetch("data:,")],
  ["String.prototype.localeCompare()", () => "a".localeCompare("b")],
  ["Number.prototype.toLocaleString()", () => (1_000).toLocaleString()],
  ["Intl", () => new Intl.NumberFormat()],
];

test.each(readers)("D14 %s throws while a pure function runs, and works again behind it", (input, read) => {
  const before = Object.getOwnPropertyDescriptors(globalThis);

  expect(() => withoutHiddenInputs(read)).toThrow(HiddenInputError);
  expect(() => withoutHiddenInputs(read)).toThrow(`found ${input}`);
  // A function that swallows what is thrown has read it all the same.
  const swallowing = (): string => {
    try {
      return String(read());
    } catch {
      return "nothing happened";
    }
  };
  expect(() => withoutHiddenInputs(swallowing)).toThrow(`found ${input}`);

  expect(Object.getOwnPropertyDescriptors(globalThis)).toEqual(before);
  const answer = read();
  if (answer instanceof Promise) answer.catch(() => {});
  else if (typeof answer === "object") clearTimeout(answer as NodeJS.Timeout);
});

test("a pure function runs as it does otherwise, and what it throws is thrown", () => {
  const moment = withoutHiddenInputs(() => {
    const date = new Date("2026-01-01T00:00:00Z");
    return [
      date instanceof Date,
      date.getTime(),
      date.toISOString(),
      Date.parse("1970-01-01"),
      Date.UTC(1970, 0),
      Math.max(1, 2),
    ];
  });

  expect(moment).toEqual([true, 1_767_225_600_000, "2026-01-01T00:00:00.000Z", 0, 0, 2]);
  expect(() =>
    withoutHiddenInputs(() => {
      throw new Error("of its own");
    }),
  ).toThrow("of its own");
  expect(withoutHiddenInputs(() => withoutHiddenInputs(() => 7))).toBe(7);
  expect(() => withoutHiddenInputs(() => withoutHiddenInputs(() => Math.random()))).toThrow("found Math.random()");
  expect(Date.now()).toBeGreaterThan(0);
});
