/** What stands in a schema, as the system's catalogues say, line by line, and what must stand there.
 *  Invariant: whatever changes what a statement of ours reads or writes shows in a line: another type or collation, a lost
 *  NOT NULL or key, a view or a rule in place of a table, policies that hide rows, a child table that adds some, a guard that
 *  is switched off, also where it has the name of one that is ours elsewhere. Owners, grants, comments, statistics and storage parameters are the operator's. */
import type { Guard, TableShape } from "./schema.js";

/** One object: how it is called in messages, and what it is. */
export interface CatalogueLine {
  readonly kind: "relation" | "column" | "index" | "constraint" | "function" | "trigger" | "type";
  readonly where: string;
  readonly is: string;
  /** The table that it is a part of; empty where it stands by itself. */
  readonly of: string;
}

/** All objects of the schema $1, as rows of kind, where, is, of. One statement, so of one moment, but for the conditions, which
 *  PostgreSQL puts into words as of now. NOT NULL is a constraint as well from 18 on, and is a part of its column here. */
export const catalogueQuery = `
WITH relations AS (
  SELECT c.oid, c.relname, c.relkind, c.relpersistence, c.relrowsecurity
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = $1
), procedures AS (
  SELECT p.* FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace s ON s.oid = p.pronamespace WHERE s.nspname = $1
)
SELECT 'relation', r.relname::text, concat(
  CASE r.relkind WHEN 'r' THEN 'a table' WHEN 'v' THEN 'a view' WHEN 'm' THEN 'a materialized view' WHEN 'f' THEN 'a foreign table'
    WHEN 'p' THEN 'a partitioned table' WHEN 'S' THEN 'a sequence' WHEN 'c' THEN 'a type' ELSE 'a relation of kind ' || r.relkind::text END,
  CASE WHEN r.relpersistence <> 'p' THEN ' that is not logged' END,
  CASE WHEN r.relrowsecurity OR EXISTS (SELECT FROM pg_catalog.pg_policy WHERE polrelid = r.oid) THEN ' with policies for rows' END,
  CASE WHEN r.relkind = 'r' AND EXISTS (SELECT FROM pg_catalog.pg_rewrite WHERE ev_class = r.oid) THEN ' with rules' END,
  CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_inherits WHERE inhparent = r.oid OR inhrelid = r.oid) THEN ' with parents or children' END), ''
FROM relations r WHERE r.relkind NOT IN ('i', 'I', 't')
UNION ALL
SELECT 'column', r.relname || '.' || a.attname, concat(
  pg_catalog.format_type(a.atttypid, a.atttypmod),
  CASE WHEN a.atttypid = 25 AND a.attcollation <> 950 THEN ' of another collation' END,
  CASE WHEN NOT a.attnotnull THEN ' or NULL' END,
  CASE WHEN a.atthasdef OR a.attidentity <> '' OR a.attgenerated <> '' THEN ' with a value of its own' END), r.relname::text
FROM relations r JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid
WHERE r.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT 'index', n.relname::text, concat(
  CASE WHEN x.indisprimary THEN 'the primary key' WHEN x.indisunique THEN 'unique' ELSE 'an index' END, ' of ', r.relname, ' (',
  (SELECT string_agg(coalesce(a.attname::text, 'an expression'), ', ' ORDER BY k.place)
   FROM unnest(x.indkey::int2[]) WITH ORDINALITY k (number, place)
   LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.number AND k.number > 0), ')',
  ' where ' || pg_catalog.pg_get_expr(x.indpred, x.indrelid),
  CASE WHEN m.amname <> 'btree' THEN ' by ' || m.amname END,
  CASE WHEN EXISTS (SELECT FROM unnest(x.indcollation::oid[]) k WHERE k NOT IN (0, 950)) THEN ' of another collation' END,
  CASE WHEN EXISTS (SELECT FROM unnest(x.indclass::oid[]) k JOIN pg_catalog.pg_opclass o ON o.oid = k WHERE NOT o.opcdefault) THEN ' of other operators' END,
  CASE WHEN NOT (x.indisvalid AND x.indisready AND x.indislive) THEN ' that is not whole' END,
  CASE WHEN NOT x.indimmediate THEN ' that is looked at late' END), r.relname::text
FROM relations r JOIN pg_catalog.pg_index x ON x.indrelid = r.oid JOIN pg_catalog.pg_class n ON n.oid = x.indexrelid
JOIN pg_catalog.pg_am m ON m.oid = n.relam WHERE r.relkind <> 't'
UNION ALL
SELECT 'constraint', c.conname::text, concat(
  CASE c.contype WHEN 'c' THEN 'check ' || pg_catalog.pg_get_expr(c.conbin, c.conrelid) WHEN 'f' THEN 'a foreign key' ELSE 'an exclusion' END,
  ' of ', r.relname, CASE WHEN NOT c.convalidated THEN ' that was not checked' END), r.relname::text
FROM relations r JOIN pg_catalog.pg_constraint c ON c.conrelid = r.oid WHERE c.contype IN ('c', 'f', 'x')
UNION ALL
SELECT 'function', concat(p.proname, CASE WHEN p.pronargs > 0 THEN ' of ' || p.pronargs || ' arguments' END), concat(l.lanname, ' ', p.prosrc, CASE WHEN p.prosecdef THEN ' as its owner' END,
  ' with ' || array_to_string(p.proconfig, ', ')), ''
FROM procedures p JOIN pg_catalog.pg_language l ON l.oid = p.prolang
UNION ALL
SELECT 'trigger', t.tgname::text, concat('on ', r.relname, ' of type ', t.tgtype, ' calls ', p.proname,
  CASE WHEN p.oid IS NULL THEN 'a function elsewhere' END,
  CASE WHEN t.tgenabled <> 'O' THEN ' and is switched ' || CASE t.tgenabled WHEN 'D' THEN 'off' ELSE t.tgenabled::text END END,
  CASE WHEN t.tgqual IS NOT NULL OR t.tgattr::text <> '' OR t.tgnargs <> 0 OR t.tgdeferrable THEN ' with conditions' END), r.relname::text
FROM relations r JOIN pg_catalog.pg_trigger t ON t.tgrelid = r.oid LEFT JOIN procedures p ON p.oid = t.tgfoid
WHERE NOT t.tgisinternal
UNION ALL
SELECT 'type', t.typname::text, 'a type', '' FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace s ON s.oid = t.typnamespace
WHERE s.nspname = $1 AND t.typrelid = 0 AND NOT EXISTS (SELECT FROM pg_catalog.pg_type e WHERE e.typarray = t.oid)`;

