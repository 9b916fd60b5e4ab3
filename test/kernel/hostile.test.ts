import { describe, expect, test } from "vitest";
import { canonicalize, parseCanonical, writeCanonical } from "../../src/kernel/canonical.js";
import { describe as show } from "../../src/kernel/errors.js";
import { entryBytesMax } from "../../src/kernel/limits.js";
import { refusalOf } from "./refusal.js";

/** As an append asks for it: no longer than an entry. */
function asData(value: unknown): string {
  return writeCanonical(value, { path: "data", unitsMax: entryBytesMax }).join("");
}

function nested(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = wrap(value);
  return value;
}

describe("T44 a hostile value is refused with a code, and the process lives", () => {
  test("T44 100,000 levels of objects, of arrays, of both", () => {
    for (const wrap of [
      (inner: unknown) => ({ a: inner }),
      (inner: unknown) => [inner],
      (inner: unknown) => [{ a: inner }],
    ]) {
      expect(refusalOf(() => asData(nested(100_000, wrap))).code).toBe("LIMIT_EXCEEDED");
    }
  });

  test("T44 100,000 levels in text", () => {
    for (const text of [
      "[".repeat(100_000) + "]".repeat(100_000),
      '{"a":'.repeat(100_000) + "1" + "}".repeat(100_000),
    ]) {
      expect(refusalOf(() => parseCanonical(text)).code).toBe("LIMIT_EXCEEDED");
      expect(refusalOf(() => parseCanonical(text.slice(1))).code).toBe("INVALID_ARGUMENT");
    }
  });

  test("T44 a million keys, a million elements, four billion holes", () => {
    const keys: Record<string, number> = {};
    for (let key = 0; key < 1_000_000; key++) keys[`k${key}`] = key;

    for (const value of [keys, Array(1_000_000).fill(0), Array(2 ** 32 - 1)]) {
      expect(refusalOf(() => asData({ value })).code).toBe("LIMIT_EXCEEDED");
    }
    expect(refusalOf(() => canonicalize(Array(2 ** 32 - 1))).code).toBe("LIMIT_EXCEEDED");
  });

  test("T44 a string of 100 MB, as a value and as a key", () => {
    const long = "x".repeat(100_000_000);

    expect(refusalOf(() => asData({ long })).details).toMatchObject({ max: entryBytesMax });
    expect(refusalOf(() => asData({ [long]: 1 })).code).toBe("LIMIT_EXCEEDED");
    expect(refusalOf(() => canonicalize(long)).code).toBe("LIMIT_EXCEEDED");
    expect(refusalOf(() => canonicalize("\u0001".repeat(100_000_000))).code).toBe("LIMIT_EXCEEDED");
    expect(refusalOf(() => canonicalize({ [`${long}\u0001`]: 1 })).code).toBe("LIMIT_EXCEEDED");
  });

  test("T44 a message about something long is short", () => {
    const long = "x".repeat(1_000_000);

    expect(refusalOf(() => asData({ [long]: { [long]: NaN } })).message.length).toBeLessThan(1_000);
    expect(refusalOf(() => asData({ a: `${"y".repeat(1_000)}\ud800` })).message.length).toBeLessThan(1_000);
    expect(
      refusalOf(() => asData(nested(129, (inner) => ({ [long.slice(0, 300)]: inner })))).message.length,
    ).toBeLessThan(1_000);
  });

  test("T44 ten thousand nested arrays that come round to the first", () => {
    const first: unknown[] = [];
    const last = nested(10_000, (inner) => [inner]) as unknown[];
    first.push(last);
    let innermost = last;
    while (Array.isArray(innermost[0])) innermost = innermost[0] as unknown[];
    innermost[0] = first;

    expect(refusalOf(() => asData({ first })).code).toBe("LIMIT_EXCEEDED");
  });

  test("T44 a small value that unfolds to 2^100 parts", () => {
    const value = nested(100, (inner) => [inner, inner]);

    expect(refusalOf(() => asData({ value })).code).toBe("LIMIT_EXCEEDED");
  });

  test("T44 a getter that changes its answer is not asked once", () => {
    let asked = 0;
    const value = {
      get a(): number {
        return ++asked;
      },
    };

    expect(refusalOf(() => asData(value)).details).toMatchObject({ path: "data.a", found: "an accessor" });
    expect(asked).toBe(0);
  });

  test("T44 no trap of a Proxy runs, wherever it hides", () => {
    const traps: string[] = [];
    const spy = new Proxy({}, { get: (_target, trap) => () => traps.push(String(trap)) });
    const proxies = [new Proxy({}, spy), new Proxy([], spy), new Proxy(() => 1, spy), new Proxy(new Date(), spy)];
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();

    for (const proxy of [...proxies, revoked.proxy]) {
      for (const value of [proxy, { a: proxy }, [proxy], { a: [{ b: proxy }] }]) {
        expect(refusalOf(() => asData(value)).code).toBe("INVALID_ARGUMENT");
      }
      expect(show(proxy)).toMatch(/^a (Proxy|function)$/);
    }
    expect(traps).toEqual([]);
  });

  test("T44 a toJSON is refused and not called: own, inherited, on a class", () => {
    let called = 0;
    const toJSON = (): number => ++called;
    class Dressed {
      toJSON(): number {
        return ++called;
      }
    }

    for (const value of [
      { toJSON },
      [{ toJSON }],
      new Dressed(),
      Object.create({ toJSON }),
      Object.assign(Object.create(null), { toJSON }),
    ]) {
      expect(refusalOf(() => asData(value)).code).toBe("INVALID_ARGUMENT");
    }
    expect(called).toBe(0);
  });

  test("T44 __proto__ is refused and constructor.prototype is data; no prototype changes", () => {
    const before = Object.getOwnPropertyNames(Object.prototype).sort();

    expect(refusalOf(() => asData(JSON.parse('{"__proto__":{"admin":true}}'))).code).toBe("INVALID_ARGUMENT");
    expect(asData(JSON.parse('{"constructor":{"prototype":{"admin":true}}}'))).toBe(
      '{"constructor":{"prototype":{"admin":true}}}',
    );
    expect(canonicalize(parseCanonical('{"constructor":{"prototype":{"admin":true}}}'))).toBe(
      '{"constructor":{"prototype":{"admin":true}}}',
    );

    expect(({} as { admin?: boolean }).admin).toBeUndefined();
    expect(Object.getOwnPropertyNames(Object.prototype).sort()).toEqual(before);
  });
});
