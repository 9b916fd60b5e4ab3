/** The raw reader port: stored rows as they are, for the verifier. It decodes nothing, repairs nothing and hides nothing;
 *  what a column holds is `unknown` until the verifier has looked at it. Source: design sections 3 and 11. */

/** A file that was read, with its hash before reading. @public */
export interface EvidenceFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Something that the store itself says is wrong, before any content is looked at. @public */
export interface RawProblem {
  /** `E_SCHEMA`: tables, triggers or identifiers differ; `E_TYPE`: a value has another storage class;
   *  `E_CORRUPT`: the pages do not hold together. */
  readonly code: "E_SCHEMA" | "E_TYPE" | "E_CORRUPT";
  readonly where: string;
  readonly message: string;
}

/** One stored entry. `stream` and `type` are numbers to be looked up in `streams` and `types`. `id` is hex when it is a
 *  blob of any size; `entry` is text, or bytes when text alone cannot be trusted (it shows U+FFFD) or bytes were asked for.
 *  @public */
export interface RawEntry {
  readonly seq: unknown;
  readonly id: unknown;
  readonly stream: unknown;
  readonly rev: unknown;
  readonly before: unknown;
  readonly type: unknown;
  readonly at: unknown;
  readonly skew: unknown;
  readonly entry: unknown;
  /** Names of columns whose value is of another storage class than the column; absent or null when there are none. NULL is
   *  of any class. Some of them cannot be told from the value: a fraction that is a whole number is the same number. */
  readonly misfits?: string | null;
}

/** A stream. `seq` is the position of its last entry. @public */
export interface RawStream {
  readonly id: unknown;
  readonly name: unknown;
  readonly rev: unknown;
  readonly seq: unknown;
}

/** An event type and its number. @public */
export interface RawType {
  readonly id: unknown;
  readonly name: unknown;
}

/** One page of a stream: the positions of 256 revisions, decoded when the blob has the right size, else null. @public */
export interface RawStreamPage {
  readonly stream: unknown;
  readonly page: unknown;
  readonly seqs: readonly number[] | null;
}

/** A content; once erased, `erased` is the position of the event that says so. @public */
export interface RawContent {
  readonly n: unknown;
  readonly digest: unknown;
  readonly media: unknown;
  readonly salt: unknown;
  readonly bytes: unknown;
  readonly plain: unknown;
  readonly erased: unknown;
}

/** One node of the tree. `hash` is hex when it is a blob of any size. @public */
export interface RawNode {
  readonly level: unknown;
  readonly n: unknown;
  readonly hash: unknown;
}

/** A checkpoint that was kept. @public */
export interface RawCheckpoint {
  readonly size: unknown;
  readonly note: unknown;
}

/** A table of documents. `entryId` is hex when it is a blob of any size; `indexes` is what is stored of their names, JSON
 *  text. @public */
export interface RawProjection {
  readonly id: unknown;
  readonly name: unknown;
  readonly version: unknown;
  readonly indexes: unknown;
  readonly status: unknown;
  readonly position: unknown;
  readonly entryId: unknown;
  readonly error: unknown;
}

/** The mark of what is folded. `entryId` is hex when it is a blob of any size; `tables` is what is stored of their ids, JSON
 *  text. @public */
export interface RawFolded {
  readonly position: unknown;
  readonly entryId: unknown;
  readonly tables: unknown;
}

/** A document. `key` and `text` are text, or bytes when what is stored as text is no UTF-8; `indexes` has a blob or NULL for
 *  each index of its table. @public */
export interface RawDocument {
  readonly key: unknown;
  readonly seq: unknown;
  readonly text: unknown;
  readonly indexes: readonly unknown[];
}

/** The rows of what is derived, of the same snapshot. @public */
export interface RawDocumentReads {
  /** All tables, in order of id. */
  projections(): Promise<readonly RawProjection[]>;
  /** Null when there is no mark. */
  folded(): Promise<RawFolded | null>;
  /** Documents of the table of this id, in the order of the UTF-8 bytes of their keys, behind `after`. Rows whose key is no
   *  text are not among them: they are an `E_TYPE`. A table that is not there is an `E_SCHEMA`, and reading it
   *  `STORE_DAMAGED`. */
  documents(table: number, after: string | Uint8Array | null, limit: number): Promise<readonly RawDocument[]>;
}

/** How much a store says of itself. `but-entries`: without a check of the pages of the entries, which takes as long as
 *  reading them; then reading them shows whether they are whole. `schema`: identifiers, tables and triggers alone.
 *  @public */
export type RawProblemPart = "all" | "but-entries" | "schema";

/** Stored rows at one consistent position. Lists come in key order, in pages: pass the last key of the page before.
 *  @public */
export interface RawReader extends RawDocumentReads {
  readonly location: string;
  /** True when a private copy is read because the original cannot be read in place. */
  readonly copied: boolean;
  /** The files read, hashed when the reader was opened. */
  evidence(): Promise<readonly EvidenceFile[]>;
  /** Are the files still those that were opened, of the same size and last changed at the same time? */
  unchanged(): Promise<boolean>;
  /** Identifiers, tables, triggers, storage classes and pages; always first. */
  problems(part?: RawProblemPart): Promise<readonly RawProblem[]>;
  /** How many entry rows there are. */
  entryCount(): Promise<number>;
  entries(after: number | null, limit: number, asBytes?: boolean): Promise<readonly RawEntry[]>;
  streams(after: number | null, limit: number): Promise<readonly RawStream[]>;
  types(): Promise<readonly RawType[]>;
  streamPages(
    after: { readonly stream: number; readonly page: number } | null,
    limit: number,
  ): Promise<readonly RawStreamPage[]>;
  contents(after: number | null, limit: number): Promise<readonly RawContent[]>;
  nodes(after: { readonly level: number; readonly n: number } | null, limit: number): Promise<readonly RawNode[]>;
  checkpoints(after: number | null, limit: number): Promise<readonly RawCheckpoint[]>;
  close(): Promise<void>;
}
