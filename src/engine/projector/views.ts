/** What a read of a table sees on one snapshot: the table as it is at the head, or why it cannot be read. Entries between the
 *  table's position and the head are looked at once; when none of them concerns it, it is as good as current.
 *  Invariant: no read writes. */
import type { DefinedAreas } from "../../../projections/event-of.js";
import { areaOf } from "../../kernel/names.js";
import type { StoreReads } from "../../journal/store.js";
import { differenceOf } from "./catalogue.js";
import type { Table } from "./catalogue.js";
import { failedError, unknownError } from "./failed-row.js";
import { placeOf } from "./place.js";
import type { Projector } from "./projector.js";
import { areaFilter, isUnknown, readDense, storedEvent } from "./tail.js";

/** A table that can be read. */
export interface View {
  /** The table's id; null when it was never made, and there is nothing in it. */
  readonly id: number | null;
  /** The position that it is read at. */
  readonly position: number;
}

const pageMax = 1_000;

export class Views {
  private readonly projector: Projector;
  private readonly areas: DefinedAreas;
  /** For each table a stretch of entries behind its position that do not concern it. */
  private readonly quiet = new Map<Table, { readonly from: number; readonly to: number }>();

  constructor(projector: Projector, areas: DefinedAreas) {
    this.projector = projector;
    this.areas = areas;
  }

  /** Null: entries behind it concern it. `PROJECTION_FAILED`, `SCHEMA_UNKNOWN`. */
  async of(reads: StoreReads, table: Table): Promise<View | null> {
    const { projection } = table;
    const { row, position } = placeOf(projection, await reads.projections(), await reads.folded());
    const difference = row === null ? null : differenceOf(table, row);
    if (difference !== null) throw difference;
    if (row?.status === "failed") throw failedError(projection, row);
    const id = row?.id ?? null;
    if (projection.async) return { id, position };
    const head = (await reads.head())?.seq ?? -1;
    const isFresh = position >= head || this.projector.isFresh(table, position, head);
    return isFresh || (await this.isQuiet(reads, table, position, head)) ? { id, position: head } : null;
  }

  private async isQuiet(reads: StoreReads, table: Table, position: number, head: number): Promise<boolean> {
    const known = this.quiet.get(table);
    let at = known?.from === position ? known.to : position;
    const mayConcern = areaFilter(table.projection.areas);
    while (at < head) {
      for (const stored of await readDense(reads, at + 1, Math.min(pageMax, head - at))) {
        if (mayConcern(stored.entry)) {
          const event = storedEvent(stored, this.areas);
          if (table.projection.on.has(event.type)) return false;
          if (isUnknown(event) && table.projection.areas.has(areaOf(event.type)))
            throw unknownError(table.projection, event);
        }
        at = stored.seq;
      }
    }
    this.quiet.set(table, { from: position, to: at });
    return true;
  }
}
