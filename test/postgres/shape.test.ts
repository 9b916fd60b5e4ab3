/** Is a schema a journal of ours? Looked at with SQL alone, so that nothing of the store is needed. */
import pg from "pg";
import { afterEach, expect, test } from "vitest";
import { verify } from "../../src/forensic/index.js";
import { Connection } from "../../src/store/postgres/connection.js";
import { createJournal, createTable } from "../../src/store/postgres/create.js";
import { parsePostgresLocation } from "../../src/store/postgres/location.js";
import type { PostgresLocation } from "../../src/store/postgres/location.js";
import { documentTable } from "../../src/store/postgres/schema.js";
import { openPostgresRawReader } from "../../src/store/postgres/raw-reader.js";
import { checkServer, inspect } from "../../src/store/postgres/shape.js";
import { addressOf, dropJournal, freshName, serverUrl, sql } from "./journal.js";

const made: string[] = [];

afterEach(async () => {
  for (const schema of made.splice(0)) await dropJournal(schema);
});

function freshPlace(): PostgresLocation {
  const schema = freshName();
  made.push(schema);
  return parsePostgresLocation(addressOf(schema));
}

/** A journal with one table of documents. */
async function freshJournal(): Promise<PostgresLocation> {
  const place = freshPlace();
  const { schema } = place;
  const statements = [
    `CREATE SCHEMA ${schema}`,
    ...createJournal(schema),
    ...createTable(schema, documentTable(1, 1)),
    `INSERT INTO ${schema}.projections VALUES (1, 'p', 1, '["a"]', 'following', -1, NULL, NULL)`,
  ];
  await sql(statements.join("; "));
  return place;
}

async function look(place: PostgresLocation, intent: "read" | "write" = "write"): Promise<string> {
  const connection = await Connection.open({ config: place.config, timeoutMs: 5_000 }, "reads");
  try {
    return await inspect(connection, place, intent);
  } finally {
    await connection.close();
  }
}

test("what was made is a journal, to read and to write", async () => {
  const place = await freshJournal();

  expect(await look(place)).toBe("ours");
  expect(await look(place, "read")).toBe("ours");
});

