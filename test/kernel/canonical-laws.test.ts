import fc from "fast-check";
import stableStringify from "fast-json-stable-stringify";
import { expect, test } from "vitest";
import { canonicalize, parseCanonical } from "../../src/kernel/canonical.js";
import { acceptedValues, jsonObjects, jsonValues } from "../../src/testing/arbitraries.js";
import { refusedValues, tooDeepValues } from "../../src/testing/arbitraries-refused.js";
import { refusalOf } from "./refusal.js";

test("canonical text is a fixpoint: reading it and writing it again gives the same text", () => {
  fc.assert(
    fc.property(acceptedValues(), (value) => {
      const text = canonicalize(value);

      expect(canonicalize(JSON.parse(text))).toBe(text);
      expect(canonicalize(parseCanonical(text))).toBe(text);
      expect(parseCanonical(Buffer.from(text))).toEqual(parseCanonical(text));
    }),
  );
});

test("a JSON value survives the round trip unchanged", () => {
  fc.assert(
    fc.property(jsonValues(), (value) => {
      expect(parseCanonical(canonicalize(value))).toEqual(value);
    }),
  );
});

test("the text equals that of fast-json-stable-stringify on everything accepted", () => {
  fc.assert(
    fc.property(acceptedValues(), (value) => {
      expect(canonicalize(value)).toBe(stableStringify(value));
    }),
  );
});

test("the order of members makes no difference", () => {
  const shuffled = jsonObjects().chain((object) => {
    const members = Object.entries(object);
    return fc.tuple(fc.constant(object), fc.shuffledSubarray(members, { minLength: members.length }));
  });

  fc.assert(
    fc.property(shuffled, ([object, members]) => {
      expect(canonicalize(Object.fromEntries(members))).toBe(canonicalize(object));
    }),
  );
});

test("members that are undefined, and null prototypes, leave no mark", () => {
  fc.assert(
    fc.property(jsonObjects(), fc.string(), (object, name) => {
      fc.pre(name !== "__proto__" && !Object.hasOwn(object, name));
      const other = Object.assign(Object.create(null) as object, { [name]: undefined }, object);

      expect(canonicalize(other)).toBe(canonicalize(object));
    }),
  );
});

test("two values have the same text only when they are equal", () => {
  fc.assert(
    fc.property(jsonValues(), jsonValues(), (left, right) => {
      const equal = JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));

      expect(canonicalize(left) === canonicalize(right)).toBe(equal);
    }),
  );
});

test("any other spelling of the same value is refused: a space anywhere outside a string", () => {
  fc.assert(
    fc.property(jsonValues(), fc.nat(), fc.constantFrom(" ", "\n", "\t"), (value, at, space) => {
      const text = canonicalize(value);
      const characters = Array.from(text);
      const changed = characters.toSpliced(at % (characters.length + 1), 0, space).join("");

      if (parses(changed) && canonicalize(JSON.parse(changed)) !== text) return; // it fell into a string
      expect(refusalOf(() => parseCanonical(changed)).code).toBe("INVALID_ARGUMENT");
    }),
  );
});

test("a value with one fault anywhere is refused with the path of the fault, and none of its code runs", () => {
  fc.assert(
    fc.property(refusedValues(), ({ value, path }) => {
      const refusal = refusalOf(() => canonicalize(value));

      expect(refusal.code).toBe("INVALID_ARGUMENT");
      expect(refusal.details).toMatchObject({ path });
    }),
  );
});

test("a value that nests too deep is refused, by one level or by a hundred thousand", () => {
  fc.assert(
    fc.property(tooDeepValues(), (value) => {
      expect(refusalOf(() => canonicalize(value)).code).toBe("LIMIT_EXCEEDED");
    }),
    { numRuns: 10 },
  );
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The value with its members in some fixed order, by means that share nothing with the code under test. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, sorted(member)] as const);
  return { members: members.sort(([left], [right]) => (left < right ? -1 : 1)) };
}
