import { LedgerError } from "../../kernel/errors.js";
import { decodePage, revisionsPerPage } from "../stream-page.js";
import type { ReadStatements } from "./statements.js";

/** A stream as it is stored. */
export interface StreamRow {
  readonly id: number;
  readonly rev: number;
  /** Position of its last entry. */
  readonly seq: number;
}

/** Where the revisions `first` to `last` of a stream stand: from full pages, and from the back pointers of the last one. */
export function streamPositions(
  statements: ReadStatements,
  stream: StreamRow,
  first: number,
  last: number,
  path: string,
): number[] {
  const positions: number[] = [];
  const paged = stream.rev - (stream.rev % revisionsPerPage);
  for (let rev = first; rev <= Math.min(last, paged);) {
    const page = Math.floor((rev - 1) / revisionsPerPage);
    const pageFirst = page * revisionsPerPage + 1;
    const seqs = decodePage((statements.streamPage.get(stream.id, page) as [Buffer] | undefined)?.[0]);
    if (seqs === null) throw damaged(path, `page ${page} of stream ${stream.id} is missing or broken`);
    const found = seqs.slice(rev - pageFirst, last - pageFirst + 1);
    positions.push(...found);
    rev += found.length;
  }
  const tailFirst = Math.max(first, paged + 1);
  if (last < tailFirst) return positions;
  const tail = walkBack(statements, stream.seq, stream.rev - tailFirst + 1, path);
  return positions.concat(tail.slice(0, last - tailFirst + 1));
}

/** The positions of the `count` last entries of a stream that ends at `seq`, ascending. */
export function walkBack(statements: ReadStatements, seq: number, count: number, path: string): number[] {
  const positions = [seq];
  while (positions.length < count) {
    const here = positions.at(-1)!;
    const [before] = (statements.entryBefore.get(here) as [number | null] | undefined) ?? [null];
    if (before === null || before >= here)
      throw damaged(path, `entry ${here} does not point back to an earlier one of its stream`);
    positions.push(before);
  }
  return count === 0 ? [] : positions.reverse();
}

function damaged(path: string, found: string): LedgerError {
  return new LedgerError("STORE_DAMAGED", `${path} does not hold together: ${found}`, {
    details: { path, found },
    hint: "run verify",
  });
}
