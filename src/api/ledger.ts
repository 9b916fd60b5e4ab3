import { invalid } from "../kernel/errors.js";
import type { DocumentRead, FoundDocuments, Projection, QueryRead } from "../../projections/define-projection.js";
import { verifyWorkersMax } from "../kernel/limits.js";
import { checkMembers, isList, parseInteger } from "../kernel/members.js";
import type { Content, ContentReference } from "../journal/content.js";
import { clientDefault } from "../journal/events/receipt.js";
import type { Command } from "../commands/define-command.js";
import { closed } from "../engine/closed.js";
import type { ExecuteListResult, ExecuteOptions, ExecuteResult } from "../engine/execution.js";
import type { CheckpointListOptions, CheckpointOptions, LedgerCheckpoint } from "../engine/checkpoints.js";
import type { Engine } from "../engine/engine.js";
import type { LedgerConsistencyProof, LedgerInclusionProof, ProveOptions } from "../engine/proofs.js";
import type { ProjectionReader } from "../engine/projector/reads.js";
import type { Reading } from "../engine/reading.js";
import type { Receipt } from "../engine/receipts.js";
import type {
  AppendOptions,
  AppendResult,
  EraseOptions,
  Erasure,
  ErasurePlan,
  LedgerStatus,
  NewEvent,
  ReadOptions,
  ReadStreamOptions,
  StreamAppend,
  SubscribeOptions,
  Subscription,
} from "../engine/types.js";
import { verifyOptionNames } from "../forensic/options.js";
import { verify } from "../forensic/verify.js";
import { DocumentWaits } from "./wait-for.js";
import type { WaitForOptions } from "./wait-for.js";
import { LedgerWorker } from "./worker.js";
import { parseWorkerOptions } from "./worker-options.js";
import type { WorkerOptions } from "./worker-options.js";
import { PastLedger } from "./past-ledger.js";
import { Attempts } from "./attempts.js";
import { Definitions } from "./definitions.js";
import { Queue } from "./queue.js";
import { Runs } from "./runs.js";
import { Sessions } from "./sessions.js";
import type { StartRangeWorkers } from "../forensic/ranges.js";
import type { VerifyOptions, VerifyReport } from "../forensic/verify.js";

/** As `verify` of `runledger/forensic`, with threads by their number, and with the definitions that the ledger was opened
 *  with. @public */
export interface LedgerVerifyOptions extends Omit<VerifyOptions, "workers" | "projections" | "events"> {
  /** How many threads check entries, this one included, 1 to 64; the report is the same. Others are started for a journal of
   *  200,000 entries and more. Default 1: everything is done here. */
  readonly workers?: number;
}

const ownVerifyOptionNames = verifyOptionNames.filter((name) => name !== "projections" && name !== "events");

/** An open ledger: append, read, verify. Made by `openLedger`. @public */
export class Ledger {
  /** The run queue: who works on which run. */
  readonly queue: Queue;
  /** Captures: what runs and their attempts had to say while they ran. */
  readonly sessions: Sessions;
  /** The runs: what is to be done, and how it stands. */
  readonly runs: Runs;
  /** The attempts of runs. */
  readonly attempts: Attempts;
  /** What runs follow. */
  readonly definitions: Definitions;
  private readonly engine: Engine;
  private readonly waits: DocumentWaits;
  private readonly workers = new Set<LedgerWorker>();
  private closing: Promise<void> | null = null;
  private readonly startWorkers: ((count: number) => StartRangeWorkers) | null;

  /** `startWorkers`: null where no thread can read what is stored. @internal */
  constructor(engine: Engine, startWorkers: ((count: number) => StartRangeWorkers) | null) {
    this.engine = engine;
    this.queue = new Queue(engine);
    this.sessions = new Sessions(engine);
    this.runs = new Runs(engine);
    this.attempts = new Attempts(engine);
    this.definitions = new Definitions(engine);
    this.waits = new DocumentWaits(engine);
    this.startWorkers = startWorkers;
  }

  /** The identity of the journal, from its first entry. */
  get origin(): string {
    return this.engine.origin;
  }

