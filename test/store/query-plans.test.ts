/** No query of the SQLite adapter scans: the plan of every statement is asked for and read. */
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { documentSql } from "../../src/store/sqlite/document-statements.js";
import { documentTable } from "../../src/store/sqlite/document-table.js";
import { schema } from "../../src/store/sqlite/schema.js";
import { rawStatements, readStatements, writeStatements } from "../../src/store/sqlite/statements.js";

const all = Object.entries({ ...readStatements, ...writeStatements, ...rawStatements });

/** Looking up by key; and walking over rows that were looked up by key, or that are in the statement itself. */
const harmless =
  /^(SEARCH |SCALAR SUBQUERY |CO-ROUTINE |SCAN CONSTANT ROW|SCAN \(subquery-|SCAN \d+-ROW VALUES CLAUSE)/;

function plans(sql: string): readonly string[] {
  const database = new Database(":memory:");
  for (const each of [...schema, ...documentTable(7, 2)]) if (each.sql !== null) database.exec(each.sql);
  const parameters = Array<number>(sql.split("?").length - 1).fill(1);
  const rows = database.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters);
  database.close();
  return rows.map((row) => row.detail);
}

test.each(all)("%s does not scan, sort or build an index", (_, query) => {
  const bad = plans(query.sql).filter((step) => !harmless.test(step));

  expect(bad).toEqual(query.scans === true ? ["SCAN entries"] : []);
});

const byKey = "USING INDEX sqlite_autoindex_doc_7_1";
const documentPlans: Readonly<Record<keyof typeof documentSql, readonly (readonly [sql: string, plan: string])[]>> = {
  one: [[documentSql.one(7), `SEARCH doc_7 ${byKey} (key=?)`]],
  first: [[documentSql.first(7), `SEARCH doc_7 ${byKey} (key>?)`]],
  behind: [[documentSql.behind(7), `SEARCH doc_7 ${byKey} (key>?)`]],
  last: [[documentSql.last(7), `SEARCH doc_7 ${byKey} (key>?)`]],
  before: [[documentSql.before(7), `SEARCH doc_7 ${byKey} (key<?)`]],
  from: [true, false].map((reverse) => [
    documentSql.from(7, 1, reverse),
    "SEARCH doc_7 USING INDEX doc_7_1 (index_1>?)",
  ]),
  between: [true, false].map((reverse) => [
    documentSql.between(7, 0, reverse),
    "SEARCH doc_7 USING INDEX doc_7_0 (index_0>? AND index_0<?)",
  ]),
  update: [[], [1], [0, 1]].map((columns) => [documentSql.update(7, columns), `SEARCH doc_7 ${byKey} (key=?)`]),
  put: [[documentSql.put(7, 2), ""]],
  remove: [[documentSql.remove(7), `SEARCH doc_7 ${byKey} (key=?)`]],
  rawFirst: [[documentSql.rawFirst(7), `SEARCH doc_7 ${byKey} (key>? AND key<?)`]],
  rawBehind: [[documentSql.rawBehind(7), `SEARCH doc_7 ${byKey} (key>? AND key<?)`]],
  rawBytes: [[documentSql.rawBytes(7), "SEARCH doc_7 USING INTEGER PRIMARY KEY (rowid=?)"]],
};

test.each(Object.entries(documentPlans))("of documents, %s goes by its index, without a sort", (_, statements) => {
  for (const [sql, plan] of statements) expect(plans(sql)).toEqual(plan === "" ? [] : [plan]);
});

test("an update touches those indexes alone whose columns it names", () => {
  const database = new Database(":memory:");
  for (const { sql } of documentTable(7, 2)) if (sql !== null) database.exec(sql);
  const written = (columns: readonly number[]): readonly (string | undefined)[] => {
    const names = new Map(
      database.prepare<unknown[], [number, string]>("SELECT rootpage, name FROM sqlite_schema").raw().all(),
    );
    const steps = database
      .prepare<unknown[], { opcode: string; p1: number; p2: number }>(`EXPLAIN ${documentSql.update(7, columns)}`)
      .all(...Array<null>(columns.length + 3).fill(null));
    const cursors = new Map(
      steps.flatMap(({ opcode, p1, p2 }) => (opcode === "OpenWrite" ? [[p1, names.get(p2)] as const] : [])),
    );
    return steps.flatMap(({ opcode, p1 }) => (opcode === "IdxInsert" || opcode === "Insert" ? [cursors.get(p1)] : []));
  };

  expect(written([])).toEqual(["doc_7"]);
  expect(written([1])).toEqual(["doc_7_1", "doc_7"]);
  expect(written([0, 1])).toEqual(["doc_7_1", "doc_7_0", "doc_7"]);
  database.close();
});

test("only the count of the verifier may scan", () => {
  expect(all.filter(([, query]) => query.scans === true).map(([name]) => name)).toEqual(["entryCount"]);
});

test("the guards look up one row by key", () => {
  const guards = schema.map(({ type, sql }) =>
    type === "trigger" ? /EXISTS (\(.*?\))/.exec(sql ?? "")?.[1] : undefined,
  );
  for (const query of guards.filter((guard) => guard !== undefined)) {
    expect(plans(`SELECT ${query.replace("NEW.seq", "1").replace("NEW.n", "1")}`)).toEqual([
      "SCAN CONSTANT ROW",
      "SCALAR SUBQUERY 1",
      expect.stringMatching(/^SEARCH/),
    ]);
  }
});

test("each statement says what it is for", () => {
  for (const [, { why }] of all) expect(why).not.toBe("");
});
