/** Making a journal and its tables, in SQL. */
import { guards, layoutVersion, qualified, schemaIdentifier, tables } from "./schema.js";
import type { Guard, TableShape } from "./schema.js";

/** What makes a journal in an empty schema, in order. One transaction; the first statement is where two that make the same
 *  journal wait for each other. */
export function createJournal(schema: string): readonly string[] {
  return [
    ...tables.flatMap((table) => createTable(schema, table)),
    ...guards.flatMap((guard) => createGuard(schema, guard)),
    `INSERT INTO ${qualified(schema, "head")} (one) VALUES (1)`,
    `INSERT INTO ${qualified(schema, "meta")} (key, value) VALUES ('schema', '${schemaIdentifier}'), ('layout', '${layoutVersion}')`,
  ];
}

/** What makes a table with its indexes. */
export function createTable(schema: string, { name, columns, primaryKey, indexes, fillFactor }: TableShape): string[] {
  const table = qualified(schema, name);
  const lines = columns.map(({ name: column, type, nullable, check }) =>
    [
      `"${column}" ${type}`,
      type === "text" ? ` COLLATE "C"` : "",
      nullable === true ? "" : " NOT NULL",
      check === undefined ? "" : ` CHECK (${check})`,
    ].join(""),
  );
  const keys = primaryKey.map((column) => `"${column}"`).join(", ");
  const filled = fillFactor === undefined ? "" : ` WITH (fillfactor = ${fillFactor})`;
  return [
    `CREATE TABLE ${table} (${lines.join(", ")}, PRIMARY KEY (${keys}))${filled}`,
    ...(indexes ?? []).map((index) =>
      index.kind === "unique"
        ? `CREATE UNIQUE INDEX "${index.name}" ON ${table} ("${index.column}")`
        : // Partial: a row that is not in an index costs nothing there.
          `CREATE INDEX "${index.name}" ON ${table} ("${index.column}") WHERE "${index.column}" IS NOT NULL`,
    ),
  ];
}

function createGuard(schema: string, { name, table, on, each, body }: Guard): string[] {
  const called = qualified(schema, name);
  return [
    `CREATE FUNCTION ${called}() RETURNS trigger LANGUAGE plpgsql AS $guard$ ${body} $guard$`,
    `CREATE TRIGGER "${name}" BEFORE ${on} ON ${qualified(schema, table)} FOR EACH ${each} EXECUTE FUNCTION ${called}()`,
  ];
}
