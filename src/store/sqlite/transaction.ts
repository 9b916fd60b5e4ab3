import type { DocumentWrite, FoldedMark, ProjectionRow } from "../../journal/documents.js";
import { invariant } from "../../kernel/errors.js";
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
import { Lifetime } from "../lifetime.js";
import { encodePage, revisionsPerPage } from "../stream-page.js";
import { consumerValues } from "../consumer-row.js";
import type { DocumentStatements } from "./document-statements.js";
import { writeDocuments } from "./documents.js";
import { storeError } from "./errors.js";
import { projectionValues } from "../projection-row.js";
import { readContentCount, readStream, SqliteReads } from "./reads.js";
import { entryBlockRows, entryValues } from "./statements.js";
import type { ReadStatements, WriteStatements } from "./statements.js";
import type { CachedStream, StreamCache } from "../stream-cache.js";
import { walkBack } from "./stream-positions.js";

/** What a transaction wrote: the head that it leaves, about how many bytes, and whether it erased something. */
export interface Written {
  readonly head: StoreHead | null;
  readonly bytes: number;
  readonly erased: boolean;
}

/** What a transaction needs of the writer that began it. */
export interface TransactionHost {
  readonly path: string;
  readonly reads: ReadStatements;
  readonly writes: WriteStatements;
  readonly tables: DocumentStatements;
  readonly cache: StreamCache;
  /** Makes it durable; throws when it is not known to be. */
  commit(written: Written): void;
  /** Undoes it and gives the lock back; never throws. */
  rollback(): void;
  step(name: DurableStep, act: () => unknown): void;
}

/** The one open write transaction of a store.
 *  Invariant: what it appends is dense and links to what is there; a caller that breaks that is a bug. */
export class SqliteTransaction extends SqliteReads implements StoreTransaction {
  private readonly host: TransactionHost;
  private readonly lifetime: Lifetime;
  private last: StoreHead | null;
  private contentCount: number;
  private bytes = 0;
  private erased = false;

  constructor(host: TransactionHost, head: StoreHead | null) {
    const lifetime = new Lifetime();
    super(host.path, host.tables, () => {
      lifetime.require();
      return host.reads;
    });
    this.host = host;
    this.lifetime = lifetime;
    this.last = head;
    this.contentCount = head?.contents ?? readContentCount(host.reads);
  }

  override async head(): Promise<StoreHead | null> {
    return this.read(() => this.last);
  }

  override async streamHeads(streams: readonly string[]): Promise<readonly (StreamHead | null)[]> {
    return this.read(() =>
      streams.map((name) => {
        const stream = this.find(name);
        return stream === null ? null : { rev: stream.rev, seq: stream.seq };
      }),
    );
  }

  async append(
    entries: readonly EntryRow[],
    contents: readonly ContentRow[],
    nodes: readonly TreeNode[],
  ): Promise<void> {
    this.read(() => {
      const before = this.size;
      requireCompleted(before, before + entries.length, nodes);
      if (contents.length > 0) this.host.step("contents", () => contents.forEach((row) => this.insertContent(row)));
      if (entries.length === 0) return;
      const touched = new Map<string, CachedStream>();
      this.host.step("entries", () => this.insertEntries(entries, touched));
      this.host.step("streams", () => touched.forEach((stream, name) => this.storeStream(name, stream)));
      if (nodes.length > 0) this.host.step("nodes", () => nodes.forEach((node) => this.insertNode(node)));
    });
  }

  async erase(numbers: readonly number[], position: number): Promise<void> {
    this.read(() => {
      this.requireEntry(position);
      this.host.step("erase", () => {
        const { hasPlain, eraseContent, rebuildPlains, markScrub } = this.host.writes;
        let indexed = false;
        for (const n of numbers) {
          const found = hasPlain.get(n) as [number] | undefined;
          invariant(found !== undefined, `content ${n} must be stored to be erased`);
          eraseContent.run(position, n);
          indexed ||= found[0] === 1;
        }
        if (indexed) rebuildPlains.run();
        markScrub.run(String(position));
        this.erased = true;
      });
    });
  }

