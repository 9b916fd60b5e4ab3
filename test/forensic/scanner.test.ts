import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EntryScanner } from "../../src/forensic/scanner.js";
import { contentReferences } from "../../src/journal/content.js";
import { encodeEntry, entryTemplate, parseEntry, zeroId } from "../../src/journal/entry.js";
import type { EntryFields, EntryLabels } from "../../src/journal/entry.js";
import { canonicalize } from "../../src/kernel/canonical.js";
import { entryBytesMax } from "../../src/kernel/limits.js";
import { eventData, eventTypes, keys, labels, metas, streamNames } from "../../src/testing/arbitraries.js";
import { hasVectors, readVector } from "../kernel/vectors.js";

const long = process.env.RUNLEDGER_LONG === "1";
const id = "9f".repeat(32);
const place = { seq: 7, prev: id, txFirst: 6, txCount: 3, rev: 5, at: 1_790_000_000_123 };

/** What the scanner makes of a text: its fields, or null. */
function scanned(text: string): Partial<EntryFields> | null {
  const scanner = new EntryScanner();
  if (!scanner.scan(text)) return null;
  const { at, cause, stream, rev, seq, tv, txFirst, txCount, type } = scanner;
  return { at, ...(cause === null ? {} : { cause }), stream, rev, seq, tv, tx: [txFirst, txCount], type };
}

function parsed(text: string): Partial<EntryFields> | null {
  try {
    const { at, cause, stream, rev, seq, tv, tx, type } = parseEntry(text);
    return { at, ...(cause === undefined ? {} : { cause }), stream, rev, seq, tv, tx, type };
  } catch {
    return null;
  }
}

function expectSame(text: string): void {
  const [one, other] = [scanned(text), parsed(text)];
  // Nearly all changed texts are refused by both; the matcher is slow.
  if (one !== null || other !== null) expect(one, text).toEqual(other);
}

function entry(data: string, given: EntryLabels = {}, stream = "run/r-1", type = "run.started"): string {
  return encodeEntry(entryTemplate(stream, type, 1, given), data, place);
}

const allLabels: EntryLabels = {
  actor: "ann",
  cause: id,
  command: "c-1",
  corr: "order 7",
  fence: ["queue/r-1", 1, 2],
  meta: { tenant: "t1", trace: "é" },
};

const curious: readonly string[] = [
  entry("{}"),
  entry('{"a":1}'),
  entry('{"a":[0,1,-1,1.5,1e+21,-2.5e-7,5e-324,true,false,null,"x",[],{}],"b":{"c":{"d":[[]]}}}', allLabels),
  entry(
    canonicalize({
      "": 1,
      a: '\u0000\b\t\n\f\r"\\\u001f\u007f',
      "a\n": "\u2028",
      é: "😀",
      "\ufffd": "\ufffd",
      "€": 9_007_199_254_740_991,
    }),
  ),
  entry(canonicalize({ 'a"': 1, "a\\": 2, aa: 3, "a\u007f": 4, "\ud83d\ude00": 5, "\ufb33": 6 })),
  entry(canonicalize({ note: { $content: id, bytes: 12, n: 3 }, more: [{ $content: id, bytes: 0, n: 1 }] })),
  entry('{"$content":"no"}'),
  entry("{}", { actor: "\u007f" }),
  entry("{}", { actor: "é" }, "run/é😀", "run.x"),
  entry("{}", { fence: ["k", 1, 1] }),
  entry("{}", { meta: { a: "" } }),
];

