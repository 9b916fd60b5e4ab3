import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { canonicalize, decodeUtf8, parseCanonical, writeCanonical } from "../../src/kernel/canonical.js";
import { canonicalUnitsMax, depthMax } from "../../src/kernel/limits.js";
import { everyRefusedValue } from "../../src/testing/arbitraries-refused.js";
import { refusalOf } from "./refusal.js";

describe("what is accepted", () => {
  test.each([
    [null, "null"],
    [true, "true"],
    [false, "false"],
    [0, "0"],
    [-1.5, "-1.5"],
    ["", '""'],
    [[], "[]"],
    [{}, "{}"],
    [Object.create(null), "{}"],
    [[null, [1], { a: [] }], '[null,[1],{"a":[]}]'],
    [{ b: 1, a: { d: 2, c: 3 } }, '{"a":{"c":3,"d":2},"b":1}'],
  ])("%j is written as %s", (value, text) => {
    expect(canonicalize(value)).toBe(text);
  });

  test("G-09 members are sorted at every level, by UTF-16 code units", () => {
    const value = { "\ufb33": 1, "😀": 2, é: 3, z: 4, B: 5, a: 6, "10": 7, "9": 8, "": { b: 1, a: 2 } };

    expect(canonicalize(value)).toBe('{"":{"a":2,"b":1},"10":7,"9":8,"B":5,"a":6,"z":4,"é":3,"😀":2,"\ufb33":1}');
  });

  test("strings escape what RFC 8785 escapes, and nothing else", () => {
    expect(canonicalize('\u0000\b\t\n\u000b\f\r\u001f"\\/\u007f\u2028é😀')).toBe(
      '"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\"\\\\/\u007f\u2028é😀"',
    );
  });

  test("a member named constructor, prototype, toString or $content is data", () => {
    const value = { constructor: { prototype: { admin: true } }, toString: 1, hasOwnProperty: 2, $content: 3 };

    expect(canonicalize(value)).toBe(
      '{"$content":3,"constructor":{"prototype":{"admin":true}},"hasOwnProperty":2,"toString":1}',
    );
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  test("a toJSON that is data is data", () => {
    expect(canonicalize({ toJSON: "x" })).toBe('{"toJSON":"x"}');
    expect(canonicalize({ toJSON: undefined })).toBe("{}");
    expect(canonicalize(Object.assign(Object.create(null), { toJSON: null }))).toBe('{"toJSON":null}');
  });

  test("frozen values are accepted, and nothing is changed by reading", () => {
    const value = Object.freeze({ b: Object.freeze([1]), a: 2 });

    expect(canonicalize(value)).toBe('{"a":2,"b":[1]}');
    expect(Object.keys(value)).toEqual(["b", "a"]);
  });
});

describe("what is refused", () => {
  test.each(everyRefusedValue().map((refused) => [refused.fault, refused] as const))(
    "G-09 %s is refused with its path, alone and inside a value",
    (_fault, { value, path }) => {
      const alone = refusalOf(() => canonicalize(value));
      expect(alone.code).toBe("INVALID_ARGUMENT");
      expect(alone.details).toMatchObject({ path });
      expect(alone.message).toBe(
        `${path} must be ${String(alone.details["expected"])}, found ${String(alone.details["found"])}`,
      );

      const inside = refusalOf(() => canonicalize({ a: 1, list: [0, { "two words": value }] }));
      expect(inside.code).toBe("INVALID_ARGUMENT");
      expect(inside.details).toMatchObject({ path: path.replace("$", '$.list[1]["two words"]') });
    },
  );

  test("a message says what was expected and what was found, in a sentence", () => {
    const messages = [{ a: [NaN] }, { a: new Date(0) }, [undefined], { "a b": 1n }].map(
      (value) => refusalOf(() => canonicalize(value)).message,
    );

    expect(messages).toEqual([
      "$.a[0] must be a finite number, found NaN",
      "$.a must be a plain object or array, found an instance of Date",
      "$[0] must be a JSON value, found undefined in an array",
      '$["a b"] must be a JSON value, found a BigInt',
    ]);
  });

  test("values of another realm are refused: their prototypes are not ours", () => {
    expect(refusalOf(() => canonicalize(runInNewContext("({ a: 1 })"))).code).toBe("INVALID_ARGUMENT");
    expect(refusalOf(() => canonicalize(runInNewContext("[1]"))).code).toBe("INVALID_ARGUMENT");
  });

  test("a class whose name or prototype is hostile is refused without calling it", () => {
    class Named {
      readonly member: number = 1;
      static get name(): string {
        throw new Error("called");
      }
    }
    const hostile = new Proxy({}, { getOwnPropertyDescriptor: () => expect.fail("a trap ran") });

    expect(refusalOf(() => canonicalize(new Named())).code).toBe("INVALID_ARGUMENT");
    expect(refusalOf(() => canonicalize(Object.create(hostile))).code).toBe("INVALID_ARGUMENT");
  });

  test("a toJSON on Object.prototype or Array.prototype refuses every value, and is not called", () => {
    const toJSON = { value: () => expect.fail("toJSON ran"), configurable: true };
    const getter = { get: () => expect.fail("a getter ran"), configurable: true };

    for (const [prototype, value] of [
      [Object.prototype, { a: 1 }],
      [Array.prototype, [1]],
    ] as const) {
      for (const descriptor of [toJSON, getter]) {
        Object.defineProperty(prototype, "toJSON", descriptor);
        try {
          expect(refusalOf(() => canonicalize(value)).details).toMatchObject({ found: "a value with toJSON" });
        } finally {
          delete (prototype as { toJSON?: unknown }).toJSON;
        }
      }
    }
  });
});

describe("undefined, zero and numbers", () => {
  test("G-10 members that are undefined are dropped, at every depth", () => {
    expect(canonicalize({ a: undefined, b: { c: undefined }, d: [{ e: undefined }] })).toBe('{"b":{},"d":[{}]}');
  });

  test("G-10 undefined anywhere else is refused", () => {
    expect(refusalOf(() => canonicalize(undefined)).details).toMatchObject({ path: "$", found: "undefined" });
    expect(refusalOf(() => canonicalize({ a: [undefined] })).details).toMatchObject({ path: "$.a[0]" });
  });

  test("G-09 -0 is written as 0", () => {
    expect(canonicalize([-0, { x: -0 }, 0])).toBe('[0,{"x":0},0]');
  });

  test.each([
    [2 ** 53 - 1, "9007199254740991"],
    [-(2 ** 53 - 1), "-9007199254740991"],
    [1e21, "1e+21"],
    [-1e21, "-1e+21"],
    [2 ** 100, "1.2676506002282294e+30"],
    [5e-324, "5e-324"],
    [1.7976931348623157e308, "1.7976931348623157e+308"],
    [1e-6, "0.000001"],
    [1e-7, "1e-7"],
    [0.1 + 0.2, "0.30000000000000004"],
    [4.35, "4.35"],
  ])("T45 %d is written as %s and read back as the same number", (value, text) => {
    expect(canonicalize(value)).toBe(text);
    expect(parseCanonical(text)).toBe(value);
  });

  test("T45 what cannot be kept exactly is refused, in a value and in text", () => {
    for (const value of [
      NaN,
      Infinity,
      -Infinity,
      2 ** 53,
      2 ** 53 + 2,
      -(2 ** 53),
      1e20,
      999_999_999_999_999_900_000,
    ]) {
      expect(refusalOf(() => canonicalize({ x: value })).details).toMatchObject({ path: "$.x" });
    }
    for (const text of [
      "[-0]",
      "[1e400]",
      "[9007199254740993]",
      "[9007199254740992]",
      "[NaN]",
      "[1.0]",
      "[1E2]",
      "[01]",
      "[+1]",
      "[.5]",
      "[1.]",
    ]) {
      expect(refusalOf(() => parseCanonical(text)).code).toBe("INVALID_ARGUMENT");
    }
  });

  test("A16 2^53−1 is kept exactly, 2^53 and 2^53+1 are refused: never a neighbour value", () => {
    expect(parseCanonical(canonicalize({ n: 2 ** 53 - 1 }))).toEqual({ n: 9007199254740991 });

    expect(refusalOf(() => canonicalize({ n: 2 ** 53 })).message).toContain("2^53−1");
    expect(refusalOf(() => canonicalize({ n: 2 ** 53 + 1 })).message).toContain("send it as a string");
    expect(refusalOf(() => canonicalize({ n: 2n ** 53n + 1n })).code).toBe("INVALID_ARGUMENT");
  });
});

describe("Unicode", () => {
  test("C01 a lone surrogate is refused in a value and in a key, with the path; pairs and U+FFFD pass", () => {
    expect(refusalOf(() => canonicalize({ a: ["\ud800"] })).details).toMatchObject({
      path: "$.a[0]",
      expected: "free of lone surrogates",
    });
    expect(refusalOf(() => canonicalize({ a: { "\ud800": 1 } })).details).toMatchObject({ path: '$.a["\\ud800"]' });
    expect(refusalOf(() => canonicalize("\udc00\ud800")).code).toBe("INVALID_ARGUMENT");

    expect(canonicalize({ "\ud83d\ude00": "\ud83d\ude00", "\ufffd": "\ufffd" })).toBe('{"😀":"😀","\ufffd":"\ufffd"}');
  });

  test("C01 a lone surrogate is refused in text too, as an escape and as bytes", () => {
    expect(refusalOf(() => parseCanonical('["\\ud800"]')).code).toBe("INVALID_ARGUMENT");
    expect(refusalOf(() => parseCanonical('{"\\udead":1}')).code).toBe("INVALID_ARGUMENT");
    expect(refusalOf(() => parseCanonical('["\ud800"]')).code).toBe("INVALID_ARGUMENT");
    expect(refusalOf(() => parseCanonical(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22))).code).toBe("INVALID_ARGUMENT");
  });

  test("T46 nothing is normalised: composed and decomposed names are two members", () => {
    const text = canonicalize({ "e\u0301": 1, é: 2 });

    expect(text).toBe('{"e\u0301":1,"é":2}');
    expect(parseCanonical(text)).toEqual({ "e\u0301": 1, é: 2 });
  });

  test.each(["\u0000", "\u001b[2J", "\u202e\u2066", "\u0085", "\ufeff", "\u{e0001}"])(
    "T46 %j is stored exactly",
    (text) => {
      expect(parseCanonical(Buffer.from(canonicalize({ [text]: text })))).toEqual({ [text]: text });
    },
  );

  test("malformed UTF-8 is refused, never replaced", () => {
    for (const bytes of [
      [0xff],
      [0xc3],
      [0xf0, 0x9f, 0x98],
      [0xc0, 0x80],
      [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
    ]) {
      expect(refusalOf(() => decodeUtf8(Uint8Array.from(bytes), "there")).message).toBe(
        "there must be well-formed UTF-8",
      );
    }
    expect(decodeUtf8(Uint8Array.of(0xef, 0xbb, 0xbf), "there")).toBe("\ufeff");
  });
});

describe("shape", () => {
  test("C09 an object that occurs twice is no cycle: it equals two copies", () => {
    const shared = { a: [1] };

    expect(canonicalize({ x: shared, y: shared, z: [shared, shared] })).toBe(
      '{"x":{"a":[1]},"y":{"a":[1]},"z":[{"a":[1]},{"a":[1]}]}',
    );
  });

  test("C09 a true cycle is refused by name, where it closes", () => {
    const node: Record<string, unknown> = { name: "n" };
    node["next"] = { back: [node] };

    expect(refusalOf(() => canonicalize(node)).message).toBe("$.next.back[0] must be free of cycles, found an object");
    expect(refusalOf(() => canonicalize([[node]])).details).toMatchObject({ path: "$[0][0].next.back[0]" });
  });

  test("128 levels are accepted and the 129th is refused, with the path", () => {
    let value: unknown = 1;
    for (let level = 0; level < depthMax; level++) value = level % 2 === 0 ? [value] : { a: value };
    expect(parseCanonical(canonicalize(value))).toEqual(value);

    const refusal = refusalOf(() => canonicalize({ more: value }));
    expect(refusal.code).toBe("LIMIT_EXCEEDED");
    expect(refusal.details).toMatchObject({ limit: "levels of nesting", max: depthMax, found: depthMax + 1 });
    expect(String(refusal.details["path"])).toMatch(/^\$\.more\.a\[0\]/);
  });

  test("C03 an own __proto__ is refused in both member orders and changes no prototype", () => {
    for (const text of ['{"b":2,"__proto__":{"x":1}}', '{"__proto__":{"x":1},"b":2}']) {
      const parsed = JSON.parse(text) as unknown;

      expect(refusalOf(() => canonicalize(parsed)).details).toMatchObject({ path: "$.__proto__" });
      expect(refusalOf(() => parseCanonical(text)).code).toBe("INVALID_ARGUMENT");
      expect(refusalOf(() => canonicalize([{ deep: parsed }])).details).toMatchObject({ path: "$[0].deep.__proto__" });
    }
    expect(({} as { x?: number }).x).toBeUndefined();
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
  });

  test("C11 a Date is refused, valid or not; null never takes its place", () => {
    for (const date of [new Date(NaN), new Date(0), new Date(8.64e15)]) {
      expect(refusalOf(() => canonicalize({ when: date })).details).toMatchObject({
        path: "$.when",
        found: "an instance of Date",
      });
    }
  });
});

describe("the way in from text", () => {
  test.each([
    ["a space", '{"a": 1}'],
    ["a newline at the end", '{"a":1}\n'],
    ["members out of order", '{"b":1,"a":2}'],
    ["a member twice", '{"a":1,"a":1}'],
    ["a needless escape", '["\\u00e9"]'],
    ["an escaped slash", '["\\/"]'],
    ["hex digits in upper case", '["\\u000B"]'],
    ["a byte order mark", '\ufeff{"a":1}'],
    ["nothing", ""],
    ["two values", "{}{}"],
    ["a comment", "{}//"],
  ])("%s is refused", (_what, text) => {
    expect(refusalOf(() => parseCanonical(text)).code).toBe("INVALID_ARGUMENT");
    expect(refusalOf(() => parseCanonical(Buffer.from(text))).code).toBe("INVALID_ARGUMENT");
  });

  test("the refusal says where the spelling differs, and under which name", () => {
    expect(refusalOf(() => parseCanonical('{"a": 1}', "line 7")).message).toBe(
      "line 7 must be canonical JSON, found another spelling at unit 5",
    );
    expect(refusalOf(() => parseCanonical('{"a":1} ')).details).toMatchObject({ unit: 7 });
  });
});

describe("limits and segments", () => {
  test("a text may be as long as its limit and not one unit longer", () => {
    for (const value of ["four", ["four"], { a: "four" }, [1, 2, 3], {}, [[]]]) {
      const text = canonicalize(value);
      expect(writeCanonical(value, { unitsMax: text.length })).toEqual([text]);
      const refusal = refusalOf(() => writeCanonical(value, { unitsMax: text.length - 1 }));
      expect(refusal.code).toBe("LIMIT_EXCEEDED");
      expect(refusal.details).toMatchObject({ max: text.length - 1 });
    }
  });

  test("64 Mi units are the limit where nobody sets one", () => {
    expect(canonicalize("x".repeat(canonicalUnitsMax - 2)).length).toBe(canonicalUnitsMax);
    expect(refusalOf(() => canonicalize("x".repeat(canonicalUnitsMax - 1))).details).toMatchObject({
      max: canonicalUnitsMax,
    });
  });

  test("a text that is set aside in pieces is the same text", () => {
    const value = {
      list: Array.from({ length: 50_000 }, (_, index) => ({ index, text: "é".repeat(index % 7) })),
      long: "x".repeat(200_000),
    };

    expect(canonicalize(value)).toBe(JSON.stringify(value));
  });

  test("a text breaks where a value is taken, and the limit counts all segments together", () => {
    const taken: [unknown, string][] = [];
    const options = {
      pointers: { leaf: false, children: new Map([["note", { leaf: true, children: new Map() }]]) },
      take: (value: unknown, path: string): boolean => {
        taken.push([value, path]);
        return true;
      },
    };
    const value = { a: 1, bytes: new Uint8Array(2), note: { deep: true }, other: { note: "stays" } };

    expect(writeCanonical(value, options)).toEqual(['{"a":1,"bytes":', ',"note":', ',"other":{"note":"stays"}}']);
    expect(taken).toEqual([
      [new Uint8Array(2), "$.bytes"],
      [{ deep: true }, "$.note"],
    ]);
    expect(writeCanonical(value, { ...options, unitsMax: 49 }).join("").length).toBe(49);
    expect(refusalOf(() => writeCanonical(value, { ...options, unitsMax: 48 })).code).toBe("LIMIT_EXCEEDED");
  });

  test("each object with the member $content is shown, once all of it is known to be plain", () => {
    const seen: [unknown, string][] = [];
    const value = { a: { $content: "x" }, b: [{ $content: { c: { $content: 1 } } }], c: { $content: undefined } };

    writeCanonical(value, { path: "data", reference: (found, path) => seen.push([found, path]) });

    expect(seen.map(([, path]) => path)).toEqual(["data.a", "data.b[0].$content.c", "data.b[0]"]);
    expect(seen[0]?.[0]).toBe(value.a);
  });

  test("a Proxy behind a pointer is refused before anyone is offered it", () => {
    const pointers = { leaf: false, children: new Map([["note", { leaf: true, children: new Map() }]]) };

    const refusal = refusalOf(() =>
      writeCanonical({ note: new Proxy({}, {}) }, { pointers, take: () => expect.fail("offered") }),
    );

    expect(refusal.details).toMatchObject({ path: "$.note", found: "a Proxy" });
  });
});
