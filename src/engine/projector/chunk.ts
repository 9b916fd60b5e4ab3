/** One chunk of a table that is brought up outside the lock: folded on a snapshot, then written in a short transaction that
 *  first looks whether the table still stands where the chunk began. So a fold is never written twice, whoever else brings
 *  the table up, and a crash leaves a table that goes on where it stands. */
import { BulkTable } from "../../../projections/bulk.js";
import type { AnyProjection } from "../../../projections/define-projection.js";
import type { DefinedAreas, UnknownEvent } from "../../../projections/event-of.js";
import type { ProjectionEvent } from "../../../projections/event.js";
import { systemClock } from "../../kernel/clock.js";
import { areaOf } from "../../kernel/names.js";
import type { DocumentWrite, FoldedMark, ProjectionRow } from "../../journal/documents.js";
import type { StoreReads, StoreTransaction } from "../../journal/store.js";
import type { Held } from "./cache.js";
import { addTable, placeOf } from "./place.js";
import type { Place } from "./place.js";
import { readDocuments, writeOf } from "./stored-document.js";
import { areaFilter, isUnknown, readDense, storedEvent } from "./tail.js";

const pageMax = 1_000;
/** A chunk ends with so many events, or after so long a look for them. */
const chunkEventsMax = 2_000;
const chunkMsMax = 50;

/** What a chunk read. */
interface Stretch {
  /** Id of the entry that it ends with. */
  readonly lastId: string;
  readonly last: number;
  readonly events: readonly (ProjectionEvent | UnknownEvent)[];
}

/** A chunk, folded and not written yet. */
export interface Chunk {
  readonly projection: AnyProjection;
  readonly from: Place;
  /** The last position that it folded, and the id of the entry there. */
  readonly position: number;
  readonly entryId: string | null;
  readonly writes: readonly DocumentWrite[];
  /** Why it ended before its end. */
  readonly stopped: BulkTable;
}

/** Folds what comes behind a place. */
export async function foldChunk(
  reads: StoreReads,
  projection: AnyProjection,
  from: Place,
  head: number,
  areas: DefinedAreas,
): Promise<Chunk> {
  const { last, lastId, events } = await readStretch(reads, projection, from.position + 1, head, areas);
  const table = new BulkTable(projection);
  const keys = table.keysToLoad(events);
  const loaded = new Map<string, Held>();
  if (from.row !== null && keys.length > 0) {
    const held = await readDocuments(reads, from.row.id, projection, keys);
    keys.forEach((key, index) => loaded.set(key, held[index]!));
  }
  for (const [key, { document }] of loaded) table.load(key, document);
  for (const event of events) {
    if (isUnknown(event)) table.foldUnknown(event);
    else table.fold(event);
  }
  const writes: DocumentWrite[] = [];
  for (const [key, { document, changed }] of table.changes()) {
    const stored = loaded.get(key)?.document ?? null;
    if (document !== stored) writes.push(writeOf(projection, key, { document, seq: changed, stored }));
  }
  const { failure } = table;
  if (failure === null) return { projection, from, position: last, entryId: lastId, writes, stopped: table };
  const position = failure.position - 1;
  const [entryId] = position < 0 ? [] : await reads.ids(position, 1);
  return { projection, from, position, entryId: entryId ?? null, writes, stopped: table };
}

async function readStretch(
  reads: StoreReads,
  projection: AnyProjection,
  from: number,
  head: number,
  areas: DefinedAreas,
): Promise<Stretch> {
  const mayConcern = areaFilter(projection.areas);
  const started = systemClock.monotonic();
  const events: (ProjectionEvent | UnknownEvent)[] = [];
  let last = from - 1;
  let lastId = "";
  do {
    const page = await readDense(reads, last + 1, Math.min(pageMax, head - last));
    for (const stored of page) {
      last = stored.seq;
      lastId = stored.id;
      if (!mayConcern(stored.entry)) continue;
      const event = storedEvent(stored, areas);
      if (isUnknown(event) ? projection.areas.has(areaOf(event.type)) : projection.on.has(event.type))
        events.push(event);
    }
  } while (last < head && events.length < chunkEventsMax && systemClock.monotonic() - started < chunkMsMax);
  return { last, lastId, events };
}

/** Writes a chunk; false when the table no longer stands where it began. `again`: an earlier try may have been committed. */
export async function writeChunk(transaction: StoreTransaction, chunk: Chunk, again: boolean): Promise<boolean> {
  const { projection, from, position, entryId, writes } = chunk;
  const rows = await transaction.projections();
  const mark = await transaction.folded();
  const now = placeOf(projection, rows, mark);
  if (again && now.row !== null && now.position === position && now.row.position === position) return true;
  if (now.position !== from.position || now.row?.id !== from.row?.id) return false;
  const row = now.row ?? (await addTable(transaction, projection));
  if (writes.length > 0) await transaction.putDocuments(row.id, writes);
  await transaction.putProjection({ ...row, position, entryId, ...statusOf(chunk) });
  if (mark?.tables.includes(row.id) === true) await transaction.putFolded(without(mark, row.id));
  return true;
}

function statusOf({ stopped }: Chunk): Pick<ProjectionRow, "status" | "error"> {
  const { failure } = stopped;
  if (failure?.code !== "PROJECTION_FAILED") return { status: "following", error: null };
  return { status: "failed", error: JSON.stringify(failure) };
}

function without(mark: FoldedMark, id: number): FoldedMark {
  return { ...mark, tables: mark.tables.filter((each) => each !== id) };
}
