/** Input as lines: bytes in, one line after the other out, in memory bounded by the longest line.
 *  A line ends in LF or CRLF; the last one may end with the input. Blank lines are counted and not handed on. */
import { contentBytesMax } from "../kernel/limits.js";
import { LedgerError } from "../kernel/errors.js";

/** Where a line stands, for messages. */
export interface Place {
  /** The file as it was named, or null for standard input. */
  readonly file: string | null;
  /** From 1. */
  readonly line: number;
}

export interface Line {
  readonly place: Place;
  readonly bytes: Uint8Array;
}

/** A line that cannot be read; nothing after it is looked at. */
export class LineProblem extends Error {
  override readonly name = "LineProblem";
  readonly place: Place;
  override readonly cause: LedgerError;

  constructor(place: Place, cause: LedgerError) {
    super(cause.message, { cause });
    this.place = place;
    this.cause = cause;
  }
}

/** As long as the largest content; blanks around it count. */
export const lineBytesMax: number = contentBytesMax;

/** Says where a line stands, in words. */
export function sayPlace({ file, line }: Place): string {
  return file === null ? `line ${line}` : `line ${line} of ${file}`;
}

/** The lines of one input that are not blank. `onBlank` hears of the others. */
export async function* readLines(
  file: string | null,
  input: AsyncIterable<Uint8Array>,
  onBlank: () => void,
): AsyncGenerator<Line, void, undefined> {
  let number = 0;
  let begun: Uint8Array[] = [];
  let begunBytes = 0;
  const finish = (end: Uint8Array): Line | null => {
    const place = { file, line: ++number };
    const bytes = begun.length === 0 ? end : Buffer.concat([...begun, end]);
    begun = [];
    begunBytes = 0;
    if (bytes.length > lineBytesMax) throw tooLong(place);
    if (isBlank(bytes)) return null;
    return { place, bytes };
  };
  for await (const chunk of input) {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      const line = finish(chunk.subarray(start, end));
      if (line === null) onBlank();
      else yield line;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    begun.push(chunk.subarray(start));
    begunBytes += chunk.length - start;
    if (begunBytes > lineBytesMax) throw tooLong({ file, line: number + 1 });
  }
  if (begun.length === 0) return;
  const line = finish(new Uint8Array());
  if (line === null) onBlank();
  else yield line;
}

function tooLong(place: Place): LineProblem {
  return new LineProblem(
    place,
    new LedgerError("LIMIT_EXCEEDED", `a line may have at most ${lineBytesMax} bytes, found more`, {
      details: { limit: "bytes", max: lineBytesMax },
    }),
  );
}

/** Nothing but what JSON calls white space. */
function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
