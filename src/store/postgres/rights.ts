/** What a role must be allowed to do with a journal, which is looked at when it is opened. */
import { LedgerError } from "../../kernel/errors.js";
import type { Connection } from "./connection.js";
import type { PostgresLocation } from "./location.js";
import { tables } from "./schema.js";

type Place = Pick<PostgresLocation, "schema" | "shown">;

/** What each table is used for: what src/GUIDE.md grants. */
const rights: Readonly<Record<"read" | "write", readonly (readonly [table: string, privileges: string])[]>> = {
  read: tables.map(({ name }) => [name, "SELECT"]),
  write: [
    ["head", "UPDATE"],
    ...["types", "entries", "stream_pages", "nodes"].map((name) => [name, "INSERT"] as const),
    ...["meta", "streams", "contents", "checkpoints", "consumers", "projections", "folded"].flatMap((name) => [
      [name, "INSERT"] as const,
      [name, "UPDATE"] as const,
    ]),
    ...["meta", "consumers", "projections"].map((name) => [name, "DELETE"] as const),
  ],
};

/** Refuses a role that lacks a right, at once and not in the middle of a batch; tables that are not there are told elsewhere. */
export async function requireRights(
  connection: Connection,
  { schema, shown }: Place,
  intent: "read" | "write",
): Promise<void> {
  const needed = intent === "read" ? rights.read : [...rights.read, ...rights.write];
  const missing = await connection.rows<[string, string]>(
    `SELECT w.name, w.privilege FROM unnest($2::text[], $3::text[]) w (name, privilege)
     JOIN pg_catalog.pg_class c ON c.relname = w.name JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace AND s.nspname = $1
     WHERE NOT pg_catalog.has_table_privilege(c.oid, w.privilege)`,
    [schema, needed.map(([name]) => name), needed.map(([, privilege]) => privilege)],
  );
  const [first] = missing;
  if (first !== undefined) throw denied(shown, `${first[1]} on ${first[0]} (${missing.length} rights are missing)`);
  if (intent === "write") await requireDocumentRights(connection, { schema, shown });
}

/** Tables of documents are made and dropped as they are needed, and belong to who made them. */
async function requireDocumentRights(connection: Connection, { schema, shown }: Place): Promise<void> {
  const [row] = await connection.rows<[boolean, string | null]>(
    `SELECT pg_catalog.has_schema_privilege(s.oid, 'CREATE'), (SELECT min(c.relname) FROM pg_catalog.pg_class c
       WHERE c.relnamespace = s.oid AND c.relkind = 'r' AND c.relname ~ '^doc_[0-9]+$' AND NOT pg_catalog.pg_has_role(c.relowner, 'USAGE'))
     FROM pg_catalog.pg_namespace s WHERE s.nspname = $1`,
    [schema],
  );
  if (row?.[0] !== true) throw denied(shown, "CREATE in the schema");
  if (row[1] !== null) throw notOwned(shown, row[1]);
}

/** A standby, and a role or database that is set to read only, take no batch; a host is to know at once. */
export async function requireWritable(connection: Connection, shown: string): Promise<void> {
  const [row] = await connection.rows<[boolean, string]>(
    "SELECT pg_catalog.pg_is_in_recovery(), current_setting('default_transaction_read_only')",
  );
  const found = row?.[0] === true ? "a standby" : row?.[1] === "on" ? "default_transaction_read_only" : null;
  if (found === null) return;
  throw new LedgerError("READ_ONLY", `${shown} must take writes to be opened for writing, found ${found}`, {
    details: { location: shown, found },
    hint: "name the primary server, or open it with readOnly",
  });
}

export function denied(shown: string, right: string): LedgerError {
  return new LedgerError("ACCESS_DENIED", `the role must have the right ${right} in ${shown}, found that it has not`, {
    details: { location: shown, right },
    hint: "grant it what src/GUIDE.md lists for a writing or a reading role",
  });
}

/** No grant helps here: who made a table of documents must be who works on it. */
function notOwned(shown: string, table: string): LedgerError {
  return new LedgerError(
    "ACCESS_DENIED",
    `the role must own the tables of documents in ${shown}, found ${table}, which belongs to another role`,
    {
      details: { location: shown, right: `ownership of ${table}` },
      hint: "let all who write act as one role: ALTER ROLE … SET role, or options=-c%20role%3D… in the address; ALTER TABLE … OWNER TO gives it what another one made",
    },
  );
}

/** May the role have the table of contents cleaned up? Its owner may, and from PostgreSQL 17 on who was allowed to. */
export const mayVacuum = `SELECT pg_catalog.pg_has_role(c.relowner, 'USAGE') OR
  CASE WHEN current_setting('server_version_num')::integer >= 170000 THEN pg_catalog.has_table_privilege(c.oid, 'MAINTAIN') ELSE false END
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = $1 AND c.relname = 'contents'`;
