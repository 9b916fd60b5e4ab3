import type { DocumentWrite, FoldedMark, ProjectionRow } from "../../journal/documents.js";
import { InvariantError, invariant } from "../../kernel/errors.js";
import type {
  ConsumerRow,
  ContentRow,
  DurableStep,
  EntryRow,
  StoredCheckpoint,
  StoreHead,
  StoreTransaction,
  StreamHead,
  TreeNode,
} from "../../journal/store.js";
import { requireCompleted } from "../completed-nodes.js";
import { consumerValues } from "../consumer-row.js";
import { Lifetime } from "../lifetime.js";
import { projectionValues, toFolded } from "../projection-row.js";
import type { FoldedColumns } from "../projection-row.js";
import type { CachedStream } from "../stream-cache.js";
import { encodePage, revisionsPerPage } from "../stream-page.js";
import { asSent, columns } from "./arrays.js";
import type { Ask } from "./ask.js";
import { contentLists } from "./content-lists.js";
import { createTable } from "./create.js";
import { writes } from "./documents.js";
import { movedError, sqlState, storeError } from "./errors.js";
import { Outbox } from "./outbox.js";
import { PostgresReads } from "./reads.js";
import type { Ground, StreamRow } from "./reads.js";
import { documentTable, retiredPrefix } from "./schema.js";
import { guardStates } from "./statements.js";
import type { StatementName } from "./statements.js";
import type { TransactionHost } from "./transaction-host.js";

/** Columns of entries. */
type Lists = [number[], number[], (number | null)[], number[], number[], number[], string[]];

/** The one open write transaction of a journal. What it writes is held back, and sent behind one another without waiting, with
 *  the COMMIT or before the next read.
 *  Invariant: what it appends is dense and links to what is there; a caller that breaks that is a bug, and told so before
 *  anything is sent. */
export class PostgresTransaction extends PostgresReads implements StoreTransaction {
  private readonly host: TransactionHost;
  private readonly lifetime: Lifetime;
  private readonly ground: { head: StoreHead | null; folded: FoldedColumns | null } & Ground;
  private readonly outbox: Outbox;
  /** Streams that are not there, as was read under the lock. */
  private readonly absent = new Set<string>();
  private contentCount: number;

  constructor(host: TransactionHost, ground: Ground) {
    const { connection, faults, opening } = host;
    const lifetime = new Lifetime();
    const mine = { ...ground };
    const outbox = new Outbox({ connection, faults, opening, opened: (rows, askedAt) => host.opened(rows, askedAt) });
    super(host.journal, {
      connection,
      ground: mine,
      prepare: () => {
        this.require();
        return this.flush();
      },
      blame: (cause) => this.failure(outbox.blame(cause)),
    });
    this.host = host;
    this.lifetime = lifetime;
    this.ground = mine;
    this.outbox = outbox;
    this.contentCount = ground.contents;
  }

  override async head(): Promise<StoreHead | null> {
    this.require();
    return this.ground.head;
  }

  override async folded(): Promise<FoldedMark | null> {
    this.require();
    const { folded } = this.ground;
    return folded === null ? null : toFolded(folded, this.journal.shown);
  }

  async check(): Promise<void> {
    this.require();
    if (this.outbox.unopened) await this.flush();
  }

  override async streamHeads(streams: readonly string[]): Promise<readonly (StreamHead | null)[]> {
    this.require();
    await this.find(streams, true);
    return streams.map((name) => {
      const stream = this.host.cache.get(name);
      return stream === undefined || stream.rev === 0 ? null : { rev: stream.rev, seq: stream.seq };
    });
  }

  /** Takes over what was read of streams under the lock. */
  learn(asked: readonly string[], found: ReadonlyMap<string, StreamRow>): void {
    for (const name of asked) if (!found.has(name)) this.absent.add(name);
    for (const [name, { id, rev, seq }] of found)
      this.host.cache.set(name, { id, stored: true, rev, seq, pages: Math.floor(rev / revisionsPerPage), tail: null });
  }