  /** Appends events to one stream, or to several at once, atomically. Resolves when they are durable; many appends share
   *  one commit. Refusals: `INVALID_ARGUMENT` and `LIMIT_EXCEEDED` (with the path), `REVISION_CONFLICT` (a stream is not
   *  as `expected` or `require` say), `OVERLOADED`, `CLOCK_UNSURE`, `SCHEMA_UNKNOWN` (an area that this program does not
   *  know), `CONTENT_ERASED` and `CONTENT_MISSING` (a reference to a content that is not there), `REDACTION_FAILED`,
   *  `READ_ONLY`, `CLOSED`, `ABORTED`; failures of the store: `STORE_…`, `RESOURCES_EXHAUSTED`. After any of them nothing was
   *  written, but for `STORE_IN_DOUBT`, after which all of it may have been. */
  append(stream: string, events: readonly NewEvent[], options?: AppendOptions): Promise<AppendResult>;
  append(appends: readonly StreamAppend[], options?: Omit<AppendOptions, "expected">): Promise<AppendResult>;
  async append(
    target: string | readonly StreamAppend[],
    eventsOrOptions?: readonly NewEvent[] | Omit<AppendOptions, "expected">,
    options: AppendOptions = {},
  ): Promise<AppendResult> {
    if (isList(target))
      return this.engine.append(target, eventsOrOptions === undefined ? {} : (eventsOrOptions as AppendOptions));
    if (typeof target !== "string") throw invalid("append", "a stream or a list of appends", target);
    return this.engine.append([{ stream: target, events: eventsOrOptions as readonly NewEvent[] }], options);
  }

  /** Executes a command, or a list of them as one: all or nothing, the later ones see what the earlier ones did. Resolves when
   *  it is durable; many callers share one commit. What a command refuses is thrown as a `LedgerError` with its code and
   *  details (for a list, with the `index` of the command); what its code throws is thrown as it is; neither leaves anything
   *  behind, nor touches anybody else in the commit.
   *
   *  With an `id` it is carried out once: sent again by the same `client`, the same command is answered what it was answered
   *  first, refusals too, marked `adopted`, and nothing is written. `IDEMPOTENCY_CONFLICT`: the id came with another command
   *  or another input.
   *
   *  Refusals of the engine are those of `append`, and `PROJECTION_FAILED` and `NOT_READY` (a projection that it reads). */
  execute<Wish extends Command>(
    command: Wish,
    options?: ExecuteOptions,
  ): Promise<ExecuteResult<Wish extends Command<infer Result> ? Result : never>>;
  execute<const Results extends readonly unknown[]>(
    commands: { readonly [Index in keyof Results]: Command<Results[Index]> },
    options?: ExecuteOptions,
  ): Promise<ExecuteListResult<Results>>;
  async execute(
    wishes: Command | readonly Command[],
    options: ExecuteOptions = {},
  ): Promise<ExecuteResult | ExecuteListResult> {
    const answer = await this.engine.execute(wishes, options);
    if (isList(wishes)) return answer;
    const { results, fingerprint, first, position, count, at, ids, revision, streams, adopted } = answer;
    const said = { result: results[0], first, position, count, at, ids, revision, streams, adopted };
    return fingerprint === undefined ? said : { ...said, fingerprint };
  }

  /** What became of the command, or the list, that carried an id; null when there is no receipt of it: it was never sent, not
   *  answered yet, or refused for the moment. It is kept as long as the journal. On a ledger that is open read-only,
   *  `NOT_READY` when nobody has read or sent an id there since the last receipts; with `builds: "background"`, until the
   *  table of receipts is built. */
  async receipt(id: string, client: string = clientDefault): Promise<Receipt | null> {
    return this.engine.receipt(id, client);
  }

  /** The events of the whole journal in order, or what the filters let through, up to the head at the time it starts. */
  read(options: ReadOptions = {}): Reading {
    return this.engine.read(options);
  }

  /** The events of one stream in order, up to its last at the time it starts; none when the stream does not exist. */
  readStream(stream: string, options: ReadStreamOptions = {}): Reading {
    return this.engine.readStream(stream, options);
  }

  /** Follows the journal: what is there from `from` on, then what comes, also from other processes, in batches that are
   *  pulled. `for await (const { entries } of ledger.subscribe({ from: "start" })) …` goes on until it is left. An aborted
   *  signal throws `ABORTED`, a closed ledger `CLOSED`; an event that is not as it was written `STORE_DAMAGED`, an older
   *  ledger in the place of this one `STORE_ROLLED_BACK`. Works on a ledger that is open for reading only.
   *
   *  With `consumer` its place is kept in the ledger, under a claim: `OWNER_ACTIVE` while somebody else has the name,
   *  `FENCED` when the claim was lost or the journal is no longer what the consumer has read; the details say why. */
  subscribe(options: SubscribeOptions = {}): Subscription {
    return this.engine.subscribe(options);
  }

