/** The part of the Store port that keeps what is derived: tables of documents, one a version of a projection.
 *  Invariants: documents change in the same commit as the entries they follow, or, for a table that is being brought up,
 *  together with its position; every table can be dropped and folded again. Source: design sections 5 and 7, decision 0018. */

/** One table: one version of one projection. @public */
export interface ProjectionRow {
  /** From 1, given once, never again. */
  readonly id: number;
  readonly name: string;
  readonly version: number;
  /** The names of its indexes, in the order of the columns. */
  readonly indexes: readonly string[];
  /** `following`: its documents are those of `position`. `failed`: it stopped there, before an event that its reducer could
   *  not fold. */
  readonly status: "following" | "failed";
  /** The last position that is folded into it; −1 before the first. Where the table is one of `FoldedMark.tables`, the mark
   *  says a later one. */
  readonly position: number;
  /** Id of the entry there; null at −1. */
  readonly entryId: string | null;
  /** Why it stopped: a JSON object; null when it did not. */
  readonly error: string | null;
}

/** Up to where the tables that writers keep current are folded: one row for all of them, so that a commit writes one. A table
 *  that leaves the list takes the position into its own row. @public */
export interface FoldedMark {
  readonly position: number;
  readonly entryId: string;
  /** Ids of tables, ascending. */
  readonly tables: readonly number[];
}

/** A document as it is stored. @public */
export interface StoredDocument {
  readonly key: string;
  /** Position of the event that changed it last. */
  readonly seq: number;
  /** JSON, not canonical. */
  readonly text: string;
}

/** A change of a document. @public */
export interface DocumentWrite {
  readonly key: string;
  readonly seq: number;
  /** Null removes it. */
  readonly text: string | null;
  /** One element an index of the table: its bytes (`indexKey`), null for "not in it", undefined for "as it was". A new
   *  document has none that is undefined. */
  readonly indexes: readonly (Uint8Array | null | undefined)[];
}

/** A range of the bytes of one index. @public */
export interface DocumentRange {
  /** Which column, from 0. */
  readonly index: number;
  /** Inclusive. */
  readonly from: Uint8Array;
  /** Exclusive; null: to the end. */
  readonly to: Uint8Array | null;
  readonly reverse: boolean;
  readonly limit: number;
}

/** A document as an index found it. @public */
export interface FoundDocument extends StoredDocument {
  /** The bytes by which it was found; those of one document are of no other, so that order is total. */
  readonly at: Uint8Array;
}

/** Reads of documents, at the one position of the reads they belong to. Asking for a table that `projections` does not list
 *  there is a bug of the caller. @public */
export interface DocumentReads {
  /** All tables, in order of id. */
  projections(): Promise<readonly ProjectionRow[]>;
  /** Null when nothing was ever folded. */
  folded(): Promise<FoldedMark | null>;
  /** For each key its document, or null. */
  documents(table: number, keys: readonly string[]): Promise<readonly (StoredDocument | null)[]>;
  /** Documents in the order of the UTF-8 bytes of their keys, behind `after` (before it when `reverse`). */
  documentsByKey(
    table: number,
    after: string | null,
    limit: number,
    reverse?: boolean,
  ): Promise<readonly StoredDocument[]>;
  /** Documents in the order of an index's bytes. */
  documentsByIndex(table: number, range: DocumentRange): Promise<readonly FoundDocument[]>;
}

/** Writes of documents, within the one open transaction. @public */
export interface DocumentWrites {
  /** Makes a table, empty, and its row. Answers the table's id: one more than the largest ever given. */
  addProjection(row: Omit<ProjectionRow, "id">): Promise<number>;
  /** Changes the row of a table that is there; name, version and indexes are those it was made with. */
  putProjection(row: ProjectionRow): Promise<void>;
  /** Drops a table with its documents and its row. Whoever drops one that the mark lists puts a mark without it. */
  dropProjection(id: number): Promise<void>;
  putFolded(mark: FoldedMark): Promise<void>;
  /** Each key at most once a call. */
  putDocuments(table: number, writes: readonly DocumentWrite[]): Promise<void>;
}
