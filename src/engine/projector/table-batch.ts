/** What one batch does to tables. Documents that it changed are held back, answer its reads, and are written at once before the
 *  commit, or when a query needs their table.
 *  Invariants: nothing that is remembered changes before `adopt`; a table that the mark lists is folded exactly up to it, but for
 *  entries that do not concern it. Source: decision 0018. */
import { invariant } from "../../kernel/errors.js";
import type { DocumentScan } from "../../../projections/query.js";
import type { FoldedMark, ProjectionRow } from "../../journal/documents.js";
import type { StoreReads, StoreTransaction } from "../../journal/store.js";
import type { BatchDocuments } from "../documents.js";
import type { ForeseenDocuments, Glimpse } from "../foreseen.js";
import { BatchReads } from "./batch-reads.js";
import type { ReadsGround } from "./batch-reads.js";
import type { DocumentCache, Held } from "./cache.js";
import type { Catalogue, Table } from "./catalogue.js";
import { findDocuments } from "./find.js";
import type { Placed } from "./find.js";
import { Layer } from "./layer.js";
import type { Moves } from "./ranges.js";
import type { Standing, StoppedStanding, TablesState } from "./standing.js";
import { isFailedIndex, movesOf, writeOf } from "./stored-document.js";
import { TableTx } from "./table-tx.js";
import type { TxGround } from "./table-tx.js";

/** How far the mark may fall behind while nothing changes. */
export const markLagMax = 256;

export interface TableBatchStart {
  readonly reads: StoreReads;
  /** Null: what is read is remembered, and nothing is changed. */
  readonly transaction: StoreTransaction | null;
  readonly catalogue: Catalogue;
  readonly cache: DocumentCache;
  /** How tables stand; those that follow do so up to `head`. */
  readonly state: TablesState;
  readonly owner: TablesOwner;
}

/** Who remembers how tables stand, from batch to batch. */
export interface TablesOwner {
  /** Null: nothing is known. */
  readonly state: TablesState | null;
  /** Takes over how tables stand, and hears which stopped in a batch. */
  adopt(state: TablesState, stopped: readonly Stopped[]): void;
  /** Hears of the last entry that is on disk. */
  settle(position: number): void;
}

/** A table that stopped behind a position. */
export interface Stopped {
  readonly table: Table;
  readonly position: number;
  readonly error: Error;
}

/** A document that the batch changed. */
interface Changed extends Held {
  /** What is stored, as the transaction sees it. */
  stored: object | null;
  /** Where it moved since then; null: not worked out. */
  moves: Moves | null;
}

export class TableBatch implements BatchDocuments, TxGround, ReadsGround {
  readonly catalogue: Catalogue;
  private readonly reads: BatchReads;
  private readonly start: TableBatchStart;
  // Those of the state, until something changes: most batches change neither.
  private standings: ReadonlyMap<Table, Standing>;
  private rows: ReadonlyMap<Table, ProjectionRow>;
  private readonly changed = new Layer<Changed>();
  private readonly dirty = new Map<Table, Map<string, Changed>>();
  /** Tables into which the batch has written. */
  private readonly flushed = new Set<Table>();
  private mark: FoldedMark | null;
  private last: { readonly seq: number; readonly id: string };
  private hasChanges = false;

  constructor(start: TableBatchStart) {
    this.start = start;
    this.catalogue = start.catalogue;
    this.reads = new BatchReads(start.reads, start.cache, this);
    this.standings = start.state.standings;
    this.rows = start.state.rows;
    this.mark = start.state.mark;
    this.last = start.state.head;
  }

  get pending(): boolean {
    return this.mustWrite(this.last.seq);
  }

  concerns(type: string): boolean {
    return this.catalogue.folding(type).some((table) => this.isFollowing(table));
  }

  open(): TableTx {
    return new TableTx(this);
  }

  write(transaction: StoreTransaction, last: { readonly seq: number; readonly id: string }): Promise<void> | undefined {
    this.last = { seq: last.seq, id: last.id };
    return this.mustWrite(last.seq) ? this.writeAll(transaction, last) : undefined;
  }

  /** Writes what is not written yet, and the mark in any case. */
  async writeAll(transaction: StoreTransaction, last: { readonly seq: number; readonly id: string }): Promise<void> {
    for (const table of this.dirty.keys()) await this.flushOrStop(table);
    const listed = this.followers().map((table) => this.row(table).id);
    const { mark } = this;
    const leaving = mark?.tables.filter((id) => !listed.includes(id)) ?? [];
    if (leaving.length > 0) await this.leave(leaving, mark!);
    for (const [table, standing] of this.standings) {
      if (this.stoppedHere(table, standing)) await this.putStopped(table, standing);
      if (standing.type === "following" && this.row(table).status === "failed")
        await this.putRow(table, { ...this.row(table), status: "following", error: null });
    }
    this.mark = { position: last.seq, entryId: last.id, tables: listed.sort((a, b) => a - b) };
    await transaction.putFolded(this.mark);
  }

