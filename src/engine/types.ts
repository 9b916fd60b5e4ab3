/** The public shapes of the ledger: what goes in, what comes out. */
import type { Fence } from "../kernel/claim.js";
import type { AnyProjection } from "../../projections/define-projection.js";
import type { JsonObject } from "../kernel/canonical.js";
import type { Clock } from "../kernel/clock.js";
import type { FenceMark } from "../journal/entry.js";
import type { CommandDefinition } from "../commands/define-command.js";
import type { EventDefinitions } from "../journal/define-events.js";
import type { StoreHealth } from "../journal/store.js";
import type { ProjectionStatus } from "./projector/status.js";
import type { Redact } from "./redact.js";
import type { TestingSeams } from "./testing-seams.js";

/** How `openLedger` opens. @public */
export interface LedgerOptions {
  /** Open an existing ledger for reading only: nothing is created, changed or migrated. Default false. */
  readonly readOnly?: boolean;
  /** Create the ledger when there is none; `"new"`: refuse one that is there (`STORE_EXISTS`), so that of several openings at
   *  once exactly one gets it. Default true; ignored with `readOnly`. */
  readonly create?: boolean | "new";
  /** The identity of a new journal, `^[a-z0-9][a-z0-9./-]{0,127}$`. Default: `runledger/` and 26 random characters. */
  readonly origin?: string;
  /** The key that signs checkpoints: its text (`PRIVATE+KEY+…`), or the path of a file that holds it, a regular file that its
   *  owner alone can read, neither in the directory of the ledger nor below. Its name is the journal's origin. A new
   *  journal names it in its first entry. A journal that names another key, or none, is opened all the same; then only
   *  `checkpoint` is refused (`KEY_REQUIRED`). */
  readonly key?: string;
  /** A checkpoint that was kept elsewhere, as text. A journal that does not begin with what it covers is refused
   *  (`STORE_ROLLED_BACK`): it was cut, put back from an older copy, or written anew. Signatures are not looked at: what
   *  is given here is believed. */
  readonly expectAtLeast?: string;
  /** Definitions of the areas that this program writes or reads. */
  readonly events?: readonly EventDefinitions[];
  /** The projections that this program keeps and reads; one version of each. */
  readonly projections?: readonly AnyProjection[];
  /** How a table is built that is more than 1,000 events behind: that of a new version, as a rule. `"blocking"` (default): when
   *  it is first used, and whoever reads its projection waits for it. `"background"`: from the opening on, while everything
   *  else goes on; until it is there, reads of the projection and commands that read it are refused with `NOT_READY`, which
   *  leaves no receipt, and `status()` says `rebuilding` and how far it is. Ignored with `readOnly`, which builds nothing. */
  readonly builds?: BuildsMode;
  /** How many documents the writer remembers at most, 0 to 1,000,000. Default 5,000. */
  readonly cacheDocuments?: number;
  /** The commands that this program executes; the areas that they write must be among `events`. */
  readonly commands?: readonly CommandDefinition[];
  /** Refuse areas that nobody defined. Default false. */
  readonly strict?: boolean;
  /** Store equal contents of 1 KiB or more once. Default true. */
  readonly dedupe?: boolean;
  /** The source of time; default: the store's where it has one (PostgreSQL), else that of the host. Where the store has one,
   *  another is refused unless `testing` is given: hosts would disagree. */
  readonly clock?: Clock;
  /** Accept a step of the clock of more than 366 days past the head. Default false (`CLOCK_UNSURE`). */
  readonly acceptClockStep?: boolean;
  /** How long to wait for another writer, in ms. Default 5,000. */
  readonly busyTimeoutMs?: number;
  /** Open a file on a network file system all the same. Default false (`STORE_UNSUPPORTED`); means nothing for PostgreSQL. */
  readonly allowNetworkFilesystem?: boolean;
  /** Hears of commits, stalls and other things worth knowing. Must not throw; what it throws is dropped. */
  readonly onEvent?: (event: Diagnostic) => void;
  /** Sees the data, contents and labels of every append, the input, contents and labels of every command, and the reason of
   *  an erasure, before anything else looks at them, and returns what is to be recorded in their place: the way to keep a
   *  secret out of the ledger for good. What it does not change it must return as it is, content values in data too: what
   *  they hold it is asked for by itself. What it returns is checked like what a caller gave; deduplication, definitions,
   *  commands and errors see nothing else. It must be synchronous and deterministic: the same value has the same answer,
   *  whenever it is asked. When it throws, the call is refused with `REDACTION_FAILED`, which does not say what it threw.
   *  Not shown: streams, types, the names, ids and clients of commands, and the arguments of reads. */
  readonly redact?: Redact;
  /** Seams for tests: randomness, faults, the probe for the kind of file system. */
  readonly testing?: TestingSeams;
}

