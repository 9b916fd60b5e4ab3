/** Stored documents, held against those that the events fold to.
 *  Invariant: each document has one finding at most: its text, then its index bytes, then its position. What is compared of a
 *  text is what it says, not the order in which it says it; any other way to say the same is a finding. */
import type { AnyProjection } from "../../projections/define-projection.js";
import { indexKey } from "../../projections/index-key.js";
import { decodeUtf8 } from "../kernel/canonical.js";
import { LedgerError } from "../kernel/errors.js";
import type { RawDocument, RawDocumentReads } from "../journal/raw-reader.js";
import { firstDifference, showJson } from "./difference.js";
import type { DocumentTable } from "./document-tables.js";
import type { DocumentFault } from "./findings.js";
import type { TableFold } from "./table-fold.js";

const rowsPerRead = 512;

/** What is wrong with a stored document. */
export interface DocumentDifference {
  readonly table: DocumentTable;
  readonly fault: DocumentFault;
  readonly key: string;
  /** Where in the document; null when it is not in it. */
  readonly path: string | null;
  readonly message: string;
  readonly want: string | undefined;
  readonly have: string | undefined;
}

/** What must be stored. */
interface Folded {
  readonly document: object;
  readonly seq: number;
}

/** Compares all documents of a table; answers how many are stored. */
export async function compareDocuments(
  reader: RawDocumentReads,
  table: DocumentTable,
  fold: TableFold,
  onDifference: (difference: DocumentDifference) => void,
): Promise<number> {
  const expected = new Map<string, Folded>();
  for (const [key, document, seq] of fold.documents()) expected.set(key, { document, seq });
  const report = (key: string, found: Found): void =>
    onDifference({ path: null, want: undefined, have: undefined, ...found, table, key });
  const declared = [...fold.projection.indexes.keys()];
  const comparable = declared.join("\n") === table.indexes.join("\n");
  let rows = 0;
  for await (const row of rowsOf(reader, table.id)) {
    rows++;
    const key = typeof row.key === "string" ? row.key : null;
    const folded = key === null ? undefined : expected.get(key);
    if (key === null || folded === undefined) {
      report(key ?? showKey(row.key), { fault: "extra", message: "no event leaves a document of this key behind" });
      continue;
    }
    expected.delete(key);
    const found = differenceOf(row, folded, comparable ? indexDifference(fold.projection, row, key, folded) : null);
    if (found !== null) report(key, found);
  }
  for (const [key, { document }] of expected)
    report(key, { fault: "missing", message: "the document is missing", path: "", want: showJson(document) });
  return rows;
}

type Found = Pick<DocumentDifference, "fault" | "message"> &
  Partial<Pick<DocumentDifference, "path" | "want" | "have">>;

async function* rowsOf(reader: RawDocumentReads, table: number): AsyncGenerator<RawDocument, void, undefined> {
  for (let after: string | Uint8Array | null = null; ;) {
    const page: readonly RawDocument[] = await reader.documents(table, after, rowsPerRead);
    yield* page;
    const last = page.at(-1)?.key;
    if (page.length < rowsPerRead || !(typeof last === "string" || last instanceof Uint8Array)) return;
    if (after !== null && Buffer.compare(Buffer.from(last), Buffer.from(after)) <= 0) return;
    after = last;
  }
}

function differenceOf(row: RawDocument, { document, seq }: Folded, index: Found | null): Found | null {
  const text = textOf(row.text);
  const stored = text === null ? undefined : parseJson(text);
  if (text === null || stored === undefined)
    return { fault: "changed", message: "the text of the document is no JSON", path: "", want: showJson(document) };
  const difference = firstDifference(document, stored);
  if (difference !== null) {
    const { path, want, have } = difference;
    return {
      fault: "changed",
      message: `the document differs${path === "" ? "" : ` at ${path}`}`,
      path,
      want: showJson(want) ?? "nothing",
      have: showJson(have) ?? "nothing",
    };
  }
  const length = JSON.stringify(stored).length;
  if (text.length !== length)
    return {
      fault: "changed",
      message: "the text says the same in another way than it is written",
      path: "",
      want: `${length} units`,
      have: `${text.length} units`,
    };
  if (index !== null) return index;
  if (row.seq === seq) return null;
  return {
    fault: "seq",
    message: "another event changed the document last",
    want: `#${seq}`,
    have: typeof row.seq === "number" ? `#${row.seq}` : showKey(row.seq),
  };
}

function indexDifference(projection: AnyProjection, row: RawDocument, key: string, folded: Folded): Found | null {
  for (const [column, [name, tupleOf]] of [...projection.indexes].entries()) {
    // The fold has seen that it gives a tuple.
    const tuple = tupleOf(folded.document);
    const want = tuple === null ? null : indexKey(tuple, key);
    const have = row.indexes[column] ?? null;
    const equal = want === null ? have === null : have instanceof Uint8Array && Buffer.compare(want, have) === 0;
    if (!equal)
      return {
        fault: "index",
        message: `index ${name} does not find the document by what it says`,
        want: showBytes(want),
        have: have === null || have instanceof Uint8Array ? showBytes(have) : showKey(have),
      };
  }
  return null;
}

/** Null when the bytes are no text. */
function textOf(stored: unknown): string | null {
  if (typeof stored === "string") return stored;
  if (!(stored instanceof Uint8Array)) return null;
  try {
    return decodeUtf8(stored, "the document");
  } catch (error) {
    if (error instanceof LedgerError) return null;
    throw error;
  }
}

/** Undefined when it is none. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function showBytes(bytes: Uint8Array | null): string {
  return bytes === null ? "nothing" : Buffer.from(bytes).toString("hex");
}

function showKey(value: unknown): string {
  return value instanceof Uint8Array ? `${value.length} bytes` : String(value);
}
