/** The map behind the documents of the memory store, against a sorted list. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { get, range, set, without } from "../../src/store/memory/ordered-map.js";
import type { OrderedMap } from "../../src/store/memory/ordered-map.js";

const key = fc.uint8Array({ maxLength: 2 });
const steps = fc.array(fc.tuple(key, fc.oneof(fc.nat(), fc.nat(), fc.constant(null))), { maxLength: 400 });

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** All keys and values of a map, each key as hex. */
function listed(map: OrderedMap<number>): readonly (readonly [string, number])[] {
  const all = range(map, { from: null, to: null, reverse: false, limit: Infinity });
  return all.map(([bytes, value]) => [hex(bytes), value]);
}

function sorted(model: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...model].sort(([one], [other]) => (one < other ? -1 : 1));
}

/** How deep a map is; refuses one whose sizes are wrong, or of whose subtrees one is much larger than the other. */
function depthOf(map: OrderedMap<number>): number {
  if (map === null) return 0;
  const [left, right] = [map.left?.size ?? 0, map.right?.size ?? 0];
  expect(map.size).toBe(left + right + 1);
  if (left + right > 1) expect(Math.max(left, right)).toBeLessThanOrEqual(3 * Math.min(left, right));
  return 1 + Math.max(depthOf(map.left), depthOf(map.right));
}

test("any history of a map reads as a sorted list does, and every map before stays as it was", () => {
  fc.assert(
    fc.property(steps, key, key, fc.nat(20), fc.boolean(), (changes, from, to, limit, reverse) => {
      let map: OrderedMap<number> = null;
      const model = new Map<string, number>();
      const before: (readonly [OrderedMap<number>, readonly (readonly [string, number])[]])[] = [];
      for (const [index, [bytes, value]] of changes.entries()) {
        if (index % 50 === 0) before.push([map, sorted(model)]);
        map = value === null ? without(map, bytes) : set(map, bytes, value);
        if (value === null) model.delete(hex(bytes));
        else model.set(hex(bytes), value);
        expect(get(map, bytes)).toBe(value ?? undefined);
      }

      expect(listed(map)).toEqual(sorted(model));
      for (const [earlier, expected] of before) expect(listed(earlier)).toEqual(expected);
      const within = sorted(model).filter(([each]) => each >= hex(from) && each < hex(to));
      const expected = (reverse ? within.reverse() : within).slice(0, limit);
      expect(range(map, { from, to, reverse, limit }).map(([bytes, value]) => [hex(bytes), value])).toEqual(expected);
      depthOf(map);
    }),
    { numRuns: process.env["RUNLEDGER_LONG"] === "1" ? 1_000 : 100 },
  );
});

test("a map that is filled from both ends stays balanced", () => {
  let map: OrderedMap<number> = null;
  for (let n = 0; n < 64; n++) {
    for (const each of [n, 255 - n, 127 - n, 128 + n]) map = set(map, Buffer.of(each), n);
    depthOf(map);
  }

  for (let n = 0; n < 64; n++) {
    for (const each of [64 + n, 191 - n]) map = without(map, Buffer.of(each));
    depthOf(map);
  }

  expect(listed(map)).toHaveLength(128);
});

test("a map that is filled and emptied in order stays shallow", () => {
  let map: OrderedMap<number> = null;
  const keyOf = (n: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(n);
    return bytes;
  };
  for (let n = 0; n < 20_000; n++) map = set(map, keyOf(n), n);
  expect(depthOf(map)).toBeLessThan(30);

  for (let n = 0; n < 19_990; n++) map = without(map, keyOf(n));

  expect(listed(map)).toHaveLength(10);
  expect(depthOf(map)).toBeLessThan(6);
});
