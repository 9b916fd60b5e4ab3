import type { AnyProjection } from "../../../projections/define-projection.js";
import type { FoldedMark, ProjectionRow } from "../../journal/documents.js";
import type { StoreTransaction } from "../../journal/store.js";

/** Where a table stands: its row, null when it was never made, and the last position that is folded into it. */
export interface Place {
  readonly row: ProjectionRow | null;
  readonly position: number;
}

export function placeOf(projection: AnyProjection, rows: readonly ProjectionRow[], mark: FoldedMark | null): Place {
  const { name, version } = projection;
  const row = rows.find((each) => each.name === name && each.version === version) ?? null;
  if (row === null) return { row, position: -1 };
  return { row, position: mark?.tables.includes(row.id) === true ? mark.position : row.position };
}

/** Makes the table of a projection, empty. */
export async function addTable(transaction: StoreTransaction, projection: AnyProjection): Promise<ProjectionRow> {
  const row = {
    name: projection.name,
    version: projection.version,
    indexes: [...projection.indexes.keys()],
    status: "following",
    position: -1,
    entryId: null,
    error: null,
  } as const;
  return { ...row, id: await transaction.addProjection(row) };
}
