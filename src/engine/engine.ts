/** The engine: the only place that sequences effects. It owns the writer and the readings over one store.
 *  Invariant: no read creates, migrates or repairs anything. */
import { LedgerError } from "../kernel/errors.js";
import type { Clock } from "../kernel/clock.js";
import type { AnyProjection, Projection } from "../../projections/define-projection.js";
import type { Content, ContentReference } from "../journal/content.js";
import type { Checkpoint } from "../journal/checkpoint.js";
import type { EventDefinitions } from "../journal/define-events.js";
import type { JournalOpened } from "../journal/events/journal.js";
import type { RandomBytes } from "../kernel/random.js";
import type { SignerKey } from "../journal/note-keys.js";
import type { RawReader } from "../journal/raw-reader.js";
import type { Store } from "../journal/store.js";
import { receipts } from "../../projections/receipt.js";
import type { Areas } from "./areas.js";
import { AsOf, momentOf } from "./as-of.js";
import { closed } from "./closed.js";
import type { Commands } from "./commands.js";
import type { ExecuteOptions } from "./execution.js";
import { prepareCommands } from "./prepare-commands.js";
import { ReceiptOfCall } from "./call-receipt.js";
import { QueuedCommands } from "./queued-commands.js";
import type { CallAnswer } from "./queued-commands.js";
import { Checkpoints } from "./checkpoints.js";
import type { CheckpointListOptions, CheckpointOptions, LedgerCheckpoint } from "./checkpoints.js";
import { consumerStatus } from "./consumer.js";
import { checkKeyName } from "./keys.js";
import { Erasing, prepareErasure } from "./erase.js";
import { journalExists, openJournal, readGenesis } from "./genesis.js";
import { HeadWatch } from "./head-watch.js";
import { LeaseTime, momentBehind } from "./lease-time.js";
import type { Moment } from "./lease-time.js";
import { OwnEvents } from "./own-events.js";
import { Builds } from "./projector/builds.js";
import type { Catalogue } from "./projector/catalogue.js";
import { Followers } from "./projector/followers.js";
import { Projector } from "./projector/projector.js";
import { TableReader } from "./projector/reads.js";
import type { ProjectionReader, ReadsOptions } from "./projector/reads.js";
import { projectionStatus } from "./projector/status.js";
import { Views } from "./projector/views.js";
import { prepareAppend } from "./prepare.js";
import type { PreparedAppend } from "./prepare.js";
import { Proofs } from "./proofs.js";
import type { LedgerConsistencyProof, LedgerInclusionProof, ProveOptions } from "./proofs.js";
import { QueuedAppend } from "./queued-append.js";
import { QueuedBringUp } from "./queued-bring-up.js";
import { QueuedErasure } from "./queued-erasure.js";
import { readContent } from "./read-content.js";
import { readJournal, readOneStream } from "./reading.js";
import type { Reading } from "./reading.js";
import { findReceipt } from "./receipts.js";
import type { Receipt } from "./receipts.js";
import type { Redact } from "./redact.js";
import { requireAtLeast, rolledBack } from "./rolled-back.js";
import { withSnapshot } from "./snapshot.js";
import { readHeadPosition, Subscriptions } from "./subscriptions.js";
import type {
  AppendOptions,
  AppendResult,
  BuildsMode,
  Diagnostic,
  EraseOptions,
  Erasure,
  ErasurePlan,
  LedgerStatus,
  ReadOptions,
  ReadStreamOptions,
  StreamAppend,
  SubscribeOptions,
  Subscription,
} from "./types.js";
import { wantTableOf, wantTablesOf } from "./wanted.js";
import { Writer } from "./writer.js";

