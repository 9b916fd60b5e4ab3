/** Finding what is left of bytes that should be gone: any piece of 16 of them, anywhere in a ledger file or its log. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";

const pieceBytes = 16;
const blockBytes = 8;

/** Bytes without any pattern, the same for the same name. */
export function noise(name: string, size: number): Buffer {
  return size === 0 ? Buffer.alloc(0) : createHash("shake256", { outputLength: size }).update(name).digest();
}

/** A piece that was found. */
export interface Remnant {
  readonly file: "file" | "log";
  readonly name: string;
}

interface Source {
  readonly name: string;
  readonly bytes: Buffer;
  /** Number of its first block, among those of all sources. */
  readonly first: number;
}

/** The bytes to look for. Each piece of 16 bytes holds a whole block of 8 that starts at a multiple of 8: a table has all of
 *  these, and each offset of a file is looked up in it. */
export class ByteTrace {
  private readonly sources: Source[] = [];
  /** The source of each block. */
  private readonly owners: Source[] = [];
  /** Open addressing; a slot has the number of a block and 1, or 0. */
  private table = new Int32Array(2 ** 10);

  add(name: string, bytes: Buffer): void {
    const source = { name, bytes, first: this.owners.length };
    this.sources.push(source);
    for (let block = 0; (block + 1) * blockBytes <= bytes.length; block++) this.owners.push(source);
    if (this.owners.length * 2 <= this.table.length) return this.enter(source);
    while (this.owners.length * 2 > this.table.length) this.table = new Int32Array(this.table.length * 2);
    for (const each of this.sources) this.enter(each);
  }

  /** What is left in a ledger file and its log. */
  remnants(path: string): Remnant[] {
    const found = this.scan("file", readFileSync(path));
    return existsSync(`${path}-wal`) ? [...found, ...this.scan("log", readFileSync(`${path}-wal`))] : found;
  }

  private enter({ bytes, first }: Source): void {
    const mask = this.table.length - 1;
    for (let block = 0; (block + 1) * blockBytes <= bytes.length; block++) {
      const at = block * blockBytes;
      let slot = slotOf(bytes.readInt32LE(at), bytes.readInt32LE(at + 4)) & mask;
      while (this.table[slot] !== 0) slot = (slot + 1) & mask;
      this.table[slot] = first + block + 1;
    }
  }

  private scan(file: Remnant["file"], content: Buffer): Remnant[] {
    const { table, owners } = this;
    const found: Remnant[] = [];
    const mask = table.length - 1;
    let [low, high] = [0, 0]; // the last 8 bytes, as two numbers
    for (let end = 0; end < content.length; end++) {
      low = (low >>> 8) | (high << 24);
      high = (high >>> 8) | (content[end]! << 24);
      const offset = end - blockBytes + 1;
      if (offset < 0 || (low === 0 && high === 0)) continue; // no noise has eight zeros in a row
      for (let slot = slotOf(low, high) & mask; table[slot] !== 0; slot = (slot + 1) & mask) {
        const block = table[slot]! - 1;
        const { name, bytes, first } = owners[block]!;
        if (isPiece(bytes, (block - first) * blockBytes, content, offset)) found.push({ file, name });
      }
    }
    return found;
  }
}

function slotOf(low: number, high: number): number {
  return Math.imul(low ^ Math.imul(high, 0x9e37_79b1), 0x85eb_ca6b) >>> 7;
}

/** Are 16 bytes the same around two places, the block at them among these? */
function isPiece(one: Buffer, at: number, other: Buffer, offset: number): boolean {
  let after = 0;
  const room = Math.min(one.length - at, other.length - offset, pieceBytes);
  while (after < room && one[at + after] === other[offset + after]) after++;
  if (after < blockBytes) return false;
  let before = 0;
  const back = Math.min(at, offset, pieceBytes - after);
  while (before < back && one[at - before - 1] === other[offset - before - 1]) before++;
  return before + after >= pieceBytes;
}
