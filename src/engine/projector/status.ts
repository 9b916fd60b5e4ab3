import { LedgerError } from "../../kernel/errors.js";
import type { FoldedMark, ProjectionRow } from "../../journal/documents.js";
import type { StoreReads } from "../../journal/store.js";
import { differenceOf } from "./catalogue.js";
import type { Catalogue, Table } from "./catalogue.js";
import { failedError } from "./failed-row.js";
import { placeOf } from "./place.js";

/** How a projection is. @public */
export interface ProjectionStatus {
  readonly name: string;
  readonly version: number;
  /** Does it follow on its own, behind the commits? */
  readonly async: boolean;
  /** The last event that is folded into its table; −1 before the first, and when it has no table yet. */
  readonly position: number;
  /** The number of events behind it, those that do not concern it included. */
  readonly behind: number;
  /** `following`: it is current, or is brought up when it is used; `rebuilding`: this process builds its table; `failed`: its
   *  reducer could not fold the event behind `position`; `stopped`: this program does not know that event, or declares
   *  other indexes than those that are stored; `frozen`: this program has no code for it, and its documents are as of
   *  `position`. */
  readonly status: "following" | "rebuilding" | "failed" | "stopped" | "frozen";
  /** Why it failed or stopped; null when it did not. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** How projections are: those of this program in the order in which they were given, then those that only the store has. */
export async function projectionStatus(
  reads: StoreReads,
  head: number,
  catalogue: Catalogue,
  building: ReadonlySet<Table>,
): Promise<ProjectionStatus[]> {
  const rows = await reads.projections();
  const mark = await reads.folded();
  const own = catalogue.tables.map((table) => ownStatus(table, rows, mark, head, building));
  const known = new Set(own.map(({ name, version }) => `${name} ${version}`));
  const others = rows.filter(({ name, version }) => !known.has(`${name} ${version}`));
  return [...own, ...others.map((row) => frozenStatus(row, mark, head))];
}

function ownStatus(
  table: Table,
  rows: readonly ProjectionRow[],
  mark: FoldedMark | null,
  head: number,
  building: ReadonlySet<Table>,
): ProjectionStatus {
  const { name, version, async } = table.projection;
  const { row, position } = placeOf(table.projection, rows, mark);
  const place = { name, version, async, position, behind: head - position };
  const stopped = table.stopAt(position) ?? (row === null ? null : differenceOf(table, row));
  if (stopped !== null) return { ...place, status: "stopped", error: said(stopped) };
  if (building.has(table)) return { ...place, status: "rebuilding", error: null };
  if (row?.status === "failed") return { ...place, status: "failed", error: said(failedError(table.projection, row)) };
  return { ...place, status: "following", error: null };
}

function said(error: Error): ProjectionStatus["error"] {
  return { code: error instanceof LedgerError ? error.code : "PROJECTION_FAILED", message: error.message };
}

function frozenStatus(row: ProjectionRow, mark: FoldedMark | null, head: number): ProjectionStatus {
  const { id, name, version } = row;
  const position = mark?.tables.includes(id) === true ? mark.position : row.position;
  return { name, version, async: false, position, behind: head - position, status: "frozen", error: null };
}
