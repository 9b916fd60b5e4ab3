/** The bulk drivers: many events into the documents of many projections, without drafts. `BulkTable` gives each event a copy to
 *  change, and knows what each changed and what was before; `ReplayTable` changes documents in place, and knows what
 *  they became. Source: design section 7, decision 0018. */
import { areaOf } from "../src/kernel/names.js";
import type { AnyProjection, EventHandler } from "./define-projection.js";
import { copyOf, settle } from "./document.js";
import type { UnknownEvent } from "./event-of.js";
import type { ProjectionEvent } from "./event.js";
import { failureOf, projectionFailed } from "./failure.js";
import type { ProjectionFailure } from "./failure.js";
import { InPlaceDocument } from "./in-place-document.js";
import type { IndexTuple } from "./index-key.js";
import { applied, checkIndexes, failed, keyOf, parseAnsweredKey } from "./reducer.js";

// oxlint-disable-next-line typescript/no-explicit-any -- of whatever documents, as in `AnyProjection`
type AnyHandler = EventHandler<any>;
type AnyIndex = (document: object) => IndexTuple | null;

const none: readonly never[] = [];

/** One projection in a bulk fold. */
abstract class FoldingTable<Row> {
  readonly projection: AnyProjection;
  protected readonly rows: Map<string, Row> = new Map();
  /** As a list: walking a map leaves garbage. */
  protected readonly indexes: readonly (readonly [name: string, tupleOf: AnyIndex])[];
  private stopped: Error | null = null;

  constructor(projection: AnyProjection) {
    this.projection = projection;
    this.indexes = [...projection.indexes];
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
    const handler = this.projection.on.get(event.type);
    return handler === undefined ? null : this.foldBy(handler, event);
  }

  /** The same, by the handler of its type. */
  foldBy(handler: AnyHandler, event: ProjectionEvent): string | null {
    if (this.stopped !== null) return null;
    let key: string | null = null;
    try {
      const answer: unknown = handler.key(event);
      const row = typeof answer === "string" ? this.rows.get(answer) : undefined;
      key = row === undefined ? parseAnsweredKey(answer) : (answer as string); // what has a row was parsed before
      return key !== null && this.foldInto(key, row, handler, event) ? key : null;
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
  protected abstract foldInto(key: string, row: Row | undefined, handler: AnyHandler, event: ProjectionEvent): boolean;
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

  protected override foldInto(
    key: string,
    row: BulkDocument | undefined,
    handler: AnyHandler,
    event: ProjectionEvent,
  ): boolean {
    const before = row?.document ?? null;
    const left: unknown = applied<object>(handler, event, before === null ? undefined : copyOf(before));
    const after = left === null || left === undefined ? null : settle(left, before);
    if (after === before) return false;
    if (after !== null) checkIndexes<object>(this.indexes, after);
    this.rows.set(key, { document: after, changed: event.position });
    return true;
  }
}

/** Folds from nothing, for what became of it alone: where it stops it has no documents any more. */
export class ReplayTable extends FoldingTable<InPlaceDocument> {
  /** The document of a key, frozen; null when there is none. Throws what stopped it. */
  get(key: string): object | null {
    if (this.error !== null) throw this.error;
    return this.rows.get(key)?.show() ?? null;
  }

  /** All documents, by key, in no order. Throws what stopped it. */
  *documents(): IterableIterator<[key: string, document: object]> {
    if (this.error !== null) throw this.error;
    for (const [key, row] of this.rows) {
      const document = row.show();
      if (document !== null) yield [key, document];
    }
  }

  protected override foldInto(
    key: string,
    row: InPlaceDocument | undefined,
    handler: AnyHandler,
    event: ProjectionEvent,
  ): boolean {
    const document = row ?? new InPlaceDocument();
    if (row === undefined) this.rows.set(key, document);
    const settled = document.settle(applied<object>(handler, event, document.open()));
    if (settled !== null) checkIndexes<object>(this.indexes, settled);
    return true;
  }
}

/** Many projections, replayed side by side; one that stops does not stop the others. */
export class ReplayFold {
  readonly tables: readonly ReplayTable[];
  private readonly byType = new Map<string, { readonly table: ReplayTable; readonly handler: AnyHandler }[]>();

  constructor(projections: readonly AnyProjection[]) {
    this.tables = projections.map((projection) => new ReplayTable(projection));
    for (const table of this.tables)
      for (const [type, handler] of table.projection.on) {
        const concerned = this.byType.get(type);
        if (concerned === undefined) this.byType.set(type, [{ table, handler }]);
        else concerned.push({ table, handler });
      }
  }

  /** Folds an event into every projection that it concerns. */
  fold(event: ProjectionEvent | UnknownEvent): void {
    if ("unknown" in event) for (const table of this.tables) table.foldUnknown(event);
    else for (const { table, handler } of this.byType.get(event.type) ?? none) table.foldBy(handler, event);
  }
}
