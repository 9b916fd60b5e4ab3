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
  /** What begins it where that was not sent yet: it was assumed that nobody else writes. Null: it holds the lock. */
  readonly opening: Opening | null;
  /** What the statements that begin it have answered. */
  opened(rows: readonly (readonly unknown[])[], askedAt: number): void;
  /** Did what it was assumed on turn out to be void? */
  isVoid(): boolean;
  /** May streams of which nothing is known be taken for new, until it is begun? */
  takesForNew(): boolean;
  /** One of them was there. */
  wasThere(): void;
  /** Streams as they are committed, asked on another connection; null where that tells nothing. */
  aside(names: readonly string[]): Promise<ReadonlyMap<string, StreamRow> | null>;
  /** Its COMMIT is on its way, and leaves this; gives the lock back. */
  sent(ground: Ground, committing: Promise<unknown>): void;
  /** It was committed. */
  committed(head: StoreHead | null): void;
  /** It was not, or nobody knows. `isDoubtful`: it may still be, after it is looked for. */
  lost(isDoubtful: boolean): void;
  /** Undoes it and gives the lock back; never throws. */
  undo(what: Undone): Promise<void>;
}
