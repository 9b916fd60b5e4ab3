/** What a batch knows of the journal before it decides: read in lists, outside the deciding itself, so that deciding is
 *  plain code without waiting. Most appends need no read at all: the heads of busy streams are remembered. */
import type { ContentRow, StoredContent, StoredEntry, StoreReads, StreamHead } from "../journal/store.js";
import type { StreamHeads } from "./stream-heads.js";

/** Keys into the journal, for reads in lists. */
export interface Lookups {
  /** Positions whose ids are asked for. */
  readonly positions: readonly number[];
  /** Streams whose last entry's id is asked for. */
  readonly endsOf: readonly string[];
  /** Numbers of contents. */
  readonly contents: readonly number[];
  /** Plain hashes of contents that may be there already. */
  readonly plains: readonly string[];
}

/** What must be known of the journal before something is decided. */
export interface Needs {
  /** Streams whose heads it needs. */
  readonly touched: readonly string[];
  /** Null: nothing else. */
  readonly lookups: Lookups | null;
}

export class Known {
  private readonly reads: StoreReads;
  private readonly streamHeads: StreamHeads;
  private readonly ids = new Map<number, string | null>();
  private readonly contents = new Map<number, StoredContent | null>();
  private readonly plains = new Map<string, ContentRow | null>();

  constructor(reads: StoreReads, streamHeads: StreamHeads) {
    this.reads = reads;
    this.streamHeads = streamHeads;
  }

  /** Reads what is needed and not known yet; undefined when that is nothing. */
  load(needs: Needs): Promise<void> | undefined {
    if (needs.lookups === null && this.streamHeads.has(needs.touched)) return undefined;
    return this.read(needs);
  }

  /** The stored head of a stream; what the batch has staged since is not in it. */
  head(stream: string): StreamHead | null {
    return this.streamHeads.get(stream);
  }

  /** The id at a stored position. */
  id(position: number): string | null {
    return this.ids.get(position) ?? null;
  }

  content(n: number): StoredContent | null {
    return this.contents.get(n) ?? null;
  }

  contentByPlain(plain: string): ContentRow | null {
    return this.plains.get(plain) ?? null;
  }

  /** Stored entries from a position on; what the batch has staged since is not among them. */
  entries(from: number, limit: number): Promise<readonly StoredEntry[]> {
    return this.reads.entries(from, limit);
  }

  private async read({ touched, lookups }: Needs): Promise<void> {
    await this.streamHeads.load(this.reads, touched);
    if (lookups === null) return;
    const ends = lookups.endsOf.flatMap((stream) => this.head(stream)?.seq ?? []);
    const [ids, contents, plains] = [
      missing(this.ids, [...lookups.positions, ...ends]),
      missing(this.contents, lookups.contents),
      missing(this.plains, lookups.plains),
    ];
    if (ids.length > 0) {
      const found = await this.reads.entriesAt(ids);
      ids.forEach((position, index) => this.ids.set(position, found[index]?.id ?? null));
    }
    if (contents.length > 0) {
      const found = await this.reads.contents(contents);
      contents.forEach((n, index) => this.contents.set(n, found[index] ?? null));
    }
    if (plains.length > 0) {
      const found = await this.reads.contentsByPlain(plains);
      plains.forEach((plain, index) => this.plains.set(plain, found[index] ?? null));
    }
  }
}

function missing<Key>(known: ReadonlyMap<Key, unknown>, wanted: readonly Key[]): Key[] {
  return [...new Set(wanted)].filter((key) => !known.has(key));
}
