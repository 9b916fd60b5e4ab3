/** Lists in the binary form of the server: it gives back what was sent, whatever was in them. */
import fc from "fast-check";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serverUrl } from "./place.js";
import { bigints, blobs, asSent, texts } from "../../src/store/postgres/arrays.js";

const client = new pg.Client(serverUrl());
beforeAll(() => client.connect());
afterAll(() => client.end());

/** What the server understands of a list, value by value, in order. */
async function understood(array: Buffer, type: string, shown: string): Promise<unknown[]> {
  const text = `SELECT ${shown} AS value FROM unnest($1::${type}[]) WITH ORDINALITY w (v, n) ORDER BY n`;
  return (await client.query<{ value: unknown }>(text, [array])).rows.map(({ value }) => value);
}

const nullable = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.array(fc.option(arbitrary), { maxLength: 40 });
const text = fc.string({ unit: "binary" }).map((value) => value.replaceAll("\0", ""));

test("numbers arrive exactly, up to the largest that are exact", async () => {
  const edges = [0, -1, 1, null, 2 ** 31, 2 ** 32 - 1, 2 ** 32, -(2 ** 32), Number.MAX_SAFE_INTEGER];
  await fc.assert(
    fc.asyncProperty(nullable(fc.maxSafeInteger()), async (values) => {
      expect(await understood(bigints(values), "bigint", "v::text")).toEqual(
        values.map((value) => value?.toString() ?? null),
      );
    }),
    { numRuns: 50, examples: [[edges], [[]], [[Number.MIN_SAFE_INTEGER]]] },
  );
});

test("texts arrive as they are, with quotes, backslashes and whatever else", async () => {
  await fc.assert(
    fc.asyncProperty(nullable(text), async (values) => {
      expect(await understood(texts(values), "text", "v")).toEqual(values);
    }),
    { numRuns: 50, examples: [[['{"a":"b\\"c"}', "", "NULL", "ünïcödé 🎈", null]]] },
  );
});

test("bytes arrive as they are", async () => {
  await fc.assert(
    fc.asyncProperty(nullable(fc.uint8Array({ maxLength: 100 })), async (values) => {
      const hex = values.map((value) => (value === null ? null : Buffer.from(value).toString("hex")));
      expect(await understood(blobs(values), "bytea", "encode(v, 'hex')")).toEqual(hex);
    }),
    { numRuns: 50 },
  );
});

test("a list is sent as what is in it, and as it is where nothing says so", () => {
  expect(asSent([null, 7])).toEqual(bigints([null, 7]));
  expect(asSent(["a", null])).toEqual(texts(["a", null]));
  expect(asSent([new Uint8Array([1]), null])).toEqual(blobs([new Uint8Array([1]), null]));
  for (const values of [[], [null, null], [true, null]]) expect(asSent(values)).toBe(values);
});

test("a number that is not exact is never sent", () => {
  for (const value of [1.5, NaN, Infinity, 2 ** 53]) expect(() => bigints([value])).toThrow("exact integer");
});
