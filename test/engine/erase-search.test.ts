import { expect, test } from "vitest";
import { ErasureSearch } from "../../src/engine/erase-search.js";
import type { StoredEntry } from "../../src/journal/store.js";
import { fieldsOf, RawJournal, sealed } from "../../src/testing/raw-journal.js";
import type { RawEvent } from "../../src/testing/raw-journal.js";

/** Hands out rows as a store does, and counts. */
function pages(journal: RawJournal): {
  readonly read: (from: number, limit: number) => Promise<readonly StoredEntry[]>;
  readonly asked: number[];
} {
  const asked: number[] = [];
  return {
    asked,
    read: async (from, limit) => {
      asked.push(from);
      return journal.rows.entries.slice(from, from + limit) as unknown as StoredEntry[];
    },
  };
}

const noTurn = async (): Promise<void> => {};

test("goes on from where it was, and reads nothing twice but the entry that it ended with", async () => {
  const journal = new RawJournal(0);
  const text = journal.content("wanted");
  while (journal.next < 1_500) journal.append(journal.next, [{ stream: "a/1", type: "a.b", data: { text } }]);
  const { read, asked } = pages(journal);
  const search = new ErasureSearch([text.$content]);

  await search.readOn(read, noTurn);
  journal.append(1_500, [{ stream: "a/2", type: "a.b", data: { text } }]);
  await search.readOn(read, noTurn);
  await search.readOn(read, noTurn);

  expect(asked).toEqual([0, 999, 1_499, 1_500]);
  const [found] = search.under(text.$content);
  expect(found?.entries.map(({ position }) => position)).toEqual(
    Array.from({ length: 1_500 }, (_, index) => index + 1),
  );
  expect(search.position).toBe(1_500);
});

test("parses no entry that does not name a content that is looked for", async () => {
  const journal = new RawJournal(0);
  const [wanted, other] = [journal.content("wanted"), journal.content("other")];
  journal.append(1, [{ stream: "a/1", type: "a.b", data: { list: [other, wanted] } }]);
  journal.append(2, [{ stream: "a/1", type: "a.b", data: { other } }]);
  // Whoever parsed this one would find that it does not hash to its id.
  journal.rows.entries[2] = { ...journal.rows.entries[2]!, id: "0".repeat(64) };
  const search = new ErasureSearch([wanted.$content]);

  await search.readOn(pages(journal).read, noTurn);

  expect(search.under(wanted.$content).map(({ n, entries }) => [n, entries.length])).toEqual([[1, 1]]);
  await expect(new ErasureSearch([other.$content]).readOn(pages(journal).read, noTurn)).rejects.toMatchObject({
    code: "STORE_DAMAGED",
    details: { position: 2, field: "id" },
  });
});

test("keeps two contents apart that have one digest", async () => {
  const journal = new RawJournal(0);
  const one = journal.content("same");
  const other = { ...one, n: 2 };
  journal.append(1, [{ stream: "a/1", type: "a.b", data: { one } }]);
  journal.append(2, [{ stream: "a/2", type: "a.b", data: { other } }]);
  journal.append(3, [
    { stream: "journal/main", type: "content.erased", data: { digests: [one.$content], reason: "x" } },
  ]);
  const search = new ErasureSearch([one.$content]);

  await search.readOn(pages(journal).read, noTurn);

  expect(search.under(one.$content).map(({ n, entries, erasedAt }) => [n, entries[0]?.stream, erasedAt])).toEqual([
    [1, "a/1", 3],
    [2, "a/2", 3],
  ]);
});

test("stops when another journal stands where it had read", async () => {
  const journal = new RawJournal(0);
  const text = journal.content("wanted");
  while (journal.next < 10) journal.append(journal.next, [{ stream: "a/1", type: "a.b", data: { text } }]);
  const search = new ErasureSearch([text.$content]);
  await search.readOn(pages(journal).read, noTurn);

  const last = journal.rows.entries[9]!;
  journal.rows.entries[9] = sealed(last, JSON.stringify({ ...fieldsOf(last), at: 99 }));
  await expect(search.readOn(pages(journal).read, noTurn)).rejects.toMatchObject({
    code: "STORE_DAMAGED",
    details: { position: 9 },
  });
  journal.rows.entries.length = 5;
  await expect(search.readOn(pages(journal).read, noTurn)).rejects.toMatchObject({ code: "STORE_DAMAGED" });
});

test("finds the receipt of each tx that names a content, also when a page ends in between", async () => {
  const journal = new RawJournal(0);
  const [wanted, other] = [journal.content("wanted"), journal.content("other")];
  const receipt = (salt: typeof wanted, result?: object): RawEvent => ({
    stream: "client/default",
    type: "receipt.recorded",
    data: { id: `c${salt.n}`, name: "a.b", fingerprint: "0".repeat(64), salt, outcome: "accepted", result },
  });
  const salts = Array.from({ length: 4 }, () => journal.content("s".repeat(32)));
  const [first, second, third, fourth] = salts as [typeof wanted, typeof wanted, typeof wanted, typeof wanted];
  journal.append(1, [{ stream: "a/1", type: "a.b", data: { wanted } }, { stream: "a/1", type: "a.b" }, receipt(first)]);
  journal.append(2, [{ stream: "a/1", type: "a.b", data: { other } }, receipt(second)]);
  while (journal.next < 999) journal.append(journal.next, [{ stream: "a/2", type: "a.b" }]);
  journal.append(1_000, [{ stream: "a/1", type: "a.b", data: { other, wanted } }, receipt(third)]);
  journal.append(1_001, [receipt(fourth, { wanted })]);
  const erased = { digests: [third.$content], reason: "x" };
  journal.append(1_002, [{ stream: "journal/main", type: "content.erased", data: erased }]);
  const search = new ErasureSearch([wanted.$content]);

  await search.readOn(pages(journal).read, noTurn);

  const found = [...search.salts.values()].map(({ n, entries, erasedAt }) => [n, entries[0]?.position, erasedAt]);
  expect(found).toEqual([
    [first.n, 3, null],
    [third.n, 1_000, 1_002],
    [fourth.n, 1_001, null],
  ]);
  expect([...search.salts.values()].map(({ of }) => [...of])).toEqual([[1], [1], [1]]);
});
