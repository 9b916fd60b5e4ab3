/** What the memory store keeps: append-only lists, so that a snapshot is nothing but the lengths it saw; what is replaced
 *  as a whole (checkpoints, consumers, documents) is never changed, so that a snapshot is what it saw.
 *  Invariant: everything below a remembered length never changes, except a content that is erased as a whole. */
import { invariant } from "../../kernel/errors.js";
import { nodeCount } from "../completed-nodes.js";
import type {
  ConsumerRow,
  ContentRow,
  EntryRow,
  StoredCheckpoint,
  StoredContent,
  TreeNode,
} from "../../journal/store.js";
import { noDocuments } from "./documents.js";
import type { DocumentState } from "./documents.js";

export interface MemoryStream {
  readonly id: number;
  readonly name: string;
  /** Position of each revision; the position of revision r stands at index r − 1. */
  readonly seqs: number[];
}

export interface MemoryType {
  readonly name: string;
  /** Position of its first entry. */
  readonly first: number;
}

/** How much of the lists one reader sees. */
export interface Extent {
  readonly entries: number;
  readonly contents: number;
  /** Largest first. */
  readonly checkpoints: readonly StoredCheckpoint[];
  /** In the order of their names. */
  readonly consumers: readonly ConsumerRow[];
  readonly documents: DocumentState;
}

export const nothing: Extent = { entries: 0, contents: 0, checkpoints: [], consumers: [], documents: noDocuments };

/** The rows of one journal. */
export class MemoryRows {
  readonly entries: EntryRow[] = [];
  readonly contents: StoredContent[] = [];
  readonly streams: MemoryStream[] = [];
  readonly types: MemoryType[] = [];
  /** Hashes of the nodes of each level; those of level l stand at index l − 1. */
  readonly nodes: string[][] = [];
  private readonly streamsByName = new Map<string, MemoryStream>();
  private readonly typeNumbers = new Map<string, number>();
  /** Numbers of contents that are not erased, ascending. */
  private readonly numbersByPlain = new Map<string, number[]>();

  stream(name: string): MemoryStream | undefined {
    return this.streamsByName.get(name);
  }

  /** The number of a type, from 1. */
  typeNumber(name: string): number | undefined {
    return this.typeNumbers.get(name);
  }

  /** The numbers of the contents with this plain hash, ascending. */
  contentNumbers(plain: string): readonly number[] {
    return this.numbersByPlain.get(plain) ?? [];
  }

  addEntry(row: EntryRow): void {
    invariant(row.seq === this.entries.length, `entry ${row.seq} must follow the head ${this.entries.length - 1}`);
    const stream = this.streamsByName.get(row.stream) ?? this.addStream(row.stream);
    invariant(
      row.rev === stream.seqs.length + 1,
      `revision ${row.rev} must follow revision ${stream.seqs.length} of its stream`,
    );
    invariant(
      row.before === (stream.seqs.at(-1) ?? null),
      `entry ${row.seq} must name the entry of its stream before it`,
    );
    stream.seqs.push(row.seq);
    if (!this.typeNumbers.has(row.type))
      this.typeNumbers.set(row.type, this.types.push({ name: row.type, first: row.seq }));
    this.entries.push(row);
  }

  addContent(row: ContentRow): void {
    invariant(row.n === this.contents.length + 1, `content ${row.n} must follow content ${this.contents.length}`);
    // The caller's bytes are copied (a Buffer's own `slice` would not): what is stored must not change when one is used again.
    this.contents.push({ ...row, salt: new Uint8Array(row.salt), bytes: new Uint8Array(row.bytes) });
    if (row.plain === null) return;
    const numbers = this.numbersByPlain.get(row.plain);
    if (numbers === undefined) this.numbersByPlain.set(row.plain, [row.n]);
    else numbers.push(row.n);
  }

  addNode({ level, hash }: TreeNode): void {
    (this.nodes[level - 1] ??= []).push(hash);
  }

  /** Leaves nothing of a content but number, digest and the position of the entry that erased it. */
  erase(n: number, erased: number): void {
    const row = this.contents[n - 1]!;
    this.forgetPlain(row);
    this.contents[n - 1] = { n, digest: row.digest, erased };
  }

  /** Takes back everything beyond an extent. */
  cut(extent: Extent): void {
    for (const row of this.entries.splice(extent.entries).reverse()) {
      const stream = this.streamsByName.get(row.stream)!;
      stream.seqs.pop();
      if (stream.seqs.length === 0) {
        this.streamsByName.delete(stream.name);
        this.streams.pop();
      }
    }
    while ((this.types.at(-1)?.first ?? -1) >= extent.entries) this.typeNumbers.delete(this.types.pop()!.name);
    for (const row of this.contents.splice(extent.contents)) this.forgetPlain(row);
    for (const [index, hashes] of this.nodes.entries()) hashes.length = nodeCount(index + 1, extent.entries);
  }

  private forgetPlain(row: StoredContent): void {
    if (!("plain" in row) || row.plain === null) return;
    const numbers = this.numbersByPlain.get(row.plain)!.filter((n) => n !== row.n);
    if (numbers.length === 0) this.numbersByPlain.delete(row.plain);
    else this.numbersByPlain.set(row.plain, numbers);
  }

  private addStream(name: string): MemoryStream {
    const stream: MemoryStream = { id: this.streams.length + 1, name, seqs: [] };
    this.streams.push(stream);
    this.streamsByName.set(name, stream);
    return stream;
  }
}

/** How many revisions of a stream stand below a position. */
export function revisionsBelow(stream: MemoryStream, entries: number): number {
  let low = 0;
  let high = stream.seqs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (stream.seqs[middle]! < entries) low = middle + 1;
    else high = middle;
  }
  return low;
}
