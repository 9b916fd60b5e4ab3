/** Proves ranges by the cheap step, with a reader of its own.
 *  Invariants: it makes no findings and says of no row that it is wrong; what it does not show is left to whoever asked;
 *  memory is that of one range. */
import { LedgerError } from "../kernel/errors.js";
import type { RawEntry, RawReader } from "../journal/raw-reader.js";
import { Findings } from "./findings.js";
import { listsIn } from "./ranges.js";
import type { EntryRange, ProvedRange, ProvedStretch } from "./ranges.js";
import { Stretch } from "./ranges-stretch.js";
import { TypeTable } from "./types.js";

const rowsPerRead = 512;
/** Rows between stretches are read again one by one: with so many of them the rest of the range is better read in pages. */
const stretchesMax = 64;

export class RangeProver {
  private readonly reader: RawReader;
  private readonly types: TypeTable;

  private constructor(reader: RawReader, types: TypeTable) {
    this.reader = reader;
    this.types = types;
  }

  static async open(reader: RawReader): Promise<RangeProver> {
    const types = new TypeTable();
    await types.load(reader, new Findings(1)); // what is wrong with the table is said by whoever asked
    return new RangeProver(reader, types);
  }

  /** Proves what it can. */
  async prove({ from, to, now, room: shared }: EntryRange): Promise<ProvedRange> {
    const room = { from, ...listsIn(shared, to - from) };
    const stretches: ProvedStretch[] = [];
    let stretch: Stretch | null = null;
    const end = (): void => {
      const proved = stretch?.finish() ?? null;
      if (proved !== null) stretches.push(proved);
      stretch = null;
    };
    for (let next = from; next < to && stretches.length < stretchesMax; next += rowsPerRead) {
      const rows = await this.read(next, Math.min(rowsPerRead, to - next));
      if (rows === null) return { stretches: null };
      for (const row of rows) {
        stretch ??= Stretch.start(row, room, this.types, now);
        if (stretch?.prove(row) !== true) end();
      }
    }
    end();
    return { stretches };
  }

  /** The rows of so many positions; null unless there is one of each. */
  private async read(from: number, count: number): Promise<readonly RawEntry[] | null> {
    try {
      // One more: two rows with one position may lie on both sides of the edge.
      const rows = await this.reader.entries(from === 0 ? null : from - 1, count + 1);
      return rows.length < count || rows.some(({ seq }, index) => seq !== from + index) ? null : rows.slice(0, count);
    } catch (error) {
      if (error instanceof LedgerError) return null;
      throw error;
    }
  }
}
