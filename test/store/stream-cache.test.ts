import { expect, test } from "vitest";
import { StreamCache } from "../../src/store/stream-cache.js";

function cacheOf(count: number): StreamCache {
  const cache = new StreamCache();
  for (let seq = 0; seq < count; seq++)
    cache.set(`a/${seq}`, { id: seq, stored: true, rev: 1, seq, pages: 0, tail: null });
  return cache;
}

const known = (cache: StreamCache, count: number): number[] =>
  Array.from({ length: count }, (_, n) => n).filter((n) => cache.get(`a/${n}`) !== undefined);

test("of more than ten thousand streams those that were found first are forgotten", () => {
  const cache = cacheOf(10_003);

  cache.trim();

  expect(known(cache, 10_003)).toEqual(Array.from({ length: 10_000 }, (_, n) => n + 3));
});

test("a stream whose last entry is on its way is kept, and others go instead of it", () => {
  const cache = cacheOf(10_004);
  cache.get("a/0")!.seq = 20_000;

  cache.trim(10_001);

  expect(cache.get("a/0")).toBeDefined();
  expect(known(cache, 6)).toEqual([0, 5]);
});

test("where all of them are on their way none is forgotten", () => {
  const cache = cacheOf(10_004);

  cache.trim(-1);

  expect(known(cache, 10_004)).toHaveLength(10_004);
});