  async append(
    entries: readonly EntryRow[],
    contents: readonly ContentRow[],
    nodes: readonly TreeNode[],
  ): Promise<void> {
    this.require();
    if (this.outbox.isFull) await this.flush();
    const before = (this.ground.head?.seq ?? -1) + 1;
    requireCompleted(before, before + entries.length, nodes);
    this.holdContents(contents);
    if (entries.length === 0) return;
    const fresh = new Set(entries.filter(({ rev }) => rev === 1).map(({ stream }) => stream));
    const known = entries.map(({ stream }) => stream).filter((name) => !fresh.has(name));
    await Promise.all([this.find([...fresh], true), this.find(known, false), this.learnTypes(entries)]);
    this.require(); // it may have turned out meanwhile
    const { cache } = this.host;
    cache.nextStream ??= this.ground.lastStream + 1;
    const touched = this.holdEntries(entries);
    this.holdStreams(touched);
    await this.holdPages(touched);
    const hashes = nodes.map(({ level, n, hash }) => [level, n, hash]);
    if (hashes.length > 0) this.hold("nodes", "insertNodes", columns(hashes, 3));
  }

  async erase(numbers: readonly number[], position: number): Promise<void> {
    this.requireEntry(position);
    invariant(new Set(numbers).size === numbers.length, "a content is erased once");
    const [row] = await this.read<[number]>("storedContents", [numbers]);
    invariant(row?.[0] === numbers.length, `contents ${numbers.join(", ")} must be stored to be erased`);
    this.hold("erase", "eraseContents", [numbers, position]);
    this.hold("erase", "markScrub", [String(position)]);
    await this.flush();
  }

  async putCheckpoint({ size, note }: StoredCheckpoint): Promise<void> {
    this.requireEntry(size - 1);
    this.hold("operational", "putCheckpoint", [size, note]);
  }

  async putConsumer(consumer: ConsumerRow): Promise<void> {
    this.require();
    this.hold("operational", "putConsumer", consumerValues(consumer));
  }

  async deleteConsumer(name: string): Promise<void> {
    this.require();
    this.hold("operational", "deleteConsumer", [name]);
  }

  async addProjection(row: Omit<ProjectionRow, "id">): Promise<number> {
    const [last] = await this.read<[number]>("lastTable", []);
    const id = (last?.[0] ?? 0) + 1;
    const count = row.indexes.length;
    for (const text of createTable(this.journal.schema, documentTable(id, count))) this.holdText("projections", text);
    this.hold("projections", "insertProjection", projectionValues(id, row));
    this.hold("projections", "markTable", [String(id)]);
    this.ground.tables.set(id, count);
    return id;
  }

  async putProjection({ id, name, version, indexes, status, position, entryId, error }: ProjectionRow): Promise<void> {
    const made = [id, name, version, JSON.stringify(indexes)];
    const changes = await this.act("projections", "updateProjection", [status, position, entryId, error, ...made]);
    invariant(changes === 1, `table ${id} must be there, and stay the one of ${name} ${version}`);
  }

  async dropProjection(id: number): Promise<void> {
    const changes = await this.act("projections", "deleteProjection", [id]);
    invariant(changes === 1, `table ${id} must be there`);
    this.hold("projections", "retireTable", [`${retiredPrefix}${id}`, String(this.ground.now)]);
    this.ground.tables.delete(id);
  }

  async putFolded({ position, entryId, tables }: FoldedMark): Promise<void> {
    this.require();
    const mark = [position, entryId, JSON.stringify(tables)] as const;
    this.hold("projections", "putFolded", mark);
    this.ground.folded = mark;
  }

  async putDocuments(table: number, changes: readonly DocumentWrite[]): Promise<void> {
    this.require();
    const count = this.ground.tables.get(table);
    invariant(count !== undefined, `table ${table} must be there`);
    for (const ask of writes(this.journal.schema, table, count, changes)) this.keep("documents", ask);
  }

