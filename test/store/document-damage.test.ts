/** Tables of documents that somebody changed: the shape of the file is told apart from what its rows call for, values of another
 *  class and keys that are no text are told where they are read, and the verifier sees the rows as they stand. */
import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { RawDocument, RawProblem, RawProblemPart, RawReader } from "../../src/journal/raw-reader.js";
import type { StoreReads } from "../../src/journal/store.js";
import { documentTable } from "../../src/store/sqlite/document-table.js";
import { openSqliteRawReader } from "../../src/store/sqlite/raw-reader.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { document, newRow, part } from "../../src/testing/store-documents.js";
import { operate, read } from "../../src/testing/store-histories.js";
import { closedLedger, listing, sql } from "./place.js";

/** A closed ledger with a table 1 of documents `a`, `b` and `c` in two indexes, and a table 2 without documents. */
async function ledgerWithDocuments(): Promise<string> {
  const path = await closedLedger();
  const store = await openSqliteStore(path);
  await operate(store, async (transaction) => {
    const table = await transaction.addProjection(newRow("thing", ["one", "two"]));
    await transaction.putDocuments(
      table,
      ["a", "b", "c"].map((key) =>
        document(key, [Buffer.from(`1${key}`), key === "b" ? null : Buffer.from(`2${key}`)]),
      ),
    );
    const row = { ...newRow("other"), position: 2, entryId: "ab".repeat(32), error: `{"code":"X"}` };
    await transaction.addProjection(row);
    await transaction.putFolded({ position: 2, entryId: "ab".repeat(32), tables: [table] });
  });
  await store.close();
  return path;
}

/** Changes rows while the table of documents takes anything, and gives it back the text it had. */
function forge(path: string, change: string): void {
  const strict = documentTable(1, 2)[0]!.sql!;
  const loose = strict.replace(" STRICT", "").replaceAll(" NOT NULL", "");
  const become = (text: string): void =>
    sql(path, `PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = '${text}' WHERE name = 'doc_1'`, true);
  become(loose);
  sql(path, change);
  become(strict);
}

async function withRaw<T>(path: string, act: (raw: RawReader) => Promise<T>): Promise<T> {
  const raw = await openSqliteRawReader(path);
  try {
    return await act(raw);
  } finally {
    await raw.close();
  }
}

function problemsOf(path: string, howMuch?: RawProblemPart): Promise<readonly RawProblem[]> {
  return withRaw(path, (raw) => raw.problems(howMuch));
}

async function reading<T>(path: string, act: (reads: StoreReads) => Promise<T>): Promise<T> {
  const store = await openSqliteStore(path, { readOnly: true });
  try {
    return await read(store, act);
  } finally {
    await store.close();
  }
}

/** All documents of a table, page by page. */
async function pages(raw: RawReader, table: number, size: number): Promise<readonly RawDocument[]> {
  const found: RawDocument[] = [];
  for (let after: string | Uint8Array | null = null; found.length < 100;) {
    const page: readonly RawDocument[] = await raw.documents(table, after, size);
    found.push(...page);
    if (page.length < size) break;
    after = page.at(-1)!.key as string | Uint8Array;
  }
  return found;
}

test("a ledger with tables of documents has no problems, and opens", async () => {
  const path = await ledgerWithDocuments();

  expect(await problemsOf(path)).toEqual([]);
  expect(await reading(path, (reads) => reads.projections())).toHaveLength(2);
});