/** The lines of a table, as `create.ts` makes it. */
export function linesOfTable({ name, columns, primaryKey, indexes }: TableShape): readonly CatalogueLine[] {
  const part = (kind: CatalogueLine["kind"], where: string, is: string): CatalogueLine => ({
    kind,
    where,
    is,
    of: name,
  });
  return [
    { kind: "relation", where: name, is: "a table", of: "" },
    ...columns.map(({ name: column, type, nullable }) =>
      part("column", `${name}.${column}`, `${type}${nullable === true ? " or NULL" : ""}`),
    ),
    part("index", `${name}_pkey`, `the primary key of ${name} (${primaryKey.join(", ")})`),
    ...(indexes ?? []).map((index) =>
      index.kind === "unique"
        ? part("index", index.name, `unique of ${name} (${index.column})`)
        : part("index", index.name, `an index of ${name} (${index.column}) where (${index.column} IS NOT NULL)`),
    ),
    ...columns.flatMap(({ name: column, check }) =>
      check === undefined ? [] : [part("constraint", `${name}_${column}_check`, `check (${check}) of ${name}`)],
    ),
  ];
}

/** The bits of `tgtype`, as the catalogue has them. */
const triggerBits = { ROW: 1, STATEMENT: 0, BEFORE: 2, INSERT: 4, DELETE: 8, UPDATE: 16, TRUNCATE: 32 } as const;

/** The lines of a guard: its trigger and its function. */
export function linesOfGuard({ name, table, on, each, body }: Guard): readonly CatalogueLine[] {
  const events = on.split(" OR ") as (keyof typeof triggerBits)[]; // the words of `schema.ts`
  const type = triggerBits.BEFORE + triggerBits[each] + events.reduce((sum, event) => sum + triggerBits[event], 0);
  return [
    { kind: "function", where: name, is: `plpgsql  ${body} `, of: "" },
    { kind: "trigger", where: name, is: `on ${table} of type ${type} calls ${name}`, of: table },
  ];
}
