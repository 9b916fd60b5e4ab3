/** The layout of one table of documents. */
import type { SchemaObject } from "./schema.js";

/** What `sqlite_schema` holds for a table with so many indexes, in the order of its making. */
export function documentTable(id: number, indexes: number): readonly SchemaObject[] {
  const name = `doc_${id}`;
  const columns = Array.from({ length: indexes }, (_, index) => `index_${index}`);
  return [
    {
      type: "table",
      name,
      table: name,
      // The text stands last: an update reads the columns it keeps, and does not walk the text's overflow pages for them.
      sql: `CREATE TABLE ${name} (key TEXT PRIMARY KEY, seq INTEGER NOT NULL, ${columns.map((column) => `${column} BLOB, `).join("")}doc TEXT NOT NULL) STRICT`,
    },
    { type: "index", name: `sqlite_autoindex_${name}_1`, table: name, sql: null },
    ...columns.map((column, index): SchemaObject => ({
      type: "index",
      name: `${name}_${index}`,
      table: name,
      // Partial: a document that is not in an index costs nothing there.
      sql: `CREATE INDEX ${name}_${index} ON ${name} (${column}) WHERE ${column} IS NOT NULL`,
    })),
  ];
}
