import type { RawDocument } from "../../journal/raw-reader.js";
import { documentSql } from "./document-statements.js";
import type { DocumentStatements } from "./document-statements.js";

/** Documents of a table as they are, behind a key. */
export function rawDocuments(
  statements: DocumentStatements,
  table: number,
  after: string | Uint8Array | null,
  limit: number,
): readonly RawDocument[] {
  const rows =
    after === null
      ? statements.of(documentSql.rawFirst(table)).all(limit)
      : statements.of(documentSql.rawBehind(table)).all(after, limit);
  return rows.map(([rowid, key, seq, ...columns]) => {
    const text = columns.pop();
    if (!isUnsure(key) && !isUnsure(text)) return { key, seq, text, indexes: columns };
    const bytes = statements.of(documentSql.rawBytes(table)).get(rowid) ?? [];
    return { key: exact(key, bytes[0]), seq, text: exact(text, bytes[1]), indexes: columns };
  });
}

/** Decoding hides what stood where text shows U+FFFD. */
function isUnsure(value: unknown): boolean {
  return typeof value === "string" && value.includes("\ufffd");
}

/** The text when it is what the bytes say, else the bytes. */
function exact(value: unknown, bytes: unknown): unknown {
  if (typeof value !== "string" || !(bytes instanceof Uint8Array)) return value;
  return Buffer.from(value).equals(bytes) ? value : bytes;
}
