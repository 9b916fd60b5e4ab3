/** The layout of a journal in PostgreSQL: one schema, with these tables and guards in it.
 *  Invariant: what `create.ts` makes and what `problems.ts` compares are both drawn from here. The reasons: decisions 0009
 *  and 0028. */
import { revisionsPerPage } from "../stream-page.js";

/** What `meta` says under the key `layout`: the version of this layout. */
export const layoutVersion = 1;
/** What `meta` says under the key `schema`. */
export const schemaIdentifier = "runledger/1";

/** One column. */
export interface Column {
  readonly name: string;
  readonly type: "bigint" | "integer" | "text" | "bytea";
  readonly nullable?: true;
  /** A condition on its values. */
  readonly check?: string;
}

/** One table. */
export interface TableShape {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly primaryKey: readonly string[];
  /** Columns with an index of their own: unique, or of the rows in which they are not NULL. */
  readonly indexes?: readonly IndexShape[];
  /** Of pages, in percent: where rows change in place, room is left for them. */
  readonly fillFactor?: number;
}

/** One index beside the primary key. */
export interface IndexShape {
  readonly name: string;
  readonly column: string;
  readonly kind: "unique" | "partial";
}

const big = (name: string): Column => ({ name, type: "bigint" });
const text = (name: string): Column => ({ name, type: "text" });
const bytes = (name: string): Column => ({ name, type: "bytea" });
const hash = (name: string): Column => ({ name, type: "bytea", check: `octet_length(${name}) = 32` });
const nullable = (column: Column): Column => ({ ...column, nullable: true });

/** Every table of a new journal, in the order of its making. */
export const tables: readonly TableShape[] = [
  { name: "meta", columns: [text("key"), text("value")], primaryKey: ["key"] },
  // One row, which holds nothing: whoever locks it writes.
  { name: "head", columns: [{ name: "one", type: "integer", check: "one = 1" }], primaryKey: ["one"] },
  {
    name: "types",
    columns: [big("id"), text("name")],
    primaryKey: ["id"],
    indexes: [{ name: "types_name", column: "name", kind: "unique" }],
  },
  {
    name: "streams",
    columns: [big("id"), text("name"), big("rev"), big("last_seq")],
    primaryKey: ["id"],
    indexes: [{ name: "streams_name", column: "name", kind: "unique" }],
    fillFactor: 80,
  },
  // No index but the position: uniqueness of (stream, rev) is held by the writer and checked by the verifier.
  {
    name: "entries",
    columns: [
      big("seq"),
      hash("id"),
      big("stream"),
      big("rev"),
      nullable(big("before")),
      big("type"),
      big("at"),
      big("skew"),
      text("entry"),
    ],
    primaryKey: ["seq"],
  },
  {
    name: "stream_pages",
    columns: [
      big("stream"),
      big("page"),
      { name: "seqs", type: "bytea", check: `octet_length(seqs) = ${revisionsPerPage * 8}` },
    ],
    primaryKey: ["stream", "page"],
  },
  {
    name: "contents",
    columns: [
      big("n"),
      hash("digest"),
      nullable(text("media")),
      nullable(bytes("salt")),
      nullable(bytes("plain")),
      nullable(big("erased")),
      nullable(bytes("bytes")),
    ],
    primaryKey: ["n"],
    indexes: [{ name: "contents_plain", column: "plain", kind: "partial" }],
  },
  { name: "nodes", columns: [big("level"), big("n"), hash("hash")], primaryKey: ["level", "n"] },
  // What is operational: it may be changed and lost.
  { name: "checkpoints", columns: [big("size"), text("note")], primaryKey: ["size"] },
  {
    name: "consumers",
    columns: [
      text("name"),
      big("position"),
      nullable(bytes("id")),
      big("incarnation"),
      big("generation"),
      nullable(text("claim")),
    ],
    primaryKey: ["name"],
    fillFactor: 50,
  },
  // What is derived: each row is a table of documents, made and dropped with it.
  {
    name: "projections",
    columns: [
      big("id"),
      text("name"),
      big("version"),
      text("indexes"),
      text("status"),
      big("position"),
      nullable(bytes("entry_id")),
      nullable(text("error")),
    ],
    primaryKey: ["id"],
    fillFactor: 50,
  },
  {
    name: "folded",
    columns: [{ name: "one", type: "integer", check: "one = 1" }, big("position"), hash("entry_id"), text("tables")],
    primaryKey: ["one"],
    fillFactor: 50,
  },
];

/** A guard: a trigger, and the function of the same name that it calls. Seat belts, not integrity: whoever owns the tables can
 *  take them off. */
export interface Guard {
  readonly name: string;
  readonly table: string;
  /** When it fires. */
  readonly on: string;
  readonly each: "ROW" | "STATEMENT";
  /** The body of its function, in PL/pgSQL. */
  readonly body: string;
}

const refuse = (says: string): string =>
  `BEGIN RAISE EXCEPTION '${says}' USING ERRCODE = 'integrity_constraint_violation'; END`;

/** Every guard of a journal. */
export const guards: readonly Guard[] = [
  {
    name: "entries_append_only",
    table: "entries",
    on: "UPDATE OR DELETE OR TRUNCATE",
    each: "STATEMENT",
    body: refuse("entries are append-only"),
  },
  {
    name: "contents_only_erase",
    table: "contents",
    on: "UPDATE",
    each: "ROW",
    body: `BEGIN IF OLD.erased IS NOT NULL OR NEW.erased IS NULL OR NEW.n <> OLD.n OR NEW.digest <> OLD.digest OR NEW.media IS NOT NULL OR NEW.salt IS NOT NULL OR NEW.plain IS NOT NULL OR NEW.bytes IS NOT NULL THEN RAISE EXCEPTION 'contents can only be erased' USING ERRCODE = 'integrity_constraint_violation'; END IF; RETURN NEW; END`,
  },
  {
    name: "contents_no_delete",
    table: "contents",
    on: "DELETE OR TRUNCATE",
    each: "STATEMENT",
    body: refuse("contents can only be erased"),
  },
];

/** The table of documents of this number, with so many indexes. */
export function documentTable(id: number, indexes: number): TableShape {
  const name = `doc_${id}`;
  const columns = Array.from({ length: indexes }, (_, index) => `index_${index}`);
  return {
    name,
    columns: [text("key"), big("seq"), ...columns.map((column) => nullable(bytes(column))), text("doc")],
    primaryKey: ["key"],
    indexes: columns.map((column, index) => ({ name: `${name}_${index}`, column, kind: "partial" })),
    fillFactor: 80,
  };
}

/** Keys in `meta` that begin so name tables of documents that were dropped, and stand until nobody reads them any more. */
export const retiredPrefix = "retired_";

/** A name within a schema, as SQL takes it. */
export function qualified(schema: string, name: string): string {
  return `"${schema}"."${name}"`;
}
