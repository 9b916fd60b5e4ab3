import { LedgerError } from "../../kernel/errors.js";
import type {
  EvidenceFile,
  RawCheckpoint,
  RawContent,
  RawDocument,
  RawEntry,
  RawFolded,
  RawNode,
  RawProblem,
  RawProjection,
  RawReader,
  RawStream,
  RawStreamPage,
  RawType,
} from "../../journal/raw-reader.js";
import { nodeCount } from "../completed-nodes.js";
import { revisionsPerPage } from "../stream-page.js";
import { documentsBehind } from "./documents.js";
import { revisionsBelow } from "./rows.js";
import type { Extent, MemoryRows } from "./rows.js";

/** The raw rows of a memory store, in the shape that a file would hold. */
export class MemoryRawReader implements RawReader {
  readonly location: string;
  readonly copied: boolean = false;
  private readonly rows: MemoryRows;
  private readonly extent: Extent;
  private closed = false;

  constructor(location: string, rows: MemoryRows, extent: Extent) {
    this.location = location;
    this.rows = rows;
    this.extent = extent;
  }

  async evidence(): Promise<readonly EvidenceFile[]> {
    this.check();
    return [];
  }

  async unchanged(): Promise<boolean> {
    this.check();
    return true;
  }

  async problems(): Promise<readonly RawProblem[]> {
    this.check();
    return [];
  }

  async entryCount(): Promise<number> {
    this.check();
    return this.extent.entries;
  }

  async entries(after: number | null, limit: number, asBytes = false): Promise<readonly RawEntry[]> {
    this.check();
    const from = after === null ? 0 : Math.max(after + 1, 0);
    return this.rows.entries.slice(from, Math.min(from + limit, this.extent.entries)).map((row) => ({
      ...row,
      stream: this.rows.stream(row.stream)!.id,
      type: this.rows.typeNumber(row.type)!,
      entry: asBytes || row.entry.includes("\ufffd") ? Buffer.from(row.entry) : row.entry,
    }));
  }

  async streams(after: number | null, limit: number): Promise<readonly RawStream[]> {
    this.check();
    const found: RawStream[] = [];
    for (const stream of this.rows.streams.slice(after ?? 0, (after ?? 0) + limit)) {
      const rev = revisionsBelow(stream, this.extent.entries);
      if (rev > 0) found.push({ id: stream.id, name: stream.name, rev, seq: stream.seqs[rev - 1]! });
    }
    return found;
  }

  async types(): Promise<readonly RawType[]> {
    this.check();
    return this.rows.types
      .filter(({ first }) => first < this.extent.entries)
      .map(({ name }, index) => ({ id: index + 1, name }));
  }

  async streamPages(
    after: { readonly stream: number; readonly page: number } | null,
    limit: number,
  ): Promise<readonly RawStreamPage[]> {
    this.check();
    const found: RawStreamPage[] = [];
    for (const stream of this.rows.streams) {
      if (after !== null && stream.id < after.stream) continue;
      const pages = Math.floor(revisionsBelow(stream, this.extent.entries) / revisionsPerPage);
      for (let page = after?.stream === stream.id ? after.page + 1 : 0; page < pages && found.length < limit; page++) {
        found.push({
          stream: stream.id,
          page,
          seqs: stream.seqs.slice(page * revisionsPerPage, (page + 1) * revisionsPerPage),
        });
      }
    }
    return found;
  }

  async contents(after: number | null, limit: number): Promise<readonly RawContent[]> {
    this.check();
    const from = after ?? 0;
    return this.rows.contents
      .slice(from, Math.min(from + limit, this.extent.contents))
      .map((row) =>
        "bytes" in row ? { ...row, erased: null } : { ...row, media: null, salt: null, bytes: null, plain: null },
      );
  }

  async nodes(
    after: { readonly level: number; readonly n: number } | null,
    limit: number,
  ): Promise<readonly RawNode[]> {
    this.check();
    const found: RawNode[] = [];
    for (let level = after?.level ?? 1; level <= this.rows.nodes.length; level++) {
      const from = after?.level === level ? after.n + 1 : 0;
      const end = Math.min(nodeCount(level, this.extent.entries), from + limit - found.length);
      for (let n = from; n < end; n++) found.push({ level, n, hash: this.rows.nodes[level - 1]![n]! });
    }
    return found;
  }

  async checkpoints(after: number | null, limit: number): Promise<readonly RawCheckpoint[]> {
    this.check();
    return this.extent.checkpoints
      .filter(({ size }) => after === null || size > after)
      .reverse()
      .slice(0, limit);
  }

  async projections(): Promise<readonly RawProjection[]> {
    this.check();
    const rows = [...this.extent.documents.tables.values()].map(({ row }) => row);
    return rows.map((row) => ({ ...row, indexes: JSON.stringify(row.indexes) }));
  }

  async folded(): Promise<RawFolded | null> {
    this.check();
    const { folded } = this.extent.documents;
    return folded === null ? null : { ...folded, tables: JSON.stringify(folded.tables) };
  }

  async documents(table: number, after: string | Uint8Array | null, limit: number): Promise<readonly RawDocument[]> {
    this.check();
    return documentsBehind(this.extent.documents, table, after, limit);
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  private check(): void {
    if (this.closed) throw new LedgerError("CLOSED", "this reader is closed");
  }
}
