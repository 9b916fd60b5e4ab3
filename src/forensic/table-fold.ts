/** A projection, folded from the first event: twice, so that what it makes is known not to depend on the moment.
 *  Invariant: the second fold sees each event a while after the first one did, with others between; so clocks, randomness, and
 *  what a reducer keeps outside its document make the two differ. What depends on the process as a whole, a locale or a
 *  time zone, is the same for both. */
import { BulkTable } from "../../projections/bulk.js";
import type { AnyProjection } from "../../projections/define-projection.js";
import type { UnknownEvent } from "../../projections/event-of.js";
import type { ProjectionEvent } from "../../projections/event.js";
import type { ProjectionFailure } from "../../projections/failure.js";
import { areaOf } from "../kernel/names.js";
import { firstDifference } from "./difference.js";
import type { Difference } from "./difference.js";

/** What one event did. */
interface Outcome {
  readonly event: ProjectionEvent | UnknownEvent;
  /** Of the document that it changed; null: of none. */
  readonly key: string | null;
  readonly document: object | null;
  readonly failed: boolean;
}

/** The first event that did something else the second time. */
export interface Nondeterminism {
  readonly position: number;
  readonly key: string | null;
  readonly difference: Difference | null;
  readonly message: string;
}

export class TableFold {
  readonly projection: AnyProjection;
  /** The last position to be folded. */
  readonly until: number;
  /** How many events concerned it. */
  events = 0;
  nondeterminism: Nondeterminism | null = null;
  private readonly first: BulkTable;
  private readonly second: BulkTable;
  private outcomes: Outcome[] = [];

  constructor(projection: AnyProjection, until: number) {
    this.projection = projection;
    this.until = until;
    this.first = new BulkTable(projection);
    this.second = new BulkTable(projection);
  }

  /** Does it have to see an event of this type? */
  listsAreaOf(type: string): boolean {
    return this.projection.areas.has(areaOf(type));
  }

  /** Why it stopped; null when it did not. */
  get failure(): ProjectionFailure | null {
    return this.first.failure;
  }

  /** The documents, with the position of the event that changed each last. */
  *documents(): IterableIterator<readonly [key: string, document: object, seq: number]> {
    for (const [key, { document, changed }] of this.first.changes())
      if (document !== null) yield [key, document, changed];
  }

  /** Folds an event for the first time. */
  take(event: ProjectionEvent | UnknownEvent): void {
    if (event.position > this.until || this.first.error !== null || this.nondeterminism !== null) return;
    this.events++;
    this.outcomes.push(foldInto(this.first, event));
  }

  /** Folds what was taken since for the second time. */
  repeat(): void {
    const outcomes = this.outcomes;
    this.outcomes = [];
    for (const outcome of outcomes) {
      this.nondeterminism = compare(outcome, foldInto(this.second, outcome.event));
      if (this.nondeterminism !== null) return;
    }
  }
}

function foldInto(table: BulkTable, event: ProjectionEvent | UnknownEvent): Outcome {
  let key: string | null = null;
  if ("unknown" in event) table.foldUnknown(event);
  else key = table.fold(event);
  return { event, key, document: key === null ? null : table.get(key), failed: table.error !== null };
}

function compare(first: Outcome, second: Outcome): Nondeterminism | null {
  const { position } = first.event;
  const at = { position, key: first.key ?? second.key };
  if (first.failed !== second.failed)
    return { ...at, difference: null, message: "it is folded one time and fails another" };
  if (first.key === second.key) {
    const difference = firstDifference(first.document, second.document);
    return difference && { ...at, difference, message: "it is folded to two documents" };
  }
  return { ...at, difference: null, message: `it changes the documents ${show(first.key)} and ${show(second.key)}` };
}

function show(key: string | null): string {
  return key === null ? "of no key" : JSON.stringify(key);
}