  async commit(): Promise<void> {
    this.require();
    this.lifetime.end();
    const { faults, connection } = this.host;
    let committing: Promise<string> | null = null;
    try {
      if (faults !== undefined) await this.outbox.flush();
      faults?.("commit", "before");
      const writing = this.outbox.flush();
      committing = connection.commit();
      committing.catch(() => {}); // what failed before it is told first
      this.host.sent({ ...this.ground, contents: this.contentCount }, committing);
      await writing;
      const tag = await committing;
      // Where a statement failed, the server says so to COMMIT by undoing it all.
      if (tag !== "COMMIT") throw new Error(`the server answered COMMIT with ${tag}`);
      faults?.("commit", "after");
      this.host.committed(this.ground.head);
    } catch (cause) {
      // Before it is lost, which makes void what was assumed behind it, and itself; and what nobody answered may have been done.
      const failure =
        committing !== null && connection.broken
          ? storeError(cause, this.journal.shown, "writing to")
          : this.failure(cause);
      if (committing === null) await this.host.undo(this.outbox.undone);
      else this.host.lost(!this.outbox.hasLock && connection.broken);
      throw failure;
    }
  }

  async rollback(): Promise<void> {
    if (!this.lifetime.open) return;
    this.lifetime.end();
    await this.host.undo(this.outbox.undone);
  }

  /** Undoes it because its store is closed. */
  async abandon(): Promise<void> {
    if (!this.lifetime.open) return;
    this.lifetime.close();
    await this.host.undo(this.outbox.undone);
  }

  private require(): void {
    this.lifetime.require();
    if (this.host.isVoid()) throw movedError(this.journal.shown);
  }

  private requireEntry(position: number): void {
    this.require();
    const size = (this.ground.head?.seq ?? -1) + 1;
    invariant(position >= 0 && position < size, `an entry must stand at ${position}, found ${size} entries`);
  }

  private holdContents(contents: readonly ContentRow[]): void {
    for (const lists of contentLists(contents, this.contentCount)) this.hold("contents", "insertContents", lists);
    this.contentCount += contents.length;
    if (this.ground.head !== null) this.ground.head = { ...this.ground.head, contents: this.contentCount };
  }

  /** Gives each entry its place at the end of its stream and of the journal. Answers the streams that it touched. */
  private holdEntries(entries: readonly EntryRow[]): ReadonlyMap<string, CachedStream> {
    const touched = new Map<string, CachedStream>();
    const lists: Lists = [[], [], [], [], [], [], []];
    const [streams, revisions, befores, types, times, skews, texts] = lists;
    let last = this.ground.head?.seq ?? -1;
    for (const { seq, rev, before, type, at, skew, entry, ...row } of entries) {
      invariant(seq === last + 1, `entry ${seq} must follow the head ${last}`);
      const stream = touched.get(row.stream) ?? this.streamOf(row.stream);
      touched.set(row.stream, stream);
      invariant(rev === stream.rev + 1, `revision ${rev} must follow revision ${stream.rev} of its stream`);
      invariant(
        before === (stream.rev === 0 ? null : stream.seq),
        `entry ${seq} must name the entry of its stream before it`,
      );
      stream.rev = rev;
      stream.seq = last = seq;
      stream.tail?.push(seq);
      streams.push(stream.id);
      revisions.push(rev);
      befores.push(before);
      types.push(this.host.cache.types.get(type)!); // they were learned
      times.push(at);
      skews.push(skew);
      texts.push(entry);
    }
    const { seq, id, at, skew } = entries.at(-1)!;
    this.ground.head = { seq, id, at, skew, contents: this.contentCount };
    const ids = Buffer.from(entries.map((entry) => entry.id).join(""), "hex");
    this.hold("entries", "insertEntries", [entries[0]!.seq, ids, ...lists]);
    return touched;
  }

  private holdStreams(touched: ReadonlyMap<string, CachedStream>): void {
    const added: (string | number)[][] = [];
    const moved: number[][] = [];
    for (const [name, stream] of touched) {
      const { id, rev, seq } = stream;
      if (stream.stored) moved.push([id, rev, seq]);
      else added.push([id, name, rev, seq]);
      stream.stored = true; // what fails is forgotten
    }
    if (added.length > 0) this.hold("streams", "insertStreams", columns(added, 4));
    if (moved.length > 0) this.hold("streams", "moveStreams", columns(moved, 3));
  }

  private streamOf(name: string): CachedStream {
    const { cache } = this.host;
    const known = cache.get(name);
    if (known !== undefined) return known;
    const id = cache.nextStream!; // it is known once something is appended
    cache.nextStream = id + 1;
    const stream: CachedStream = { id, stored: false, rev: 0, seq: -1, pages: 0, tail: [] };
    cache.set(name, stream);
    return stream;
  }