describe("the scanner accepts exactly what parseEntry accepts", () => {
  test("curious entries are accepted, with their fields", () => {
    for (const text of curious.filter((_, index) => index !== 7)) {
      expect(scanned(text), text).not.toBeNull();
      expectSame(text);
    }
    expectSame(curious[7] ?? "");
  });

  test("T01 after any one unit is changed, removed or put in, at every place of every curious entry", () => {
    const units = [
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
      "E",
      "+",
      "a",
      "A",
      "u",
      " ",
      "\n",
      "\u0000",
      "\u007f",
      "é",
      "\ud800",
      "\udc00",
      "\ufffd",
    ];
    for (const text of curious) {
      for (let at = 0; at <= text.length; at++) {
        expectSame(text.slice(0, at) + text.slice(at + 1));
        expectSame(text.slice(0, at));
        for (const unit of units.filter((_, index) => long || index % 9 === at % 9)) {
          expectSame(text.slice(0, at) + unit + text.slice(at + 1));
          expectSame(text.slice(0, at) + unit + text.slice(at));
        }
      }
    }
  });

  const spliced: readonly [name: string, from: string, to: string][] = [
    ["rev 0", '"rev":5', '"rev":0'],
    ["rev below 0", '"rev":5', '"rev":-1'],
    ["rev 2^53", '"rev":5', '"rev":9007199254740992'],
    ["the largest rev", '"rev":5', '"rev":9007199254740991'],
    ["a rev of 17 digits", '"rev":5', '"rev":10000000000000000'],
    ["a leading zero", '"rev":5', '"rev":05'],
    ["a time beyond a Date", '"at":1790000000123', '"at":8640000000000001'],
    ["the last time", '"at":1790000000123', '"at":8640000000000000'],
    ["time 0", '"at":1790000000123', '"at":0'],
    ["tv 0", '"tv":1', '"tv":0'],
    ["tx that does not hold the entry", '"tx":[6,3]', '"tx":[6,1]'],
    ["tx that starts later", '"tx":[6,3]', '"tx":[8,3]'],
    ["tx of 10,001", '"tx":[6,3]', '"tx":[6,10001]'],
    ["tx of three numbers", '"tx":[6,3]', '"tx":[6,3,1]'],
    ["a prev that is no digest", id, id.toUpperCase()],
    ["another version", '"v":1}', '"v":2}'],
    ["a stream without a kind", '"stream":"run/r-1"', '"stream":"run"'],
    ["a stream without a name", '"stream":"run/r-1"', '"stream":"run/"'],
    ["a stream with a control character", '"stream":"run/r-1"', '"stream":"run/\\u0007"'],
    ["a stream of 513 units", '"stream":"run/r-1"', `"stream":"run/${"r".repeat(513)}"`],
    ["a type without an area", '"type":"run.started"', '"type":"started"'],
    ["a type that is quoted twice", '"type":"run.started"', '"type":"run.st","x":"rted"'],
    ["data that is a list", '"data":{}', '"data":[]'],
    ["no data", '"data":{},', ""],
    ["a member nobody knows", '"data":{}', '"data":{},"extra":1'],
    ["a null actor", '{"at"', '{"actor":null,"at"'],
    ["an empty actor", '{"at"', '{"actor":"","at"'],
    ["an actor of 128 units", '{"at"', `{"actor":"${"a".repeat(128)}","at"`],
    ["an actor of 129 units", '{"at"', `{"actor":"${"a".repeat(129)}","at"`],
    ["an actor of 64 characters of two units", '{"at"', `{"actor":"${"😀".repeat(64)}","at"`],
    ["an actor of 65 characters of two units", '{"at"', `{"actor":"${"😀".repeat(65)}","at"`],
    ["a cause of 63 digits", ',"data"', `,"cause":"${"a".repeat(63)}","data"`],
    ["a command of 513 units", ',"data"', `,"command":"${"a".repeat(513)}","data"`],
    ["a fence of generation 0", ',"prev"', ',"fence":["k",1,0],"prev"'],
    ["a fence of incarnation 0", ',"prev"', ',"fence":["k",0,1],"prev"'],
    ["a fence of two members", ',"prev"', ',"fence":["k",1],"prev"'],
    ["a fence of four members", ',"prev"', ',"fence":["k",1,1,1],"prev"'],
    ["an empty meta", ',"prev"', ',"meta":{},"prev"'],
    ["a meta with a number", ',"prev"', ',"meta":{"a":1},"prev"'],
    ["a meta with an empty key", ',"prev"', ',"meta":{"":"a"},"prev"'],
    [
      "a meta of 16 members",
      ',"prev"',
      `,"meta":${canonicalize(Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`k${index}`, ""])))},"prev"`,
    ],
    [
      "a meta of 17 members",
      ',"prev"',
      `,"meta":${canonicalize(Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, ""])))},"prev"`,
    ],
    ["a meta of 2,048 bytes", ',"prev"', `,"meta":{"a":"${"x".repeat(2_048 - 8)}"},"prev"`],
    ["a meta of 2,049 bytes", ',"prev"', `,"meta":{"a":"${"x".repeat(2_048 - 7)}"},"prev"`],
    ["a meta of 2,049 bytes in fewer units", ',"prev"', `,"meta":{"a":"${"é".repeat(1_020)}x"},"prev"`],
    ["a meta that looks like a content", ',"prev"', ',"meta":{"$content":"a"},"prev"'],
    ["a member __proto__", '"data":{}', '"data":{"__proto__":1}'],
    ["a member __proto__ in an escape", '"data":{}', '"data":{"\\u005f_proto__":1}'],
    ["a member twice", '"data":{}', '"data":{"a":1,"a":1}'],
    ["members out of order by code unit", '"data":{}', '"data":{"\ufb33":1,"😀":2}'],
  ];

  test.each(spliced)("%s", (_, from, to) => {
    const text = entry("{}").replace(from, () => to);
    expect(text).not.toBe(entry("{}"));
    expectSame(text);
  });

  test.each([-1, 0, 1])("an entry of the largest size %d bytes more", (more) => {
    const rest = entry('{"a":""}').length;
    expectSame(entry(`{"a":"${"x".repeat(entryBytesMax - rest + more)}"}`));
    const half = Math.floor((entryBytesMax - rest) / 2);
    expectSame(entry(`{"a":"${"é".repeat(half)}${"x".repeat(entryBytesMax - rest - half * 2 + more)}"}`));
    expect(scanned(entry(`{"a":"${"x".repeat(entryBytesMax - rest)}"}`))).not.toBeNull();
  });

  test.each([127, 128, 129, 130, 30_000])("T44 %d levels of nesting", (levels) => {
    expectSame(entry(`{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`));
    expectSame(entry(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`));
    expectSame(entry(`{"a":${"[".repeat(levels)}`));
  });

  const numbers = [
    "0",
    "-0",
    "00",
    "1",
    "-1",
    "01",
    "1.0",
    "1.5",
    "1.50",
    "0.1",
    ".1",
    "1.",
    "1e2",
    "100",
    "1E2",
    "1e21",
    "1e+21",
    "1e+22",
    "1e-7",
    "0.000001",
    "0.0000001",
    "1e400",
    "-1e400",
    "NaN",
    "Infinity",
    "2e308",
    "5e-324",
    "4.9e-324",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740991",
    "-9007199254740992",
    "999999999999999",
    "9999999999999999",
    "123456789012345680000",
    "1000000000000000000000",
    "0x10",
    "+1",
    "--1",
    "1-",
    "1e",
    "1e+",
    "0.1.2",
    "",
  ];
  test.each(numbers)("T45 the number %j, alone, in a list and at the end of an object", (number) => {
    expectSame(entry(`{"a":${number}}`));
    expectSame(entry(`{"a":[${number},${number}]}`));
    expectSame(entry(`{"a":[${number}]}`));
  });

  test.runIf(hasVectors("jcs"))("T43 every row of the public list of spellings, as the data of an entry", () => {
    const rows = JSON.parse(readVector("jcs/byte-level-canonical-check.json").toString()) as readonly {
      readonly inputB64: string;
      readonly desc: string;
    }[];
    for (const { inputB64 } of rows) {
      const text = Buffer.from(inputB64, "base64").toString();
      expectSame(entry(text));
      expectSame(entry(`{"a":${text}}`));
    }
  });

  test("any entry that a writer makes, and any one unit of it changed", () => {
    const texts = fc
      .record({
        stream: streamNames(),
        type: eventTypes(),
        data: eventData(),
        labels: fc.record(
          {
            actor: labels(),
            command: keys(),
            corr: keys(),
            cause: fc.constant(id),
            fence: fc.tuple(keys(), fc.constant(1), fc.integer({ min: 1 })),
            meta: metas(),
          },
          { requiredKeys: [] },
        ),
      })
      .filter(({ type }) => type.length <= 128)
      .map(({ stream, type, data, labels: given }) => entry(canonicalize(data), given, stream, type));
    fc.assert(
      fc.property(texts, fc.nat(), fc.string({ unit: "binary", maxLength: 1 }), (text, at, unit) => {
        expect(scanned(text)).not.toBeNull();
        expectSame(text);
        const where = at % (text.length + 1);
        expectSame(text.slice(0, where) + unit + text.slice(where + 1));
        expectSame(text.slice(0, where) + unit + text.slice(where));
      }),
    );
  });
});

test("the scanner finds the content references that the parser finds, in their order", () => {
  const reference = fc.record({
    $content: fc.constantFrom(id, "ab".repeat(32)),
    bytes: fc.nat(100),
    n: fc.integer({ min: 1, max: 9 }),
  });
  const values = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.integer(),
      reference,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.string({ maxLength: 3 }), tie("value"), { maxKeys: 3 }),
    ),
  })).value;
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.string({ maxLength: 3 }).filter((key) => key !== "__proto__"),
        values,
      ),
      (data) => {
        const scanner = new EntryScanner();
        let text: string;
        try {
          text = entry(canonicalize(data));
        } catch {
          return; // a nested __proto__
        }
        expect(scanner.scan(text)).toBe(true);
        expect(scanner.references).toEqual(contentReferences(parseEntry(text).data));
        expect(scanner.brokenReference).toBe(false);
      },
    ),
  );
  for (const broken of [
    '{"$content":"no"}',
    `{"$content":"${id}","bytes":1}`,
    `{"$content":"${id}","bytes":-1,"n":1}`,
    `{"$content":"${id}","a":1,"bytes":1,"n":1}`,
    `{"!":1,"$content":"${id}","bytes":1,"n":1}`,
  ]) {
    const scanner = new EntryScanner();
    scanner.scan(entry(`{"a":${broken}}`));
    expect(scanner.brokenReference, broken).toBe(true);
  }
  expect(zeroId).toHaveLength(64);
});
