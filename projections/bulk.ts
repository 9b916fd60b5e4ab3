/** The bulk driver: many events into the documents of many projections, without drafts. A reducer changes a copy of its
 *  document, which takes the document's place when it is in order and is dropped when it is not: so a projection stops with
 *  its documents as they were before the event that stopped it.
 *  Invariant: no two documents, no event and no constant of the host share a part that a reducer can change.
 *  Source: design section 7, decision 0018. */
import { areaOf } from "../src/kernel/names.js";
import type { AnyProjection } from "./define-projection.js";
import { copyOf } from "./document.js";
import type { UnknownEvent } from "./event-of.js";
import type { ProjectionEvent } from "./event.js";
import { failureOf, projectionFailed } from "./failure.js";
import type { ProjectionFailure } from "./failure.js";
import { changeBox, failed, keyOf, settleFold } from "./reducer.js";

/** A document that was folded, or that there is none any more. */
export interface BulkDocument {
  readonly document: object | null;
  /** Position of the event that changed it last; −1: none did since it was loaded. */
  readonly changed: number;
}

/** One projection in a bulk fold. */
export class BulkTable {
  readonly projection: AnyProjection;
  private readonly rows = new Map<string, BulkDocument>();
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

  /** Folds an event, unless the projection stopped; answers the key of the document that it changed, or null. */
  fold(event: ProjectionEvent): string | null {
    if (this.stopped !== null) return null;
    let key: string | null = null;
    try {
      key = keyOf(this.projection, event);
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
    const before = this.get(key);
    const box: { document: object | null } = { document: before === null ? null : copyOf(before) };
    changeBox(this.projection, event)(box);
    const after: object | null = settleFold<object>(this.projection, box.document, before);
    if (after === before) return false;
    this.rows.set(key, { document: after, changed: event.position });
    return true;
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