  adopt(): void {
    const { cache, state } = this.start;
    this.reads.adopt();
    this.changed.forEach((table, key, { document, seq }) => {
      if (this.isFollowing(table)) cache.put(table, key, { document, seq });
    });
    const stopped = this.standings === state.standings ? [] : this.stoppedNow();
    this.start.owner.adopt({ head: this.last, mark: this.mark, rows: this.rows, standings: this.standings }, stopped);
  }

  get isSteady(): boolean {
    const { state } = this.start.owner;
    return this.standings === state?.standings && this.rows === state.rows;
  }

  settle(): void {
    this.start.owner.settle(this.last.seq);
  }

  /** Has this process remember which tables stopped, and says which did in this batch. */
  private stoppedNow(): readonly Stopped[] {
    const stopped: Stopped[] = [];
    for (const [table, standing] of this.standings) {
      if (standing.type === "following") table.tried = false; // another process brought it past what failed here
      if (standing.type !== "stopped") continue;
      const { position, error, failure } = standing;
      const isNew = failure === null ? table.stopAt(position) === null : !table.tried;
      if (isNew) stopped.push({ table, position, error });
      if (failure === null) table.stop(position, error);
      else table.tried = true;
    }
    return stopped;
  }

  standing(table: Table): Standing | undefined {
    return this.standings.get(table);
  }

  isFollowing(table: Table): boolean {
    return this.standings.get(table)?.type === "following";
  }

  /** A document as the batch leaves it; undefined when it has to be read. */
  peek(table: Table, key: string): Held | undefined {
    return this.changed.get(table, key) ?? this.reads.get(table, key);
  }

  load(table: Table, keys: readonly string[]): Promise<void> {
    return this.reads.load(table, keys);
  }

  scan(table: Table, scan: DocumentScan, limit: number): Promise<readonly Placed[]> | readonly Placed[] {
    return this.reads.scan(table, scan, limit);
  }

  /** Reads what others changed where the order of documents is remembered, and what is foreseen. */
  async readLists(touched: ReadonlyMap<Table, ReadonlySet<string>>, foreseen: ForeseenDocuments | null): Promise<void> {
    await this.reads.readLists(touched, foreseen);
  }

  fetch(foreseen: ForeseenDocuments): Promise<void> | undefined {
    return this.reads.readLists(new Map(), foreseen);
  }

  get glimpse(): Glimpse {
    return {
      get: (projection, key) => {
        const table = this.catalogue.tableOf(projection);
        return this.isFollowing(table) ? this.peek(table, key)?.document : undefined;
      },
      find: (projection, query) => {
        const table = this.catalogue.tableOf(projection);
        if (!this.isFollowing(table)) return undefined;
        let isKnown = true;
        const found = findDocuments(table.projection, query, (scan, limit) => {
          const placed = this.reads.glimpse(table, scan, limit);
          isKnown = placed !== null;
          return placed ?? [];
        });
        return isKnown && !(found instanceof Promise) ? found : undefined;
      },
    };
  }

  /** Takes over what a tx did. */
  keep(changes: Layer, stops: ReadonlyMap<Table, Standing>): void {
    changes.forEach((table, key, held) => {
      const moves = this.reads.ranges.has(table) ? this.moveInRanges(table, key, held.document) : null;
      const before = this.changed.get(table, key);
      const stored = before === undefined ? this.peek(table, key)?.document : before.stored;
      invariant(stored !== undefined, "a document is read before it is changed");
      const { document, seq } = held;
      const changed = { document, seq, stored, moves: before === undefined ? moves : bothMoves(before.moves, moves) };
      this.changed.set(table, key, changed);
      let dirty = this.dirty.get(table);
      if (dirty === undefined) this.dirty.set(table, (dirty = new Map<string, Changed>()));
      dirty.set(key, changed);
      this.hasChanges = true;
    });
    if (stops.size === 0) return;
    this.standings = new Map([...this.standings, ...stops]);
    for (const table of stops.keys()) this.reads.ranges.drop(table);
  }

