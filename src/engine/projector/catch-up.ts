/** What others wrote, folded at the start of a batch, under the lock: into tables that are at most 1,000 entries behind. Which
 *  those are is read from the store, whatever this process believed. */
import { failureOf } from "../../../projections/failure.js";
import type { DefinedAreas } from "../../../projections/event-of.js";
import type { ProjectionRow } from "../../journal/documents.js";
import type { StoreHead, StoreReads, StoreTransaction } from "../../journal/store.js";
import type { DocumentCache } from "./cache.js";
import { differenceOf } from "./catalogue.js";
import type { Catalogue, Table } from "./catalogue.js";
import { failedError, unknownError } from "./failed-row.js";
import { addTable, placeOf } from "./place.js";
import { behind, following } from "./standing.js";
import type { Standing, StoppedStanding } from "./standing.js";
import { TableBatch } from "./table-batch.js";
import type { TableBatchStart } from "./table-batch.js";
import { addStep } from "./table-tx.js";
import type { Step } from "./table-tx.js";
import { areaFilter, isUnknown, readDense, storedEvent } from "./tail.js";

/** The longest tail that is folded under the lock. */
export const tailMax = 1_000;

export interface CatchUp {
  readonly reads: StoreReads;
  readonly transaction: StoreTransaction;
  readonly head: StoreHead;
  readonly catalogue: Catalogue;
  readonly cache: DocumentCache;
  readonly areas: DefinedAreas;
  readonly owner: TableBatchStart["owner"];
}

/** A batch in which every table that can follows. */
export async function catchUp(start: CatchUp): Promise<TableBatch> {
  const { transaction, head, catalogue } = start;
  const stored = await transaction.projections();
  const mark = await transaction.folded();
  const standings = new Map<Table, Standing>();
  const rows = new Map<Table, ProjectionRow>();
  const joining = new Map<Table, number>();
  for (const table of catalogue.tables) {
    if (table.projection.async) continue;
    const { row, position } = placeOf(table.projection, stored, mark);
    if (row !== null) rows.set(table, row);
    const standing = standingOf(table, row, position, head.seq);
    standings.set(table, standing);
    if (standing.type !== "following") continue;
    joining.set(table, position);
    if (row === null) rows.set(table, await addTable(transaction, table.projection));
  }
  const state = { head: { seq: head.seq, id: head.id }, mark, rows, standings };
  const batch = new TableBatch({ ...start, state });
  const from = Math.min(head.seq, ...joining.values());
  if (from < head.seq) await foldTail(batch, start, joining, from);
  return batch;
}

function standingOf(table: Table, row: ProjectionRow | null, position: number, head: number): Standing {
  const difference = row === null ? null : differenceOf(table, row);
  if (difference !== null) return { type: "refused", error: difference };
  const error = table.stopAt(position);
  if (error !== null) return { type: "stopped", position, error, failure: null };
  if (row?.status === "failed" && table.tried) return failedStanding(table, row);
  if (row === null && !table.eager && !table.wanted) return behind;
  return head - position <= tailMax ? following : behind;
}

/** The standing of a table whose row says that it failed. */
export function failedStanding({ projection }: Table, row: ProjectionRow): StoppedStanding {
  const error = failedError(projection, row);
  return { type: "stopped", position: row.position, error, failure: failureOf(error) };
}

async function foldTail(
  batch: TableBatch,
  { transaction, head, catalogue, areas }: CatchUp,
  joining: ReadonlyMap<Table, number>,
  from: number,
): Promise<void> {
  const mayConcern = areaFilter([...joining.keys()].flatMap(({ projection }) => [...projection.areas]));
  const steps: Step[] = [];
  for (const stored of await readDense(transaction, from + 1, head.seq - from)) {
    if (!mayConcern(stored.entry)) continue;
    const event = storedEvent(stored, areas);
    for (const table of catalogue.listing(event.type)) {
      const position = joining.get(table);
      if (position === undefined || position >= event.position) continue;
      if (isUnknown(event))
        steps.push({ table, position: event.position, error: unknownError(table.projection, event) });
      else if (table.projection.on.has(event.type)) addStep(steps, table, event);
    }
  }
  await foldSteps(batch, steps);
}

/** Folds what others wrote into a batch. */
export async function foldSteps(batch: TableBatch, steps: readonly Step[]): Promise<void> {
  const tx = batch.open();
  await tx.takeTail(steps);
  tx.keep();
}