  /** Writes the pages that became full. */
  private async holdPages(touched: ReadonlyMap<string, CachedStream>): Promise<void> {
    const pages: unknown[][] = [];
    for (const stream of touched.values()) {
      if (stream.rev < (stream.pages + 1) * revisionsPerPage) continue;
      const since = stream.rev - stream.pages * revisionsPerPage;
      const positions = stream.tail ?? (await this.walkBack(stream.seq, since));
      invariant(positions.length === since, "a stream's tail must hold each revision since its last full page");
      for (; positions.length >= revisionsPerPage; stream.pages++)
        pages.push([stream.id, stream.pages, encodePage(positions.splice(0, revisionsPerPage))]);
      stream.tail = positions;
    }
    if (pages.length > 0) this.hold("streams", "insertPages", columns(pages, 3));
  }

  /** Learns of streams that are not known yet; those that may be new are taken for it, where nobody has been wrong with that. */
  private async find(names: readonly string[], mayBeNew: boolean): Promise<void> {
    const { cache } = this.host;
    const asked = [...new Set(names)].filter((name) => cache.get(name) === undefined && !this.absent.has(name));
    if (asked.length === 0) return;
    if (mayBeNew && this.outbox.unopened && this.host.takesForNew()) {
      this.outbox.takeForNew(asked);
      this.learn(asked, new Map());
      return;
    }
    const found = (this.outbox.unopened ? await this.host.aside(asked) : null) ?? (await this.streamRows(asked));
    this.require(); // what comes late is of another time
    this.learn(asked, found);
  }

  /** Learns the numbers of all types, and gives one to each that is new. */
  private async learnTypes(entries: readonly EntryRow[]): Promise<void> {
    const { cache } = this.host;
    const isNew = (type: string): boolean => !cache.types.has(type);
    if (!entries.some(({ type }) => isNew(type))) return;
    const rows = await this.read<[number, string]>("types", []);
    for (const [id, name] of rows) cache.types.set(name, id);
    const fresh = [...new Set(entries.map(({ type }) => type).filter(isNew))];
    if (fresh.length === 0) return;
    const first = (rows.at(-1)?.[0] ?? 0) + 1;
    fresh.forEach((type, index) => cache.types.set(type, first + index));
    this.hold("entries", "insertTypes", [fresh.map((_, index) => first + index), fresh]);
  }

  private hold(step: DurableStep, name: StatementName, values: readonly unknown[]): void {
    this.keep(step, { statement: this.journal.statements[name], values });
  }

  /** What the caller uses again meanwhile changes nothing. */
  private keep(step: DurableStep, { statement, values }: Ask): void {
    this.outbox.hold({ step, statement, values: values.map(asSent) });
  }

  private holdText(step: DurableStep, text: string): void {
    this.keep(step, { statement: { name: "", text }, values: [] });
  }

  /** Does something now, and says how many rows it changed. */
  private async act(step: DurableStep, name: StatementName, values: readonly unknown[]): Promise<number> {
    this.require();
    await this.flush();
    const { faults, connection, journal } = this.host;
    try {
      faults?.(step, "before");
      const changes = await connection.run(journal.statements[name], values);
      faults?.(step, "after");
      return changes;
    } catch (cause) {
      throw this.failure(this.outbox.blame(cause));
    }
  }

  /** Sends what was held back, and waits for the answers; undefined when it was nothing. */
  private flush(): Promise<void> | undefined {
    try {
      return this.outbox.flush()?.catch((cause: unknown) => {
        throw this.failure(cause);
      });
    } catch (cause) {
      throw this.failure(cause);
    }
  }

  private failure(cause: unknown): unknown {
    const state = sqlState(cause);
    if (state === guardStates.streams) this.host.wasThere();
    if (state === guardStates.moved || state === guardStates.streams || this.host.isVoid())
      return movedError(this.journal.shown);
    if (state === "22012")
      return new InvariantError("a document that says not all of its indexes must be there already");
    return storeError(cause, this.journal.shown, "writing to");
  }
}
