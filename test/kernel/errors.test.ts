import { describe, expect, test } from "vitest";
import {
  describe as show,
  invalid,
  invariant,
  InvariantError,
  LedgerError,
  limit,
  unreachable,
} from "../../src/kernel/errors.js";
import { isDigest, sha256Hex, sha256HexOf } from "../../src/kernel/digest.js";
import { checkBoolean, checkMembers, parseInteger } from "../../src/kernel/members.js";
import { refusalOf } from "./refusal.js";

describe("errors", () => {
  test("a refusal says in a sentence where, what was expected and what was found", () => {
    const error = invalid("options.origin", "a string", 5, "leave it out");

    expect(error).toBeInstanceOf(LedgerError);
    expect(error).toMatchObject({
      name: "LedgerError",
      code: "INVALID_ARGUMENT",
      message: "options.origin must be a string, found 5",
      details: { path: "options.origin", expected: "a string", found: "5" },
      hint: "leave it out",
    });
    expect(invalid("a", "b", 1).hint).toBeUndefined();
  });

  test("a limit says which, how much and how much was found", () => {
    expect(limit("entry", "bytes", 10, 11)).toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: "entry may have at most 10 bytes, found 11",
      details: { path: "entry", limit: "bytes", max: 10, found: 11 },
    });
  });

  test("a cause is kept, and absent when there is none", () => {
    const cause = new Error("disk");
    expect(new LedgerError("STORE_FULL", "full", { cause }).cause).toBe(cause);
    expect("cause" in new LedgerError("STORE_FULL", "full")).toBe(false);
  });

  test("a bug in the engine is another kind of error", () => {
    expect(() => invariant(false, "one is one")).toThrow(new InvariantError("invariant broken: one is one"));
    expect(() => unreachable("x" as never)).toThrow(InvariantError);
    expect(() => invariant(1, "fine")).not.toThrow();
    expect(new InvariantError("x")).not.toBeInstanceOf(LedgerError);
  });

  test.each([
    [null, "null"],
    [undefined, "undefined"],
    [1.5, "1.5"],
    [NaN, "NaN"],
    [true, "true"],
    ["a\n", '"a\\n"'],
    ["x".repeat(61), `"${"x".repeat(60)}"… (61 units)`],
    [1n, "a BigInt"],
    [Symbol("s"), "a symbol"],
    [() => 1, "a function"],
    [[1], "an array"],
    [{ a: 1 }, "an object"],
    [new Proxy([], {}), "a Proxy"],
  ])("%o is shown as %s", (value, shown) => {
    expect(show(value)).toBe(shown);
  });
});

describe("members", () => {
  test("what nobody reads is refused: a misspelt option is not ignored", () => {
    expect(() => checkMembers({ from: 1 }, "options", ["from", "limit"])).not.toThrow();
    expect(refusalOf(() => checkMembers({ form: 1 }, "options", ["from", "limit"])).message).toBe(
      'options must be an object with no members but from, limit, found "form"',
    );
    for (const value of [null, undefined, [], "x", 1]) {
      expect(refusalOf(() => checkMembers(value, "options", [])).message).toMatch(/^options must be an object, found /);
    }
  });

  test("booleans and whole numbers", () => {
    expect(() => checkBoolean(undefined, "strict")).not.toThrow();
    for (const value of [null, 0, "true"])
      expect(refusalOf(() => checkBoolean(value, "strict")).code).toBe("INVALID_ARGUMENT");

    expect(parseInteger(10, "limit", 1, 10)).toBe(10);
    for (const value of [0, 11, 1.5, NaN, "1", null, 2 ** 53]) {
      expect(refusalOf(() => parseInteger(value, "limit", 1, 10)).message).toMatch(
        /^limit must be a whole number from 1 to 10, found /,
      );
    }
    expect(refusalOf(() => parseInteger(2 ** 53, "from", 0)).message).toContain("from 0 to 2^53−1");
  });
});

describe("digests", () => {
  test("SHA-256 of text is that of its UTF-8, whole or in pieces", () => {
    const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    expect(sha256Hex("abc")).toBe(abc);
    expect(sha256Hex(Buffer.from("abc"))).toBe(abc);
    expect(sha256HexOf(["a", Buffer.from("b"), "c"])).toBe(abc);
    expect(sha256Hex("é")).toBe(sha256Hex(Uint8Array.of(0xc3, 0xa9)));
  });

  test("a digest is 64 lower-case hex digits", () => {
    expect(isDigest("ab".repeat(32))).toBe(true);
    for (const value of ["", "ab".repeat(31), `${"ab".repeat(32)}\n`, "AB".repeat(32), "zz".repeat(32), null, 1, {}]) {
      expect(isDigest(value)).toBe(false);
    }
  });
});
