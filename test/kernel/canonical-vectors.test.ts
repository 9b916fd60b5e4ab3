import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { canonicalize, parseCanonical } from "../../src/kernel/canonical.js";
import { checkEntry, EntryProblem, parseEntry } from "../../src/journal/entry.js";
import { refusalOf } from "./refusal.js";
import { hasVectors, listVectors, readVector } from "./vectors.js";

/** An IEEE 754 double from its sixteen hex digits; leading zeros may be missing. */
function double(hex: string): number {
  return Buffer.from(hex.padStart(16, "0"), "hex").readDoubleBE();
}

/** The policy that is narrower than RFC 8785: integers that print as digits and are not safe were rounded before. */
function wasRounded(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21;
}

describe("RFC 8785, known answers", () => {
  test("the sample of section 3.2.3", () => {
    const text = `{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
      "string":"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}`;

    expect(canonicalize(JSON.parse(text))).toBe(
      `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA'B\\"\\\\\\\\\\"/"}`,
    );
  });

  test("the order of section 3.2.3", () => {
    const text = String.raw`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh",
      "1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`;

    expect(Object.values(parseCanonical(canonicalize(JSON.parse(text))) as object)).toEqual([
      "One", // JavaScript lists members that look like integers first, wherever they stand in the text
      "Carriage Return",
      "Control",
      "Latin Small Letter O With Diaeresis",
      "Euro Sign",
      "Emoji: Grinning Face",
      "Hebrew Letter Dalet With Dagesh",
    ]);
    expect(canonicalize(JSON.parse(text)).startsWith('{"\\r":"Carriage Return","1":"One",')).toBe(true);
  });

  test.each([
    ["0000000000000000", "0"],
    ["8000000000000000", "0"],
    ["0000000000000001", "5e-324"],
    ["8000000000000001", "-5e-324"],
    ["7fefffffffffffff", "1.7976931348623157e+308"],
    ["ffefffffffffffff", "-1.7976931348623157e+308"],
    ["4340000000000000", undefined],
    ["c340000000000000", undefined],
    ["4430000000000000", undefined],
    ["44b52d02c7e14af5", "9.999999999999997e+22"],
    ["44b52d02c7e14af6", "1e+23"],
    ["444b1ae4d6e2ef4f", undefined],
    ["444b1ae4d6e2ef50", "1e+21"],
    ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
    ["3eb0c6f7a0b5ed8d", "0.000001"],
    ["41b3de4355555555", "333333333.3333333"],
    ["becbf647612f3696", "-0.0000033333333333333333"],
    ["43143ff3c1cb0959", "1424953923781206.2"],
    ["7fffffffffffffff", undefined],
    ["7ff0000000000000", undefined],
  ])("the double %s is %s", (hex, text) => {
    if (text === undefined) expect(() => canonicalize([double(hex)])).toThrow(/\$\[0\] must be/);
    else expect(canonicalize(double(hex))).toBe(text);
  });
});

const refusedTexts: readonly (readonly [string, string | Uint8Array])[] = [
  ["a member twice", '{"a":1,"a":2}'],
  ["a member twice through an escape", '{"a":1,"\\u0061":2}'],
  ["members out of order", '{"b":1,"a":2}'],
  ["a space", '{"a": 1}'],
  ["minus zero", "[-0]"],
  ["an overflow", "[1e400]"],
  ["2^53", "[9007199254740992]"],
  ["a lone surrogate", '["\\ud800"]'],
  ["__proto__", '{"__proto__":{"x":1}}'],
  ["a malformed byte", Uint8Array.of(0x5b, 0x22, 0xff, 0x22, 0x5d)],
  ["a surrogate in bytes", Uint8Array.of(0x5b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x5d)],
  ["100,000 levels", "[".repeat(100_000) + "]".repeat(100_000)],
];

/** An entry whose data holds these bytes as one member. */
function entryAround(bytes: Uint8Array): Buffer {
  const before = `{"at":0,"data":{"x":`;
  const after = `},"prev":"${"0".repeat(64)}","rev":1,"seq":0,"stream":"s/1","tv":1,"tx":[0,1],"type":"s.done","v":1}`;
  return Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]);
}

