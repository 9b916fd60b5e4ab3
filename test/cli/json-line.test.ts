import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJsonLine } from "../../src/cli/json-line.js";

const parse = (text: string): unknown => parseJsonLine(Buffer.from(text));

describe("a line of JSON", () => {
  test("is what JSON.parse says", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value, null, 1);
        expect(parse(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("may hold colons, quotes and braces in its strings", () => {
    expect(parse(String.raw`{"a:b":"c\":{d}:\\","\"":":"}`)).toEqual({ "a:b": 'c":{d}:\\', '"': ":" });
    expect(parse('{"__proto__":{"a":1},"constructor":2}')).toEqual(JSON.parse('{"__proto__":{"a":1},"constructor":2}'));
  });

  test.each([
    ['{"a":1,"a":2}', '"a"'],
    ['{"a":1,"\\u0061":2}', '"a"'],
    ['{"x":[{"b":{"c":1},"b":0}],"y":{}}', '"b"'],
    ['{"a":{"b":1,"c":2},"a":0}', '"a"'],
    ['{"":1,"":1}', '""'],
    ['{"__proto__":1,"__proto__":1}', '"__proto__"'],
    ['{"s":"\\":","k":1,"k":1}', '"k"'],
  ])("%s names a member twice, and the name is told", (text, name) => {
    expect(() => parse(text)).toThrow(`must name each member of an object once, found ${name} twice`);
  });

  test("the same name in different objects is no repetition", () => {
    expect(parse('{"a":{"a":[{"a":1},{"a":2}]}}')).toEqual({ a: { a: [{ a: 1 }, { a: 2 }] } });
  });

  test("whatever is repeated in any object is found", () => {
    const name = fc.constantFrom("a", "b", "c", "d");
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.jsonValue({ maxDepth: 2 }))), (members) => {
        const text = `[{"deep":{${members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(",")}}}]`;
        const repeats = new Set(members.map(([key]) => key)).size < members.length;
        if (repeats) expect(() => parse(text)).toThrow(/twice/);
        else expect(parse(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test.each(["{", "nope", "{'a':1}", '{"a":1} {"b":2}', '{"a":01}', "NaN"])("%s is none", (text) => {
    expect(() => parse(text)).toThrow(/must be one JSON value/);
  });

  test("T46 malformed UTF-8 is refused and never replaced", () => {
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80]]) {
      expect(() => parseJsonLine(Buffer.from([0x22, ...bytes, 0x22]))).toThrow(/well-formed UTF-8/);
    }
  });

  test("a byte order mark is refused", () => {
    expect(() => parse('\ufeff{"a":1}')).toThrow(/byte order mark/);
  });

  test("T44 100,000 levels of nesting do not overflow the stack", () => {
    const depth = 100_000;
    expect(parse(`${"[".repeat(depth)}${"]".repeat(depth)}`)).toBeInstanceOf(Array);
    expect(parse(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`)).toBeInstanceOf(Object);
  });
});