/** Who waits for a table that is built: whoever reads it, or nobody. @public */
export type BuildsMode = "blocking" | "background";

/** What the `onEvent` hook hears. `committed`: a batch is on disk; `commands` are the calls that wrote in it, `position`
 *  its last entry. `retried`: the store was busy, the batch is decided again. `stalled`: one waited for more than a second
 *  before the write lock was had. `walOverCap`: the write-ahead log is larger than it should be, as a rule because a reader
 *  holds it back. `copied`: a private copy is read, for the original cannot be read in place. `building`: the table of a
 *  projection is brought up before its first use, and is folded up to `position` of `head`; `built`: it has arrived;
 *  `overtaken`: somebody else brought it on from there, and this process goes on where the other one was. `stopped`: a
 *  projection could not fold the event at `position`, and `error` says why. Sizes in bytes, durations in ms. @public */
export type Diagnostic =
  | {
      readonly type: "committed";
      readonly commands: number;
      readonly entries: number;
      readonly position: number;
      readonly durationMs: number;
    }
  | { readonly type: "retried"; readonly commands: number; readonly cause: unknown }
  | { readonly type: "stalled"; readonly waitedMs: number; readonly commands: number }
  | {
      readonly type: "walOverCap";
      readonly bytes: number;
      readonly capBytes: number;
      readonly checkpointBlocked: boolean;
    }
  | { readonly type: "copied"; readonly location: string }
  | {
      readonly type: "building";
      readonly projection: string;
      readonly version: number;
      readonly position: number;
      readonly head: number;
    }
  | {
      readonly type: "built" | "overtaken";
      readonly projection: string;
      readonly version: number;
      readonly position: number;
    }
  | {
      readonly type: "stopped";
      readonly projection: string;
      readonly version: number;
      readonly position: number;
      readonly error: Error;
    };

/** An event to append. @public */
export interface NewEvent {
  /** `area.pastTense`. */
  readonly type: string;
  /** The facts: a JSON object. What is marked with `content()` is stored beside the journal. Default `{}`. */
  readonly data?: object;
}

/** The state in which a stream must be for an append to be accepted: its revision; `"none"`: it has no events;
 *  `"exists"`: it has some; `"any"`; or the id of its last event, the only form that survives a restore. @public */
export type Expected = number | "none" | "exists" | "any" | (string & {});

/** Names an event: where it is and what it is. @public */
export interface EventReference {
  readonly position: number;
  readonly id: string;
}

/** What may be said of an append, for all its events. @public */
export interface AppendLabels {
  /** Writes under a claim: refused with `FENCED` unless it is live and the caller's, checked in the same commit. */
  readonly fence?: Fence;
  /** Who did it: an opaque label of 1 to 128 units. */
  readonly actor?: string;
  /** The event of an earlier append that caused this one: an event as it was read, or its position and id. */
  readonly cause?: EventReference;
  /** A key by which this work is correlated. */
  readonly correlation?: string;
  /** At most 16 strings, 2 KiB in all: traceparent, tenant, tags. Reducers never see it. */
  readonly meta?: Readonly<Record<string, string>>;
}

/** A stream that is checked and not written. @public */
export interface StreamRequirement {
  readonly stream: string;
  readonly expected: Expected;
}

/** Under which conditions to append, and what is said of it. @public */
export interface AppendOptions extends AppendLabels {
  /** Default `"any"`. */
  readonly expected?: Expected;
  /** Streams that must be as said, checked in the same commit. */
  readonly require?: readonly StreamRequirement[];
  /** Gives the append up while it still waits in the queue (`ABORTED`). */
  readonly signal?: AbortSignal;
}

/** One stream's part of an append over several. @public */
export interface StreamAppend {
  readonly stream: string;
  readonly events: readonly NewEvent[];
  readonly expected?: Expected;
}

/** What an acknowledged append became. It is on disk. @public */
export interface AppendResult {
  /** Position of its first entry. */
  readonly first: number;
  /** Position of its last entry. */
  readonly position: number;
  /** The number of entries, those that the engine added to it included. */
  readonly count: number;
  /** Engine time of all of them, ms since the epoch. */
  readonly at: number;
  /** The ids of the appended events, in the order given. */
  readonly ids: readonly string[];
  /** The revision of the first named stream after the append. */
  readonly revision: number;
  /** Each written stream with its revision after the append. */
  readonly streams: readonly { readonly stream: string; readonly revision: number }[];
}

