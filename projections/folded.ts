/** The documents of a projection that was folded in memory, to be read as a ledger's are read. */
import type { DocumentRange } from "../src/journal/documents.js";
import type { AnyProjection, FindQuery, FoundDocuments } from "./define-projection.js";
import { DocumentsDigest } from "./digest.js";
import type { ProjectionDigest } from "./digest.js";
import type { ProjectionFailure } from "./failure.js";
import { compareKeys } from "./order.js";
import { cursorOf, parseQuery } from "./query.js";
import { indexKeys } from "./reducer.js";

/** A projection as it was when the folding ended. @public */
export interface FoldedProjection<Document extends object> {
  /** The last event that is folded; −1 before the first. Where the projection stopped, the one before the event that it could
   *  not fold. */
  readonly position: number;
  /** Why it stopped; null when it did not. What it had folded until then is not shown: the three reads throw it. */
  readonly failure: ProjectionFailure | null;
  /** The document of a key, frozen; null when there is none. */
  get(key: string): Document | null;
  /** What a query finds. `INVALID_ARGUMENT`, with the path, for what no index serves. */
  find(query?: FindQuery): FoundDocuments<Document>;
  /** One hash over all documents. */
  digest(): ProjectionDigest;
}

interface IndexRow {
  readonly at: Uint8Array;
  readonly key: string;
}

/** What was folded. */
export interface FoldedDocuments {
  readonly projection: AnyProjection;
  readonly failure: ProjectionFailure | null;
  get(key: string): object | null;
  documents(): Iterable<readonly [key: string, document: object]>;
}

/** Reads what a table holds; it must not be folded on. */
export class FoldedTable<Document extends object> implements FoldedProjection<Document> {
  readonly position: number;
  readonly failure: ProjectionFailure | null;
  private readonly table: FoldedDocuments;
  private keys: readonly string[] | null = null;
  private indexes: readonly (readonly IndexRow[])[] | null = null;

  constructor(table: FoldedDocuments, position: number) {
    this.table = table;
    this.failure = table.failure;
    this.position = this.failure === null ? position : this.failure.position - 1;
  }

  get(key: string): Document | null {
    return this.table.get(key) as Document | null; // what the reducers of this projection made
  }

  find(query: FindQuery = {}): FoundDocuments<Document> {
    const scan = parseQuery(this.table.projection, query);
    if (scan.by === "index") {
      const { limit } = scan.range;
      const found = rangeOf(this.sortedIndex(scan.range.index), { ...scan.range, limit: limit + 1 });
      return this.page(
        found,
        (row) => row.key,
        (row) => cursorOf(row.at),
        limit,
      );
    }
    const { after, reverse, limit } = scan;
    const keys = this.sortedKeys();
    const behind = after === null ? keys : keys.filter((key) => compareKeys(key, after) * (reverse ? -1 : 1) > 0);
    const found = (reverse ? behind.toReversed() : behind).slice(0, limit + 1);
    return this.page(found, (key) => key, cursorOf, limit);
  }

  digest(): ProjectionDigest {
    const digest = new DocumentsDigest(this.table.projection);
    for (const key of this.sortedKeys()) digest.add(key, this.document(key));
    return digest.end(this.position);
  }

  /** One row more than asked for says whether there is more. */
  private page<Row>(
    found: readonly Row[],
    keyOf: (row: Row) => string,
    cursor: (row: Row) => string,
    limit: number,
  ): FoundDocuments<Document> {
    const rows = found.slice(0, limit);
    const documents = rows.map((row) => Object.freeze({ key: keyOf(row), document: this.document(keyOf(row)) }));
    const last = rows.at(-1);
    const next = last === undefined || found.length <= limit ? null : cursor(last);
    return Object.freeze({ documents: Object.freeze(documents), next });
  }

  private document(key: string): Document {
    return this.get(key) as Document; // of a key that came from the table
  }

  private sortedKeys(): readonly string[] {
    return (this.keys ??= Array.from(this.table.documents(), ([key]) => key).sort(compareKeys));
  }

  private sortedIndex(index: number): readonly IndexRow[] {
    this.indexes ??= this.sortIndexes();
    return this.indexes[index] ?? [];
  }

  private sortIndexes(): readonly (readonly IndexRow[])[] {
    const { projection } = this.table;
    const indexes: IndexRow[][] = Array.from(projection.indexes, () => []);
    for (const [key, document] of this.table.documents())
      for (const [index, at] of indexKeys(projection, document, key).entries())
        if (at !== null) indexes[index]?.push({ at, key });
    return indexes.map((rows) => rows.sort((a, b) => Buffer.compare(a.at, b.at)));
  }
}

function rangeOf(rows: readonly IndexRow[], { from, to, reverse, limit }: DocumentRange): readonly IndexRow[] {
  const start = firstNotBelow(rows, from);
  const end = to === null ? rows.length : firstNotBelow(rows, to);
  return reverse
    ? rows.slice(Math.max(start, end - limit), end).reverse()
    : rows.slice(start, Math.min(end, start + limit));
}

function firstNotBelow(rows: readonly IndexRow[], bytes: Uint8Array): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Buffer.compare(rows[middle]?.at ?? bytes, bytes) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
