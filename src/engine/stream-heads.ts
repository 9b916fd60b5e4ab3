import { invariant } from "../kernel/errors.js";
import type { StoreReads, StreamHead } from "../journal/store.js";

const streamsMax = 10_000;

/** A bounded cache of stream heads, as of the head of the journal that is remembered: what others wrote moves them on. */
export class StreamHeads {
  private readonly heads = new Map<string, StreamHead | null>();

  /** The head of a stream that was loaded; null when the stream has no events. */
  get(stream: string): StreamHead | null {
    const head = this.heads.get(stream);
    invariant(head !== undefined, "a stream head is loaded before it is used");
    return head;
  }

  /** Are they all loaded? */
  has(streams: readonly string[]): boolean {
    return streams.every((stream) => this.heads.has(stream));
  }

  /** Loads what is not known yet, in one read. */
  async load(reads: StoreReads, streams: readonly string[]): Promise<void> {
    const missing = streams.filter((stream) => !this.heads.has(stream));
    if (missing.length === 0) return;
    const found = await reads.streamHeads(missing);
    missing.forEach((stream, index) => this.heads.set(stream, found[index] ?? null));
  }

  /** Others wrote to a stream: it ends there now. */
  move(stream: string, head: StreamHead): void {
    if (this.heads.has(stream)) this.heads.set(stream, head);
  }

  /** Takes over what a commit has changed. */
  adopt(changed: ReadonlyMap<string, StreamHead>): void {
    for (const [stream, head] of changed) this.heads.set(stream, head);
  }

  /** Forgets the oldest beyond the bound. Between batches: a batch uses what it has loaded. */
  trim(): void {
    if (this.heads.size <= streamsMax) return;
    for (const stream of this.heads.keys()) {
      if (this.heads.size <= streamsMax) break;
      this.heads.delete(stream);
    }
  }

  clear(): void {
    this.heads.clear();
  }
}
