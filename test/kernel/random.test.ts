import { expect, test } from "vitest";
import { randomBytes } from "../../src/kernel/random.js";

test("random bytes are of the size that was asked for, never the same, and never zeros that were left behind", () => {
  const sizes = [32, 26, 32, 4_000, 64, 4_096, 5_000, 1, ...Array.from({ length: 500 }, () => 32)];

  const drawn = sizes.map((size) => randomBytes(size));

  expect(drawn.map((bytes) => bytes.length)).toEqual(sizes);
  const texts = drawn.filter((bytes) => bytes.length > 1).map((bytes) => Buffer.from(bytes).toString("hex"));
  expect(new Set(texts).size).toBe(texts.length);
  expect(texts.filter((text) => text.includes("00".repeat(16)))).toEqual([]);
});

test("what was handed out is its caller's alone", () => {
  const first = randomBytes(32);
  const kept = Buffer.from(first).toString("hex");

  randomBytes(32).fill(0);
  first.fill(1);
  const third = randomBytes(32);

  expect(Buffer.from(third).toString("hex")).not.toBe(kept);
  expect(first.buffer).not.toBe(third.buffer);
});
