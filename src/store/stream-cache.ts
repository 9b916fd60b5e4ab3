/** Stream heads and type numbers, kept between transactions so that an append reads nothing but the head.
 *  Invariant: true only while nobody else wrote; the writer compares the head under the lock and clears it otherwise. */

/** A stream's head, and where the revisions since its last full page stand. */
export interface CachedStream {
  readonly id: number;
  /** False until its row is written. */
  stored: boolean;
  rev: number;
  /** Position of its last entry; −1 when there is none. */
  seq: number;
  /** How many full pages are stored. */
  pages: number;
  /** Positions of the revisions after the last full page; null when they were not needed yet. */
  tail: number[] | null;
}

/** The ones that were found first go first; one that is still busy is found again. At 256 positions each, 10,000 of them are at
 *  most 20 MB. */
const streamsMax = 10_000;

export class StreamCache {
  private readonly streams = new Map<string, CachedStream>();
  readonly types: Map<string, number> = new Map();
  /** Next numbers; null when the store has to be asked. */
  nextStream: number | null = null;
  nextType: number | null = null;

  get(name: string): CachedStream | undefined {
    return this.streams.get(name);
  }

  set(name: string, stream: CachedStream): void {
    this.streams.set(name, stream);
  }

  /** Forgets what is too much, of streams whose last entry stands at a position that is committed. Not while
   *  a transaction is open: it holds on to what it found. */
  trim(committed: number = Infinity): void {
    for (const [name, { seq }] of this.streams) {
      if (this.streams.size <= streamsMax) return;
      if (seq <= committed) this.streams.delete(name);
    }
  }

  clear(): void {
    this.streams.clear();
    this.types.clear();
    this.nextStream = null;
    this.nextType = null;
  }
}
