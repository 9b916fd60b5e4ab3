/** What one batch reads of tables: documents by their keys and by the order of an index, and what is remembered of both. Where reads
 *  are round trips, what is foreseen is read in lists, one a table.
 *  Invariant: a document that is damaged refuses whoever asks for it, and nobody who read it along. Source: decisions 0022, 0028. */
import type { AnyProjection } from "../../../projections/define-projection.js";
import { parseQuery } from "../../../projections/query.js";
import type { DocumentScan } from "../../../projections/query.js";
import { LedgerError } from "../../kernel/errors.js";
import type { DocumentRange, FoundDocument, StoredDocument } from "../../journal/documents.js";
import type { StoreReads } from "../../journal/store.js";
import type { ForeseenDocuments } from "../foreseen.js";
import { waitForAll } from "../wait-for-all.js";
import type { DocumentCache, Held } from "./cache.js";
import type { Catalogue, Table } from "./catalogue.js";
import { scanStored } from "./find.js";
import type { Placed } from "./find.js";
import { foreseenKeys } from "./foreseen-keys.js";
import { Layer } from "./layer.js";
import { pageMax } from "./ranges.js";
import type { IndexRanges, Missing, Place } from "./ranges.js";
import { heldOf, isDamagedDocument, isFailedIndex, movesOf, noDocument, readDocuments } from "./stored-document.js";

/** What lies over what is read. */
export interface ReadsGround {
  readonly catalogue: Catalogue;
  isFollowing(table: Table): boolean;
  idOf(table: Table): number;
  /** A document as the batch leaves it; undefined when it has to be read. */
  peek(table: Table, key: string): Held | undefined;
  /** Writes what is held back of a table, so that the store answers for it. */
  flush(table: Table): Promise<void>;
}

export class BatchReads {
  readonly ranges: IndexRanges;
  private readonly reads: StoreReads;
  private readonly cache: DocumentCache;
  private readonly ground: ReadsGround;
  private readonly read = new Layer();

  constructor(reads: StoreReads, cache: DocumentCache, ground: ReadsGround) {
    this.reads = reads;
    this.cache = cache;
    this.ground = ground;
    this.ranges = cache.takeRanges();
  }

  /** A document as it is stored; undefined when it has to be read. */
  get(table: Table, key: string): Held | undefined {
    return this.read.get(table, key) ?? this.cache.get(table, key);
  }

  /** Has what was read remembered. */
  adopt(): void {
    this.read.forEach((table, key, held) => this.cache.put(table, key, held));
    this.cache.putRanges(this.ranges);
  }

  /** Reads documents, so that `get` knows them. */
  async load(table: Table, keys: readonly string[]): Promise<void> {
    const held = await readDocuments(this.reads, this.ground.idOf(table), table.projection, keys);
    keys.forEach((key, index) => this.read.set(table, key, held[index]!));
  }

  scan(table: Table, scan: DocumentScan, limit: number): Promise<readonly Placed[]> | readonly Placed[] {
    if (!isRemembered(scan, limit)) return this.scanStored(table, scan, limit);
    const range = { ...scan.range, limit };
    const places = this.ranges.find(table, range);
    return "count" in places ? this.readRange(table, range, places) : this.documentsAt(table, places);
  }

  /** Reads, in lists, what others changed where the order of documents is remembered, and what is foreseen; undefined when that is
   *  nothing. */
  readLists(
    touched: ReadonlyMap<Table, ReadonlySet<string>>,
    foreseen: ForeseenDocuments | null,
  ): Promise<void> | undefined {
    const missing = new Map<Table, Set<string>>();
    for (const [table, keys] of touched) {
      if (!this.ranges.has(table)) continue;
      if (keys.size > pageMax) this.ranges.drop(table);
      else missing.set(table, new Set(keys));
    }
    const mustMove = missing.size > 0;
    for (const [table, keys] of foreseen === null ? [] : foreseenKeys(foreseen, this.ground)) {
      const unknown = [...keys].filter((key) => this.ground.peek(table, key) === undefined);
      if (unknown.length > 0) missing.set(table, new Set([...(missing.get(table) ?? []), ...unknown]));
    }
    const ranges = foreseen === null ? [] : this.missingRanges(foreseen);
    if (missing.size === 0 && ranges.length === 0) return undefined;
    const reading = [...missing].map(([table, keys]) => this.loadSound(table, [...keys], touched.get(table)));
    // A range is known again when what others changed has been moved in it.
    if (mustMove && foreseen !== null)
      return waitForAll(reading).then(() => waitForAll(this.missingRanges(foreseen).map((fill) => fill())));
    return waitForAll([...reading, ...ranges.map((fill) => fill())]);
  }

  /** The first documents of a scan when all of them are known; null otherwise. */
  glimpse(table: Table, scan: DocumentScan, limit: number): readonly Placed[] | null {
    if (!isRemembered(scan, limit)) return null;
    const places = this.ranges.find(table, { ...scan.range, limit });
    if ("count" in places || places.some(({ key }) => this.ground.peek(table, key) === undefined)) return null;
    const placed = this.documentsAt(table, places);
    return placed instanceof Promise ? null : placed;
  }

  /** Reads documents, and moves those that others changed to where they stand now. */
  private async loadSound(
    table: Table,
    keys: readonly string[],
    touched: ReadonlySet<string> | undefined,
  ): Promise<void> {
    const stored = await this.reads.documents(this.ground.idOf(table), keys);
    keys.forEach((key, index) => {
      const held = soundOf(table.projection, stored[index] ?? null);
      if (held !== null) this.read.set(table, key, held);
      if (touched?.has(key) === true) this.moveStored(table, key, held);
    });
  }

