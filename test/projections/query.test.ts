import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import type { FindQuery } from "../../projections/define-projection.js";
import { indexKey, keyOfIndexKey } from "../../projections/index-key.js";
import type { IndexTuple } from "../../projections/index-key.js";
import { cursorOf, parseQuery } from "../../projections/query.js";
import { refusalOf } from "../kernel/refusal.js";

const element = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.maxSafeInteger(),
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(0, -1, 2 ** 32, 2 ** 32 - 1, -(2 ** 32), Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.constantFrom("", "\0", "a", "a\0", "a\0b", "\u0001", "\uffff", "\u{1f600}", "ä"),
);
const tuple = fc.array(element, { maxLength: 3 });
const key = fc.constantFrom("a", "b", "ab", "ä", "\uffff", "\u{1f600}");

const ranks = { object: 0, boolean: 1, number: 2, string: 3 } as Readonly<Record<string, number>>;

/** Slowly, and without a byte. */
function compareElements(a: IndexTuple[number], b: IndexTuple[number]): number {
  const [rank, other] = [ranks[typeof a] as number, ranks[typeof b] as number];
  if (rank !== other) return rank - other;
  if (typeof a === "string" && typeof b === "string") return comparePoints(a, b);
  return Number(a) < Number(b) ? -1 : Number(a) > Number(b) ? 1 : 0;
}

function comparePoints(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const difference = (left[index]?.codePointAt(0) ?? 0) - (right[index]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function compareTuples(a: IndexTuple, b: IndexTuple): number {
  for (let index = 0; index < Math.min(a.length, b.length); index++) {
    const difference = compareElements(a[index] ?? null, b[index] ?? null);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

const cards = defineProjection<{ tuple: IndexTuple }>()({
  name: "cards",
  version: 1,
  indexes: { first: () => null, place: (card) => card.tuple },
  on: {},
});
const bare = defineProjection<object>()({ name: "bare", version: 1, on: {} });

describe("index keys", () => {
  test("sort like their tuples, then like their documents' keys", () => {
    fc.assert(
      fc.property(tuple, key, tuple, key, (a, keyA, b, keyB) => {
        const order = Math.sign(Buffer.compare(indexKey(a, keyA), indexKey(b, keyB)));
        expect(order).toBe(Math.sign(compareTuples(a, b) || comparePoints(keyA, keyB)));
      }),
    );
  });

  test("say the key of their document", () => {
    fc.assert(
      fc.property(tuple, key, (a, keyA) => {
        expect(keyOfIndexKey(indexKey(a, keyA))).toBe(keyA);
      }),
    );
  });

  test("bytes that are none have no key, and say so", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 20 }), (bytes) => {
        const found = keyOfIndexKey(bytes);
        if (found !== null) expect(bytes.indexOf(0)).toBeGreaterThanOrEqual(0);
      }),
    );
    expect(keyOfIndexKey(Buffer.of(9))).toBeNull();
    expect(keyOfIndexKey(Buffer.of(5, 65))).toBeNull();
  });

  test("a tuple of more than 1,024 bytes is refused", () => {
    expect(indexKey(["x".repeat(1_022)], "k")).toHaveLength(1_026);
    expect(refusalOf(() => indexKey(["x".repeat(1_023)], "k"))).toMatchObject({ code: "LIMIT_EXCEEDED" });
  });
});