/** How contents are erased, or with `dryRun: true` what would be. @public */
export interface EraseOptions {
  /** Why: 1 to 200 units without control characters. It is a fact of the journal and not erasable. */
  readonly reason: string;
  /** Erase contents that events of several streams name, for all of them. Default false (`CONTENT_SHARED`). */
  readonly shared?: boolean;
  /** Who does it: an opaque label of 1 to 128 units. */
  readonly actor?: string;
  /** Gives it up while it looks for the events that name the contents, or waits in the queue (`ABORTED`). */
  readonly signal?: AbortSignal;
}

/** An event that names a content. @public */
export interface NamingEntry extends EventReference {
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
}

/** A content that is to be erased, or was. @public */
export interface ErasedContent {
  readonly digest: string;
  /** Its number in the journal. */
  readonly n: number;
  readonly media: string;
  /** The number of its bytes. */
  readonly bytes: number;
  /** Every event that names it, in order. They stay as they are. */
  readonly entries: readonly NamingEntry[];
}

/** What an erasure does. @public */
export interface ErasurePlan {
  readonly reason: string;
  readonly contents: readonly ErasedContent[];
  /** What goes with them: the salts of the fingerprints of receipts (`receipt.recorded`) whose tx name one of them. From then
   *  on the id of such a command is adopted by itself, whatever it is sent with. */
  readonly salts: readonly ErasedContent[];
  /** Where copies may live that no erasure reaches, in words. */
  readonly elsewhere: readonly string[];
}

/** What an erasure did. It is on disk. @public */
export interface Erasure extends ErasurePlan {
  /** Position of the event that says so; where one has no room for all the salts, others stand right behind it. */
  readonly position: number;
  readonly id: string;
  /** Engine time, ms since the epoch. */
  readonly at: number;
  /** Are the bytes out of the store's files, or, on a server, out of its tables? A server frees the place where they were, and
   *  writes over it when it needs it; that its disk forgets them nobody promises. False while a reader, or another process, holds
   *  them back, and where the role may not clean up; then the store tries again between commits, when it is closed and when it is
   *  opened, and `status` says that it is owed. On a large table of a server it takes a while: appends go on meanwhile. */
  readonly scrubbed: boolean;
}

/** An event as it is read. @public */
export interface LedgerEvent {
  readonly position: number;
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  /** Schema version of `data` as it is shown here, after upcasting. */
  readonly version: number;
  readonly data: JsonObject;
  /** Engine time, ms since the epoch. */
  readonly at: number;
  /** The append it belongs to. */
  readonly tx: { readonly first: number; readonly count: number };
  /** Who did it, as its writer said. */
  readonly actor?: string;
  /** Id of the command that it came from. */
  readonly command?: string;
  /** Id of the event of an earlier append that caused it. */
  readonly cause?: string;
  readonly correlation?: string;
  /** The claim under which it was written. */
  readonly fence?: FenceMark;
  readonly meta?: Readonly<Record<string, string>>;
}

/** Which part of the journal to read. @public */
export interface ReadOptions {
  /** First position to read. Default 0, or the head when reading backward. */
  readonly from?: number;
  /** `"forward"` (default) or `"backward"`. */
  readonly direction?: "forward" | "backward";
  /** At most so many events. Default: all. */
  readonly limit?: number;
  readonly streams?: readonly string[];
  readonly kinds?: readonly string[];
  readonly types?: readonly string[];
  readonly unknown?: UnknownEvents;
  readonly signal?: AbortSignal;
}

/** What a reader does with an event whose type this program did not define, or that is newer than its definition (the
 *  journal's own events, such as `journal.opened` and `receipt.recorded`, need no definition):
 *  `"accept"` (default) shows it as stored, `"ignore"` leaves it out, `"error"` refuses with `SCHEMA_UNKNOWN`;
 *  a function may return another event in its place, or null to leave it out. @public */
export type UnknownEvents = "accept" | "ignore" | "error" | ((event: LedgerEvent) => LedgerEvent | null);

/** Which part of one stream to read. @public */
export interface ReadStreamOptions {
  /** First revision to read. Default 1, or the last when reading backward. */
  readonly from?: number;
  readonly direction?: "forward" | "backward";
  readonly limit?: number;
  readonly unknown?: UnknownEvents;
  readonly signal?: AbortSignal;
}