test.each([
  ["a table that is gone", "DROP TABLE doc_1", "doc_1"],
  ["an index that is gone", "DROP INDEX doc_1_1", "doc_1_1"],
  [
    "an index of other columns",
    "DROP INDEX doc_1_1; CREATE INDEX doc_1_1 ON doc_1 (index_0) WHERE index_0 IS NOT NULL",
    "doc_1_1",
  ],
  ["an index that is whole", "DROP INDEX doc_1_1; CREATE INDEX doc_1_1 ON doc_1 (index_1)", "doc_1_1"],
  ["an index more", "CREATE INDEX doc_1_2 ON doc_1 (seq)", "doc_1_2"],
  ["a column more", "ALTER TABLE doc_1 ADD COLUMN index_2 BLOB", "doc_1"],
  ["a trigger on a table", "CREATE TRIGGER t AFTER UPDATE ON doc_1 BEGIN DELETE FROM doc_1; END", "t"],
  [
    "a view in place of a table",
    "DROP TABLE doc_1; CREATE VIEW doc_1 AS SELECT 1 AS key, 1 AS seq, '' AS doc",
    "doc_1",
  ],
  [
    "a table without STRICT",
    "DROP TABLE doc_2; CREATE TABLE doc_2 (key TEXT PRIMARY KEY, seq INTEGER NOT NULL, doc TEXT NOT NULL)",
    "doc_2",
  ],
  ["a table whose row is gone", "DELETE FROM projections WHERE id = 1", "doc_1"],
  [
    "a table that no row calls for",
    "CREATE TABLE doc_3 (key TEXT PRIMARY KEY, seq INTEGER NOT NULL, doc TEXT NOT NULL) STRICT",
    "doc_3",
  ],
  [
    "a row whose table was never made",
    "INSERT INTO projections SELECT 3, name, version, indexes, status, position, entry_id, error FROM projections WHERE id = 1",
    "doc_3",
  ],
  ["a row with an index less", `UPDATE projections SET indexes = '["one"]' WHERE id = 1`, "doc_1"],
  ["a row with an index more", `UPDATE projections SET indexes = '["one","two","three"]' WHERE id = 1`, "doc_1"],
  [
    "a row with so many indexes that no table has them",
    `UPDATE projections SET indexes = (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT json_group_array('n') FROM n) WHERE id = 2`,
    "doc_2",
  ],
  ["a row whose indexes are no list", `UPDATE projections SET indexes = '{"length":2}' WHERE id = 1`, "projections"],
  ["a row whose indexes are no names", "UPDATE projections SET indexes = '[1,2]' WHERE id = 1", "projections"],
  ["a row whose indexes are no JSON", "UPDATE projections SET indexes = 'one, two' WHERE id = 1", "projections"],
  ["a row with the number 0", "UPDATE projections SET id = 0 WHERE id = 2", "projections"],
  ["a row with a negative number", "UPDATE projections SET id = -9223372036854775808 WHERE id = 2", "projections"],
  [
    "a row with a number that no number holds",
    "UPDATE projections SET id = 9007199254740993 WHERE id = 2",
    "projections",
  ],
  [
    "rows that are a view",
    "ALTER TABLE projections RENAME TO old; CREATE VIEW projections AS SELECT * FROM old",
    "projections",
  ],
  ["no mark", "DROP TABLE folded", "folded"],
  [
    "the layout of before there were documents",
    "DROP TABLE folded; DROP TABLE projections; DROP TABLE doc_1; DROP TABLE doc_2",
    "projections",
  ],
])("T47 %s is E_SCHEMA, and such a file is not opened", async (_, change, where) => {
  const path = await ledgerWithDocuments();
  sql(path, change);
  const before = listing(path.slice(0, path.lastIndexOf("/")));

  expect(await problemsOf(path)).toContainEqual({
    code: "E_SCHEMA",
    where,
    message: expect.stringContaining("must") as string,
  });
  for (const readOnly of [true, false])
    await expect(openSqliteStore(path, { readOnly })).rejects.toMatchObject({ code: "SCHEMA_UNKNOWN" });
  expect(listing(path.slice(0, path.lastIndexOf("/")))).toEqual(before);
});

test("a table that is not there is damage to whoever reads its rows", async () => {
  const path = await ledgerWithDocuments();
  sql(path, "DROP TABLE doc_1");

  await withRaw(path, async (raw) => {
    for (const table of [1, 3, 0, -1, 1.5, NaN, 2 ** 60])
      await expect(raw.documents(table, null, 10)).rejects.toMatchObject({ code: "STORE_DAMAGED" });
    expect(await raw.documents(2, null, 10)).toEqual([]);
  });
});

const sound = { seq: 1, text: `{"is":"b"}`, indexes: [Buffer.from("1b"), null] };