  private moveStored(table: Table, key: string, held: Held | null): void {
    if (held === null) return this.ranges.drop(table);
    try {
      this.ranges.move(table, key, movesOf(table.projection, key, null, held.document));
    } catch (error) {
      if (!isFailedIndex(error)) throw error;
      this.ranges.drop(table);
    }
  }

  /** What fills the ranges that are foreseen. Those of one beginning one after the other, for each tells more of the same range. */
  private missingRanges({ queries }: ForeseenDocuments): (() => Promise<void>)[] {
    const asked = new Map<string, { readonly table: Table; readonly ranges: Map<string, DocumentRange> }>();
    for (const { projection, query } of queries) {
      const found = this.rangeOf(projection, () => parseQuery(projection, query));
      if (found === null || !("count" in this.ranges.find(found.table, found.range))) continue;
      const { table, range } = found;
      const name = [table.projection.name, range.index, hex(range.from)].join(" ");
      let same = asked.get(name);
      if (same === undefined) asked.set(name, (same = { table, ranges: new Map<string, DocumentRange>() }));
      same.ranges.set(`${range.to === null ? "" : hex(range.to)} ${range.limit}`, range);
    }
    return [...asked.values()].map(({ table, ranges }) => async () => {
      for (const range of ranges.values()) await this.fillRange(table, range);
    });
  }

  /** The range of a query that is remembered; null for others, and for one that will be refused. */
  private rangeOf(
    projection: AnyProjection,
    parse: () => DocumentScan,
  ): { readonly table: Table; readonly range: DocumentRange } | null {
    try {
      const table = this.ground.catalogue.tableOf(projection);
      const scan = parse();
      const limit = scan.by === "key" ? 0 : scan.range.limit + 1; // one more says whether there are more
      if (!isRemembered(scan, limit) || !this.ground.isFollowing(table)) return null;
      return { table, range: { ...scan.range, limit } };
    } catch (error) {
      if (error instanceof LedgerError) return null;
      throw error;
    }
  }

  private async fillRange(table: Table, range: DocumentRange): Promise<void> {
    const places = this.ranges.find(table, range);
    if (!("count" in places)) return;
    try {
      await this.readRange(table, range, places, true);
    } catch (error) {
      if (!isDamagedDocument(error)) throw error;
    }
  }

  private async scanStored(table: Table, scan: DocumentScan, limit: number): Promise<readonly Placed[]> {
    const { ground } = this;
    await ground.flush(table);
    const known = (key: string): Held | undefined => ground.peek(table, key);
    return scanStored(this.reads, ground.idOf(table), table.projection, scan, limit, known);
  }

  /** Reads what is missing of a range, and perhaps some more. */
  private async readRange(
    table: Table,
    range: DocumentRange,
    missing: Missing,
    isAhead = false,
  ): Promise<readonly Placed[]> {
    await this.ground.flush(table);
    const { index, to } = range;
    const { from, count, again } = missing;
    const ask = (begin: Uint8Array, end: Uint8Array | null, limit: number): Promise<readonly FoundDocument[]> =>
      this.reads.documentsByIndex(this.ground.idOf(table), { index, from: begin, to: end, reverse: false, limit });
    // Time will have gone on when it is asked again: then it helps to know how far there is nothing.
    const looking = isAhead && to !== null ? ask(to, null, 1) : undefined;
    looking?.catch(() => {}); // seen below, unless the first one fails
    const found = await ask(from, to, count);
    this.remember(table, found);
    let end = to;
    if (found.length === count) end = Buffer.concat([found.at(-1)!.at, Buffer.of(0)]);
    else if (looking !== undefined) end = (await looking)[0]?.at ?? null;
    else if (again && to !== null) end = (await ask(to, null, 1))[0]?.at ?? null;
    this.ranges.extend(table, range, found, end);
    return this.scan(table, { by: "index", range }, range.limit);
  }

  /** Keeps documents that were read. */
  private remember(table: Table, found: readonly FoundDocument[]): void {
    for (const stored of found) {
      if (this.ground.peek(table, stored.key) !== undefined) continue;
      const held = soundOf(table.projection, stored);
      if (held !== null) this.read.set(table, stored.key, held);
    }
  }

  private documentsAt(table: Table, places: readonly Place[]): Promise<readonly Placed[]> | readonly Placed[] {
    const placed: Placed[] = [];
    for (const { at, key } of places) {
      const held = this.ground.peek(table, key);
      if (held === undefined) return this.loadAt(table, places);
      if (held.document !== null) placed.push({ at, key, document: held.document });
    }
    return placed;
  }

  private async loadAt(table: Table, places: readonly Place[]): Promise<readonly Placed[]> {
    const unknown = places.filter(({ key }) => this.ground.peek(table, key) === undefined);
    await this.load(
      table,
      unknown.map(({ key }) => key),
    );
    return this.documentsAt(table, places);
  }
}

/** Is it a range of which is remembered what stands in it? */
function isRemembered(scan: DocumentScan, limit: number): scan is Extract<DocumentScan, { readonly by: "index" }> {
  return scan.by === "index" && !scan.range.reverse && limit <= pageMax;
}

/** Null when it is damaged. */
function soundOf(projection: AnyProjection, stored: StoredDocument | null): Held | null {
  if (stored === null) return noDocument;
  try {
    return heldOf(projection, stored);
  } catch (error) {
    if (!isDamagedDocument(error)) throw error;
    return null;
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}
