/** No query of the SQLite adapter scans: the plan of every statement is asked for and read. */
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { schema } from "../../src/store/sqlite/schema.js";
import { rawStatements, readStatements, writeStatements } from "../../src/store/sqlite/statements.js";

const all = Object.entries({ ...readStatements, ...writeStatements, ...rawStatements });

/** Looking up by key; and walking over rows that were looked up by key, or that are in the statement itself. */
const harmless =
  /^(SEARCH |SCALAR SUBQUERY |CO-ROUTINE |SCAN CONSTANT ROW|SCAN \(subquery-|SCAN \d+-ROW VALUES CLAUSE)/;

function plans(sql: string): readonly string[] {
  const database = new Database(":memory:");
  for (const each of schema) if (each.sql !== null) database.exec(each.sql);
  const parameters = Array<number>(sql.split("?").length - 1).fill(1);
  const rows = database.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters);
  database.close();
  return rows.map((row) => row.detail);
}

test.each(all)("%s does not scan, sort or build an index", (_, query) => {
  const bad = plans(query.sql).filter((step) => !harmless.test(step));

  expect(bad).toEqual(query.scans === true ? ["SCAN entries"] : []);
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
