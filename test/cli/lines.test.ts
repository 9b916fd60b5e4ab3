import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lineBytesMax, LineProblem, readLines } from "../../src/cli/lines.js";

async function* chunks(parts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield typeof part === "string" ? Buffer.from(part) : part;
}

async function linesOf(...parts: (string | Uint8Array)[]): Promise<{ lines: [number, string][]; blank: number }> {
  const lines: [number, string][] = [];
  let blank = 0;
  for await (const { place, bytes } of readLines("in", chunks(parts), () => blank++))
    lines.push([place.line, Buffer.from(bytes).toString("latin1")]);
  return { lines, blank };
}

describe("lines of an input", () => {
  test("end in LF or CRLF, and the last one with the input", async () => {
    expect((await linesOf("a\r\nb\nc")).lines).toEqual([
      [1, "a\r"],
      [2, "b"],
      [3, "c"],
    ]);
    expect((await linesOf("a\n")).lines).toEqual([[1, "a"]]);
    expect((await linesOf("")).lines).toEqual([]);
  });

  test("that are blank are counted and keep their number", async () => {
    expect(await linesOf("\n  \t\n\r\na\n\n \t")).toEqual({ lines: [[4, "a"]], blank: 5 });
  });

  test("are the same however the bytes arrive", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom("a", "\n", "\r", " ", "é") }),
        fc.array(fc.nat(6)),
        async (text, sizes) => {
          const bytes = Buffer.from(text);
          const parts: Uint8Array[] = [];
          let start = 0;
          for (const size of sizes) parts.push(bytes.subarray(start, (start += size)));
          parts.push(bytes.subarray(start));
          expect(await linesOf(...parts)).toEqual(await linesOf(bytes));
        },
      ),
    );
  });

  test("may be as long as the largest content and no longer, whether they end or not", async () => {
    const piece = Buffer.alloc(1024 * 1024, 0x61);
    const full = Array.from({ length: lineBytesMax / piece.length }, () => piece);
    const { lines } = await linesOf(...full);
    expect(lines[0]?.[1]).toHaveLength(lineBytesMax);
    for (const end of ["a", "a\n"]) {
      const error: unknown = await linesOf("first\n", ...full, end).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(LineProblem);
      expect(error).toMatchObject({ place: { file: "in", line: 2 }, cause: { code: "LIMIT_EXCEEDED" } });
    }
  });
});
