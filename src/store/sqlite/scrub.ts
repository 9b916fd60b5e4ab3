/** Taking erased bytes out of the files. An erasure overwrites them in the pages (secure deletion) and builds the index anew;
 *  what is left of them then stands in the write-ahead log alone, until it is truncated.
 *  Invariant: the commit that erases leaves a mark, which goes only after the log was truncated behind it; so whoever opens
 *  the file next knows what is owed, whatever became of the process that erased. Decision 0017. */
import type { Checkpoints } from "./checkpoints.js";
import type { Connection } from "./connection.js";
import { isBusy } from "./errors.js";
import type { ReadStatements, WriteStatements } from "./statements.js";

/** Between two attempts that nobody asked for. */
const pauseMs = 1_000;

export interface ScrubConnection {
  readonly connection: Connection;
  readonly reads: ReadStatements;
  readonly writes: WriteStatements;
}

export class Scrub {
  private readonly checkpoints: Checkpoints;
  private isOwed = false;
  private triedAt = Number.NEGATIVE_INFINITY;

  constructor(checkpoints: Checkpoints) {
    this.checkpoints = checkpoints;
  }

  /** May erased bytes still stand in the log, as far as this process knows? */
  get owed(): boolean {
    return this.isOwed;
  }

  /** Something is erased in the commit that follows. */
  owe(): void {
    this.isOwed = true;
  }

  /** Looks whether another process, or an earlier one, has left something to be done. */
  look(reads: ReadStatements): void {
    if (scrubMark(reads) !== null) this.isOwed = true;
  }

  /** Is it time to try again without being asked? */
  due(): boolean {
    return this.isOwed && performance.now() - this.triedAt >= pauseMs;
  }

  /** Tries once, under the write lock of this process: true when nothing is owed. Never throws. */
  attempt({ connection, reads, writes }: ScrubConnection): boolean {
    this.triedAt = performance.now();
    try {
      const value = scrubMark(reads);
      if (value === null && !this.isOwed) return true;
      if (!this.checkpoints.truncate(connection)) return false;
      this.isOwed = false;
      // Of that very erasure: one that another process has committed since is owed still.
      if (value !== null) writes.unmarkScrub.run(value);
      return true;
    } catch (cause) {
      // The bytes are gone; the mark that another writer kept us from taking away makes the next one look once more.
      return isBusy(cause) && !this.isOwed;
    }
  }
}

/** The position of the last erasure that has not been scrubbed; null when there is none. */
export function scrubMark(reads: ReadStatements): string | null {
  return (reads.scrubMark.get() as [string] | undefined)?.[0] ?? null;
}
