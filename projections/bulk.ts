/** The bulk driver: many events into the documents of many projections, which are changed in place, without drafts. Where one
 *  stops, its documents are as they were before the event that stopped it (`working-document.ts`).
 *  Source: design section 7, decision 0018. */
import { areaOf } from "../src/kernel/names.js";
import type { AnyProjection } from "./define-projection.js";
import type { UnknownEvent } from "./event-of.js";
import type { ProjectionEvent } from "./event.js";
import { failureOf, projectionFailed } from "./failure.js";
import type { ProjectionFailure } from "./failure.js";
import { freezeDeep } from "./freeze.js";
import { applied, checkIndexes, failed, keyOf } from "./reducer.js";
import { WorkingDocument } from "./working-document.js";

/** A document that was folded, or that there is none any more. */
export interface BulkDocument {
  readonly document: object | null;
  /** Position of the event that changed it last; −1: none did since it was loaded. */
  readonly changed: number;
}

interface Row extends BulkDocument {
  document: object | null;
  changed: number;
}

/** One projection in a bulk fold. */
export class BulkTable {
  readonly projection: AnyProjection;
  private readonly rows = new Map<string, Row>();
  private readonly working = new WorkingDocument();
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

  /** The keys, not loaded yet, of the documents that these events concern. */
  keysToLoad(events: Iterable<ProjectionEvent | UnknownEvent>): string[] {
    const keys = new Set<string>();
    if (this.stopped !== null) return [];
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

  /** Takes a document over as it was stored; null: there is none. What is not loaded is taken for absent. */
  load(key: string, document: object | null): void {
    this.rows.set(key, { document, changed: -1 });
  }

  /** The document of a key, frozen; null when there is none. */
  get(key: string): object | null {
    const document = this.rows.get(key)?.document ?? null;
    return document === null ? null : freezeDeep(document);
  }

  /** All documents, by key, in no order. */
  *documents(): IterableIterator<[key: string, document: object]> {
    for (const [key, { document }] of this.rows) if (document !== null) yield [key, freezeDeep(document)];
  }

  /** What changed since it was loaded; a document that is null was removed. */
  *changes(): IterableIterator<[key: string, row: BulkDocument]> {
    for (const [key, row] of this.rows) {
      if (row.changed < 0) continue;
      if (row.document !== null) freezeDeep(row.document);
      yield [key, row];
    }
  }

  /** Folds an event, unless the projection stopped; answers the key of the document that it changed, or null. */
  fold(event: ProjectionEvent): string | null {
    if (this.stopped !== null) return null;
    let key: string | null = null;
    try {
      key = keyOf(this.projection, event, this.rows);
      return key !== null && this.foldInto(key, event) ? key : null;
    } catch (cause) {
      this.stopped = failureOf(cause) === null ? failed(this.projection, event, key, cause) : (cause as Error);
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

  private foldInto(key: string, event: ProjectionEvent): boolean {
    const row = this.rows.get(key);
    const own = this.working.watch(row?.document ?? null);
    let after: object | null;
    let changed: boolean;
    try {
      const left: unknown = applied<object>(this.projection, event, own);
      after = left === null || left === undefined ? null : this.working.settle(left);
      changed = after === null ? own !== undefined : this.working.changed;
      if (changed && after !== null) checkIndexes<object>(this.projection, after);
    } catch (cause) {
      if (row !== undefined) row.document = this.working.before();
      throw cause;
    }
    if (row === undefined) {
      if (changed) this.rows.set(key, { document: after, changed: event.position });
      return changed;
    }
    row.document = after;
    if (changed) row.changed = event.position;
    return changed;
  }
}

/** Many projections, folded side by side; one that stops does not stop the others. */
export class BulkFold {
  readonly tables: readonly BulkTable[];
  private readonly byType = new Map<string, readonly BulkTable[]>();

  constructor(projections: readonly AnyProjection[]) {
    this.tables = projections.map((projection) => new BulkTable(projection));
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