describe("queries", () => {
  const bounds = fc.record(
    { gt: element, gte: element, lt: element, lte: element },
    { requiredKeys: [] },
  ) as fc.Arbitrary<NonNullable<FindQuery["range"]>>;

  test("find the tuples that begin with the prefix and have their next element in the range", () => {
    fc.assert(
      fc.property(
        fc.array(tuple, { maxLength: 20 }),
        tuple,
        fc.option(bounds, { nil: undefined }),
        (all, prefix, range) => {
          fc.pre(
            !(range?.gt !== undefined && range.gte !== undefined) &&
              !(range?.lt !== undefined && range.lte !== undefined),
          );
          const scan = parseQuery(cards, { index: "place", prefix, ...(range === undefined ? {} : { range }) });
          if (scan.by !== "index") throw new Error("an index must be used");
          const { from, to } = scan.range;
          for (const each of all) {
            const bytes = indexKey(each, "k");
            const next = each[prefix.length];
            const expected =
              compareTuples(each.slice(0, prefix.length), prefix) === 0 &&
              (range === undefined ||
                (next !== undefined &&
                  (range.gt === undefined || compareElements(next, range.gt) > 0) &&
                  (range.gte === undefined || compareElements(next, range.gte) >= 0) &&
                  (range.lt === undefined || compareElements(next, range.lt) < 0) &&
                  (range.lte === undefined || compareElements(next, range.lte) <= 0)));
            expect(Buffer.compare(bytes, from) >= 0 && (to === null || Buffer.compare(bytes, to) < 0)).toBe(expected);
          }
        },
      ),
    );
  });

  test("go on behind a document, in both directions", () => {
    const at = indexKey([2], "b");
    const after = cursorOf(at);
    const forward = parseQuery(cards, { index: "place", after });
    const backward = parseQuery(cards, { index: "place", after, order: "desc" });
    if (forward.by !== "index" || backward.by !== "index") throw new Error("an index must be used");
    expect(Buffer.compare(forward.range.from, at)).toBe(1);
    expect(Buffer.compare(forward.range.from, indexKey([2], "ba"))).toBe(-1);
    expect(backward.range.to).toEqual(at);
    expect(parseQuery(cards, { after: cursorOf("ä") })).toEqual({ by: "key", after: "ä", reverse: false, limit: 100 });
  });

  const refused: Readonly<Record<string, [query: object, path: string]>> = {
    "an index that is not declared": [{ index: "other" }, "query.index"],
    "a prefix without an index": [{ prefix: [1] }, "query.prefix"],
    "a range without an index": [{ range: { gt: 1 } }, "query.range"],
    "a prefix that is no list": [{ index: "place", prefix: "a" }, "query.prefix"],
    "a fraction in a prefix": [{ index: "place", prefix: [1, 0.5] }, "query.prefix[1]"],
    "an unsafe integer in a prefix": [{ index: "place", prefix: [2 ** 53] }, "query.prefix[0]"],
    "a lone surrogate in a prefix": [{ index: "place", prefix: ["\ud800"] }, "query.prefix[0]"],
    "an object in a range": [{ index: "place", range: { lt: {} } }, "query.range.lt"],
    "gt with gte": [{ index: "place", range: { gt: 1, gte: 1 } }, "query.range"],
    "lt with lte": [{ index: "place", range: { lt: 1, lte: 1 } }, "query.range"],
    "an unknown bound": [{ index: "place", range: { eq: 1 } }, "query.range"],
    "a limit of 0": [{ limit: 0 }, "query.limit"],
    "a limit of 10,001": [{ limit: 10_001 }, "query.limit"],
    "another order": [{ order: "up" }, "query.order"],
    "an unknown member": [{ where: 1 }, "query"],
    "no object": [[], "query"],
    "a cursor that is no text": [{ after: 5 }, "query.after"],
    "a cursor in another spelling": [{ after: "YQ==" }, "query.after"],
    "a cursor that is no index key": [{ index: "place", after: cursorOf("a") }, "query.after"],
    "a cursor of another range": [{ index: "place", prefix: [1], after: cursorOf(indexKey([2], "a")) }, "query.after"],
    "a cursor with a control character": [{ after: cursorOf("\n") }, "query.after"],
  };
  test.each(Object.entries(refused))("%s is refused, with its path", (_, [query, path]) => {
    expect(refusalOf(() => parseQuery(cards, query as FindQuery))).toMatchObject({
      code: "INVALID_ARGUMENT",
      details: { path },
    });
  });

  test("an index of a projection that has none is refused", () => {
    expect(refusalOf(() => parseQuery(bare, { index: "place" })).message).toContain("bare, which has none");
  });
});
