import type {
  DocumentRange,
  FoldedMark,
  FoundDocument,
  ProjectionRow,
  StoredDocument,
} from "../../journal/documents.js";
import type {
  ConsumerRow,
  ContentFacts,
  EntryRow,
  StoredCheckpoint,
  StoredContent,
  StoredFacts,
  StoredEntry,
  StoreHead,
  StoreReads,
  StreamHead,
} from "../../journal/store.js";
import { factsOf } from "../../journal/store.js";
import { nodeCount } from "../completed-nodes.js";
import { documentAt, documentsByIndex, documentsByKey, stored as storedDocument } from "./documents.js";
import { revisionsBelow } from "./rows.js";
import type { Extent, MemoryRows } from "./rows.js";

/** Contents that a transaction has erased and not committed: number and position of the erasing entry. */
export type Erasures = ReadonlyMap<number, number>;

/** Reads of the memory store up to an extent. `check` refuses once the reads were given back. */
export class MemoryReads implements StoreReads {
  private readonly rows: MemoryRows;
  private readonly extent: () => Extent;
  private readonly check: () => void;
  private readonly erasures: Erasures;

  constructor(rows: MemoryRows, extent: () => Extent, check: () => void, erasures: Erasures = new Map()) {
    this.rows = rows;
    this.extent = extent;
    this.check = check;
    this.erasures = erasures;
  }

  async head(): Promise<StoreHead | null> {
    this.check();
    const { entries, contents } = this.extent();
    if (entries === 0) return null;
    const { seq, id, at, skew } = this.rows.entries[entries - 1]!;
    return { seq, id, at, skew, contents };
  }

  async streamHeads(streams: readonly string[]): Promise<readonly (StreamHead | null)[]> {
    this.check();
    return streams.map((name) => {
      const stream = this.rows.stream(name);
      const rev = stream === undefined ? 0 : revisionsBelow(stream, this.extent().entries);
      return rev === 0 ? null : { rev, seq: stream!.seqs[rev - 1]! };
    });
  }

  async entries(from: number, limit: number, reverse = false): Promise<readonly StoredEntry[]> {
    this.check();
    const { entries } = this.extent();
    if (!reverse) return this.rows.entries.slice(Math.max(from, 0), Math.min(from + limit, entries)).map(stored);
    const last = Math.min(from, entries - 1);
    return this.rows.entries
      .slice(Math.max(last + 1 - limit, 0), last + 1)
      .reverse()
      .map(stored);
  }

  async entriesAt(positions: readonly number[]): Promise<readonly (StoredEntry | null)[]> {
    this.check();
    const { entries } = this.extent();
    return positions.map((position) =>
      position >= 0 && position < entries ? stored(this.rows.entries[position]!) : null,
    );
  }

  async ids(from: number, limit: number): Promise<readonly string[]> {
    return (await this.entries(from, limit)).map(({ id }) => id);
  }

  async streamEntries(name: string, fromRev: number, limit: number, reverse = false): Promise<readonly StoredEntry[]> {
    this.check();
    const stream = this.rows.stream(name);
    if (stream === undefined) return [];
    const rev = revisionsBelow(stream, this.extent().entries);
    const first = reverse ? Math.max(Math.min(fromRev, rev) - limit, 0) : Math.max(fromRev, 1) - 1;
    const end = reverse ? Math.min(fromRev, rev) : Math.min(first + limit, rev);
    const found = stream.seqs.slice(first, Math.max(end, first)).map((seq) => stored(this.rows.entries[seq]!));
    return reverse ? found.reverse() : found;
  }

  async contents(numbers: readonly number[]): Promise<readonly (StoredContent | null)[]> {
    this.check();
    return numbers.map((n) => this.content(n));
  }

  async contentFacts(numbers: readonly number[]): Promise<readonly (StoredFacts | null)[]> {
    this.check();
    return numbers.map((n) => this.facts(n));
  }

  async contentsByPlain(hashes: readonly string[]): Promise<readonly (ContentFacts | null)[]> {
    this.check();
    return hashes.map((hash) => {
      const found = this.rows.contentNumbers(hash).map((n) => this.facts(n));
      return found.find((facts): facts is ContentFacts => facts !== null && "size" in facts) ?? null;
    });
  }

  async nodes(level: number, from: number, limit: number): Promise<readonly string[]> {
    this.check();
    const count = nodeCount(level, this.extent().entries);
    return (this.rows.nodes[level - 1] ?? []).slice(Math.max(from, 0), Math.min(from + limit, count));
  }

  async checkpoints(sizeMax: number | null, limit: number): Promise<readonly StoredCheckpoint[]> {
    this.check();
    const { checkpoints } = this.extent();
    return checkpoints.filter(({ size }) => sizeMax === null || size <= sizeMax).slice(0, limit);
  }

  async consumers(): Promise<readonly ConsumerRow[]> {
    this.check();
    return this.extent().consumers;
  }

  async consumer(name: string): Promise<ConsumerRow | null> {
    this.check();
    return this.extent().consumers.find((row) => row.name === name) ?? null;
  }

  async projections(): Promise<readonly ProjectionRow[]> {
    this.check();
    return [...this.extent().documents.tables.values()].map(({ row }) => row);
  }

  async folded(): Promise<FoldedMark | null> {
    this.check();
    return this.extent().documents.folded;
  }

  async documents(table: number, keys: readonly string[]): Promise<readonly (StoredDocument | null)[]> {
    this.check();
    const { documents } = this.extent();
    return keys.map((key) => documentAt(documents, table, key));
  }

  async documentsByKey(
    table: number,
    after: string | null,
    limit: number,
    reverse = false,
  ): Promise<readonly StoredDocument[]> {
    this.check();
    return documentsByKey(this.extent().documents, table, after, limit, reverse).map(storedDocument);
  }

  async documentsByIndex(table: number, range: DocumentRange): Promise<readonly FoundDocument[]> {
    this.check();
    return documentsByIndex(this.extent().documents, table, range);
  }

  private facts(n: number): StoredFacts | null {
    const content = this.content(n);
    return content !== null && "bytes" in content ? factsOf(content) : content;
  }

  private content(n: number): StoredContent | null {
    const row = n >= 1 && n <= this.extent().contents ? this.rows.contents[n - 1]! : null;
    const erased = row === null ? undefined : this.erasures.get(n);
    return row === null || erased === undefined ? row : { n, digest: row.digest, erased };
  }
}

function stored(row: EntryRow): StoredEntry {
  return { seq: row.seq, id: row.id, entry: row.entry.includes("\ufffd") ? Buffer.from(row.entry) : row.entry };
}
