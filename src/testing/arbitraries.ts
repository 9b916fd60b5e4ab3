/** What a ledger accepts, as fast-check arbitraries: values, names and whole events for a host's own properties.
 *  Invariant: every sample is accepted as it stands; what is refused has its own generators, in `arbitraries-refused.ts`.
 *  Source: design section 4, case L06. */
import fc from "fast-check";
import { canonicalize } from "../kernel/canonical.js";
import type { JsonObject, JsonValue } from "../kernel/canonical.js";
import { keyUnitsMax, nameUnitsMax } from "../kernel/limits.js";

/** Strings that programs get wrong: escapes, look-alikes, characters outside the BMP, names of prototypes. */
const curiousStrings: readonly string[] = [
  "",
  "\u0000",
  "\u001b[31m",
  "\u007f",
  '"\\/\b\f\n\r\t',
  "\u2028\u2029",
  "\ufeff",
  "\ufffd",
  "é",
  "e\u0301",
  "\u202egpj.exe",
  "😀",
  "\ufb33",
  "constructor",
  "prototype",
  "toString",
  "null",
  "-0",
  "10",
  "9",
];

/** Well-formed strings of any characters, without lone surrogates. @public */
export function jsonStrings(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.string({ maxLength: 12 }) },
    { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 12 }) },
    { weight: 1, arbitrary: fc.constantFrom(...curiousStrings) },
  );
}

/** Finite numbers without `-0`; integers that print as digits stay within ±(2^53−1). @public */
export function jsonNumbers(): fc.Arbitrary<number> {
  return fc.oneof(
    fc.integer({ min: -1_000, max: 1_000 }),
    fc.maxSafeInteger(),
    fc.constantFrom(
      0,
      1e21,
      -1e21,
      1.5,
      5e-324,
      1e-7,
      1e-6,
      0.1,
      Number.MAX_VALUE,
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
    ),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(printable),
  );
}

/** Moves a number into the accepted domain when it is an integer that was rounded on its way in. */
function printable(value: number): number {
  if (value === 0) return 0;
  return Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21 ? value / 2 ** 70 : value;
}

/** Member names: any string but `__proto__`, which is refused, and `$content`, which names a content. @public */
export function jsonKeys(): fc.Arbitrary<string> {
  return jsonStrings().filter((key) => key !== "__proto__" && key !== "$content");
}

/** JSON values that survive a round trip unchanged. @public */
export function jsonValues(): fc.Arbitrary<JsonValue> {
  return jsonTree().value;
}

/** JSON objects that survive a round trip unchanged: the `data` of an event. @public */
export function jsonObjects(): fc.Arbitrary<JsonObject> {
  return jsonTree().object;
}

function jsonTree(): { value: fc.Arbitrary<JsonValue>; object: fc.Arbitrary<JsonObject> } {
  return fc.letrec<{ value: JsonValue; object: JsonObject; array: JsonValue[] }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constantFrom(null, true, false),
      jsonNumbers(),
      jsonStrings(),
      tie("array"),
      tie("object"),
    ),
    array: fc.array(tie("value"), { maxLength: 5 }),
    object: fc.dictionary(jsonKeys(), tie("value"), { maxKeys: 5 }),
  }));
}

/** Values that are accepted though a round trip changes them: `undefined` members are dropped and `-0` becomes `0`. @public */
export function acceptedValues(): fc.Arbitrary<unknown> {
  const { value } = fc.letrec<{ value: unknown; object: object; array: unknown[] }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      jsonValues(),
      fc.constant(-0),
      tie("array"),
      tie("object"),
    ),
    array: fc.array(tie("value"), { maxLength: 4 }),
    object: fc.dictionary(jsonKeys(), fc.option(tie("value"), { nil: undefined }), { maxKeys: 4 }),
  }));
  return value;
}

/** The `data` of an event, small enough for one entry. @public */
export function eventData(): fc.Arbitrary<JsonObject> {
  return jsonObjects().filter((data) => canonicalize(data).length < 10_000);
}

/** Keys: 1 to 512 units without control characters. @public */
export function keys(): fc.Arbitrary<string> {
  return texts(keyUnitsMax);
}

/** Labels, such as an actor: 1 to 128 units without control characters. @public */
export function labels(): fc.Arbitrary<string> {
  return texts(nameUnitsMax);
}

function texts(unitsMax: number): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 4, arbitrary: jsonStrings().map(withoutControls) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: unitsMax }).map((length) => "k".repeat(length)) },
  );
}

function withoutControls(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f]/g, "·") || "-";
}

const lower: readonly string[] = ["a", "b", "c", "x", "y", "z"];
const word: readonly string[] = [...lower, "A", "B", "C", "X", "Y", "Z", "0", "1", "9"];

/** Names of areas and of stream kinds. Those that the journal uses itself do not occur. @public */
export function areaNames(): fc.Arbitrary<string> {
  const tail = fc.string({ unit: fc.constantFrom(...word, "-"), maxLength: 10 });
  return fc.tuple(fc.constantFrom(...lower), tail).map(([first, rest]) => first + rest);
}

/** Names of streams, `<kind>/<name>`; by default of any kind. @public */
export function streamNames(kinds: fc.Arbitrary<string> = areaNames()): fc.Arbitrary<string> {
  return fc.tuple(kinds, keys()).map(([kind, key]) => `${kind}/${key}`);
}

/** Event types, `area.pastTense`; by default of any area. @public */
export function eventTypes(areas: fc.Arbitrary<string> = areaNames()): fc.Arbitrary<string> {
  const tail = fc.string({ unit: fc.constantFrom(...word), maxLength: 10 });
  return fc.tuple(areas, fc.constantFrom(...lower), tail).map(([area, first, rest]) => `${area}.${first}${rest}`);
}

/** `meta`: 1 to 16 members, strings, at most 2 KiB. @public */
export function metas(): fc.Arbitrary<Readonly<Record<string, string>>> {
  return fc
    .dictionary(labels(), jsonStrings(), { minKeys: 1, maxKeys: 16 })
    .filter(
      (meta) =>
        !Object.hasOwn(meta, "__proto__") &&
        !Object.hasOwn(meta, "$content") &&
        Buffer.byteLength(canonicalize(meta)) <= 2_048,
    );
}