/** What to follow, and how. @public */
export interface SubscribeOptions {
  /** The first position to hand out; `"start"` (default) is 0, `"head"` what comes after the journal's last event at the
   *  first `next()`. A position beyond the next one to be written is refused. A consumer that is known goes on from where
   *  it was instead, unless `reset` is given. */
  readonly from?: number | "head" | "start";
  /** The name of a durable consumer, made with its first use: a letter, then letters, digits, `_`, `.` or `-`. Asking for
   *  the next batch acknowledges the last one, on disk before anything else is read; what was handed out and not
   *  acknowledged comes again, to whoever comes next. One owner at a time: `OWNER_ACTIVE` tells the others who and until
   *  when. Needs a ledger that is open for writing (`READ_ONLY`). */
  readonly consumer?: string;
  /** How long others wait for the name when its owner dies, 1 ms to 24 h. Default 30,000. It is renewed at half of that while
   *  the owner lives; an owner that was held up for longer has lost it (`FENCED`) and must not go on. */
  readonly leaseMs?: number;
  /** Begin anew at `from`, whatever was acknowledged: the way on when the journal no longer is what the consumer has read
   *  (`FENCED`), after a restore for one. */
  readonly reset?: boolean;
  /** Filters; all that are given must agree. When none is given, the journal's own events, receipts
   *  (`receipt.recorded`) and refusals (`fence.refused`) are left out. */
  readonly streams?: readonly string[];
  readonly kinds?: readonly string[];
  readonly types?: readonly string[];
  /** At most so many events at once, 1 to 10,000. Default 100. A batch also ends with about 4 MiB of entries. */
  readonly batch?: number;
  readonly unknown?: UnknownEvents;
  /** Ends it: the `next()` that waits, or the one after, throws `ABORTED`. The batch in hand is not acknowledged, and a
   *  consumer's name is free when that `next()` has settled. */
  readonly signal?: AbortSignal;
}

/** What a subscription hands out at once. @public */
export interface SubscriptionBatch {
  /** In order; empty at most once, in the first batch that has caught up. */
  readonly entries: readonly LedgerEvent[];
  /** The last position that is dealt with, filtered ones too; −1 before the first. Going on from here: `position + 1`. */
  readonly position: number;
  /** Was there nothing behind it when it was read? */
  readonly caughtUp: boolean;
}

/** Batches to iterate over, without an end of their own: `break`, `return()`, the signal or closing the ledger (`CLOSED`) end
 *  it, and so does every error. Nothing is done before the first `next()`, and nothing is read ahead: what `next()` was not
 *  called for is still in the store. A `next()` that waits keeps the process alive, and nothing else does. @public */
export interface Subscription extends AsyncIterableIterator<SubscriptionBatch, undefined> {
  next(): Promise<IteratorResult<SubscriptionBatch, undefined>>;
  /** Ends it and lets go of everything, also while a `next()` waits, which is then done. The batch in hand is not
   *  acknowledged. */
  return(): Promise<IteratorResult<SubscriptionBatch, undefined>>;
  [Symbol.asyncIterator](): Subscription;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A durable consumer, and who owns it. @public */
export interface ConsumerStatus {
  readonly name: string;
  /** The last position that was acknowledged; −1 before the first. */
  readonly position: number;
  /** The number of entries behind it, those that its filter will leave out included. */
  readonly lag: number;
  /** Who claimed it last and did not give it back; null when nobody. */
  readonly holder: string | null;
  /** When that claim expires, or did, in ms since the epoch of engine time. */
  readonly expiresAt: number | null;
}

/** How a ledger is. @public */
export interface LedgerStatus {
  readonly origin: string;
  readonly format: number;
  readonly incarnation: number;
  /** The number of entries. */
  readonly size: number;
  /** The last entry. */
  readonly head: { readonly position: number; readonly id: string; readonly at: number };
  /** The number of contents that were ever named. */
  readonly contents: number;
  /** The time of the ledger: that of its clock, and never before the last entry. Leases end by it. */
  readonly now: number;
  /** By how many ms the journal's time is ahead of the clock; 0 when it is not. */
  readonly clockAheadMs: number;
  readonly readOnly: boolean;
  readonly location: string;
  readonly queue: { readonly commands: number; readonly bytes: number };
  /** The durable consumers, in the order of their names. */
  readonly consumers: readonly ConsumerStatus[];
  /** The projections of this program, built-in ones too, then those that only the store has. */
  readonly projections: readonly ProjectionStatus[];
  readonly store: StoreHealth;
}