test("nothing, and an empty schema, are free to be written to, and NOT_FOUND for a reader", async () => {
  const place = freshPlace();
  expect(await look(place)).toBe("nothing");
  await expect(look(place, "read")).rejects.toMatchObject({ code: "NOT_FOUND", details: { location: place.shown } });

  await sql(`CREATE SCHEMA ${place.schema}`);

  expect(await look(place)).toBe("empty schema");
  await expect(look(place, "read")).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test.each([
  ["a table", "CREATE TABLE $s.invoices (id int)", "invoices"],
  ["a view", "CREATE VIEW $s.invoices AS SELECT 1", "invoices"],
  ["a function", "CREATE FUNCTION $s.pay() RETURNS int LANGUAGE sql AS 'SELECT 1'", "other objects"],
  ["an enumeration", "CREATE TYPE $s.mood AS ENUM ('fine')", "other objects"],
  ["tables of our names", "CREATE TABLE $s.meta (a int); CREATE TABLE $s.entries (b int)", "meta"],
])("%s of somebody else in the schema is STORE_FOREIGN", async (_, statement, found) => {
  const place = freshPlace();
  await sql(`CREATE SCHEMA ${place.schema}; ${statement.replaceAll("$s", place.schema)}`);

  const looked = look(place);

  await expect(looked).rejects.toMatchObject({ code: "STORE_FOREIGN" });
  await expect(looked).rejects.toThrow(found);
});

test.each([
  ["a newer layout", "UPDATE $s.meta SET value = '2' WHERE key = 'layout'", "layout version 1"],
  ["another identifier", "UPDATE $s.meta SET value = 'runledger/9' WHERE key = 'schema'", "runledger/9"],
])("%s is SCHEMA_UNKNOWN, whatever else is there", async (_, change, message) => {
  const place = await freshJournal();
  await sql(`${change}; ALTER TABLE $s.entries ADD COLUMN signed bytea`.replaceAll("$s", place.schema));

  for (const intent of ["read", "write"] as const) {
    const looked = look(place, intent);
    await expect(looked).rejects.toMatchObject({ code: "SCHEMA_UNKNOWN" });
    await expect(looked).rejects.toThrow(message);
  }
});

/** Each changes one thing that a statement of ours leans on. */
const shapeAttacks: readonly (readonly [name: string, attack: string, where: string])[] = [
  [
    "entries replaced by a view",
    "ALTER TABLE $s.entries RENAME TO hidden; CREATE VIEW $s.entries AS SELECT * FROM $s.hidden",
    "entries",
  ],
  ["a column more", "ALTER TABLE $s.entries ADD COLUMN shown text", "entries.shown"],
  [
    "a generated column",
    "ALTER TABLE $s.entries ADD COLUMN shown text GENERATED ALWAYS AS (upper(entry)) STORED",
    "entries.shown",
  ],
  ["a column less", "ALTER TABLE $s.entries DROP COLUMN skew", "entries.skew"],
  ["a default", "ALTER TABLE $s.entries ALTER COLUMN skew SET DEFAULT 0", "entries.skew"],
  ["another type", "ALTER TABLE $s.entries ALTER COLUMN rev TYPE integer", "entries.rev"],
  ["another collation", 'ALTER TABLE $s.streams ALTER COLUMN name TYPE text COLLATE "default"', "streams.name"],
  ["NULL where none is", "ALTER TABLE $s.entries ALTER COLUMN rev DROP NOT NULL", "entries.rev"],
  ["no primary key", "ALTER TABLE $s.entries DROP CONSTRAINT entries_pkey", "entries_pkey"],
  [
    "a key that is looked at late",
    "ALTER TABLE $s.nodes DROP CONSTRAINT nodes_pkey; ALTER TABLE $s.nodes ADD PRIMARY KEY (level, n) DEFERRABLE",
    "nodes_pkey",
  ],
  ["no unique name", "DROP INDEX $s.streams_name", "streams_name"],
  [
    "a name that is not unique",
    "DROP INDEX $s.streams_name; CREATE INDEX streams_name ON $s.streams (name)",
    "streams_name",
  ],
  [
    "a partial index of fewer rows",
    "DROP INDEX $s.contents_plain; CREATE INDEX contents_plain ON $s.contents (plain) WHERE plain IS NOT NULL AND n > 5",
    "contents_plain",
  ],
  ["an index more", "CREATE INDEX more ON $s.entries (at)", "more"],
  ["no check", "ALTER TABLE $s.entries DROP CONSTRAINT entries_id_check", "entries_id_check"],
  [
    "a weaker check",
    "ALTER TABLE $s.entries DROP CONSTRAINT entries_id_check; ALTER TABLE $s.entries ADD CONSTRAINT entries_id_check CHECK (octet_length(id) > 0)",
    "entries_id_check",
  ],
  [
    "a foreign key",
    "ALTER TABLE $s.entries ADD CONSTRAINT whose FOREIGN KEY (stream) REFERENCES $s.streams (id)",
    "whose",
  ],
  ["a guard that is gone", "DROP TRIGGER entries_append_only ON $s.entries", "entries_append_only"],
  ["a guard that is off", "ALTER TABLE $s.entries DISABLE TRIGGER entries_append_only", "entries_append_only"],
  [
    "a guard of replicas alone",
    "ALTER TABLE $s.entries ENABLE REPLICA TRIGGER entries_append_only",
    "entries_append_only",
  ],
  [
    "a guard that lets all through",
    "CREATE OR REPLACE FUNCTION $s.entries_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "entries_append_only",
  ],
  [
    "a guard that fires on less",
    "DROP TRIGGER entries_append_only ON $s.entries; CREATE TRIGGER entries_append_only BEFORE UPDATE ON $s.entries EXECUTE FUNCTION $s.entries_append_only()",
    "entries_append_only",
  ],
  [
    "a guard on a condition",
    "DROP TRIGGER contents_only_erase ON $s.contents; CREATE TRIGGER contents_only_erase BEFORE UPDATE ON $s.contents FOR EACH ROW WHEN (OLD.n > 5) EXECUTE FUNCTION $s.contents_only_erase()",
    "contents_only_erase",
  ],
  [
    "a trigger more",
    "CREATE FUNCTION $s.more() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER more BEFORE INSERT ON $s.entries FOR EACH ROW EXECUTE FUNCTION $s.more()",
    "more",
  ],
  [
    "a trigger of a name of ours, on another table",
    "CREATE TRIGGER entries_append_only BEFORE UPDATE ON $s.streams EXECUTE FUNCTION $s.entries_append_only(); DROP TRIGGER entries_append_only ON $s.entries; CREATE TRIGGER entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON $s.entries EXECUTE FUNCTION $s.entries_append_only()",
    "entries_append_only",
  ],
  [
    "a check of a name of ours, on another table",
    "ALTER TABLE $s.streams ADD CONSTRAINT nodes_hash_check CHECK (id < 3)",
    "nodes_hash_check",
  ],
  [
    "a function of a name of ours",
    "CREATE FUNCTION $s.entries_append_only(int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "entries_append_only of 1 arguments",
  ],
  [
    "an index in another order",
    'DROP INDEX $s.streams_name; CREATE UNIQUE INDEX streams_name ON $s.streams (name COLLATE "default")',
    "streams_name",
  ],
  [
    "an index of other operators",
    "DROP INDEX $s.streams_name; CREATE UNIQUE INDEX streams_name ON $s.streams (name text_pattern_ops)",
    "streams_name",
  ],
  ["a rule", "CREATE RULE nothing AS ON INSERT TO $s.entries DO INSTEAD NOTHING", "entries"],
  ["policies that hide rows", "ALTER TABLE $s.entries ENABLE ROW LEVEL SECURITY", "entries"],
  ["a child with more rows", "CREATE TABLE $s.child () INHERITS ($s.entries)", "child"],
  ["a table that is not logged", "ALTER TABLE $s.nodes SET UNLOGGED", "nodes"],
  ["a table of somebody else", "CREATE TABLE $s.invoices (id int)", "invoices"],
  ["no table of documents", "DROP TABLE $s.doc_1", "doc_1"],
  ["documents that nothing calls for", "DELETE FROM $s.projections", "doc_1"],
  ["documents without their index", "DROP INDEX $s.doc_1_0", "doc_1_0"],
  ["a list of indexes that is none", "UPDATE $s.projections SET indexes = '{'", "projections"],
  ["no table of marks", "DROP TABLE $s.folded", "folded"],
];

test.each(shapeAttacks)(
  "T47 %s is SCHEMA_UNKNOWN to whoever opens it, and E_SCHEMA to verify",
  async (_, attack, where) => {
    const place = await freshJournal();
    await sql(attack.replaceAll("$s", place.schema));

    const looked = look(place);

    await expect(looked).rejects.toMatchObject({ code: "SCHEMA_UNKNOWN" });
    await expect(looked).rejects.toThrow(where.split(".")[0]);
    const reader = await openPostgresRawReader(addressOf(place.schema));
    const problems = await reader.problems();
    const report = await verify(reader, { level: "deep" });
    await reader.close();
    expect(problems).toContainEqual({ code: "E_SCHEMA", where, message: expect.stringContaining("must") as string });
    expect(report.findings[0]?.code).toBe("E_SCHEMA");
  },
);

test("what the operator does to tables is no difference: owners, grants, comments, room, statistics", async () => {
  const place = await freshJournal();
  const { schema } = place;
  await sql(
    `GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO PUBLIC; COMMENT ON TABLE ${schema}.entries IS 'x';
     ALTER TABLE ${schema}.entries SET (autovacuum_vacuum_scale_factor = 0.1);
     ALTER TABLE ${schema}.entries ALTER COLUMN entry SET STATISTICS 5; ANALYZE ${schema}.entries;
     ALTER TABLE ${schema}.entries CLUSTER ON entries_pkey`,
  );

  expect(await look(place)).toBe("ours");
});

test("an index that the operator rebuilds is no difference, whole or cancelled", async () => {
  const place = await freshJournal();
  const { schema } = place;
  await sql(`INSERT INTO ${schema}.types VALUES (1, 'a')`);
  // It waits for this transaction once it has made what it builds.
  const other = new pg.Client(serverUrl);
  await other.connect();
  await other.query(
    `BEGIN; INSERT INTO ${schema}.types VALUES (2, 'b'); INSERT INTO ${schema}.doc_1 VALUES ('k', 0, NULL, '{}')`,
  );
  const builder = new pg.Client(serverUrl);
  await builder.connect();
  await builder.query("SET statement_timeout = '300ms'");
  for (const table of ["types", "doc_1"])
    await expect(builder.query(`REINDEX TABLE CONCURRENTLY ${schema}.${table}`)).rejects.toThrow("timeout");
  await other.query("ROLLBACK");
  await Promise.all([other.end(), builder.end()]);
  const left = await sql("SELECT 1 FROM pg_class WHERE relname ~ '_ccnew' AND relnamespace = $1::regnamespace", [
    schema,
  ]);

  expect(left.length).toBeGreaterThan(2);
  expect(await look(place)).toBe("ours");
  const reader = await openPostgresRawReader(addressOf(schema));
  expect(await reader.problems()).toEqual([]);
  await reader.close();
});

test("a server that is too old, and another encoding, are STORE_UNSUPPORTED", () => {
  expect(() => checkServer(130_011, "UTF8", "x")).toThrow("PostgreSQL 14 or newer, found version 130011");
  expect(() => checkServer(140_000, "SQL_ASCII", "x")).toThrow("UTF8, found SQL_ASCII");
  expect(() => checkServer(140_000, "UTF8", "x")).not.toThrow();
});
