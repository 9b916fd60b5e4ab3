/** Looks causes up: is this id one of an earlier entry, and where does that stand?
 *  Invariant: the answer is exact. Nothing is kept until the first entry with a cause; then each id takes 32 bytes and a
 *  place in a hash table, about 130 MiB for 3 million entries. */
import { entryId } from "../journal/entry.js";
import { isDigest } from "../kernel/digest.js";
import type { RawReader } from "../journal/raw-reader.js";

const idBytes = 32;
const idsPerChunk = 32_768;
const rowsPerRead = 1_000;

export class IdIndex {
  private readonly chunks: Buffer[] = [];
  /** Open addressing by the first bytes of the id; 0 is free, otherwise one more than the place of the id. */
  private slots = new Uint32Array(1_024);
  private count = 0;
  /** Ids are placed one after the other; a run says at which position it starts. There is one, and one more per gap. */
  private readonly runs: { readonly place: number; readonly position: number }[] = [];

  /** An index of the ids from one position to another, as the store has them. */
  static async read(from: number, to: number, reader: RawReader): Promise<IdIndex> {
    const index = new IdIndex();
    for (let after = from - 1; after < to - 1;) {
      const limit = Math.min(rowsPerRead, to - 1 - after);
      const rows = await reader.entries(after < 0 ? null : after, limit);
      let last = after;
      for (const { seq, id, entry } of rows) {
        if (typeof seq !== "number" || seq <= last || seq >= to) continue;
        last = seq;
        if (isDigest(id)) index.add(seq, id);
        else if (typeof entry === "string" || entry instanceof Uint8Array) index.add(seq, entryId(entry));
      }
      if (rows.length < limit || last === after) break;
      after = last;
    }
    return index;
  }

  /** Adds the id of the entry at a position; positions only grow. */
  add(position: number, id: string): void {
    const place = this.takePlace(position);
    this.idAt(place).write(id, "hex");
    this.insert(place);
  }

  /** Adds the ids of entries one behind the other, 32 bytes each. */
  addAll(from: number, ids: Uint8Array): void {
    for (let offset = 0; offset < ids.length; offset += idBytes) {
      const place = this.takePlace(from + offset / idBytes);
      this.idAt(place).set(ids.subarray(offset, offset + idBytes));
      this.insert(place);
    }
  }

  private takePlace(position: number): number {
    const place = this.count++;
    const run = this.runs.at(-1);
    if (run === undefined || position - run.position !== place - run.place) this.runs.push({ place, position });
    if (this.count * 2 > this.slots.length) this.grow();
    if (place % idsPerChunk === 0) this.chunks.push(Buffer.allocUnsafe(idsPerChunk * idBytes));
    return place;
  }

  /** The position of an id; null when no entry so far has it. */
  find(id: string): number | null {
    const wanted = Buffer.from(id, "hex");
    const mask = this.slots.length - 1;
    for (let slot = wanted.readUInt32LE(0) & mask; this.slots[slot] !== 0; slot = (slot + 1) & mask) {
      const place = this.slots[slot]! - 1;
      if (this.idAt(place).equals(wanted)) return this.positionOf(place);
    }
    return null;
  }

  private positionOf(place: number): number {
    let low = 0;
    for (let high = this.runs.length; high - low > 1;) {
      const middle = (low + high) >>> 1;
      if (this.runs[middle]!.place <= place) low = middle;
      else high = middle;
    }
    return this.runs[low]!.position + place - this.runs[low]!.place;
  }

  private idAt(place: number): Buffer {
    const offset = (place % idsPerChunk) * idBytes;
    return this.chunks[Math.floor(place / idsPerChunk)]!.subarray(offset, offset + idBytes);
  }

  private insert(place: number): void {
    const mask = this.slots.length - 1;
    let slot = this.idAt(place).readUInt32LE(0) & mask;
    while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
    this.slots[slot] = place + 1;
  }

  private grow(): void {
    this.slots = new Uint32Array(this.slots.length * 2);
    for (let place = 0; place < this.count - 1; place++) this.insert(place);
  }
}