test.each([
  ["a position that is text", "seq = 'x'", "seq", { seq: "x" }],
  ["a position that is a fraction", "seq = 7.5", "seq", { seq: 7.5 }],
  ["a position that is NULL", "seq = NULL", "seq", { seq: null }],
  ["a document that is bytes", "doc = x'7b7d'", "doc", { text: Buffer.from("{}") }],
  ["a document that is NULL", "doc = NULL", "doc", { text: null }],
  ["index bytes that are text", "index_0 = '1b'", "index_0", { indexes: ["1b", null] }],
])("T47 %s is E_TYPE, shown as it is, and damage to whoever reads it", async (_, change, column, shown) => {
  const path = await ledgerWithDocuments();
  forge(path, `UPDATE doc_1 SET ${change} WHERE key = 'b'`);

  const problem = { code: "E_TYPE", where: `doc_1.${column}`, message: expect.any(String) as string };
  for (const each of ["all", "but-entries"] as const) expect(await problemsOf(path, each)).toContainEqual(problem);
  await withRaw(path, async (raw) => {
    expect(await raw.documents(1, "a", 1)).toEqual([{ key: "b", ...sound, ...shown }]);
  });
  const damage = { code: "STORE_DAMAGED", details: { table: 1, key: "b", column } };
  await reading(path, async (reads) => {
    expect(await reads.documents(1, ["a", "c"])).toHaveLength(2);
    if (column !== "index_0") {
      await expect(reads.documents(1, ["a", "b"])).rejects.toMatchObject(damage);
      await expect(reads.documentsByKey(1, null, 10)).rejects.toMatchObject(damage);
      await expect(reads.documentsByIndex(1, part(0))).rejects.toMatchObject(damage);
    } else expect((await reads.documentsByIndex(1, part(0))).map(({ key }) => key)).toEqual(["a", "c"]);
  });
});

test.each([
  ["bytes", "x'62'"],
  ["NULL", "NULL"],
])("T47 a key that is %s is E_TYPE, and hides no other row", async (_, key) => {
  const path = await ledgerWithDocuments();
  forge(path, `UPDATE doc_1 SET key = ${key} WHERE key = 'b'`);

  const problems = await problemsOf(path);
  expect(problems).toContainEqual({ code: "E_TYPE", where: "doc_1.key", message: expect.any(String) as string });
  expect((await withRaw(path, (raw) => pages(raw, 1, 1))).map((row) => row.key)).toEqual(["a", "c"]);
  await reading(path, async (reads) => {
    const damage = { code: "STORE_DAMAGED", details: { table: 1, key: null, column: "key" } };
    await expect(reads.documentsByIndex(1, part(0))).rejects.toMatchObject(damage);
    expect(await reads.documents(1, ["b"])).toEqual([null]);
  });
});

test.each(["62ff", "62f0", "62eda080", "ff"])(
  "T59 a key of the bytes %s is handed over as bytes, and nobody who goes on behind it meets it again",
  async (hex) => {
    const path = await ledgerWithDocuments();
    sql(path, `UPDATE doc_1 SET key = CAST(x'${hex}' AS TEXT) WHERE key = 'b'`);
    const bytes = Buffer.from(hex, "hex");
    const expected = ["a", "c", bytes].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));

    for (const size of [1, 2, 10])
      expect((await withRaw(path, (raw) => pages(raw, 1, size))).map((row) => row.key)).toEqual(expected);
    await reading(path, async (reads) => {
      const damage = { code: "STORE_DAMAGED", details: { table: 1, column: "key" } };
      await expect(reads.documentsByKey(1, null, 10)).rejects.toMatchObject(damage);
      await expect(reads.documentsByKey(1, null, 10, true)).rejects.toMatchObject(damage);
    });
  },
);

test("T59 a document that is no UTF-8 is handed over as bytes, and one with U+FFFD as the text it is", async () => {
  const path = await ledgerWithDocuments();
  sql(path, "UPDATE doc_1 SET doc = CAST(x'7bff7d' AS TEXT) WHERE key = 'a'");
  sql(path, "UPDATE doc_1 SET doc = '{\ufffd}' WHERE key = 'b'");

  const texts = (await withRaw(path, (raw) => raw.documents(1, null, 2))).map(({ text }) => text);

  expect(texts).toEqual([Buffer.from("7bff7d", "hex"), "{\ufffd}"]);
});

