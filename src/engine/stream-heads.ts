import { invariant } from "../kernel/errors.js";
import type { StoreReads, StreamHead } from "../journal/store.js";

const streamsMax = 10_000;

/** A bounded cache of stream heads, valid as long as nobody else wrote: the writer clears it when the head has moved. */
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

  /** Takes over what a commit has changed, and forgets the oldest beyond the bound. */
  adopt(changed: ReadonlyMap<string, StreamHead>): void {
    for (const [stream, head] of changed) this.heads.set(stream, head);
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
