/** The documents that a writer remembers: bounded, and the last used stay. */
import { expect, test } from "vitest";
import { DocumentCache } from "../../src/engine/projector/cache.js";
import { Table } from "../../src/engine/projector/catalogue.js";
import { accounts, counts } from "./tables.js";

const [one, two] = [new Table(accounts(), true), new Table(counts, true)];
const held = (seq: number): { readonly document: object; readonly seq: number } => ({ document: { seq }, seq });

test("never holds more documents than it may, over all tables", () => {
  for (const max of [0, 1, 2, 3, 10, 101]) {
    const cache = new DocumentCache(max);
    for (let n = 0; n < 500; n++) {
      cache.put(n % 3 === 0 ? one : two, `key ${n % 170}`, held(n));
      cache.get(one, `key ${(n * 7) % 170}`);
      expect(cache.size).toBeLessThanOrEqual(max);
    }
  }
});

test("gives the last document that was put, and none that was not", () => {
  const cache = new DocumentCache(8);
  cache.put(one, "a", held(1));
  for (let n = 0; n < 3; n++) cache.put(one, `other ${n}`, held(n));
  cache.put(one, "a", held(2));

  expect(cache.get(one, "a")).toEqual(held(2));
  expect(cache.get(two, "a")).toBe(undefined);
  cache.clear();
  expect(cache.get(one, "a")).toBe(undefined);
});

test("keeps what is used again and again, whatever else comes by", () => {
  const cache = new DocumentCache(20);
  cache.put(one, "used", held(0));
  for (let n = 0; n < 1_000; n++) {
    cache.put(one, `passing ${n}`, held(n));
    expect(cache.get(one, "used")).toEqual(held(0));
  }
});