function problemOf(bytes: Uint8Array): EntryProblem | undefined {
  try {
    parseEntry(bytes);
    return undefined;
  } catch (problem) {
    if (problem instanceof EntryProblem) return problem;
    throw problem;
  }
}

describe("stored bytes", () => {
  test.each(refusedTexts)("T43 %s, stored as an entry or inside one, is not canonical", (_what, text) => {
    const bytes = Buffer.from(text);

    expect(problemOf(bytes)?.kind).toBe("canonical");
    expect(problemOf(entryAround(bytes))?.kind).toBe("canonical");
  });

  test("T43 the same entry with canonical data is one", () => {
    expect(problemOf(entryAround(Buffer.from('["\u007f\u2028","\\u0000"]')))).toBeUndefined();
  });

  test("T59 bytes that a lenient decoder shows as U+FFFD are refused; a true U+FFFD is not", () => {
    const good = entryAround(Buffer.from('"\ufffd"'));
    expect(problemOf(good)).toBeUndefined();

    const at = good.indexOf(Buffer.from("\ufffd"));
    for (const bytes of [[0xff], [0xf0], [0xed, 0xa0, 0x80]]) {
      const bad = Buffer.concat([good.subarray(0, at), Uint8Array.from(bytes), good.subarray(at + 3)]);
      expect(problemOf(bad)?.kind).toBe("canonical");
    }
  });

  test("a value that is canonical and no entry is told from bytes that are not canonical", () => {
    expect(problemOf(Buffer.from('{"a":1}'))?.kind).toBe("version");
    expect(problemOf(Buffer.from("[]"))?.kind).toBe("field");
    expect(() => checkEntry(null, 4)).toThrow(EntryProblem);
  });
});

if (hasVectors("jcs")) {
  describe("public vectors", () => {
    test.each(listVectors("jcs/input"))("jcs/%s", (name) => {
      const output = readVector(`jcs/output/${name}`).toString();
      const hex = readVector(`jcs/outhex/${name.replace(".json", ".txt")}`).toString();

      const text = canonicalize(JSON.parse(readVector(`jcs/input/${name}`).toString()));

      expect(text).toBe(output);
      expect(Buffer.from(text).toString("hex")).toBe(hex.replace(/\s/g, ""));
    });

    test.each(["jcs/rfc8785-appendix-b-numbers.csv", "jcs/es6-numbers-10000.txt"])("%s", (name) => {
      const lines = readVector(name).toString().trim().split("\n");
      expect(lines.length).toBeGreaterThan(20);

      const wrong = lines.filter((line) => {
        const [hex = "", expected] = line.trim().split(",");
        const value = double(hex);
        if (expected === "ERROR" || wasRounded(value))
          return refusalOf(() => canonicalize(value)).code !== "INVALID_ARGUMENT";
        return canonicalize(value) !== expected;
      });
      expect(wrong).toEqual([]);
    });

    test("the file of numbers is the published one", () => {
      const digest = createHash("sha256").update(readVector("jcs/es6-numbers-10000.txt")).digest("hex");

      expect(digest.slice(0, 16)).toBe("b9f7a8e75ef22a83");
    });

    interface Row {
      readonly desc: string;
      readonly inputB64: string;
      readonly expect: "canonical" | "reject";
    }
    const rows = JSON.parse(readVector("jcs/byte-level-canonical-check.json").toString()) as Row[];
    /** Canonical by RFC 8785, refused by the narrower rules of this format. */
    const narrower = new Set(["2^53", "__proto__ key"]);

    test.each(rows.map((row) => [row.desc, row] as const))("T43 %s", (desc, row) => {
      const bytes = Buffer.from(row.inputB64, "base64");
      const canonical = row.expect === "canonical" && !narrower.has(desc);

      expect(problemOf(bytes)?.kind).toBe(canonical ? (bytes[0] === 0x7b ? "version" : "field") : "canonical");
      expect(problemOf(entryAround(bytes))?.kind).toBe(canonical ? undefined : "canonical");
    });
  });
}
