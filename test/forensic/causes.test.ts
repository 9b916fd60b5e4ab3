import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { IdIndex } from "../../src/forensic/causes.js";
import { arrayRawReader } from "../../src/testing/array-raw-reader.js";
import { journalRows, row, setColumns } from "./journal.js";

const idOf = (position: number): string => hash("sha256", String(position), "hex");

test("an index of ids answers as a map does, over growth, chunks and gaps", () => {
  const index = new IdIndex();
  const model = new Map<string, number>();
  for (let position = 3; position < 90_000; position += position % 1_000 === 999 ? 7 : 1) {
    index.add(position, idOf(position));
    model.set(idOf(position), position);
  }

  for (let position = 0; position < 90_100; position += 13) {
    expect(index.find(idOf(position))).toBe(model.get(idOf(position)) ?? null);
  }
});

test("two ids that begin alike are told apart", () => {
  const index = new IdIndex();
  const [one, two, three] = ["0", "1", "2"].map((end) => `${"ab".repeat(31)}c${end}`) as [string, string, string];
  index.add(0, one);
  index.add(1, two);

  expect([index.find(one), index.find(two), index.find(three)]).toEqual([0, 1, null]);
});

test("the ids of entries that are there already are read as the store shows them, and hashed where it shows none", async () => {
  const rows = journalRows();
  setColumns(rows, 40, { id: null });
  rows.entries.splice(100, 5);
  const index = await IdIndex.read(10, 200, arrayRawReader(rows));

  expect(index.find(String(row(rows, 9).id))).toBeNull();
  expect(index.find(String(row(rows, 10).id))).toBe(10);
  expect(index.find(String(row(journalRows(), 40).id))).toBe(40);
  expect(index.find(String(row(journalRows(), 102).id))).toBeNull();
  expect(index.find(String(row(journalRows(), 150).id))).toBe(150);
  expect(index.find(String(row(journalRows(), 200).id))).toBeNull();
});
