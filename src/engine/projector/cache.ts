/** The documents that were used last, as they are stored. Bounded by their number: two halves, of which the older one is
 *  dropped when the younger one is full; what is used is young.
 *  Invariant: a document in here is the stored one, for it is put here after the commit, and dropped when others changed it and with
 *  every doubt. */
import type { Table } from "./catalogue.js";
import { IndexRanges } from "./ranges.js";

/** A document as it stands; null: there is none. */
export interface Held {
  readonly document: object | null;
  /** Position of the event that changed it last; −1 when there is none. */
  readonly seq: number;
}

type Half = Map<Table, Map<string, Held>>;

export class DocumentCache {
  private readonly halfMax: number;
  private young: Half = new Map();
  private old: Half = new Map();
  private count = 0;
  private ranges = new IndexRanges();

  /** At most so many documents. */
  constructor(documentsMax: number) {
    this.halfMax = Math.floor(documentsMax / 2);
  }

  get(table: Table, key: string): Held | undefined {
    const held = this.young.get(table)?.get(key);
    if (held !== undefined) return held;
    const older = this.old.get(table)?.get(key);
    if (older !== undefined) this.put(table, key, older);
    return older;
  }

  put(table: Table, key: string, held: Held): void {
    if (this.halfMax === 0) return;
    let documents = this.young.get(table);
    if (documents === undefined) this.young.set(table, (documents = new Map<string, Held>()));
    if (!documents.has(key)) this.count++;
    documents.set(key, held);
    if (this.count < this.halfMax) return;
    this.old = this.young;
    this.young = new Map();
    this.count = 0;
  }

  /** Others changed it. */
  drop(table: Table, key: string): void {
    if (this.young.get(table)?.delete(key) === true) this.count--;
    this.old.get(table)?.delete(key);
  }

  /** What is known of indexes. Whoever takes it changes it with what it writes, and gives it back when that is on disk. */
  takeRanges(): IndexRanges {
    const taken = this.ranges;
    this.ranges = new IndexRanges();
    return taken;
  }

  putRanges(ranges: IndexRanges): void {
    this.ranges = ranges;
  }

  clear(): void {
    this.ranges = new IndexRanges();
    this.young = new Map();
    this.old = new Map();
    this.count = 0;
  }

  /** How many are kept. */
  get size(): number {
    let size = 0;
    for (const half of [this.young, this.old]) for (const documents of half.values()) size += documents.size;
    return size;
  }
}
