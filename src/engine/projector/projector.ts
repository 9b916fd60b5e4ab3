/** The projector of one open ledger: which tables this process keeps current, and the documents that it remembers.
 *  Invariants: what is remembered is what is stored, for it changes after a commit and is dropped with every doubt; a ledger
 *  that no table concerns pays nothing. Source: design section 7, decision 0018. */
import type { DefinedAreas } from "../../../projections/event-of.js";
import type { FoldedMark, ProjectionRow } from "../../journal/documents.js";
import type { Store, StoreHead, StoreTransaction } from "../../journal/store.js";
import type { Documents } from "../documents.js";
import { writeOperational } from "../operational.js";
import type { Diagnostic } from "../types.js";
import { DocumentCache } from "./cache.js";
import type { Catalogue, Table } from "./catalogue.js";
import { catchUp } from "./catch-up.js";
import { placeOf } from "./place.js";
import type { TablesState } from "./standing.js";
import { TableBatch } from "./table-batch.js";
import type { Stopped } from "./table-batch.js";

export interface ProjectorOptions {
  readonly catalogue: Catalogue;
  readonly areas: DefinedAreas;
  /** How many documents are remembered at most. */
  readonly cacheDocuments: number;
  readonly onEvent: (event: Diagnostic) => void;
}

export class Projector implements Documents {
  private readonly options: ProjectorOptions;
  private readonly cache: DocumentCache;
  /** Null: nothing is known, all is read again. */
  private state: TablesState | null = null;

  private readonly adopt = (state: TablesState, stopped: readonly Stopped[]): void => {
    this.state = state;
    for (const { table, position, error } of stopped) {
      const { name, version } = table.projection;
      this.options.onEvent({ type: "stopped", projection: name, version, position: position + 1, error });
    }
  };

  constructor(options: ProjectorOptions) {
    this.options = options;
    this.cache = new DocumentCache(options.cacheDocuments);
  }

  begin(transaction: StoreTransaction, head: StoreHead | null): Promise<TableBatch> | TableBatch {
    const { cache, state, adopt } = this;
    const { catalogue, areas } = this.options;
    const goOn = (known: TablesState): TableBatch =>
      new TableBatch({ transaction, catalogue, cache, state: known, adopt });
    const readAgain = (last: StoreHead): Promise<TableBatch> => {
      cache.clear();
      return catchUp({ transaction, catalogue, cache, adopt, head: last, areas });
    };
    if (head === null) return new TableBatch({ transaction, catalogue, cache, state: noTables, adopt: () => {} });
    if (state === null || isWaiting(state)) return readAgain(head);
    if (isIdle(state)) return goOn(state);
    if (head.id !== state.head.id) return readAgain(head);
    return isAsKnown(transaction, state).then((known) => (known ? goOn(state) : readAgain(head)));
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
    return state.mark?.position === marked && head <= state.head.seq;
  }

  /** Writes the mark, which the last commits may have left behind, so that the next process has less to look through. */
  async close(store: Store, timeoutMs: number): Promise<void> {
    const { state, cache } = this;
    if (state === null || isIdle(state) || state.mark === null || state.mark.position >= state.head.seq) return;
    const { catalogue } = this.options;
    await writeOperational(store, timeoutMs, async (transaction) => {
      const head = await transaction.head();
      if (head?.id !== state.head.id || !(await isAsKnown(transaction, state))) return;
      const batch = new TableBatch({ transaction, catalogue, cache, state, adopt: () => {} });
      await batch.writeAll(transaction, head);
    }).catch(() => {}); // what was not written is looked through again, and nothing else
  }

  forget(): void {
    this.state = null;
    this.cache.clear();
  }
}

const noTables: TablesState = { head: { seq: -1, id: "" }, mark: null, rows: new Map(), standings: new Map() };

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
async function isAsKnown(transaction: StoreTransaction, { mark, standings }: TablesState): Promise<boolean> {
  const stored = await transaction.folded();
  if (!isSameMark(stored, mark)) return false;
  let rows: readonly ProjectionRow[] | undefined;
  for (const [{ projection }, standing] of standings) {
    if (standing.type !== "stopped") continue;
    rows ??= await transaction.projections();
    if (placeOf(projection, rows, stored).position !== standing.position) return false;
  }
  return true;
}

function isSameMark(a: FoldedMark | null, b: FoldedMark | null): boolean {
  if (a === null || b === null) return a === b;
  return a.entryId === b.entryId && a.tables.join() === b.tables.join();
}
