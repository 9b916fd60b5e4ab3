/** The bulk drivers: many events into the documents of many projections, without drafts. `BulkTable` gives each event a copy to
 *  change, and knows what each changed and what was before; `ReplayTable` changes documents in place, and knows what
 *  they became. Source: design section 7, decision 0018. */
import { areaOf } from "../src/kernel/names.js";
import type { AnyProjection } from "./define-projection.js";
import { copyOf, settle } from "./document.js";
import type { UnknownEvent } from "./event-of.js";
import type { ProjectionEvent } from "./event.js";
import { failureOf, projectionFailed } from "./failure.js";
import type { ProjectionFailure } from "./failure.js";
import { freezeDeep } from "./freeze.js";
import { InPlaceDocument } from "./in-place-document.js";
import { applied, checkIndexes, failed, keyOf } from "./reducer.js";

/** One projection in a bulk fold. */
abstract class FoldingTable<Row> {
  readonly projection: AnyProjection;
  protected readonly rows: Map<string, Row> = new Map();
  private stopped: Error | null = null;

  constructor(projection: AnyProjection) {
    this.projection = projection;
  }

  /** Why it stopped, as an error; null while it goes on. */
  get error(): Error | null {
    return this.stopped;
  }

  /** Why and where it stopped; null while it goes on. */
  get failure(): ProjectionFailure | null {
    return failureOf(this.stopped);
  }

  /** Folds an event, unless the projection stopped; answers the key of the document that it changed, or null. */
  fold(event: ProjectionEvent): string | null {
    if (this.stopped !== null) return null;
    let key: string | null;
    try {
      key = keyOf(this.projection, event, this.rows);
    } catch (failure) {
      this.stopped = failure as Error; // it is worded already
      return null;
    }
    try {
      return key !== null && this.foldInto(key, event) ? key : null;
    } catch (cause) {
      this.stopped = failed(this.projection, event, key, cause);
      return null;
    }
  }

  /** Meets an event that this program does not know. */
  foldUnknown(event: UnknownEvent): void {
    if (this.stopped !== null || !this.projection.areas.has(areaOf(event.type))) return;
    const { position, type, message, cause } = event;
    this.stopped = projectionFailed(
      this.projection,
      { code: "SCHEMA_UNKNOWN", position, type, key: null, message },
      cause,
    );
  }

  /** Did it change the document? */
  protected abstract foldInto(key: string, event: ProjectionEvent): boolean;
}

/** A document that was folded, or that there is none any more. */
export interface BulkDocument {
  /** Frozen. */
  readonly document: object | null;
  /** Position of the event that changed it last; −1: none did since it was loaded. */
  readonly changed: number;
}

/** Folds where it counts which event changed what: for tables, and for whoever compares them. Where it stops, its documents are
 *  as they were before the event that stopped it. */
export class BulkTable extends FoldingTable<BulkDocument> {
  /** The keys, not loaded yet, of the documents that these events concern. */
  keysToLoad(events: Iterable<ProjectionEvent | UnknownEvent>): string[] {
    const keys = new Set<string>();
    if (this.error !== null) return [];
    try {
      for (const event of events) {
        const key = "unknown" in event ? null : keyOf(this.projection, event);
        if (key !== null && !this.rows.has(key)) keys.add(key);
      }
    } catch (cause) {
      if (failureOf(cause) === null) throw cause; // else: folding stops there too
    }
    return [...keys];
  }

  /** Takes a document over as it was stored, frozen; null: there is none. What is not loaded is taken for absent. */
  load(key: string, document: object | null): void {
    this.rows.set(key, { document, changed: -1 });
  }

  /** The document of a key, frozen; null when there is none. */
  get(key: string): object | null {
    return this.rows.get(key)?.document ?? null;
  }

  /** All documents, by key, in no order. */
  *documents(): IterableIterator<[key: string, document: object]> {
    for (const [key, { document }] of this.rows) if (document !== null) yield [key, document];
  }

  /** What changed since it was loaded; a document that is null was removed. */
  *changes(): IterableIterator<[key: string, row: BulkDocument]> {
    for (const [key, row] of this.rows) if (row.changed >= 0) yield [key, row];
  }

  protected override foldInto(key: string, event: ProjectionEvent): boolean {
    const before = this.rows.get(key)?.document ?? null;
    const left: unknown = applied<object>(this.projection, event, before === null ? undefined : copyOf(before));
    const after = left === null || left === undefined ? null : settle(left, before);
    if (after === before) return false;
    if (after !== null) checkIndexes<object>(this.projection, after);
    this.rows.set(key, { document: after, changed: event.position });
    return true;
  }
}

/** Folds from nothing, for what became of it alone: where it stops it has no documents any more. */
export class ReplayTable extends FoldingTable<InPlaceDocument> {
  /** The document of a key, frozen; null when there is none. Throws what stopped it. */
  get(key: string): object | null {
    if (this.error !== null) throw this.error;
    return frozen(this.rows.get(key)?.settled ?? null);
  }

  /** All documents, by key, in no order. Throws what stopped it. */
  *documents(): IterableIterator<[key: string, document: object]> {
    if (this.error !== null) throw this.error;
    for (const [key, { settled }] of this.rows) if (settled !== null) yield [key, freezeDeep(settled)];
  }

  protected override foldInto(key: string, event: ProjectionEvent): boolean {
    let row = this.rows.get(key);
    if (row === undefined) this.rows.set(key, (row = new InPlaceDocument(null)));
    const settled = row.settle(applied<object>(this.projection, event, row.open()));
    if (settled !== null) checkIndexes<object>(this.projection, settled);
    return true;
  }
}

function frozen(document: object | null): object | null {
  return document === null ? null : freezeDeep(document);
}

/** Many projections, replayed side by side; one that stops does not stop the others. */
export class ReplayFold {
  readonly tables: readonly ReplayTable[];
  private readonly byType = new Map<string, readonly ReplayTable[]>();

  constructor(projections: readonly AnyProjection[]) {
    this.tables = projections.map((projection) => new ReplayTable(projection));
    for (const type of new Set(projections.flatMap((projection) => [...projection.on.keys()])))
      this.byType.set(
        type,
        this.tables.filter((table) => table.projection.on.has(type)),
      );
  }

  /** Folds an event into every projection that it concerns. */
  fold(event: ProjectionEvent | UnknownEvent): void {
    if ("unknown" in event) for (const table of this.tables) table.foldUnknown(event);
    else for (const table of this.byType.get(event.type) ?? []) table.fold(event);
  }
}
