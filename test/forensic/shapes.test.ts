import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EntryScanner } from "../../src/forensic/scanner.js";
import { Shapes } from "../../src/forensic/shapes.js";
import { encodeEntry, entryTemplate } from "../../src/journal/entry.js";
import type { EntryLabels } from "../../src/journal/entry.js";
import { canonicalize } from "../../src/kernel/canonical.js";
import { entryBytesMax } from "../../src/kernel/limits.js";
import { eventData, keys, labels, metas } from "../../src/testing/arbitraries.js";

const id = "9f".repeat(32);

function entry(data: object | string, given: EntryLabels = {}, at = 1_790_000_000_123): string {
  const text = typeof data === "string" ? data : canonicalize(data);
  return encodeEntry(entryTemplate("run/r-1", "run.started", 1, given), text, {
    seq: 7,
    prev: id,
    txFirst: 7,
    txCount: 1,
    rev: 5,
    at,
  });
}

function learned(...texts: readonly string[]): Shapes {
  const shapes = new Shapes();
  for (const text of texts) shapes.learn(text);
  return shapes;
}

/** What matches must be what the scanner accepts, with the same findings. */
function expectSound(shapes: Shapes, text: string): boolean {
  const end = shapes.match(text);
  if (end < 0) return false;
  const [scanner, skipper] = [new EntryScanner(), new EntryScanner()];
  expect(scanner.scanToPrev(text), text).toBe(end);
  expect(skipper.skipToPrev(text, end), text).toBe(end);
  expect([skipper.at, skipper.cause, skipper.replacement, skipper.brokenReference], text).toEqual([
    scanner.at,
    scanner.cause,
    scanner.replacement,
    scanner.brokenReference,
  ]);
  expect(scanner.references).toEqual([]);
  return true;
}

const typical = {
  attempt: 3,
  done: true,
  durationMs: 1_234.5,
  list: [1, 2],
  nested: { a: "x", b: null },
  output: "0a1b",
  rows: [{ k: 1 }, { k: 2 }],
};
const allLabels: EntryLabels = { actor: "ann", cause: id, command: "c 1", corr: "o-7", fence: ["run/r-1", 1, 2] };

describe("a shape", () => {
  test("matches entries that differ in their values alone", () => {
    const shapes = learned(entry(typical, allLabels));
    const other = { ...typical, attempt: -12, done: false, durationMs: 0, list: [0], output: "", rows: [{ k: -0.25 }] };

    expect(expectSound(shapes, entry(typical, allLabels))).toBe(true);
    expect(expectSound(shapes, entry(other, { ...allLabels, actor: "bob", corr: "z".repeat(512) }, 0))).toBe(true);
  });

  test.each([
    ["another member", { ...typical, zzz: 1 }],
    ["a member less", { attempt: 1 }],
    ["an escape", { ...typical, output: "a\nb" }],
    ["beyond ASCII", { ...typical, output: "é" }],
    ["a DEL", { ...typical, output: "\u007f" }],
    ["a large number", { ...typical, attempt: 1e21 }],
    ["a small number", { ...typical, attempt: 1e-7 }],
    ["sixteen digits", { ...typical, attempt: 9_007_199_254_740_991 }],
    ["a list of another kind", { ...typical, list: ["a"] }],
  ])("leaves to the scanner: %s", (_, data) => {
    expect(learned(entry(typical)).match(entry(data))).toBe(-1);
  });

  test.each([
    ["a content reference", { note: { $content: id, bytes: 1, n: 1 } }],
    ["a name with a character that means something in a pattern", { "a*": 1 }],
    ["a list of different things", { a: [1, "a"] }],
    ["lists in lists", { a: [[[[[[1]]]]]] }],
  ])("is not made of %s", (_, data) => {
    expect(learned(entry(data)).match(entry(data))).toBe(-1);
  });

  test("is not made of an entry with meta, nor of one too many", () => {
    expect(learned(entry({}, { meta: { a: "b" } })).match(entry({}, { meta: { a: "b" } }))).toBe(-1);

    const many = Array.from({ length: 6 }, (_, index) => entry({ [`k${index}`]: 1 }));
    const shapes = learned(...many);
    expect(many.map((text) => shapes.match(text) >= 0)).toEqual([true, true, true, true, false, false]);
  });

  test("does not match what is too long for an entry", () => {
    expect(learned(entry({ a: "x" })).match(entry({ a: "x".repeat(entryBytesMax) }))).toBe(-1);
  });

  const numbers = [
    "0",
    "-0",
    "00",
    "01",
    "-01",
    "1.0",
    "1.50",
    ".5",
    "5.",
    "0.5",
    "-0.5",
    "0.000001",
    "0.0000001",
    "0.0000012",
    "12345678.123456",
    "99999999.999999",
    "123456789012345",
    "-123456789012345",
    "1e5",
    "1E5",
    "+1",
    "1e-7",
  ];
  test.each(numbers)("takes the number %s only when it is canonical", (number) => {
    const shapes = learned(entry({ a: 1, b: [1] }));

    expectSound(shapes, entry(`{"a":${number},"b":[${number}]}`));
  });

  test("after any one unit is changed, removed or put in, matches only what the scanner accepts", () => {
    const text = entry(typical, allLabels);
    const shapes = learned(text);
    let matches = 0;
    for (let at = 0; at <= text.indexOf(',"prev"') + 9; at++) {
      for (const unit of [
        "",
        '"',
        "\\",
        ",",
        ":",
        "{",
        "}",
        "[",
        "]",
        "0",
        "1",
        "9",
        "-",
        ".",
        "e",
        "a",
        "A",
        " ",
        "\n",
        "\u007f",
        "é",
        "\ud800",
      ]) {
        if (expectSound(shapes, text.slice(0, at) + unit + text.slice(at + 1))) matches++;
        if (expectSound(shapes, text.slice(0, at) + unit + text.slice(at))) matches++;
      }
    }
    expect(matches).toBeGreaterThan(500);
  });

  test("of any entry, against any other entry and any one unit changed", () => {
    const texts = fc
      .record({
        data: fc.oneof(eventData(), fc.constant(typical)),
        given: fc.record(
          { actor: labels(), cause: fc.constant(id), command: keys(), corr: keys(), meta: metas() },
          { requiredKeys: [] },
        ),
      })
      .map(({ data, given }) => entry(data, given));
    fc.assert(
      fc.property(texts, texts, fc.nat(), fc.string({ unit: "binary", maxLength: 1 }), (one, other, at, unit) => {
        const shapes = learned(one);
        expectSound(shapes, one);
        expectSound(shapes, other);
        const where = at % (one.length + 1);
        expectSound(shapes, one.slice(0, where) + unit + one.slice(where + 1));
        expectSound(shapes, one.slice(0, where) + unit + one.slice(where));
      }),
    );
  });
});
