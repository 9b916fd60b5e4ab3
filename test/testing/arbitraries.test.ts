import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkLabels, parseEntry } from "../../src/journal/entry.js";
import { reservedAreas } from "../../src/journal/define-events.js";
import { canonicalize } from "../../src/kernel/canonical.js";
import { parseArea, parseKey, parseLabel, parseStream, parseType } from "../../src/kernel/names.js";
import {
  acceptedValues,
  areaNames,
  eventData,
  eventTypes,
  jsonKeys,
  jsonNumbers,
  jsonObjects,
  jsonStrings,
  jsonValues,
  keys,
  labels,
  metas,
  streamNames,
} from "../../src/testing/arbitraries.js";
import { everyRefusedValue, refusedValues } from "../../src/testing/arbitraries-refused.js";
import { refusalOf } from "../kernel/refusal.js";

const long = process.env["RUNLEDGER_LONG"] === "1";

/** Draws samples and asks of each whether it is what it says; answers those that are not. */
function wrong<T>(arbitrary: fc.Arbitrary<T>, accepts: (sample: T) => unknown, count = long ? 20_000 : 2_000): T[] {
  return fc.sample(arbitrary, count).filter((sample) => {
    try {
      accepts(sample);
      return false;
    } catch {
      return true;
    }
  });
}

describe("what is generated as accepted", () => {
  test("L06 every value is in the accepted domain, -0 and undefined members at any depth included", () => {
    expect(wrong(acceptedValues(), canonicalize, long ? 1_000_000 : 100_000)).toEqual([]);
  });

  test("L06 values that survive a round trip hold no -0 and no undefined member at any depth", () => {
    const survives = (value: unknown): void => {
      if (!Object.is(value, JSON.parse(JSON.stringify(value))) && typeof value === "number") throw new Error("-0");
      if (value === undefined) throw new Error("undefined");
      if (typeof value === "object" && value !== null) Object.values(value).forEach(survives);
    };

    expect(wrong(jsonValues(), survives)).toEqual([]);
    expect(wrong(jsonObjects(), survives)).toEqual([]);
  });

  test("both kinds of values do occur: -0, undefined members, every type", () => {
    const samples = fc.sample(acceptedValues(), { numRuns: 2_000, seed: 1 });
    const seen = new Set<string>();
    const look = (value: unknown): void => {
      seen.add(Object.is(value, -0) ? "-0" : value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
      if (typeof value === "object" && value !== null) Object.values(value).forEach(look);
    };
    samples.forEach(look);

    expect([...seen].sort()).toEqual(["-0", "array", "boolean", "null", "number", "object", "string", "undefined"]);
  });

  test("names, numbers and strings are what their parsers accept", () => {
    expect(wrong(jsonStrings(), canonicalize)).toEqual([]);
    expect(wrong(jsonNumbers(), canonicalize)).toEqual([]);
    expect(wrong(jsonKeys(), (key) => canonicalize({ [key]: 1 }))).toEqual([]);
    expect(wrong(keys(), (key) => parseKey(key, "key"))).toEqual([]);
    expect(wrong(labels(), (label) => parseLabel(label, "label"))).toEqual([]);
    expect(wrong(areaNames(), (area) => parseArea(area, "area"))).toEqual([]);
    expect(wrong(streamNames(), (stream) => parseStream(stream, "stream"))).toEqual([]);
    expect(wrong(eventTypes(), (type) => parseType(type, "type"))).toEqual([]);
    expect(wrong(metas(), (meta) => checkLabels({ meta }))).toEqual([]);
  });

  test("no generated area is one of the journal's own", () => {
    expect(fc.sample(areaNames(), 2_000).filter((area) => reservedAreas.has(area))).toEqual([]);
  });

  test("event data fits into an entry", () => {
    const fits = (data: object): unknown =>
      parseEntry(
        canonicalize({
          v: 1,
          seq: 0,
          prev: "0".repeat(64),
          tx: [0, 1],
          stream: "a/1",
          rev: 1,
          type: "a.b",
          tv: 1,
          at: 0,
          data,
        }),
      );

    expect(wrong(eventData(), fits)).toEqual([]);
  });
});

describe("what is generated as refused", () => {
  test("L06 no value is accepted, and each says where its fault is", () => {
    const refused = (sample: { value: unknown; path: string }): void => {
      if (refusalOf(() => canonicalize(sample.value)).details["path"] !== sample.path) throw new Error("another path");
    };

    expect(wrong(refusedValues(), refused).map(({ fault }) => fault)).toEqual([]);
  });

  test("every kind of fault occurs", () => {
    const faults = new Set(fc.sample(refusedValues(), { numRuns: 2_000, seed: 1 }).map(({ fault }) => fault));

    expect([...faults].sort()).toEqual(
      everyRefusedValue()
        .map(({ fault }) => fault)
        .sort(),
    );
  });
});
