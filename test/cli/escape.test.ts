import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { escapeJson, escapeSentence, escapeText, escapeToAscii, isPlainText } from "../../src/cli/escape.js";

const esc = "\u001b";
const csi = "\u009b";
const rightToLeftOverride = "\u202e";
/** Anything that a terminal or an eye could take for something else. */
const harmful = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u;

describe("text for reading", () => {
  test("T46 nothing that moves a cursor, reorders a line or hides gets through", () => {
    expect(escapeText(`a${esc}[31mred`)).toBe("a\\u{1b}[31mred");
    expect(escapeText(`a${csi}31mred`)).toBe("a\\u{9b}31mred");
    expect(escapeText(`user${rightToLeftOverride}nimda`)).toBe("user\\u{202e}nimda");
    expect(escapeText("a\u200bb\u2066c\ufeffd\u00ade")).toBe("a\\u{200b}b\\u{2066}c\\u{feff}d\\u{ad}e");
    expect(escapeText("line\nbreak\rreturn\ttab\u0007")).toBe("line\\nbreak\\rreturn\\ttab\\u{7}");
    expect(escapeText("lone \ud800 and \udfff")).toBe("lone \\u{d800} and \\u{dfff}");
    expect(escapeText("\u{e0041}tag \u2028 \u00a0 \u3164")).toBe("\\u{e0041}tag \\u{2028} \\u{a0} \\u{3164}");
  });

  test("T46 no string at all gets a harmful character through", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(escapeText(text)).not.toMatch(harmful);
        expect(escapeSentence(text)).not.toMatch(harmful);
        expect(escapeToAscii(text)).toMatch(/^[\x20-\x7e]*$/);
      }),
    );
  });

  test("ordinary text of any language stays as it is", () => {
    for (const text of ["run/r17", "Überführung", "café", "日本語　テスト", "зима", "😀", "שלום"])
      expect(escapeText(text)).toBe(text);
  });

  test("two different values never look the same for their escapes", () => {
    expect(escapeText("a\nb")).not.toBe(escapeText("a\\nb"));
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (one, other) => {
        expect(escapeText(one) === escapeText(other)).toBe(one === other);
      }),
    );
  });

  test("names that look the same are told apart in ASCII", () => {
    expect(escapeToAscii("run/caf\u00e9")).toBe("run/caf\\u{e9}");
    expect(escapeToAscii("run/cafe\u0301")).toBe("run/cafe\\u{301}");
  });
});

describe("JSON for reading", () => {
  test("T46 it means the same and holds nothing harmful", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const shown = escapeJson(JSON.stringify({ [text]: [text] }));
        expect(shown).not.toMatch(harmful);
        expect(JSON.parse(shown)).toEqual({ [text]: [text] });
      }),
    );
  });

  test("its own line breaks stay", () => {
    expect(escapeJson(JSON.stringify({ a: "\u202e" }, null, 1))).toBe('{\n "a": "\\u202e"\n}');
  });
});

test("bytes that a terminal would take for commands are not plain text", () => {
  expect(isPlainText(Buffer.from("a line\n\tand another\n"))).toBe(true);
  expect(isPlainText(Buffer.from(`a${esc}[2J`))).toBe(false);
  expect(isPlainText(Buffer.from([0xc2, 0x9b]))).toBe(false);
  expect(isPlainText(Buffer.from([0xff, 0x00]))).toBe(false);
});
