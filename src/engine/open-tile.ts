/** The ids of the last entries, as far back as the tile begins that is not full: so a batch that fills it need not read them. */
import { tileWidth } from "../journal/merkle.js";
import type { StoreReads } from "../journal/store.js";

export class OpenTile {
  /** Position of the first id. */
  private from = 0;
  private ids: string[] = [];

  /** Entries were written from a position on. */
  add(position: number, ids: readonly string[]): void {
    if (position !== this.from + this.ids.length) this.start(position);
    for (const id of ids) this.ids.push(id);
    const next = this.from + this.ids.length;
    const begun = next - (next % tileWidth);
    if (begun > this.from) {
      this.ids = this.ids.slice(begun - this.from);
      this.from = begun;
    }
  }

  /** Drops all; what follows begins at a position. */
  start(position = 0): void {
    this.from = position;
    this.ids = [];
  }

  /** Reads hashes of the tree, ids from here where they are known. */
  over(reads: Pick<StoreReads, "ids" | "nodes">): Pick<StoreReads, "ids" | "nodes"> {
    return {
      ids: (from, limit) => {
        const known = from < this.from ? [] : this.ids.slice(from - this.from, from - this.from + limit);
        return known.length === limit ? Promise.resolve(known) : reads.ids(from, limit);
      },
      nodes: (level, from, limit) => reads.nodes(level, from, limit),
    };
  }
}