export interface EngineOptions {
  readonly store: Store;
  /** Does `close` close the store? Not one that was handed in. */
  readonly ownsStore: boolean;
  /** `"new"`: the journal must not be there yet. */
  readonly create: boolean | "new";
  readonly origin: string | undefined;
  /** Signs checkpoints; names itself in a new journal. */
  readonly signer: SignerKey | null;
  /** The file of the journal, in whose directory no key may be; null when it is in none. */
  readonly ledgerFile: string | null;
  /** What the journal must begin with. */
  readonly expectAtLeast: Checkpoint | null;
  readonly areas: Areas;
  /** The projections of this program. */
  readonly catalogue: Catalogue;
  /** Who waits for a table that is built. */
  readonly builds: BuildsMode;
  /** How many documents the writer remembers at most. */
  readonly cacheDocuments: number;
  readonly commands: Commands;
  readonly clock: Required<Clock>;
  readonly acceptClockStep: boolean;
  readonly dedupe: boolean;
  readonly busyTimeoutMs: number;
  readonly randomBytes: RandomBytes;
  /** How this process calls itself to others that find something taken. */
  readonly holder: string;
  readonly redact: Redact | undefined;
  readonly onEvent: (event: Diagnostic) => void;
}

export class Engine {
  readonly options: EngineOptions;
  /** For waits of hosts, by the ledger's clock. */
  readonly heads: HeadWatch;
  private readonly writer: Writer;
  private readonly subscriptions: Subscriptions;
  private readonly opened: JournalOpened;
  private readonly own: OwnEvents;
  private readonly leaseTime: LeaseTime;
  private readonly checkpoints: Checkpoints;
  private readonly proofs: Proofs;
  private readonly projector: Projector;
  private readonly builds: Builds;
  private readonly followers: Followers;
  private readonly views: Views;
  private readonly running = new Set<Promise<unknown>>();
  private closing: Promise<void> | null = null;

  private constructor(options: EngineOptions, opened: JournalOpened) {
    this.options = options;
    this.opened = opened;
    const own = new OwnEvents(opened);
    this.own = own;
    this.leaseTime = new LeaseTime(options.clock);
    this.subscriptions = new Subscriptions({ ...options, own });
    this.heads = new HeadWatch(
      () => this.run(() => readHeadPosition(options)),
      (hint) => options.store.listen(hint),
      options.clock,
    );
    const onEvent = (event: Diagnostic): void => {
      if (event.type === "committed") {
        this.subscriptions.committed(event.position);
        this.followers.committed(event.position);
        this.heads.hint(event.position);
      }
      options.onEvent(event);
    };
    const areas = options.areas.defined;
    const projector = new Projector({ ...options, areas, onEvent });
    this.projector = projector;
    this.views = new Views(projector, areas, options.store.readOnly);
    this.writer = new Writer({ ...options, documents: projector, onEvent });
    this.builds = new Builds({
      ...options,
      mode: options.builds,
      areas,
      projector,
      bringUp: () => this.writer.submit<void>((settle) => new QueuedBringUp(settle)),
    });
    this.followers = new Followers({ ...options, areas }, options.catalogue);
    this.checkpoints = new Checkpoints({ ...options, own, append: (prepared) => this.submit(prepared, undefined) });
    this.proofs = new Proofs(options.store, own);
  }

  /** Starts on a store: reads who the journal is, or opens a new one. */
  static async start(options: EngineOptions): Promise<Engine> {
    const { store, signer, expectAtLeast } = options;
    const genesis = await readGenesis(store);
    if (genesis !== null && options.create === "new") throw journalExists(store, genesis.opened);
    if (genesis === null && expectAtLeast !== null && expectAtLeast.size > 0)
      throw rolledBack("entries", expectAtLeast.size, 0);
    const opened = genesis?.opened ?? (await openJournal(options));
    const { origin } = opened;
    if (signer !== null) checkKeyName(signer, origin, "options.key");
    if (expectAtLeast !== null) await withSnapshot(store, (reads) => requireAtLeast(reads, origin, expectAtLeast));
    await options.catalogue.requireSame(store);
    const engine = new Engine(options, opened);
    await engine.builds.begin();
    return engine;
  }

  get origin(): string {
    return this.opened.origin;
  }