  async putCheckpoint({ size, note }: StoredCheckpoint): Promise<void> {
    this.read(() => {
      this.requireEntry(size - 1);
      this.host.step("operational", () => this.host.writes.putCheckpoint.run(size, note));
    });
  }

  async putConsumer(consumer: ConsumerRow): Promise<void> {
    this.read(() => {
      this.host.step("operational", () => this.host.writes.putConsumer.run(consumerValues(consumer)));
    });
  }

  async deleteConsumer(name: string): Promise<void> {
    this.read(() => {
      this.host.step("operational", () => this.host.writes.deleteConsumer.run(name));
    });
  }

  async addProjection(row: Omit<ProjectionRow, "id">): Promise<number> {
    return this.read(() => {
      const { writes } = this.host;
      const id = lastNumber(writes.lastTable) + 1;
      this.host.step("projections", () => {
        this.host.tables.make(id, row.indexes.length);
        writes.insertProjection.run(projectionValues(id, row));
        writes.markTable.run(String(id));
      });
      return id;
    });
  }

  async putProjection({ id, name, version, indexes, ...row }: ProjectionRow): Promise<void> {
    this.read(() => {
      const made = [id, name, version, JSON.stringify(indexes)];
      this.host.step("projections", () => {
        const { status, position, entryId, error } = row;
        const { changes } = this.host.writes.updateProjection.run(status, position, entryId, error, ...made);
        invariant(changes === 1, `table ${id} must be there, and stay the one of ${name} ${version}`);
      });
    });
  }

  async dropProjection(id: number): Promise<void> {
    this.read(() => {
      this.host.step("projections", () => {
        const { changes } = this.host.writes.deleteProjection.run(id);
        invariant(changes === 1, `table ${id} must be there`);
        this.host.tables.drop(id);
      });
    });
  }

  async putFolded({ position, entryId, tables }: FoldedMark): Promise<void> {
    this.read(() => {
      this.host.step("projections", () => this.host.writes.putFolded.run(position, entryId, JSON.stringify(tables)));
    });
  }

  async putDocuments(table: number, writes: readonly DocumentWrite[]): Promise<void> {
    this.read((statements) => {
      const indexes = statements.projection.get(table) as [number] | undefined;
      invariant(indexes !== undefined, `table ${table} must be there`);
      this.host.step("documents", () => {
        this.bytes += writeDocuments(this.host.tables, table, indexes[0], writes);
      });
    });
  }

  async commit(): Promise<void> {
    this.lifetime.require();
    this.lifetime.end();
    try {
      this.host.commit({ head: this.last, bytes: this.bytes, erased: this.erased });
    } catch (cause) {
      throw storeError(cause, this.path, "writing to");
    }
  }

  async rollback(): Promise<void> {
    if (!this.lifetime.open) return;
    this.lifetime.end();
    this.host.rollback();
  }

  /** Undoes it because its store is closed. */
  abandon(): void {
    if (!this.lifetime.open) return;
    this.lifetime.close();
    this.host.rollback();
  }

  /** How many entries the transaction sees. */
  private get size(): number {
    return (this.last?.seq ?? -1) + 1;
  }

  private requireEntry(position: number): void {
    invariant(position >= 0 && position < this.size, `an entry must stand at ${position}, found ${this.size} entries`);
  }

  private insertNode({ level, n, hash }: TreeNode): void {
    this.host.writes.insertNode.run(level, n, hash);
    this.bytes += 60;
  }

  private insertContent(row: ContentRow): void {
    invariant(row.n === this.contentCount + 1, `content ${row.n} must follow content ${this.contentCount}`);
    this.host.writes.insertContent.run(row.n, row.digest, row.media, row.salt, row.plain, row.bytes);
    this.contentCount = row.n;
    this.bytes += row.bytes.length + 200;
    if (this.last !== null) this.last = { ...this.last, contents: row.n };
  }

