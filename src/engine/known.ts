/** What a batch knows of the journal before it decides: read in lists, outside the deciding itself, so that deciding is
 *  plain code without waiting. Most appends need no read at all: the heads of busy streams are remembered. */
import type {
  ContentFacts,
  StoredContent,
  StoredEntry,
  StoredFacts,
  StoreReads,
  StreamHead,
} from "../journal/store.js";
import type { StreamHeads } from "./stream-heads.js";
import { waitForAll } from "./wait-for-all.js";

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
  private readonly contents = new Map<number, StoredFacts | null>();
  private readonly plains = new Map<string, ContentFacts | null>();

  constructor(reads: StoreReads, streamHeads: StreamHeads) {
    this.reads = reads;
    this.streamHeads = streamHeads;
  }

  /** Takes over what was read at an earlier head of the same journal, since which nothing was erased: what was there then. */
  takeOver({ ids, contents, plains }: Known): void {
    for (const [position, id] of ids) if (id !== null) this.ids.set(position, id);
    for (const [n, content] of contents) if (content !== null) this.contents.set(n, content);
    for (const [plain, content] of plains) if (content !== null) this.plains.set(plain, content);
  }

  /** Takes over that contents were not there, and none came since. */
  takeOverMissing({ plains }: Known): void {
    for (const [plain, content] of plains) if (content === null) this.plains.set(plain, null);
  }

  /** Reads what is needed and not known yet; undefined when that is nothing. */
  load(needs: Needs): Promise<void> | undefined {
    if (this.streamHeads.has(needs.touched) && this.hasLookups(needs.lookups)) return undefined;
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

  content(n: number): StoredFacts | null {
    return this.contents.get(n) ?? null;
  }

  contentByPlain(plain: string): ContentFacts | null {
    return this.plains.get(plain) ?? null;
  }

  /** Stored entries from a position on; what the batch has staged since is not among them. */
  entries(from: number, limit: number): Promise<readonly StoredEntry[]> {
    return this.reads.entries(from, limit);
  }

  /** Reads a stored content with its bytes, which are not kept. */
  async wholeContent(n: number): Promise<StoredContent | null> {
    return (await this.reads.contents([n]))[0] ?? null;
  }

  private hasLookups(lookups: Lookups | null): boolean {
    if (lookups === null) return true;
    const { positions, endsOf, contents, plains } = lookups;
    return (
      endsOf.every((stream) => this.ids.has(this.head(stream)?.seq ?? -1) || this.head(stream) === null) &&
      positions.every((position) => this.ids.has(position)) &&
      contents.every((n) => this.contents.has(n)) &&
      plains.every((plain) => this.plains.has(plain))
    );
  }

  private async read({ touched, lookups }: Needs): Promise<void> {
    if (lookups === null) return this.streamHeads.load(this.reads, touched);
    await waitForAll([
      this.streamHeads.load(this.reads, touched),
      this.readIds(lookups.positions),
      this.readContents(lookups.contents),
      this.readPlains(lookups.plains),
    ]);
    await this.readIds(lookups.endsOf.flatMap((stream) => this.head(stream)?.seq ?? []));
  }

  private async readIds(positions: readonly number[]): Promise<void> {
    const unknown = missing(this.ids, positions);
    if (unknown.length === 0) return;
    const found = await this.reads.entriesAt(unknown);
    unknown.forEach((position, index) => this.ids.set(position, found[index]?.id ?? null));
  }

  private async readContents(numbers: readonly number[]): Promise<void> {
    const unknown = missing(this.contents, numbers);
    if (unknown.length === 0) return;
    const found = await this.reads.contentFacts(unknown);
    unknown.forEach((n, index) => this.contents.set(n, found[index] ?? null));
  }

  private async readPlains(plains: readonly string[]): Promise<void> {
    const unknown = missing(this.plains, plains);
    if (unknown.length === 0) return;
    const found = await this.reads.contentsByPlain(unknown);
    unknown.forEach((plain, index) => this.plains.set(plain, found[index] ?? null));
  }
}

function missing<Key>(known: ReadonlyMap<Key, unknown>, wanted: readonly Key[]): Key[] {
  return wanted.length === 0 ? [] : [...new Set(wanted)].filter((key) => !known.has(key));
}