  append(parts: readonly StreamAppend[], options: AppendOptions): Promise<AppendResult> {
    const { areas, randomBytes, dedupe, redact } = this.options;
    this.checkWritable();
    const allow = areas.checkAppend.bind(areas);
    const append = prepareAppend(parts, options, { areas, randomBytes, dedupe, redact, allow });
    wantTableOf(append.fence, this.options.catalogue);
    return this.submit(append, options.signal);
  }

  execute(wishes: unknown, options: ExecuteOptions): Promise<CallAnswer> {
    this.checkWritable();
    const call = prepareCommands(wishes, options, this.options);
    wantTablesOf(call, this.options.catalogue);
    const receipt = call.id === null ? null : new ReceiptOfCall(call, call.id);
    const { areas, dedupe } = this.options;
    return this.whenReady(call.signal, (unready) =>
      this.writer.submit((settle) => new QueuedCommands(call, { areas, dedupe, unready }, receipt, settle)),
    );
  }

  /** What reads a table that is behind is decided when it was brought up. */
  private whenReady<Answer>(
    signal: AbortSignal | undefined,
    ask: (unready: AnyProjection[]) => Promise<Answer>,
  ): Promise<Answer> {
    const unready: AnyProjection[] = [];
    return ask(unready).catch((error: unknown) => {
      const building = unready.length === 0 ? undefined : this.builds.ready(unready, signal);
      if (building === undefined) throw error;
      return building.then(() => this.whenReady(signal, ask));
    });
  }

  read(options: ReadOptions): Reading {
    this.checkOpen();
    return readJournal(this.options.store, this.options.areas, options);
  }

  readStream(stream: string, options: ReadStreamOptions): Reading {
    this.checkOpen();
    return readOneStream(this.options.store, this.options.areas, stream, options);
  }

  /** Erases contents, or says what would be erased. The journal is read before the lock is taken, and on under it. */
  async erase(
    digests: readonly string[],
    options: EraseOptions & { readonly dryRun?: boolean },
  ): Promise<ErasurePlan | Erasure> {
    return this.run(async () => {
      const { store, redact } = this.options;
      const wish = prepareErasure(digests, options, redact);
      if (!wish.dryRun) this.checkWritable();
      const erasing = new Erasing(wish);
      await erasing.look((read) => withSnapshot(store, read), wish.signal);
      if (wish.dryRun) return erasing.decide();
      return this.writer.submit<Erasure>((settle) => new QueuedErasure(erasing, store, settle));
    });
  }

  subscribe(options: SubscribeOptions): Subscription {
    this.checkOpen();
    return this.subscriptions.open(options);
  }

  async forgetConsumer(name: string): Promise<void> {
    return this.run(() => this.subscriptions.forget(name));
  }

  /** What the program that opened the ledger gave: its projections, and the definitions of its events. */
  get definitions(): { readonly projections: readonly AnyProjection[]; readonly events: readonly EventDefinitions[] } {
    const { catalogue, areas } = this.options;
    return { projections: catalogue.given, events: [...areas.defined.values()] };
  }

  /** The documents of a projection that the ledger was opened with. */
  projection<Document extends object>(projection: Projection<Document> | string): ProjectionReader<Document> {
    this.checkOpen();
    return new TableReader<Document>(this.options.catalogue.tableOf(projection), this.reads());
  }

  /** What reading documents needs, for whoever reads several projections at once. */
  reads(): ReadsOptions & { readonly catalogue: Catalogue } {
    const { builds, views } = this;
    return { ...this.options, builds, views, run: (work) => this.run(work) };
  }

  /** The ledger as it was at a position or a time. */
  at(when: number | Date): Promise<AsOf> {
    return this.run(async () => {
      const moment = await withSnapshot(this.options.store, (reads) => momentOf(reads, when));
      return new AsOf(moment, {
        ...this.options,
        run: (work) => this.run(work),
        checkOpen: () => this.checkOpen(),
      });
    });
  }

