/** Documents of a projection whose code is not here: shown as they are stored, as of the position that their table claims. */
import type { FindQuery } from "../../projections/define-projection.js";
import { tupleBytes } from "../../projections/index-key.js";
import { readTables } from "../forensic/document-tables.js";
import type { DocumentTable } from "../forensic/document-tables.js";
import { Findings } from "../forensic/findings.js";
import { LedgerError } from "../index.js";
import type { RawReader } from "../index.js";
import type { RawDocument } from "../journal/raw-reader.js";
import { UsageError } from "./exit.js";

/** A document with its key. */
export interface KeyedDocument {
  readonly key: string;
  readonly document: object;
}

const rowsPerRead = 512;

/** The table of a projection, of the highest version when none is named; `NOT_FOUND`, with the hint, when there is none. */
export async function findTable(
  reader: RawReader,
  { name, version, hint }: { readonly name: string; readonly version: number | null; readonly hint: string },
): Promise<DocumentTable> {
  const { tables } = await readTables(reader, new Findings(1));
  const [found] = tables
    .filter((table) => table.name === name && (version === null || table.version === version))
    .sort((left, right) => right.version - left.version);
  if (found !== undefined) return found;
  const stored = tables.map((table) => `${table.name}@${table.version}`);
  throw new LedgerError(
    "NOT_FOUND",
    `projection ${JSON.stringify(version === null ? name : `${name}@${version}`)} must have a table of documents, found ${stored.length === 0 ? "none of any" : stored.join(", ")}`,
    { details: { projection: name, version, stored }, hint },
  );
}

/** Documents by key, or those of an index whose tuples begin with a prefix, in the order of the index. */
export async function* storedDocuments(
  reader: RawReader,
  table: DocumentTable,
  key: string | null,
  { index, prefix = [] }: FindQuery,
): AsyncGenerator<KeyedDocument, void, undefined> {
  if (index === undefined) {
    for await (const row of rowsOf(reader, table.id))
      if (key === null || row.key === key) {
        yield parseDocument(row, table);
        if (key !== null) return;
      }
    return;
  }
  const column = table.indexes.indexOf(index);
  if (column < 0)
    throw new UsageError(
      `--index must be one of table ${table.name}@${table.version} (${table.indexes.join(", ")}), found ${JSON.stringify(index)}`,
    );
  const start = tupleBytes(prefix, "--prefix");
  const found: { readonly bytes: Uint8Array; readonly row: RawDocument }[] = [];
  for await (const row of rowsOf(reader, table.id)) {
    const bytes = row.indexes[column];
    if (bytes instanceof Uint8Array && start.equals(bytes.subarray(0, start.length))) found.push({ bytes, row });
  }
  found.sort((left, right) => Buffer.compare(left.bytes, right.bytes));
  for (const { row } of found) yield parseDocument(row, table);
}

async function* rowsOf(reader: RawReader, table: number): AsyncGenerator<RawDocument, void, undefined> {
  for (let after: RawDocument["key"] = null; ;) {
    const page: readonly RawDocument[] = await reader.documents(table, after as string | null, rowsPerRead);
    yield* page;
    if (page.length < rowsPerRead) return;
    after = page.at(-1)?.key; // text, or bytes where that is no UTF-8: what it is read on from
  }
}

function parseDocument({ key, text }: RawDocument, { name, version }: DocumentTable): KeyedDocument {
  try {
    const document: unknown = JSON.parse(String(text));
    if (typeof key === "string" && typeof text === "string" && typeof document === "object" && document !== null)
      return { key, document };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new LedgerError(
    "STORE_DAMAGED",
    `the document ${JSON.stringify(String(key))} of ${name}@${version} must be JSON, found something else`,
    { details: { projection: name, version, key: String(key) }, hint: "run `runledger verify --deep` on it" },
  );
}
