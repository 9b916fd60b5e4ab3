import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LineCutter, lineBytesMax } from "../../../src/cli/exec/line-cutter.js";
import type { CutLine } from "../../../src/cli/exec/line-cutter.js";

const runs = process.env["RUNLEDGER_LONG"] === "1" ? 1_000 : 50;

function cut(chunks: readonly (string | Uint8Array)[]): CutLine[] {
  const lines: CutLine[] = [];
  const cutter = new LineCutter((line) => lines.push(line));
  for (const chunk of chunks) cutter.push(Buffer.from(chunk));
  cutter.end();
  return lines;
}

function shown({ payload, bytes, partial }: CutLine): string {
  return `${typeof payload} ${bytes} ${partial}`;
}

function joined(lines: readonly CutLine[]): Buffer {
  return Buffer.concat(
    lines.flatMap(({ payload, partial }) => [Buffer.from(payload), Buffer.from(partial ? "" : "\n")]),
  );
}

describe("a line cutter", () => {
  test("takes the line feed away and nothing else", () => {
    expect(cut(["a\r\n\n b \n"]).map(({ payload }) => payload)).toEqual(["a\r", "", " b "]);
    expect(cut(["\ufeffa\u0000\n"]).map(({ payload }) => payload)).toEqual(["\ufeffa\u0000"]);
    expect(cut([])).toEqual([]);
  });

  test("says that a line is partial when the output ends in it", () => {
    expect(cut(["a\nb"])).toEqual([
      { payload: "a", bytes: 1, partial: false },
      { payload: "b", bytes: 1, partial: true },
    ]);
  });

  test("joins lines and characters that come in pieces", () => {
    const bytes = Buffer.from("aé€😀\nb\n");
    expect(cut(Array.from(bytes, (byte) => Uint8Array.of(byte))).map(({ payload }) => payload)).toEqual(["aé€😀", "b"]);
  });

  test("cuts at 64 KiB, and not one byte earlier", () => {
    expect(lineBytesMax).toBe(65_536);
    const shape = (text: string): unknown => cut([text]).map(({ bytes, partial }) => [bytes, partial]);
    expect(shape(`${"a".repeat(lineBytesMax)}\nb\n`)).toEqual([
      [lineBytesMax, false],
      [1, false],
    ]);
    expect(shape(`${"a".repeat(2 * lineBytesMax + 1)}\n`)).toEqual([
      [lineBytesMax, true],
      [lineBytesMax, true],
      [1, false],
    ]);
  });

  test("does not tear a character where it cuts", () => {
    for (const character of ["é", "€", "😀"]) {
      for (let before = lineBytesMax - 4; before <= lineBytesMax; before++) {
        const lines = cut([`${"a".repeat(before)}${character.repeat(3)}\n`]);
        expect(lines.map(({ payload }) => typeof payload)).toEqual(["string", "string"]);
        expect(lines[0]!.bytes).toBeGreaterThan(lineBytesMax - 4);
      }
    }
  });

  test("gives as bytes what is not UTF-8, line by line", () => {
    const lines = cut([Uint8Array.of(0x61, 0x0a, 0xff, 0x0a, 0xc3), Uint8Array.of(0xa9, 0x0a, 0xc3, 0x0a)]);
    expect(lines.map(({ payload }) => payload)).toEqual(["a", Uint8Array.of(0xff), "é", Uint8Array.of(0xc3)]);
    const long = cut([Buffer.alloc(lineBytesMax + 10, 0x80)]);
    expect(long.map(({ bytes }) => bytes)).toEqual([lineBytesMax, 10]);
  });

  test("whatever comes, in whatever chunks, put together again is what came", () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 20 }),
      fc.string({ unit: "grapheme", maxLength: 20 }).map((text) => Buffer.from(text)),
      fc.constant(Buffer.from("\n")),
      fc.integer({ min: lineBytesMax - 5, max: lineBytesMax + 5 }).map((size) => Buffer.alloc(size, "é")),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), fc.array(fc.nat(1_000), { maxLength: 5 }), (pieces, cuts) => {
        const whole = Buffer.concat(pieces);
        const at = cuts.map((each) => Math.floor((each / 1_000) * whole.length)).sort((a, b) => a - b);
        const chunks = [0, ...at].map((start, index) => whole.subarray(start, at[index] ?? whole.length));
        const lines = cut(chunks);
        expect(joined(lines).equals(whole)).toBe(true);
        expect(lines.map(shown)).toEqual(cut([whole]).map(shown));
        for (const { bytes, payload } of lines) {
          expect(bytes).toBeLessThanOrEqual(lineBytesMax);
          expect(Buffer.byteLength(payload)).toBe(bytes);
        }
      }),
      { numRuns: runs },
    );
  });
});