  /** Engine time and the incarnation behind the head, without writing anything. */
  moment(): Promise<Moment> {
    return this.run(() => withSnapshot(this.options.store, (reads) => momentBehind(reads, this.own, this.leaseTime)));
  }

  /** What became of the call that carried an id. */
  receipt(id: string, client: string): Promise<Receipt | null> {
    return this.run(() => findReceipt(id, client, { store: this.options.store, documents: this.projection(receipts) }));
  }

  async content(reference: ContentReference): Promise<Content> {
    this.checkOpen();
    return readContent(this.options.store, reference);
  }

  async status(): Promise<LedgerStatus> {
    this.checkOpen();
    const { store, clock, catalogue } = this.options;
    // Asked before the snapshot is taken: a build that ends meanwhile is not seen as done where it is not in the snapshot.
    const building = this.builds.running();
    const { head, consumers, projections } = await withSnapshot(store, async (reads) => {
      const found = await reads.head();
      return {
        head: found,
        consumers: await reads.consumers(),
        projections: await projectionStatus(reads, found?.seq ?? -1, catalogue, building),
      };
    });
    if (head === null) throw new LedgerError("STORE_DAMAGED", "the journal must have its first entry, found none");
    return {
      origin: this.opened.origin,
      format: this.opened.format,
      incarnation: this.opened.incarnation,
      size: head.seq + 1,
      head: { position: head.seq, id: head.id, at: head.at },
      contents: head.contents,
      now: Math.max(clock.now(), head.at),
      clockAheadMs: Math.max(0, head.at - clock.now()),
      readOnly: store.readOnly,
      location: store.location,
      queue: this.writer.waiting(),
      consumers: consumers.map((row) => consumerStatus(row, head)),
      projections,
      store: await store.health(),
    };
  }

  checkpoint(options: CheckpointOptions): Promise<LedgerCheckpoint> {
    return this.run(() => this.checkpoints.make(options));
  }

  listCheckpoints(options: CheckpointListOptions): Promise<readonly LedgerCheckpoint[]> {
    return this.run(() => this.checkpoints.list(options));
  }

  changeKey(newKey: string): Promise<LedgerCheckpoint> {
    return this.run(async () => {
      this.checkWritable();
      return this.checkpoints.changeKey(newKey);
    });
  }

  prove(position: number, options: ProveOptions): Promise<LedgerInclusionProof> {
    return this.run(() => this.proofs.prove(position, options));
  }

  consistency(from: number, to: number | undefined): Promise<LedgerConsistencyProof> {
    return this.run(() => this.proofs.consistency(from, to));
  }

  raw(): Promise<RawReader> {
    this.checkOpen();
    return this.options.store.raw();
  }

  /** Waits for what is queued, then ends. Closing again waits for the same end. */
  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    await this.subscriptions.close();
    await this.builds.close();
    await this.followers.close();
    await Promise.allSettled(this.running);
    await this.writer.close();
    if (!this.options.store.readOnly) await this.projector.close(this.options.store, this.options.busyTimeoutMs);
    if (this.options.ownsStore) await this.options.store.close();
  }

  /** Work that `close` waits for. */
  private async run<Result>(work: () => Promise<Result>): Promise<Result> {
    this.checkOpen();
    const running = work();
    this.running.add(running);
    try {
      return await running;
    } finally {
      this.running.delete(running);
    }
  }

  private submit(append: PreparedAppend, signal: AbortSignal | undefined): Promise<AppendResult> {
    return this.whenReady(signal, (unready) =>
      this.writer.submit((settle) => new QueuedAppend(append, signal, unready, settle)),
    );
  }

  private checkOpen(): void {
    if (this.closing !== null) throw closed();
  }

  checkWritable(): void {
    this.checkOpen();
    if (this.options.store.readOnly)
      throw new LedgerError("READ_ONLY", "the ledger must be open for writing, found it open read-only");
  }
}
