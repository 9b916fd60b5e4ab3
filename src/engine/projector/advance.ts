/** Brings one table on by a chunk, outside the writer: what a build does before its first use, and an async projection all the
 *  time. */
import type { DefinedAreas } from "../../../projections/event-of.js";
import type { Store } from "../../journal/store.js";
import { writeOperational } from "../operational.js";
import { withSnapshot } from "../snapshot.js";
import type { Diagnostic } from "../types.js";
import { differenceOf } from "./catalogue.js";
import type { Table } from "./catalogue.js";
import { foldChunk, writeChunk } from "./chunk.js";
import type { Chunk } from "./chunk.js";
import { placeOf } from "./place.js";
import type { Place } from "./place.js";

export interface AdvanceOptions {
  readonly store: Store;
  readonly busyTimeoutMs: number;
  readonly areas: DefinedAreas;
  readonly onEvent: (event: Diagnostic) => void;
}

/** Where a table stood, and what it was compared with. */
export interface Advanced {
  /** Before the chunk. */
  readonly position: number;
  readonly head: number;
  /** False: there was nothing to do, or nothing that this process can do: the table stopped, or it is another one than this
   *  program means. */
  readonly went: boolean;
}

/** Folds a chunk into a table that is more than `lagMax` entries behind. */
export async function advance(table: Table, options: AdvanceOptions, lagMax: number): Promise<Advanced> {
  const { store, areas } = options;
  const found = await withSnapshot(store, async (reads) => {
    const head = (await reads.head())?.seq ?? -1;
    const place = placeOf(table.projection, await reads.projections(), await reads.folded());
    const goesOn = canAdvance(table, place, head, lagMax);
    const chunk = goesOn ? await foldChunk(reads, table.projection, place, head, areas) : null;
    return { position: place.position, head, chunk };
  });
  const { position, head, chunk } = found;
  if (chunk !== null) await write(table, chunk, options);
  return { position, head, went: chunk !== null };
}

/** Is a table more than `lagMax` entries behind, and can this process bring it on? */
export function canAdvance(table: Table, { row, position }: Place, head: number, lagMax: number): boolean {
  if (head - position <= lagMax || table.stopAt(position) !== null) return false;
  if (row === null) return true;
  return differenceOf(table, row) === null && !(row.status === "failed" && table.tried);
}

async function write(table: Table, chunk: Chunk, { store, busyTimeoutMs, onEvent }: AdvanceOptions): Promise<void> {
  const { name, version } = table.projection;
  let tries = 0;
  const written = await writeOperational(store, busyTimeoutMs, (transaction) =>
    writeChunk(transaction, chunk, ++tries > 1),
  );
  if (!written) {
    onEvent({ type: "overtaken", projection: name, version, position: chunk.from.position });
    return;
  }
  const { error, failure } = chunk.stopped;
  if (error === null || failure === null) return;
  if (failure.code === "SCHEMA_UNKNOWN") table.stop(chunk.position, error);
  else table.tried = true;
  onEvent({ type: "stopped", projection: name, version, position: failure.position, error });
}
