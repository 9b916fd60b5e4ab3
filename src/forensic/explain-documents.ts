/** Which event explains a difference: the last one that changed what differs. Found by reading the journal once more and
 *  folding the documents that differ alone, so that who finds no difference pays nothing. */
import { BulkTable } from "../../projections/bulk.js";
import type { UnknownEvent } from "../../projections/event-of.js";
import type { ProjectionEvent } from "../../projections/event.js";
import { keyOf } from "../../projections/reducer.js";
import type { DocumentDifference } from "./compare-documents.js";
import { firstDifference, valueAt } from "./difference.js";
import type { DocumentTable } from "./document-tables.js";
import type { TableFold } from "./table-fold.js";

/** An event that changed something. */
export interface ChangingEvent {
  readonly position: number;
  readonly stream: string;
  readonly revision: number;
}

/** What is watched: a place in a document, and what it stands in, for a place where nothing ever stood. */
interface Watch {
  readonly place: Place;
  readonly around: Place;
}

interface Place {
  readonly path: string;
  value: unknown;
  /** The last event that changed it. */
  changed: ChangingEvent | null;
}

/** The differences whose events are looked for. */
export class DocumentWatch {
  private readonly tables = new Map<DocumentTable, WatchedTable>();

  add(difference: DocumentDifference, fold: TableFold): void {
    let table = this.tables.get(difference.table);
    if (table === undefined) this.tables.set(difference.table, (table = new WatchedTable(fold)));
    table.watch(difference.key, difference.path ?? "");
  }

  /** Folds one event. */
  take(event: ProjectionEvent | UnknownEvent): void {
    if ("unknown" in event) return; // whatever it would have changed was not compared
    for (const table of this.tables.values()) table.take(event);
  }

  /** The event that explains a difference; null when there is none. */
  explain({ table, key }: DocumentDifference): ChangingEvent | null {
    return this.tables.get(table)?.explain(key) ?? null;
  }
}

class WatchedTable {
  private readonly fold: TableFold;
  private readonly table: BulkTable;
  private readonly watches = new Map<string, Watch>();

  constructor(fold: TableFold) {
    this.fold = fold;
    this.table = new BulkTable(fold.projection);
  }

  watch(key: string, path: string): void {
    const placeAt = (at: string): Place => ({ path: at, value: undefined, changed: null });
    this.watches.set(key, { place: placeAt(path), around: placeAt(path.slice(0, Math.max(0, path.lastIndexOf("/")))) });
  }

  take(event: ProjectionEvent): void {
    const { projection, until } = this.fold;
    if (event.position > until || !projection.on.has(event.type)) return;
    const key = keyOf(projection, event); // the fold has seen that it gives one
    const watch = key === null ? undefined : this.watches.get(key);
    if (key === null || watch === undefined || this.table.fold(event) === null) return;
    const { position, stream, revision } = event;
    for (const place of [watch.place, watch.around]) {
      const value = valueAt(this.table.get(key) ?? undefined, place.path);
      if (firstDifference(place.value, value) !== null) place.changed = { position, stream, revision };
      place.value = value;
    }
  }

  explain(key: string): ChangingEvent | null {
    const watch = this.watches.get(key);
    return watch?.place.changed ?? watch?.around.changed ?? null;
  }
}
