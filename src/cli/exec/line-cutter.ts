/** Output as lines: bytes in as they come, lines out without their line feed.
 *  Invariants: put together again, each line with a line feed behind it unless it is partial, the pieces are the bytes that
 *  came, to the byte, wherever the chunks were cut; memory is bounded by the longest line. */
import { isUtf8 } from "node:buffer";

/** A line, or a piece of one. What is not UTF-8 is given as bytes. */
export interface CutLine {
  readonly payload: string | Uint8Array;
  readonly bytes: number;
  /** No line feed follows: it was cut, or the output ended in it. */
  readonly partial: boolean;
}

export const lineBytesMax: number = 64 * 1024;

export class LineCutter {
  private readonly emit: (line: CutLine) => void;
  private begun: Uint8Array[] = [];
  private begunBytes = 0;

  constructor(emit: (line: CutLine) => void) {
    this.emit = emit;
  }

  push(chunk: Uint8Array): void {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      this.add(chunk.subarray(start, end));
      this.finish(false);
      start = end + 1;
    }
    this.add(chunk.subarray(start));
  }

  /** The output is over. */
  end(): void {
    if (this.begunBytes > 0) this.finish(true);
  }

  private add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.begun.push(bytes);
    this.begunBytes += bytes.length;
    if (this.begunBytes <= lineBytesMax) return;
    let rest: Uint8Array = this.whole();
    while (rest.length > lineBytesMax) {
      const cut = characterBefore(rest, lineBytesMax);
      this.emit(lineOf(rest.subarray(0, cut), true));
      rest = rest.subarray(cut);
    }
    this.begun = [rest];
    this.begunBytes = rest.length;
  }

  private finish(partial: boolean): void {
    const line = lineOf(this.whole(), partial);
    this.begun = [];
    this.begunBytes = 0;
    this.emit(line);
  }

  private whole(): Uint8Array {
    const [only] = this.begun;
    return this.begun.length === 1 && only !== undefined ? only : Buffer.concat(this.begun);
  }
}

function lineOf(bytes: Uint8Array, partial: boolean): CutLine {
  const isText = isUtf8(bytes);
  // A copy: the chunk that it is a part of may be much larger.
  const payload = isText
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
    : Uint8Array.from(bytes);
  return { payload, bytes: bytes.length, partial };
}

/** Where to cut so that no character of UTF-8 is torn: there, or up to three bytes before. */
function characterBefore(bytes: Uint8Array, at: number): number {
  for (let cut = at; cut > at - 4; cut--) if ((bytes[cut]! & 0xc0) !== 0x80) return cut;
  return at;
}
