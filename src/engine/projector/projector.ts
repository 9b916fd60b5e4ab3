/** The projector of one open ledger: which tables this process keeps current, and the documents that it remembers.
 *  Invariants: what is remembered is what is stored as of `state.head`, for it changes after a commit, is dropped where others
 *  changed it, and altogether with every doubt; a ledger that no table concerns pays nothing. Source: design section 7, decisions
 *  0018, 0028. */
import type { DefinedAreas } from "../../../projections/event-of.js";
import type { FoldedMark, ProjectionRow } from "../../journal/documents.js";
import type { Store, StoreHead, StoreReads, StoreTransaction } from "../../journal/store.js";
import type { Documents, DocumentsStart } from "../documents.js";
import { writeOperational } from "../operational.js";
import type { Diagnostic } from "../types.js";
import { DocumentCache } from "./cache.js";
import type { Catalogue, Table } from "./catalogue.js";
import { catchUp, foldSteps } from "./catch-up.js";
import { placeOf } from "./place.js";
import type { TablesState } from "./standing.js";
import { TableBatch } from "./table-batch.js";
import type { Stopped, TableBatchStart, TablesOwner } from "./table-batch.js";
import { nothingTouched, touchedBy } from "./touched.js";
import type { Touched } from "./touched.js";

export interface ProjectorOptions {
  readonly catalogue: Catalogue;
  readonly areas: DefinedAreas;
  /** How many documents are remembered at most. */
  readonly cacheDocuments: number;
  readonly onEvent: (event: Diagnostic) => void;
}

export class Projector implements Documents, TablesOwner {
  private readonly options: ProjectorOptions;
  private readonly cache: DocumentCache;
  /** Null: nothing is known, all is read again. */
  state: TablesState | null = null;
  /** The last entry that is on disk, of those that `state` is about. */
  private settledTo = -1;

  constructor(options: ProjectorOptions) {
    this.options = options;
    this.cache = new DocumentCache(options.cacheDocuments);
  }

  adopt(state: TablesState, stopped: readonly Stopped[]): void {
    this.state = state;
    for (const { table, position, error } of stopped) {
      const { name, version } = table.projection;
      this.options.onEvent({ type: "stopped", projection: name, version, position: position + 1, error });
    }
  }

  settle(position: number): void {
    this.settledTo = position;
  }

  get remembers(): boolean {
    return this.state !== null && !isIdle(this.state);
  }

  begin(transaction: StoreTransaction, start: DocumentsStart): Promise<TableBatch> | TableBatch {
    const { cache, state } = this;
    const { head } = start;
    const ground = { reads: transaction, transaction, catalogue: this.options.catalogue, cache };
    if (head === null) return new TableBatch({ ...ground, state: noTables, owner: nobody });
    if (state !== null && !isWaiting(state)) {
      if (isIdle(state)) return new TableBatch({ ...ground, state, owner: this });
      return this.goOn(ground, state, { ...start, head }).then(
        (batch) => batch ?? this.readAgain(transaction, head, start),
      );
    }
    return this.readAgain(transaction, head, start);
  }

  async beginAhead(reads: StoreReads, start: DocumentsStart): Promise<TableBatch | null> {
    const { cache, state } = this;
    const { head } = start;
    const ground = { reads, transaction: null, catalogue: this.options.catalogue, cache };
    if (head === null || state === null || isWaiting(state)) return null;
    if (isIdle(state)) return new TableBatch({ ...ground, state, owner: this });
    return this.goOn(ground, state, { ...start, head });
  }

  /** Is there nothing that bringing it up could change, as far as this process knows: it follows, or it stopped? */
  isSettled(table: Table): boolean {
    const standing = this.state?.standings.get(table);
    return standing !== undefined && standing.type !== "behind";
  }

  /** Was it too far behind for the last batch that looked? */
  isBehind(table: Table): boolean {
    return this.state?.standings.get(table)?.type === "behind";
  }

  /** Up to where a table is folded; null when it does not follow. */
  followedTo(table: Table): number | null {
    return this.state?.standings.get(table)?.type === "following" ? this.state.head.seq : null;
  }

  /** Does the table follow, with nothing that concerns it between the mark and the head? Then whoever sees this mark, and no
   *  later head, sees all there is. */
  isFresh(table: Table, marked: number, head: number): boolean {
    const { state } = this;
    if (state === null || this.followedTo(table) === null) return false;
    return state.mark?.position === marked && head <= Math.min(state.head.seq, this.settledTo);
  }

