/** The Store port: what the engine needs from a place that keeps journals. Asynchronous, small, and the same for every
 *  adapter; reads take lists. Nothing above it may lean on an adapter being synchronous.
 *  Invariants: positions are dense by construction; one writer at a time, between `begin` and `commit` or `rollback`;
 *  everything in one transaction becomes visible and durable together or not at all. Source: design section 5. */

import type { Claim } from "../kernel/claim.js";
import type { Clock } from "../kernel/clock.js";
import type { DocumentReads, DocumentWrites } from "./documents.js";
import type { RawReader } from "./raw-reader.js";

/** The last entry of a journal and what is kept beside it. @public */
export interface StoreHead {
  readonly seq: number;
  /** 64 hex digits. */
  readonly id: string;
  readonly at: number;
  /** `at` minus the raw clock that the writer saw: how far the journal was ahead of its writer's clock. */
  readonly skew: number;
  /** The number of contents that were ever named. */
  readonly contents: number;
}

/** Where a stream ends. @public */
export interface StreamHead {
  readonly rev: number;
  /** Position of the stream's last entry. */
  readonly seq: number;
}

/** An entry to write: its text and the copies of its fields that the store keeps for finding it. @public */
export interface EntryRow {
  readonly seq: number;
  readonly id: string;
  readonly stream: string;
  readonly rev: number;
  /** Position of the stream's entry before this one; null for the first. */
  readonly before: number | null;
  readonly type: string;
  readonly at: number;
  readonly skew: number;
  readonly entry: string;
}

/** An entry as it is read: `entry` is text, or the raw bytes whenever text alone could hide what is stored (it shows U+FFFD).
 *  @public */
export interface StoredEntry {
  readonly seq: number;
  readonly id: string;
  readonly entry: string | Uint8Array;
}

/** A content to write, or one that is stored. @public */
export interface ContentRow {
  readonly n: number;
  readonly digest: string;
  readonly media: string;
  readonly salt: Uint8Array;
  readonly bytes: Uint8Array;
  /** Plain hash for finding equal contents; null when it is too small or deduplication is off. */
  readonly plain: string | null;
}

/** A stored content; after erasure only number and digest are left, and the position of the erasing event. @public */
export type StoredContent = ContentRow | { readonly n: number; readonly digest: string; readonly erased: number };

/** A content without its bytes: what it takes to name it, whatever its size. @public */
export interface ContentFacts {
  readonly n: number;
  readonly digest: string;
  readonly media: string;
  readonly salt: Uint8Array;
  /** How many bytes it has. */
  readonly size: number;
}

/** The facts of a stored content; after erasure only number and digest are left, and the position of the erasing event. @public */
export type StoredFacts = ContentFacts | { readonly n: number; readonly digest: string; readonly erased: number };

export function factsOf({ n, digest, media, salt, bytes }: ContentRow): ContentFacts {
  return { n, digest, media, salt, size: bytes.length };
}

/** The root of the 256^`level` entries from `n` × 256^`level` on; level 1 and up. Level 0 is the ids. A cache: whoever verifies
 *  computes each of them again. @public */
export interface TreeNode {
  readonly level: number;
  readonly n: number;
  /** 64 hex digits. */
  readonly hash: string;
}

/** A checkpoint that was made: operational, never evidence by itself. @public */
export interface StoredCheckpoint {
  /** Entries that it covers. */
  readonly size: number;
  /** The note, with its signatures. */
  readonly note: string;
}

/** A durable consumer: operational. @public */
export interface ConsumerRow {
  readonly name: string;
  /** The last position that was acknowledged; −1 before the first. */
  readonly position: number;
  /** The id of the entry there; null at −1. */
  readonly id: string | null;
  readonly incarnation: number;
  /** Raised by each claim, kept when it is released. */
  readonly generation: number;
  /** What the claim kernel made of it; null when nobody owns it. */
  readonly claim: Claim | null;
}

