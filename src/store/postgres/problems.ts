/** What the store itself says is wrong, before any content is looked at: identifiers, tables, values that a number cannot hold,
 *  pages, and indexes that do not know all rows. */
import type { RawProblem, RawProblemPart } from "../../journal/raw-reader.js";
import { LedgerError } from "../../kernel/errors.js";
import { parseIndexes } from "../projection-row.js";
import type { RawSession } from "./raw-session.js";
import { countQuery, rawStatementsOn } from "./raw-statements.js";
import { documentTable, layoutVersion, schemaIdentifier, tables } from "./schema.js";
import type { TableShape } from "./schema.js";
import { readCatalogue, shapeDifferences, storedMeta } from "./shape.js";

/** All problems, identifiers and tables first: with other tables nothing below them can be trusted. */
export async function findProblems(
  session: RawSession,
  schema: string,
  part: RawProblemPart,
): Promise<readonly RawProblem[]> {
  const problems = await schemaProblems(session, schema);
  if (problems.length > 0 || part === "schema") return problems;
  for (const table of [...tables, ...(await documentTables(session, schema))]) {
    if (part === "but-entries" && table.name === "entries") continue;
    problems.push(...(await rowProblems(session, schema, table)));
  }
  problems.push(...(await positionProblems(session, schema)));
  return problems;
}

async function schemaProblems(session: RawSession, schema: string): Promise<RawProblem[]> {
  const differences = await session.ask(async (connection) =>
    shapeDifferences(connection, schema, await readCatalogue(connection, schema)),
  );
  const problems = differences.map(({ where, message }): RawProblem => ({ code: "E_SCHEMA", where, message }));
  if (differences.some(({ where }) => where.startsWith("meta"))) return problems;
  for (const [key, name, expected] of [
    ["schema", "the schema identifier", schemaIdentifier],
    ["layout", "the layout version", String(layoutVersion)],
  ] as const) {
    const found = await session.ask((connection) => storedMeta(connection, schema, key));
    if (found === expected) continue;
    problems.push({
      code: "E_SCHEMA",
      where: "meta",
      message: `${name} must be ${expected}, found ${found ?? "none"}`,
    });
  }
  return problems;
}

async function documentTables(session: RawSession, schema: string): Promise<readonly TableShape[]> {
  const rows = await session.rows<unknown[]>(rawStatementsOn(schema).projections);
  // They are lists of names: the schema was found as it must be.
  return rows.map(([id, , , indexes]) => documentTable(Number(id), parseIndexes(indexes)!.length));
}

/** Reading rows by the table alone, and by indexes alone. */
const byTable = [
  "SET LOCAL enable_seqscan = on",
  "SET LOCAL enable_indexscan = off",
  "SET LOCAL enable_indexonlyscan = off",
  "SET LOCAL enable_bitmapscan = off",
];
const byIndex = [
  "SET LOCAL enable_indexscan = on",
  "SET LOCAL enable_indexonlyscan = on",
  "SET LOCAL enable_seqscan = off",
  "SET LOCAL enable_bitmapscan = off",
  "SET LOCAL enable_sort = off",
];

/** Each page of a table is read, and each of its indexes must know as many rows as there are. */
async function rowProblems(session: RawSession, schema: string, table: TableShape): Promise<RawProblem[]> {
  const problems: RawProblem[] = [];
  const count = (where: string, query: string, settings: readonly string[]): Promise<number | null> =>
    attempt(problems, where, async () => {
      const [row] = await session.ask((connection) => connection.rows<[number]>(query), settings);
      return row![0];
    });
  const whole = await count(table.name, countQuery(schema, table.name, null, []), byTable);
  if (whole === null) return problems;
  const indexes = [
    { name: `${table.name}_pkey`, columns: table.primaryKey, notNull: null },
    ...(table.indexes ?? []).map(({ name, column, kind }) => ({
      name,
      columns: [column],
      notNull: kind === "partial" ? column : null,
    })),
  ];
  for (const { name, columns, notNull } of indexes) {
    const expected =
      notNull === null ? whole : await count(table.name, countQuery(schema, table.name, notNull, []), byTable);
    const found = await count(name, countQuery(schema, table.name, notNull, columns), byIndex);
    if (expected === null || found === null || found === expected) continue;
    const message = `index ${name} must know ${expected} rows of ${table.name}, found ${found}`;
    problems.push({ code: "E_CORRUPT", where: name, message });
  }
  return problems;
}

/** A position that a number cannot hold exactly would be read as its neighbour. Case A16. */
async function positionProblems(session: RawSession, schema: string): Promise<RawProblem[]> {
  const problems: RawProblem[] = [];
  const ends = await attempt(problems, "entries", () =>
    session.rows<(number | bigint | null)[]>(rawStatementsOn(schema).entryEnds),
  );
  for (const seq of ends?.[0] ?? []) {
    if (seq === null || (typeof seq === "number" && seq >= 0)) continue;
    problems.push({
      code: "E_TYPE",
      where: "entries.seq",
      message: `a position must be from 0 to 2^53−1, found ${seq}`,
    });
  }
  return problems;
}

/** Looks; what cannot be read for damage is a problem too. Null when it was. */
async function attempt<T>(problems: RawProblem[], where: string, look: () => Promise<T>): Promise<T | null> {
  try {
    return await look();
  } catch (cause) {
    if (!(cause instanceof LedgerError) || cause.code !== "STORE_DAMAGED") throw cause;
    problems.push({ code: "E_CORRUPT", where, message: cause.message });
    return null;
  }
}