  private insertEntries(entries: readonly EntryRow[], touched: Map<string, CachedStream>): void {
    const { insertEntry, insertEntryBlock } = this.host.writes;
    const values: unknown[] = []; // of all rows in one list: `flat` took a third of the time of the insert
    for (const row of entries) this.place(row, touched, values);
    const block = entryBlockRows * entryValues;
    let at = 0;
    for (; at + block <= values.length; at += block) insertEntryBlock.run(values.slice(at, at + block));
    for (; at < values.length; at += entryValues) insertEntry.run(values.slice(at, at + entryValues));
  }

  /** Adds the columns of an entry, and gives it its place at the end of its stream and of the journal. */
  private place(row: EntryRow, touched: Map<string, CachedStream>, values: unknown[]): void {
    const { seq, id, rev, before, at, skew, entry } = row;
    const last = this.last?.seq ?? -1;
    invariant(seq === last + 1, `entry ${seq} must follow the head ${last}`);
    let stream = touched.get(row.stream);
    if (stream === undefined) {
      stream = this.find(row.stream) ?? this.newStream(row.stream);
      touched.set(row.stream, stream);
    }
    invariant(rev === stream.rev + 1, `revision ${rev} must follow revision ${stream.rev} of its stream`);
    invariant(
      before === (stream.rev === 0 ? null : stream.seq),
      `entry ${seq} must name the entry of its stream before it`,
    );
    stream.rev = rev;
    stream.seq = seq;
    stream.tail?.push(seq);
    this.last = { seq, id, at, skew, contents: this.contentCount };
    this.bytes += entry.length + 80;
    values.push(seq, id, stream.id, rev, before, this.typeNumber(row.type), at, skew, entry);
  }

  private storeStream(name: string, stream: CachedStream): void {
    const { writes } = this.host;
    this.bytes += 100;
    if (stream.stored) writes.updateStream.run(stream.rev, stream.seq, stream.id);
    else writes.insertStream.run(stream.id, name, stream.rev, stream.seq);
    stream.stored = true;
    if (stream.rev >= (stream.pages + 1) * revisionsPerPage) this.storePages(stream);
  }

  /** Writes the pages that became full. */
  private storePages(stream: CachedStream): void {
    const since = stream.rev - stream.pages * revisionsPerPage;
    const positions = stream.tail ?? walkBack(this.host.reads, stream.seq, since, this.path);
    invariant(positions.length === since, "a stream's tail must hold each revision since its last full page");
    while (positions.length >= revisionsPerPage) {
      this.host.writes.insertPage.run(stream.id, stream.pages, encodePage(positions.splice(0, revisionsPerPage)));
      this.bytes += revisionsPerPage * 8;
      stream.pages++;
    }
    stream.tail = positions;
  }

  /** A stream that exists, from the cache or from the store. */
  private find(name: string): CachedStream | null {
    const cached = this.host.cache.get(name);
    if (cached !== undefined) return cached;
    const row = readStream(this.host.reads, name);
    if (row === null) return null;
    const stream: CachedStream = { ...row, stored: true, pages: Math.floor(row.rev / revisionsPerPage), tail: null };
    this.host.cache.set(name, stream);
    return stream;
  }

  private newStream(name: string): CachedStream {
    const { cache, writes } = this.host;
    const id = cache.nextStream ?? lastNumber(writes.lastStream) + 1;
    cache.nextStream = id + 1;
    const stream: CachedStream = { id, stored: false, rev: 0, seq: -1, pages: 0, tail: [] };
    cache.set(name, stream);
    return stream;
  }

  private typeNumber(name: string): number {
    const { cache, writes } = this.host;
    const known = cache.types.get(name);
    if (known !== undefined) return known;
    const row = writes.typeNumber.get(name) as [number] | undefined;
    const id = row?.[0] ?? cache.nextType ?? lastNumber(writes.lastType) + 1;
    if (row === undefined) {
      writes.insertType.run(id, name);
      cache.nextType = id + 1;
    }
    cache.types.set(name, id);
    return id;
  }
}

function lastNumber(statement: WriteStatements["lastType"]): number {
  const [last] = statement.get() as [number | null];
  return last ?? 0;
}