/** Reads at one consistent position. Several may be asked at once; they are answered as if one after the other. @public */
export interface StoreReads extends DocumentReads {
  /** The head at that position; null when nothing was ever written. */
  head(): Promise<StoreHead | null>;
  streamHeads(streams: readonly string[]): Promise<readonly (StreamHead | null)[]>;
  /** Entries from a position on, ascending, or descending from it when `reverse`. */
  entries(from: number, limit: number, reverse?: boolean): Promise<readonly StoredEntry[]>;
  entriesAt(positions: readonly number[]): Promise<readonly (StoredEntry | null)[]>;
  /** Ids of entries from a position on, in order, without their texts. */
  ids(from: number, limit: number): Promise<readonly string[]>;
  /** Entries of one stream from a revision on, ascending, or descending from it when `reverse`. */
  streamEntries(stream: string, fromRev: number, limit: number, reverse?: boolean): Promise<readonly StoredEntry[]>;
  /** Contents with their bytes, all of which are held at once: whoever asks minds their sizes. */
  contents(numbers: readonly number[]): Promise<readonly (StoredContent | null)[]>;
  /** What is known of contents; their bytes stay where they are. */
  contentFacts(numbers: readonly number[]): Promise<readonly (StoredFacts | null)[]>;
  /** For each plain hash the content that has it, if any; the bytes stay where they are. */
  contentsByPlain(hashes: readonly string[]): Promise<readonly (ContentFacts | null)[]>;
  /** Hashes of the nodes of a level from number `from` on, in order; level 1 and up. */
  nodes(level: number, from: number, limit: number): Promise<readonly string[]>;
  /** Stored checkpoints, largest first, of at most `sizeMax` entries (null: of any size). */
  checkpoints(sizeMax: number | null, limit: number): Promise<readonly StoredCheckpoint[]>;
  /** All consumers, in the order of the UTF-8 bytes of their names. */
  consumers(): Promise<readonly ConsumerRow[]>;
  consumer(name: string): Promise<ConsumerRow | null>;
}

/** A read snapshot. Release it: a reader that never lets go keeps the store from cleaning up. One that was taken before a
 *  content was erased may still show the content, or show it erased: what is erased is no state that a reader may lean on.
 *  @public */
export interface StoreSnapshot extends StoreReads {
  release(): Promise<void>;
}

/** The one open write transaction. Its reads see what it wrote. @public */
export interface StoreTransaction extends StoreReads, DocumentWrites {
  /** Appends entries, dense from the head on, and puts contents, dense from the head's number on. `nodes` are exactly those
   *  that these entries complete: level by level from 1 up, in order. */
  append(entries: readonly EntryRow[], contents: readonly ContentRow[], nodes: readonly TreeNode[]): Promise<void>;
  /** Empties contents that are stored: only number and digest are left, and the position of the erasing entry, which must be
   *  there. The bytes may stand in the store's files until `scrub`. */
  erase(numbers: readonly number[], position: number): Promise<void>;
  /** Keeps a checkpoint of at most the entries there are; one of the same size is replaced. */
  putCheckpoint(checkpoint: StoredCheckpoint): Promise<void>;
  /** Keeps a consumer; one of the same name is replaced. */
  putConsumer(consumer: ConsumerRow): Promise<void>;
  /** Forgets a consumer; one that is not there is no error. */
  deleteConsumer(name: string): Promise<void>;
  /** Makes it durable. When it throws, the outcome is unknown until the head is read again under a new lock. */
  commit(): Promise<void>;
  /** Undoes it; never throws, so that the first error is the one that is seen. */
  rollback(): Promise<void>;
}

/** A write transaction that was begun without waiting for the lock: on what the one before it leaves, which may be on its way still,
 *  and with nobody else writing. What it reads is so only if `check` or `commit` say so; where it is not, what it was begun on has
 *  failed, or others wrote, they and its reads reject with `STORE_BUSY`, and nothing was written. @public */
export interface AssumedTransaction extends StoreTransaction {
  /** Resolves when everything that it has answered is so. */
  check(): Promise<void>;
}

