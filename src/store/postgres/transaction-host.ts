import type { FaultSeam, StoreHead } from "../../journal/store.js";
import type { StreamCache } from "../stream-cache.js";
import type { Connection } from "./connection.js";
import type { Undone } from "./outbox.js";
import type { Ground, Journal, StreamRow } from "./reads.js";
import type { Opening } from "./standing.js";

/** What a transaction needs of the writer that began it. */
export interface TransactionHost {
  readonly journal: Journal;
  readonly connection: Connection;
  readonly cache: StreamCache;
  readonly faults: FaultSeam | undefined;
  /** Makes the statements that begin the transaction, where it was assumed (decision 0030); null where it waited for the lock and has it. */
  readonly opening: Opening | null;
  /** The statements that begin the transaction were sent at `askedAt`, and have answered these rows. */
  opened(rows: readonly (readonly unknown[])[], askedAt: number): void;
  /** Did something fail in this process, such as the batch before, since the transaction was assumed? Then its ground is not what the
   *  journal will be and its guard would fail; known without asking the server. Never of one that waited for the lock. */
  isVoid(): boolean;
  /** May a transaction whose guard was not sent yet take streams of which nothing is known for new? */
  takesForNew(): boolean;
  /** A stream that was taken for new was there. */
  wasThere(): void;
  /** Reads streams as they are committed, on a second connection; null where its answer cannot be used. */
  aside(names: readonly string[]): Promise<ReadonlyMap<string, StreamRow> | null>;
  /** The COMMIT is on its way; if it succeeds the journal will be this ground. Gives this process's lock back, so that the next
   *  transaction may be assumed on it. */
  sent(ground: Ground, committing: Promise<unknown>): void;
  /** The commit was acknowledged, with this head. */
  committed(head: StoreHead | null): void;
  /** The COMMIT was sent and did not succeed, as far as is known: everything remembered is dropped. `isDoubtful`: the connection broke
   *  before the server said that the transaction has the lock, so it may still arrive and commit behind a look-up that did not find it;
   *  the writer takes a turn before that look-up, and what arrives later fails. */
  lost(isDoubtful: boolean): void;
  /** Undoes a transaction whose COMMIT was not sent, and gives the lock back; never throws. */
  undo(what: Undone): Promise<void>;
}