test.each([
  ["status", "status = 'done'"],
  ["version", "version = 0"],
  ["version", "version = 9223372036854775807"],
  ["position", "position = -2"],
  ["entry_id", "entry_id = NULL"],
  ["entry_id", "entry_id = x'ab'"],
  ["entry_id", "position = -1"],
])("a row of a table whose %s is wrong (%s) is damage that names it", async (column, change) => {
  const path = await ledgerWithDocuments();
  sql(path, `UPDATE projections SET ${change} WHERE id = 2`);

  const rows = reading(path, (reads) => reads.projections());

  await expect(rows).rejects.toMatchObject({ code: "STORE_DAMAGED", details: { table: 2, column } });
  expect((await withRaw(path, (raw) => raw.projections())).map(({ id }) => id)).toEqual([1, 2]);
});

test.each([
  ["position", "position = -1"],
  ["entry_id", "entry_id = x''"],
  ["tables", "tables = '1'"],
  ["tables", "tables = '[0]'"],
  ["tables", `tables = '["1"]'`],
  ["tables", "tables = ''"],
])("a mark whose %s is wrong (%s) is damage that names it", async (column, change) => {
  const path = await ledgerWithDocuments();
  sql(path, `UPDATE folded SET ${change}`);

  const mark = reading(path, (reads) => reads.folded());

  await expect(mark).rejects.toMatchObject({ code: "STORE_DAMAGED", details: { table: "folded", column } });
  expect(await withRaw(path, (raw) => raw.folded())).not.toBeNull();
});

test("ids go on behind the rows when the number that was given last is lost", async () => {
  const path = await ledgerWithDocuments();
  sql(path, "DELETE FROM meta WHERE key = 'table'");
  const store = await openSqliteStore(path);

  const ids: number[] = [];
  await operate(store, async (transaction) => {
    ids.push(await transaction.addProjection(newRow("next")));
    await transaction.dropProjection(3);
    ids.push(await transaction.addProjection(newRow("next")));
  });
  await store.close();

  expect(ids).toEqual([3, 4]);
});

/** Every call about documents, each on its own, ends in rows or a coded error. */
async function everyCall(path: string): Promise<void> {
  const coded = (error: unknown): void => expect(error).toMatchObject({ name: "LedgerError" });
  await withRaw(path, async (raw) => {
    await raw.problems().catch(coded);
    await raw.projections().catch(coded);
    await raw.folded().catch(coded);
    for (const table of [1, 2]) await pages(raw, table, 1).catch(coded);
  }).catch(coded);
  await reading(path, async (reads) => {
    await reads.projections().catch(coded);
    await reads.folded().catch(coded);
    await reads.documents(1, ["a", "b", "c"]).catch(coded);
    await reads.documentsByKey(1, null, 10).catch(coded);
    await reads.documentsByIndex(1, part(0)).catch(coded);
  }).catch(coded);
}

test(
  "T49 whichever page is destroyed, the problems say so, and reading documents ends in rows or a coded error",
  { timeout: 600_000 },
  async () => {
    const path = await ledgerWithDocuments();
    const before = readFileSync(path);

    for (let page = 1; page < before.length / 4_096; page++) {
      for (const filler of [0, 0xa5]) {
        writeFileSync(path, Buffer.from(before).fill(filler, page * 4_096, (page + 1) * 4_096));
        const codes = (await problemsOf(path)).map(({ code }) => code);
        expect([page, filler, new Set(codes)]).toEqual([page, filler, new Set(["E_CORRUPT"])]);
        await everyCall(path);
      }
    }
  },
);

test(
  "whatever single byte of the file is changed, reading documents ends in rows, problems or a coded error",
  { timeout: 600_000 },
  async () => {
    const path = await ledgerWithDocuments();
    const before = readFileSync(path);
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: before.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        async (at, change) => {
          const bytes = Buffer.from(before);
          bytes[at] = bytes.readUInt8(at) ^ change;
          writeFileSync(path, bytes);
          await everyCall(path);
        },
      ),
      { numRuns: process.env["RUNLEDGER_LONG"] === "1" ? 1_000 : 100 },
    );
  },
);