  /** Writes the mark, which the last commits may have left behind, so that the next process has less to look through. */
  async close(store: Store, timeoutMs: number): Promise<void> {
    const { state, cache } = this;
    if (state === null || isIdle(state) || state.mark === null || state.mark.position >= state.head.seq) return;
    const { catalogue } = this.options;
    await writeOperational(store, timeoutMs, async (transaction) => {
      const head = await transaction.head();
      if (head?.id !== state.head.id || !(await isAsKnown(transaction, state))) return;
      const batch = new TableBatch({ reads: transaction, transaction, catalogue, cache, state, owner: nobody });
      await batch.writeAll(transaction, head);
    }).catch(() => {}); // what was not written is looked through again, and nothing else
  }

  forget(): void {
    this.state = null;
    this.settledTo = -1;
    this.cache.clear();
  }

  /** A batch that starts from what is remembered, brought on to the head; null where it has to be read again. Without a
   *  transaction nothing is written, and what others left to be folded is left to the lock. */
  private async goOn(
    ground: Pick<TableBatchStart, "reads" | "transaction" | "catalogue" | "cache">,
    state: TablesState,
    { head, since, foreseen }: DocumentsStart & { readonly head: StoreHead },
  ): Promise<TableBatch | null> {
    const { reads, transaction, cache } = ground;
    const { areas } = this.options;
    const mark = await reads.folded();
    let touched: Touched | null = nothingTouched;
    if (head.id === state.head.id) {
      if (!isSameMark(mark, state.mark)) return null;
    } else {
      if (since?.known.id !== state.head.id || mark === null || !listsSame(mark, state)) return null;
      touched = touchedBy(since.entries, mark.position, { ...ground, areas, standings: state.standings });
    }
    if (touched === null || (transaction === null && touched.steps.length > 0)) return null;
    if (!(await areStoppedAsKnown(reads, state, mark))) return null;
    for (const [table, keys] of touched.keys) for (const key of keys) cache.drop(table, key);
    const stateThere = { ...state, head: { seq: head.seq, id: head.id }, mark };
    const batch = new TableBatch({ ...ground, state: stateThere, owner: this });
    if (touched.keys.size > 0 || foreseen !== null) await batch.readLists(touched.keys, foreseen);
    if (touched.steps.length > 0) await foldSteps(batch, touched.steps);
    return batch;
  }

  private async readAgain(
    transaction: StoreTransaction,
    head: StoreHead,
    { foreseen }: DocumentsStart,
  ): Promise<TableBatch> {
    const { cache } = this;
    const { catalogue, areas } = this.options;
    cache.clear();
    const batch = await catchUp({ reads: transaction, transaction, catalogue, cache, owner: this, head, areas });
    if (foreseen !== null) await batch.readLists(new Map(), foreseen);
    return batch;
  }
}

const noTables: TablesState = { head: { seq: -1, id: "" }, mark: null, rows: new Map(), standings: new Map() };

/** For batches of which nothing is remembered. */
const nobody: TablesOwner = { state: null, adopt() {}, settle() {} };

/** Is there a table that somebody asked for, that does not follow, and that the next batch may bring up? */
function isWaiting(state: TablesState): boolean {
  for (const [table, { type }] of state.standings)
    if (type === "behind" && table.wanted && !table.building) return true;
  return false;
}

/** Is nothing used? Then it does not matter what others write. */
function isIdle(state: TablesState): boolean {
  for (const standing of state.standings.values()) if (standing.type !== "behind") return false;
  return true;
}

/** Do tables stand as this process left them? Another one can bring one up, or stop one, without moving the head. */
async function isAsKnown(reads: StoreReads, state: TablesState): Promise<boolean> {
  const mark = await reads.folded();
  return isSameMark(mark, state.mark) && (await areStoppedAsKnown(reads, state, mark));
}

/** Does each table that stopped stand where it stopped? */
async function areStoppedAsKnown(
  reads: StoreReads,
  { standings }: TablesState,
  mark: FoldedMark | null,
): Promise<boolean> {
  let rows: readonly ProjectionRow[] | undefined;
  for (const [{ projection }, standing] of standings) {
    if (standing.type !== "stopped") continue;
    rows ??= await reads.projections();
    if (placeOf(projection, rows, mark).position !== standing.position) return false;
  }
  return true;
}

/** Does a mark that others wrote list the tables that it listed, no earlier than then? Then those that follow are folded up to it. */
function listsSame(mark: FoldedMark, { mark: known }: TablesState): boolean {
  return known !== null && mark.position >= known.position && mark.tables.join() === known.tables.join();
}

function isSameMark(a: FoldedMark | null, b: FoldedMark | null): boolean {
  if (a === null || b === null) return a === b;
  return a.entryId === b.entryId && a.tables.join() === b.tables.join();
}