/** What an operator should know of a store. @public */
export interface StoreHealth {
  /** Which adapter: `memory`, `sqlite`, `postgres`. */
  readonly kind: string;
  /** What an acknowledged append survives: `power loss` or `nothing`. */
  readonly durability: "power loss" | "nothing";
  /** True when a private copy is read because the original cannot be read in place. */
  readonly copied: boolean;
  /** Bytes of erased contents may still stand in its log, or in rows of its server: a reader held them back, the role may not clean
   *  up, or a process was killed in between. Whoever opens it for writing next, and may, takes them out. */
  readonly scrubOwed: boolean;
  /** The write-ahead log; null where there is none. Sizes in bytes. */
  readonly wal: {
    readonly bytes: number;
    readonly capBytes: number;
    readonly overCap: boolean;
    /** A reader held the last checkpoint back, or it failed. */
    readonly checkpointBlocked: boolean;
    readonly lastError: string | null;
  } | null;
}

/** A place that keeps one journal. */
export interface Store {
  readonly kind: string;
  readonly location: string;
  readonly readOnly: boolean;
  /** The time by which all who write to it agree; null: that of the host, which has the store to itself. */
  readonly clock: Clock | null;
  /** Is each read a round trip to another machine? Then many keys are read at once, before the lock is asked for, and `begin` has
   *  head and folded mark come with the lock. */
  readonly remote: boolean;
  /** How long a writer that is gone may still have the lock, in ms. Whoever looks for a commit without an answer, and finds the
   *  lock taken, asks for so long beyond the busy timeout. Absent: no longer. */
  readonly goneHolderMs?: number;
  /** Takes the write lock, waiting for it at most the busy timeout without blocking the event loop. Heads of `streams` will be
   *  asked for: where that is a round trip, they come with the lock.
   *  Errors of `begin`, `append` and `commit` carry what the engine must know in their code: `STORE_BUSY` (lock not had, or
   *  a serialisation failure: decide again), `STORE_UNAVAILABLE` (no answer to be had now), anything else (failed for good). */
  begin(streams?: readonly string[]): Promise<StoreTransaction>;
  /** Begins on an assumption, where that is worth it: the lock is a round trip away, and nobody else has written of late. Null: ask
   *  for the lock. The transaction before it may be one whose `commit` was called and is not answered yet; when that fails, this one
   *  does. Stores on which locks cost little have no such thing. */
  assume?(): AssumedTransaction | null;
  /** A snapshot of what is committed. Where only so many can be had at once, it waits for one of them at most `waitMs`, by default as
   *  long as for the lock, and is refused with `STORE_BUSY` then; with 0 it is had at once or not at all. */
  snapshot(waitMs?: number): Promise<StoreSnapshot>;
  /** Drops connections and caches after a commit that gave no answer; the next `begin` starts afresh. */
  reset(): Promise<void>;
  /** Calls `hint` when somebody, another process too, may have committed up to a position; answers how to hear no more. A hint
   *  may be lost, come late or be wrong: whoever waits asks for the head now and then all the same. A store on which
   *  asking costs little gives none. */
  listen(hint: (position: number) => void): () => void;
  /** Housekeeping between commits, after callers were answered: checkpoints, hints to other processes. Never throws; see
   *  `health`. */
  maintain(): Promise<void>;
  /** After an erasure was committed: takes the erased bytes out of every file of the store, or has its server remove the rows that
   *  held them. Holds up nobody who writes for long. False when a reader, or another process, holds them back, or the role may not;
   *  then it is owed (`health`): `maintain` and `close` try again, and so does whoever opens the store for writing next.
   *  Never throws. */
  scrub(): Promise<boolean>;
  health(): Promise<StoreHealth>;
  /** The stored rows as they are, for the verifier, at one position. */
  raw(): Promise<RawReader>;
  /** Ends it; closing twice is a no-op. */
  close(): Promise<void>;
}

/** The fault seam: called before and after each durable step, with its name. It may throw, or end the process. @public */
export type FaultSeam = (step: DurableStep, moment: "before" | "after") => void;

/** Every step that changes what is on disk, in the order in which an adapter takes them. @public */
export const durableSteps = [
  "create",
  "schema",
  "mode",
  "begin",
  "contents",
  "entries",
  "streams",
  "nodes",
  "erase",
  "projections",
  "documents",
  "operational",
  "commit",
  "scrub",
  "checkpoint",
  "fold",
  "close",
] as const;
/** A step that changes what is on disk. @public */
export type DurableStep = (typeof durableSteps)[number];