  /** Forgets a durable consumer and its place, so that its name is new again. `OWNER_ACTIVE` while somebody owns it,
   *  `NOT_FOUND` when there is none, `READ_ONLY`. */
  forgetConsumer(name: string): Promise<void> {
    return this.engine.forgetConsumer(name);
  }

  /** The documents of a projection, by its definition or its name. `INVALID_ARGUMENT`: one that the ledger was not opened
   *  with. */
  projection<Document extends object>(projection: Projection<Document>): ProjectionReader<Document>;
  projection(name: string): ProjectionReader<object>;
  projection<Document extends object>(projection: Projection<Document> | string): ProjectionReader<Document> {
    return this.engine.projection(projection);
  }

  /** The ledger as it was: behind the event at a position, or behind the last one that is not later than a time. Works on a
   *  ledger that is open read-only, too. `NOT_FOUND`: there is no such event yet, or the time is before the first;
   *  `INVALID_ARGUMENT`: neither a position nor a valid date. */
  async at(when: number | Date): Promise<PastLedger> {
    return new PastLedger(await this.engine.at(when));
  }

  /** A content by the reference that an event holds. `CONTENT_ERASED`: it was erased, by the event named in the details.
   *  `CONTENT_MISSING`: this journal does not have it. `STORE_DAMAGED`: the bytes are not those that were written. */
  async content(reference: ContentReference): Promise<Content> {
    return this.engine.content(reference);
  }

  /** Erases contents: their bytes, media types and salts go, for good, in one commit with an event that says so and why. The
   *  events that name them, their ids and everything that is derived from events stay as they are, and `verify` says who
   *  authorised it. All of them are erased, or none. With `dryRun` nothing is written, on a ledger that is open read-only
   *  too, and the same refusals come. Finding the events that name a content reads the whole journal; appends go on.
   *  Refusals: `NOT_FOUND` (no event names the digest), `CONTENT_ERASED` (by the event in the details), `CONTENT_SHARED`
   *  (events of several streams name it, and `shared` is not set), `CONTENT_MISSING` (an event names it and the store does
   *  not have it), `INVALID_ARGUMENT`, `LIMIT_EXCEEDED` (more than 500 contents), `READ_ONLY`, `ABORTED`, `OVERLOADED`,
   *  `CLOSED`; failures of the store as with `append`. Copies that were made elsewhere are not reached: see `elsewhere`. */
  erase(digests: readonly string[], options: EraseOptions & { readonly dryRun?: false }): Promise<Erasure>;
  erase(digests: readonly string[], options: EraseOptions & { readonly dryRun: true }): Promise<ErasurePlan>;
  erase(
    digests: readonly string[],
    options: EraseOptions & { readonly dryRun?: boolean },
  ): Promise<ErasurePlan | Erasure>;
  erase(
    digests: readonly string[],
    options: EraseOptions & { readonly dryRun?: boolean },
  ): Promise<ErasurePlan | Erasure> {
    return this.engine.erase(digests, options);
  }

  /** How the ledger is: its identity, its head, its clock, its queue, its store. */
  async status(): Promise<LedgerStatus> {
    return this.engine.status();
  }

  /** What the journal is now, or was when it had `size` entries, in three lines that others can keep: C2SP `tlog-checkpoint`,
   *  signed when the journal has a key (`openLedger`, `key`). The same size again gives the same note. A ledger that is
   *  open for writing keeps it as well, which anchors nothing: whoever can write the file can take it away. It takes
   *  milliseconds at a million events, and believes the stored tree, which `verify` computes again.
   *  `KEY_REQUIRED`: the key that must sign was not given, or not both after a change that was interrupted. Nothing is signed that
   *  contradicts a checkpoint that was kept: `STORE_DAMAGED` when its root is another, `STORE_ROLLED_BACK` when it covers
   *  more events than there are. */
  async checkpoint(options: CheckpointOptions = {}): Promise<LedgerCheckpoint> {
    return this.engine.checkpoint(options);
  }

  /** The checkpoints that were kept, the largest first. They are not evidence by themselves, and losing them costs nothing
   *  else. */
  async checkpoints(options: CheckpointListOptions = {}): Promise<readonly LedgerCheckpoint[]> {
    return this.engine.listCheckpoints(options);
  }

  /** Lets another key sign from here on: appends `journal.keyChanged` and makes the checkpoint that both keys sign, in a
   *  journal that had none the new one alone. `newKey` is given as `key` is to `openLedger`; the key until now must be the one that the
   *  ledger was opened with (`KEY_REQUIRED`, and nothing is appended). When it is interrupted between the two, no
   *  checkpoint is made until it is called again, with the same keys. */
  async changeKey(newKey: string): Promise<LedgerCheckpoint> {
    return this.engine.changeKey(newKey);
  }