  private moveInRanges(table: Table, key: string, after: object | null): Moves | null {
    const { projection } = table;
    const before = this.peek(table, key)?.document ?? null;
    try {
      const moves = movesOf(projection, key, before, after);
      this.reads.ranges.move(table, key, moves);
      return moves;
    } catch (error) {
      if (!isFailedIndex(error)) throw error;
      this.reads.ranges.drop(table); // and stops, when it is written
      return null;
    }
  }

  /** An index that answers otherwise than before stops its table where it is stored, which is a place that it can go on from
   *  unless a query had the batch's changes written. */
  private async flushOrStop(table: Table): Promise<void> {
    try {
      await this.flush(table);
    } catch (error) {
      if (!isFailedIndex(error) || this.flushed.has(table)) throw error;
      this.dirty.delete(table);
      const { id, position } = this.row(table);
      const stored = this.mark?.tables.includes(id) === true ? this.mark.position : position;
      const stopped: Standing = { type: "stopped", position: stored, error, failure: null };
      this.standings = new Map(this.standings).set(table, stopped);
      this.reads.ranges.drop(table);
    }
  }

  /** Writes into the transaction what is held back of one table. */
  async flush(table: Table): Promise<void> {
    const dirty = this.dirty.get(table);
    if (dirty === undefined) return;
    const moved = [...dirty].filter(([, { document, stored }]) => document !== stored);
    // An index that answers otherwise than before throws here: then what is held back stays so, and is not lost.
    const writes = moved.map(([key, changed]) => writeOf(table.projection, key, changed));
    this.dirty.delete(table);
    for (const [, changed] of moved) {
      changed.stored = changed.document;
      changed.moves = null;
    }
    if (writes.length === 0) return;
    await this.transaction.putDocuments(this.idOf(table), writes);
    this.flushed.add(table);
  }

  private get transaction(): StoreTransaction {
    const { transaction } = this.start;
    invariant(transaction !== null, "who reads ahead changes nothing");
    return transaction;
  }

  idOf(table: Table): number {
    return this.row(table).id;
  }

  private row(table: Table): ProjectionRow {
    const row = this.rows.get(table);
    invariant(row !== undefined, "a table that follows has a row");
    return row;
  }

  private followers(): Table[] {
    const followers: Table[] = [];
    for (const [table, { type }] of this.standings) if (type === "following") followers.push(table);
    return followers;
  }

  private mustWrite(position: number): boolean {
    if (this.hasChanges) return true;
    const listed = this.mark?.tables ?? [];
    let isFollowed = false;
    for (const [table, standing] of this.standings) {
      if (standing.type === "following") {
        if (!listed.includes(this.row(table).id)) return true;
        isFollowed = true;
      } else if (this.stoppedHere(table, standing)) return true;
    }
    return isFollowed && position - (this.mark?.position ?? -1) >= markLagMax;
  }

  /** Tables that the mark no longer lists take its position with them: whatever this process last knew of them, that is where
   *  they stand. */
  private async leave(ids: readonly number[], mark: FoldedMark): Promise<void> {
    const own = new Map([...this.rows].map(([table, row]) => [row.id, table]));
    for (const row of await this.start.reads.projections()) {
      if (!ids.includes(row.id)) continue;
      const table = own.get(row.id);
      const left = { ...row, position: mark.position, entryId: mark.entryId };
      if (table === undefined) await this.transaction.putProjection(left);
      else await this.putRow(table, left);
    }
  }

  /** Did it stop in this batch, which folded it on from where it stood? What stopped earlier said so then. */
  private stoppedHere(table: Table, standing: Standing): standing is StoppedStanding {
    return standing.type === "stopped" && this.start.state.standings.get(table)?.type === "following";
  }

  /** Says up to where it was folded, and why no further unless that is this program's trouble alone. */
  private async putStopped(table: Table, { position, failure }: StoppedStanding): Promise<void> {
    const status = failure === null ? "following" : "failed";
    const error = failure === null ? null : JSON.stringify(failure);
    await this.putRow(table, { ...this.row(table), ...(await this.placeOf(position)), status, error });
  }

  private async putRow(table: Table, row: ProjectionRow): Promise<void> {
    await this.transaction.putProjection(row);
    this.rows = new Map(this.rows).set(table, row);
  }

  private async placeOf(position: number): Promise<Pick<ProjectionRow, "position" | "entryId">> {
    if (position < 0) return { position: -1, entryId: null };
    const [entryId] = await this.start.reads.ids(position, 1);
    invariant(entryId !== undefined, "a table stops behind an entry that is there");
    return { position, entryId };
  }
}

/** Where a document moved that moved twice. */
function bothMoves(first: Moves | null, second: Moves | null): Moves | null {
  if (first === null || second === null) return null;
  return second.map((at, index) => (at === undefined ? first[index] : at));
}
