/** Documents of a ledger file: reading and writing them with the statements of one connection. */
import type { DocumentRange, DocumentWrite, FoundDocument, StoredDocument } from "../../journal/documents.js";
import { invariant, LedgerError } from "../../kernel/errors.js";
import { documentSql } from "./document-statements.js";
import type { DocumentStatements } from "./document-statements.js";

/** A document as the statements select it. The tables are STRICT, but one changed byte of a row's header makes a value NULL or
 *  one of another class. */
type DocumentColumns = readonly [key: unknown, seq: unknown, text: unknown];
type FoundColumns = readonly [key: unknown, seq: unknown, text: unknown, at: unknown];

/** Bytes of a log that a document takes beside its own: it stands on a page that others do not share this time. */
const scatteredBytes = 2_048;

export function readDocument(
  statements: DocumentStatements,
  path: string,
  table: number,
  key: string,
): StoredDocument | null {
  const row = statements.of(documentSql.one(table)).get(key) as DocumentColumns | undefined;
  return row === undefined ? null : toDocument(row, path, table);
}

export function readByKey(
  statements: DocumentStatements,
  path: string,
  table: number,
  after: string | null,
  limit: number,
  reverse: boolean,
): readonly StoredDocument[] {
  const { first, behind, last, before } = documentSql;
  const rows =
    after === null
      ? statements.of((reverse ? last : first)(table)).all(limit)
      : statements.of((reverse ? before : behind)(table)).all(after, limit);
  return (rows as unknown as DocumentColumns[]).map((row) => {
    const document = toDocument(row, path, table);
    requireExactKey(statements, path, table, document.key);
    return document;
  });
}

export function readByIndex(
  statements: DocumentStatements,
  path: string,
  table: number,
  { index, from, to, reverse, limit }: DocumentRange,
): readonly FoundDocument[] {
  const rows =
    to === null
      ? statements.of(documentSql.from(table, index, reverse)).all(from, limit)
      : statements.of(documentSql.between(table, index, reverse)).all(from, to, limit);
  return (rows as unknown as FoundColumns[]).map(([key, seq, text, at]) => {
    const document = toDocument([key, seq, text], path, table);
    if (!(at instanceof Uint8Array)) throw damaged(path, table, document.key, `index_${index}`);
    return { ...document, at };
  });
}

/** Writes documents of a table that has so many indexes. Answers about how many bytes that made. */
export function writeDocuments(
  statements: DocumentStatements,
  table: number,
  count: number,
  writes: readonly DocumentWrite[],
): number {
  let bytes = 0;
  // By which columns they set: their texts are long, and making one for each document would take as long as writing it.
  const prepared = new Map<number, ReturnType<DocumentStatements["of"]>>();
  const all = 2 ** count - 1;
  for (const { key, seq, text, indexes } of writes) {
    bytes += scatteredBytes + (text?.length ?? 0);
    if (text === null) {
      statements.of(documentSql.remove(table)).run(key);
      continue;
    }
    invariant(
      indexes.length === count,
      `a document of table ${table} must say ${count} indexes, found ${indexes.length}`,
    );
    const values: unknown[] = [seq, text];
    let columns = 0;
    for (let column = 0; column < count; column++) {
      const value = indexes[column];
      if (value === undefined) continue;
      columns += 2 ** column;
      values.push(value);
    }
    values.push(key);
    let statement = prepared.get(columns);
    if (statement === undefined) {
      const sql =
        columns === all ? documentSql.put(table, count) : documentSql.update(table, columnsIn(columns, count));
      prepared.set(columns, (statement = statements.of(sql)));
    }
    const { changes } = statement.run(values);
    invariant(changes === 1, `a new document of table ${table} must say all its indexes`);
  }
  return bytes;
}

function columnsIn(columns: number, count: number): number[] {
  return Array.from({ length: count }, (_, column) => column).filter((column) => (columns & (2 ** column)) !== 0);
}

function toDocument([key, seq, text]: DocumentColumns, path: string, table: number): StoredDocument {
  if (typeof key !== "string") throw damaged(path, table, null, "key");
  if (typeof seq !== "number" || !Number.isSafeInteger(seq)) throw damaged(path, table, key, "seq");
  if (typeof text !== "string") throw damaged(path, table, key, "doc");
  return { key, seq, text };
}

/** A key that shows U+FFFD may hide other bytes: whoever went on behind what it shows would meet it again, for ever. */
function requireExactKey(statements: DocumentStatements, path: string, table: number, key: string): void {
  if (!key.includes("\ufffd") || statements.of(documentSql.one(table)).get(key) !== undefined) return;
  throw damaged(path, table, key, "key");
}

function damaged(path: string, table: number, key: string | null, column: string): LedgerError {
  return new LedgerError(
    "STORE_DAMAGED",
    `the ${column} of document ${JSON.stringify(key)} of table ${table} in ${path} cannot be read`,
    {
      details: { path, table, key, column },
      hint: "run `runledger verify` on it; what is derived can be made again, the journal is not concerned",
    },
  );
}
