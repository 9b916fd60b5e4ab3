/** The documents of one batch, as its appends and commands see and change them: between the writer, which decides, and the
 *  projector, which keeps tables. Source: decision 0018. */
import type { FindQuery, FoundDocuments, Projection } from "../../projections/define-projection.js";
import type { ProjectionEvent } from "../../projections/event.js";
import type { StoreHead, StoreReads, StoreTransaction } from "../journal/store.js";
import type { ForeseenDocuments, Glimpse } from "./foreseen.js";
import type { WrittenSince } from "./written-since.js";

/** What documents are brought on by. */
export interface DocumentsStart {
  readonly head: StoreHead | null;
  /** What others wrote since the writer last looked; null: nothing, or nobody can tell. */
  readonly since: WrittenSince | null;
  /** What is to be read in lists; null where that is no gain. */
  readonly foreseen: ForeseenDocuments | null;
}

/** Where the writer gets the documents of its batches. */
export interface Documents {
  /** Is there something that would have to be dropped unless it is known what others wrote? */
  readonly remembers: boolean;
  /** Under the lock, at the start of a batch: what others wrote since is folded into the tables that follow. */
  begin(transaction: StoreTransaction, start: DocumentsStart): Promise<BatchDocuments> | BatchDocuments;
  /** Before the lock: brings what is remembered on to the head of a snapshot. What is fetched then is remembered once it is
   *  adopted; null where that would need a write. */
  beginAhead(reads: StoreReads, start: DocumentsStart): Promise<ReadDocuments | null>;
  /** After a commit that failed or gave no answer: everything that is remembered is dropped. */
  forget(): void;
}

/** What is read of documents. */
export type ReadDocuments = Pick<BatchDocuments, "glimpse" | "fetch" | "adopt">;

/** What a batch does to documents. One tx at a time. */
export interface BatchDocuments {
  /** What is known of documents now, for what is foreseen. */
  readonly glimpse: Glimpse;
  /** Reads in lists what is foreseen and not known; undefined when that is nothing. */
  fetch(foreseen: ForeseenDocuments): Promise<void> | undefined;
  /** Is there something to be written even if the batch has no entries: what others wrote was folded, a table was made? */
  readonly pending: boolean;
  /** Is there a table that an event of this type concerns? */
  concerns(type: string): boolean;
  /** Opens the changes of one tx; those of one that was opened before and not kept are dropped. */
  open(): TxDocuments;
  /** Writes into the transaction what is not there yet: documents, tables that stopped, the mark of what is folded. Called
   *  once, behind the append of the batch's entries and before the commit, with the last entry, or the head when the
   *  batch has none. Undefined when there is nothing to be written. */
  write(transaction: StoreTransaction, last: { readonly seq: number; readonly id: string }): Promise<void> | undefined;
  /** Do all tables stand as they did before? Called behind `write`. */
  readonly isSteady: boolean;
  /** The next batch goes on from it: it is on disk; or on its way, and should it fail everything is forgotten; or it had no entries,
   *  and nothing was pending. */
  adopt(): void;
  /** It was adopted, and is on disk. */
  settle(): void;
}

/** The documents as one tx sees them: what is stored, what the batch changed, what it changed itself. What these throw or
 *  reject with is a failure of the store, but for what is said at `get` and `find`. */
export interface TxDocuments {
  /** The document of a key, frozen; null when there is none; a promise when it has to be read. A `LedgerError` of the codes
   *  `PROJECTION_FAILED`, `NOT_READY` or `SCHEMA_UNKNOWN` refuses the command and nobody else. */
  get<Document extends object>(
    projection: Projection<Document>,
    key: string,
  ): Promise<Document | null> | Document | null;
  /** What a query finds; refuses as `get` does, and with `INVALID_ARGUMENT` what no index serves. */
  find<Document extends object>(
    projection: Projection<Document>,
    query: FindQuery,
  ): Promise<FoundDocuments<Document>> | FoundDocuments<Document>;
  /** Folds events, in order, into every table that follows; undefined when nothing had to be read. A reducer that fails stops
   *  its table, and nothing else; a stored document that is damaged refuses the tx, and nobody else. */
  fold(events: readonly ProjectionEvent[]): Promise<void> | undefined;
  /** The tx was sealed: what it changed is the batch's. */
  keep(): void;
}
