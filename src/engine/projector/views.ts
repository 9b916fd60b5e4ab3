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
  readonly type: "view";
  /** The table's id; null when it was never made, and there is nothing in it. */
  readonly id: number | null;
  /** The position that it is read at. */
  readonly position: number;
}

/** Entries behind it concern it. */
export interface BehindView {
  readonly type: "behind";
  /** The head that it is behind of. */
  readonly head: number;
}

const pageMax = 1_000;

export class Views {
  private readonly projector: Projector;
  private readonly areas: DefinedAreas;
  private readonly readOnly: boolean;
  /** For each table a stretch of entries behind its position that do not concern it. */
  private readonly quiet = new Map<Table, { readonly from: number; readonly to: number }>();

  constructor(projector: Projector, areas: DefinedAreas, readOnly: boolean) {
    this.projector = projector;
    this.areas = areas;
    this.readOnly = readOnly;
  }

  /** What can be seen of a table. One that has come as far as `enough` is read as of where it stands. `PROJECTION_FAILED`,
   *  `SCHEMA_UNKNOWN`. */
  async of(reads: StoreReads, table: Table, enough: number): Promise<View | BehindView> {
    const { projection } = table;
    const { row, position } = placeOf(projection, await reads.projections(), await reads.folded());
    const difference = row === null ? null : differenceOf(table, row);
    if (difference !== null) throw difference;
    if (row?.status === "failed") {
      // Another process saw it fail: this one, if it can write, tries it as well.
      if (projection.async || table.tried || this.readOnly) throw failedError(projection, row);
      return { type: "behind", head: (await reads.head())?.seq ?? -1 };
    }
    const id = row?.id ?? null;
    const head = (await reads.head())?.seq ?? -1;
    if (!projection.async && (position >= head || this.projector.isFresh(table, position, head)))
      return { type: "view", id, position: head };
    const error = table.stopAt(position);
    if (error !== null) throw error;
    if (projection.async || position >= enough) return { type: "view", id, position };
    const isQuiet = await this.isQuiet(reads, table, position, head);
    return isQuiet ? { type: "view", id, position: head } : { type: "behind", head };
  }

  private async isQuiet(reads: StoreReads, table: Table, position: number, head: number): Promise<boolean> {
    const known = this.quiet.get(table);
    let at = known?.from === position ? known.to : position;
    const mayConcern = areaFilter(table.projection.areas);
    while (at < head) {
      for (const stored of await readDense(reads, at + 1, Math.min(pageMax, head - at))) {
        if (mayConcern(stored.entry)) {
          const event = storedEvent(stored, this.areas);
          if (isUnknown(event)) {
            if (table.projection.areas.has(areaOf(event.type))) throw unknownError(table.projection, event);
          } else if (table.projection.on.has(event.type)) return false;
        }
        at = stored.seq;
      }
    }
    this.quiet.set(table, { from: position, to: at });
    return true;
  }
}
