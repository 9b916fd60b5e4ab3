/** Goes through the entries of a journal and hands out their ids, computed from the bytes.
 *  Invariant: it goes no further than every position has its entry; where it stops before the end, it says why. */
import { entryId, EntryProblem, parseEntry } from "../journal/entry.js";
import { journalStream, parseJournalOpened } from "../journal/events/journal.js";
import type { RawReader } from "../journal/raw-reader.js";
import { LedgerError } from "../kernel/errors.js";
import { Roots, TreeWalk } from "./tree.js";

const rowsPerRead = 512;

export class IdWalk {
  private readonly reader: RawReader;
  private readonly tree: TreeWalk;
  /** How many entries went by. */
  size = 0;
  /** The id of the last one. */
  head: string | null = null;
  /** Who the journal says it is; null when its first entry does not say it. */
  origin: string | null = null;
  /** Why nothing behind `size` can be read; null when there is nothing behind it. */
  problem: string | null = null;
  private ended = false;
  private limit = rowsPerRead;

  /** `sizes`: of which sizes the root will be asked for, ascending. */
  constructor(reader: RawReader, sizes: Float64Array) {
    this.reader = reader;
    this.tree = new TreeWalk(0, sizes);
  }

  /** The next ids; none at the end. */
  async page(): Promise<readonly string[]> {
    if (this.ended) return [];
    const ids: string[] = [];
    try {
      const rows = await this.reader.entries(this.size === 0 ? null : this.size - 1, this.limit);
      if (rows.length < this.limit) this.ended = true;
      for (const { seq, entry } of rows) {
        if (seq !== this.size) return this.stop(ids, `#${this.size} is missing`);
        if (typeof entry !== "string" && !(entry instanceof Uint8Array))
          return this.stop(ids, `#${this.size} is no entry`);
        if (seq === 0) this.origin = originOf(entry);
        const id = entryId(entry);
        this.tree.add(seq, id, 0);
        this.size++;
        this.head = id;
        ids.push(id);
      }
    } catch (error) {
      if (!(error instanceof LedgerError) || error.code !== "STORE_DAMAGED") throw error;
      if (this.limit === 1) return this.stop(ids, error.message);
      // A smaller page may get further.
      this.limit = Math.ceil(this.limit / 4);
      return this.page();
    }
    return ids;
  }

  /** The roots of what went by. */
  roots(): Roots {
    return new Roots([this.tree.part()]);
  }

  private stop(ids: readonly string[], problem: string): readonly string[] {
    this.ended = true;
    this.problem = problem;
    return ids;
  }
}

function originOf(entry: string | Uint8Array): string | null {
  try {
    const { type, stream, data } = parseEntry(entry);
    return type === "journal.opened" && stream === journalStream ? parseJournalOpened(data).origin : null;
  } catch (error) {
    if (error instanceof EntryProblem || error instanceof LedgerError) return null;
    throw error;
  }
}
