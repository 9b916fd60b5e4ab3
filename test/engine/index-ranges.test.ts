/** What a batch remembers of the order of an index: it answers as whoever looks at every document does. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { indexKey } from "../../projections/index-key.js";
import { Table } from "../../src/engine/projector/catalogue.js";
import { IndexRanges } from "../../src/engine/projector/ranges.js";
import type { Place } from "../../src/engine/projector/ranges.js";
import { accounts, counts } from "./tables.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
const [table, other] = [new Table(accounts(), true), new Table(counts, true)];
const keys = 700;

/** Every document, and where it stands; what is asked for is read from here when it is not known. */
class Model {
  readonly ranges = new IndexRanges();
  reads = 0;
  private readonly places = new Map<string, Uint8Array>();

  move(key: string, element: number | null): void {
    const at = element === null ? null : indexKey([element], key);
    if (at === null) this.places.delete(key);
    else this.places.set(key, at);
    this.ranges.move(table, key, [undefined, at]);
  }

  find(from: Uint8Array, to: Uint8Array | null, limit: number): readonly Place[] {
    const range = { index: 1, from, to, limit, reverse: false };
    const known = this.ranges.find(table, range);
    if (!("count" in known)) return known;
    this.reads++;
    expect(known.count).toBeGreaterThan(0);
    const found = this.all(known.from, to, known.count);
    const behind = known.again && to !== null ? (this.all(to, null, 1)[0]?.at ?? null) : to;
    const end = found.length === known.count ? Buffer.concat([found.at(-1)!.at, Buffer.of(0)]) : behind;
    this.ranges.extend(table, range, found, end);
    const answer = this.ranges.find(table, range);
    if ("count" in answer) throw new Error("what was read must be known");
    return answer;
  }

  all(from: Uint8Array, to: Uint8Array | null, limit: number): readonly Place[] {
    return [...this.places]
      .map(([key, at]) => ({ key, at }))
      .filter(({ at }) => Buffer.compare(at, from) >= 0 && (to === null || Buffer.compare(at, to) < 0))
      .sort((a, b) => Buffer.compare(a.at, b.at))
      .slice(0, limit);
  }
}

const element = fc.integer({ min: 0, max: 2_000 });
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ key: fc.nat(keys - 1), element: fc.option(element) }) },
    // Many at once, and many gone at once: ranges become too long, and short.
    {
      weight: 1,
      arbitrary: fc.record({ first: element, step: fc.constantFrom(0, 1, 3), every: fc.constantFrom(1, 2) }),
    },
    { weight: 1, arbitrary: fc.record({ goneBelow: element }) },
    {
      weight: 6,
      arbitrary: fc.record({
        from: fc.constantFrom(0, 7, 900),
        to: fc.option(element),
        limit: fc.constantFrom(1, 2, 33, 256),
      }),
    },
  ),
  { minLength: 1, maxLength: 40 },
);

test("finds what stands in a range, whatever moved into it, out of it and within it", () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const model = new Model();
      for (const step of taken) {
        if ("limit" in step) {
          const from = indexKey([step.from], "");
          const to = step.to === null ? null : indexKey([step.to], "");
          expect(model.find(from, to, step.limit)).toEqual(model.all(from, to, step.limit));
        } else if ("key" in step) model.move(`key ${step.key}`, step.element);
        else if ("goneBelow" in step) {
          const below = model.all(Buffer.of(), indexKey([step.goneBelow], ""), keys);
          for (const { key } of below) model.move(key, null);
        } else for (let key = 0; key < keys; key += step.every) model.move(`key ${key}`, step.first + step.step * key);
      }
    }),
    { numRuns: long ? 2_000 : 200 },
  );
});

test("reads ever more ahead where the first of many are taken one after the other", () => {
  const model = new Model();
  const count = 3_000;
  for (let key = 0; key < count; key++) model.move(`key ${key}`, key);
  const from = indexKey([0], "");
  for (let taken = 0; taken < count; taken++) {
    const [first] = model.find(from, null, 2);
    expect(first?.key).toBe(`key ${taken}`);
    model.move(first!.key, null);
  }
  expect(model.reads).toBeLessThan(30);
});

test("knows how far there is nothing, for whoever asks up to a bound that grows", () => {
  const model = new Model();
  model.move("later", 1_000);
  const from = indexKey([0], "");
  for (let to = 1; to <= 1_000; to++) expect(model.find(from, indexKey([to], ""), 33)).toEqual([]);
  expect(model.reads).toBeLessThan(4);
  expect(model.find(from, indexKey([1_001], ""), 33).map(({ key }) => key)).toEqual(["later"]);
});

test("forgets the far end of a range that became too long, and reads it again", () => {
  const model = new Model();
  const from = indexKey([0], "");
  expect(model.find(from, null, 2)).toEqual([]);
  for (let key = 0; key < keys; key++) model.move(`key ${key}`, key);
  for (let taken = 0; taken < keys; taken++) {
    expect(model.find(from, null, 2)).toEqual(model.all(from, null, 2));
    model.move(`key ${taken}`, null);
  }
});

test("keeps the ranges of one table and index apart from those of others, and of each only so many", () => {
  const ranges = new IndexRanges();
  const begins = (index: number): Uint8Array => indexKey([index], "");
  for (let index = 0; index < 200; index++) ranges.extend(table, { index: 0, from: begins(index) }, [], null);
  const ask = (index: number, column = 0) => ({
    index: column,
    from: begins(index),
    to: null,
    limit: 1,
    reverse: false,
  });

  expect(ranges.find(table, ask(199))).toEqual([]);
  expect(ranges.find(table, ask(0))).toMatchObject({ count: 1, again: false });
  expect(ranges.find(table, ask(199, 1))).toMatchObject({ count: 1 });
  expect(ranges.find(other, ask(199))).toMatchObject({ count: 1 });
  ranges.drop(table);
  expect(ranges.has(table)).toBe(false);
  expect(ranges.find(table, ask(199))).toMatchObject({ count: 1 });
});
