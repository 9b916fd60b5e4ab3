/** Which documents stand in ranges of an index, as a batch leaves them: a query that is asked again and again, as that of a queue
 *  for its first item is, is answered without writing what is held back and asking the store.
 *  Invariants: a range has all the documents that stand between its bounds, and no other; so a document that moves is moved in
 *  every range of its table. How many there are, and how long, is bounded. Source: decisions 0018, 0022. */
import type { DocumentRange, DocumentWrite } from "../../journal/documents.js";
import type { Table } from "./catalogue.js";

/** Where a document stands in an index. */
export interface Place {
  readonly at: Uint8Array;
  readonly key: string;
}

/** Where a document that changed stands in each index: its bytes, null for nowhere, undefined for where it stood. */
export type Moves = DocumentWrite["indexes"];

/** What of a range is not known. */
export interface Missing {
  /** From where on, inclusive. */
  readonly from: Uint8Array;
  /** How many documents to read from there, at least as many as are asked for. */
  readonly count: number;
  /** Was the same asked for before, by less far a bound? Then it pays to know how far there is nothing. */
  readonly again: boolean;
}

const rangesPerIndexMax = 128;
/** The longest page that is looked for in them, and the most that is read ahead. */
export const pageMax = 256;
const placesMax = 2 * pageMax;

class KnownRange {
  /** Ascending, each once. */
  readonly places: Place[] = [];
  /** By key, where it stands in here. */
  private readonly byKey = new Map<string, Uint8Array>();
  private readonly from: Uint8Array;
  /** Exclusive; null: to the end of the index. */
  private to: Uint8Array | null;
  private ahead = 1;

  constructor(from: Uint8Array) {
    this.from = from;
    this.to = from;
  }

  /** The first of the documents below a bound; or what has to be read for that. */
  find(to: Uint8Array | null, limit: number): readonly Place[] | Missing {
    const count = to === null ? this.places.length : this.countBelow(to);
    if (count >= limit || this.reaches(to)) return this.places.slice(0, Math.min(count, limit));
    const again = this.to !== this.from;
    return { from: this.to!, count: Math.max(limit - count, again ? this.ahead : 0), again };
  }

  /** Takes what follows, up to a bound. */
  extend(found: readonly Place[], to: Uint8Array | null): void {
    for (const { at, key } of found) {
      this.places.push({ at, key });
      this.byKey.set(key, at);
    }
    this.to = to;
    this.ahead = Math.min(2 * this.ahead, pageMax);
    this.cut();
  }

  move(key: string, at: Uint8Array | null): void {
    const before = this.byKey.get(key);
    if (before !== undefined) {
      this.places.splice(this.countBelow(before), 1);
      this.byKey.delete(key);
    }
    if (at === null || Buffer.compare(at, this.from) < 0) return;
    if (this.to !== null && Buffer.compare(at, this.to) >= 0) return;
    this.places.splice(this.countBelow(at), 0, { at, key });
    this.byKey.set(key, at);
    this.cut();
  }

  private reaches(to: Uint8Array | null): boolean {
    return this.to === null || (to !== null && Buffer.compare(to, this.to) <= 0);
  }

  /** Forgets the second half of a range that became too long. */
  private cut(): void {
    if (this.places.length <= placesMax) return;
    const rest = this.places.splice(pageMax);
    this.to = rest[0]!.at;
    for (const { key } of rest) this.byKey.delete(key);
  }

  private countBelow(bound: Uint8Array): number {
    let low = 0;
    let high = this.places.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (Buffer.compare(this.places[middle]!.at, bound) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Of one table: by index, and there by the bytes that a range begins with. */
type TableRanges = Map<number, Map<string, KnownRange>>;

export class IndexRanges {
  private readonly tables = new Map<Table, TableRanges>();

  /** The first documents of a range, in order; or what has to be read for that. */
  find(table: Table, { index, from, to, limit }: DocumentRange): readonly Place[] | Missing {
    if (to !== null && Buffer.compare(from, to) >= 0) return [];
    const known = this.tables.get(table)?.get(index)?.get(nameOf(from));
    return known?.find(to, limit) ?? { from, count: limit, again: false };
  }

  /** Takes what was read because it was missing: all that stands up to a bound. */
  extend(
    table: Table,
    { index, from }: Pick<DocumentRange, "index" | "from">,
    found: readonly Place[],
    to: Uint8Array | null,
  ): void {
    let indexes = this.tables.get(table);
    if (indexes === undefined) this.tables.set(table, (indexes = new Map<number, Map<string, KnownRange>>()));
    let ranges = indexes.get(index);
    if (ranges === undefined) indexes.set(index, (ranges = new Map<string, KnownRange>()));
    const name = nameOf(from);
    let range = ranges.get(name);
    if (range === undefined) {
      const oldest: string | undefined = ranges.size < rangesPerIndexMax ? undefined : ranges.keys().next().value;
      if (oldest !== undefined) ranges.delete(oldest);
      ranges.set(name, (range = new KnownRange(from)));
    }
    range.extend(found, to);
  }

  /** Is there any of a table? */
  has(table: Table): boolean {
    return this.tables.has(table);
  }

  move(table: Table, key: string, moves: Moves): void {
    for (const [index, ranges] of this.tables.get(table) ?? []) {
      const at = moves[index];
      if (at !== undefined) for (const range of ranges.values()) range.move(key, at);
    }
  }

  drop(table: Table): void {
    this.tables.delete(table);
  }
}

function nameOf(from: Uint8Array): string {
  return Buffer.from(from.buffer, from.byteOffset, from.byteLength).toString("latin1");
}