  /** The proof that the event at a position is in the journal; `verifyInclusion` checks it, and needs no ledger.
   *  `NOT_FOUND`: there is no such event; `INVALID_ARGUMENT`: a size that does not cover it, or beyond the journal. */
  async prove(position: number, options: ProveOptions = {}): Promise<LedgerInclusionProof> {
    return this.engine.prove(position, options);
  }

  /** The proof that the journal of `to` entries begins with that of `from`: that nothing was changed or taken away in
   *  between. By default `to` is the largest checkpoint that was kept, when it covers more than `from`, else all there are.
   *  `verifyConsistency` checks it. `INVALID_ARGUMENT`: sizes that are not in order, or beyond the journal. */
  async consistency(from: number, to?: number): Promise<LedgerConsistencyProof> {
    return this.engine.consistency(from, to);
  }

  /** Checks what is stored, by the code that `runledger verify` uses. Reads one snapshot; writers go on. Level `deep` folds
   *  all events with the projections that the ledger was opened with, twice, and holds their documents twice in memory. */
  async verify(options: LedgerVerifyOptions = {}): Promise<VerifyReport> {
    checkMembers(options, "options", ownVerifyOptionNames);
    const { workers: count, ...others } = options;
    if (count !== undefined) parseInteger(count, "options.workers", 1, verifyWorkersMax);
    const workers = count === undefined ? undefined : this.startWorkers?.(count);
    const reader = await this.engine.raw();
    try {
      // The files of an open ledger change with the next append: their hashes are worth their time only to who asks.
      return await verify(reader, {
        evidence: false,
        ...others,
        ...this.engine.definitions,
        ...(workers && { workers }),
      });
    } finally {
      await reader.close();
    }
  }

  /** Waits until a document, or what a query finds, is as it is wanted, whichever process writes it: resolves with the first that
   *  the predicate holds for, as of some position not older than the call. `waitFor(orders.get("7"), (order) => order !== null)`.
   *  The predicate is asked again when the journal has gone on, not for each event. Works on a ledger that is open read-only. A
   *  store that is busy or away for a moment is asked again. What the predicate throws is thrown. Refusals: `ABORTED`,
   *  `CLOSED` (the ledger was closed meanwhile), `NOT_READY` (`timeoutMs` is over, or the table cannot be read here),
   *  `INVALID_ARGUMENT`, and those of reading documents. */
  waitFor<Document extends object, Wanted extends Document | null>(
    read: DocumentRead<Document>,
    predicate: (document: Document | null) => document is Wanted,
    options?: WaitForOptions,
  ): Promise<Wanted>;
  waitFor<Document extends object>(
    read: DocumentRead<Document>,
    predicate: (document: Document | null) => boolean,
    options?: WaitForOptions,
  ): Promise<Document | null>;
  waitFor<Document extends object>(
    read: QueryRead<Document>,
    predicate: (found: FoundDocuments<Document>) => boolean,
    options?: WaitForOptions,
  ): Promise<FoundDocuments<Document>>;
  async waitFor<Document extends object>(
    read: DocumentRead<Document> | QueryRead<Document>,
    predicate: (found: never) => boolean,
    options: WaitForOptions = {},
  ): Promise<Document | null | FoundDocuments<Document>> {
    return this.waits.for(read, predicate, options);
  }

  /** Works on the run queue: claims items, calls `handle`, renews their claims while it runs, and settles them by how it ended, until it
   *  is stopped. No failure ends it; `onError` hears of each. Refusals: `INVALID_ARGUMENT` and `LIMIT_EXCEEDED` (an option),
   *  `READ_ONLY`, `CLOSED`. */
  worker(options: WorkerOptions): LedgerWorker {
    const plan = parseWorkerOptions(options, this.engine.options.holder);
    this.engine.checkWritable();
    if (this.closing !== null) throw closed();
    const worker = new LedgerWorker(this.engine, this.queue, plan);
    this.workers.add(worker);
    void worker.stopped.then(() => this.workers.delete(worker));
    return worker;
  }

  /** Stops its workers, as `stop` does, then waits for what is queued, folds the write-ahead log into the file when this was its last user, and ends.
   *  Closing twice is a no-op. A store that was handed to `openLedger` stays open. */
  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  /** Closes at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async end(): Promise<void> {
    this.waits.close();
    if (this.workers.size > 0) await Promise.all([...this.workers].map((worker) => worker.stop()));
    await this.engine.close();
  }
}
