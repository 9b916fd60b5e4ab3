/** The keys of documents that are foreseen, table by table: those that are asked for, and those that events would be folded into. */
import { projectionEvent } from "../../../projections/event-of.js";
import type { EventData, ProjectionEvent } from "../../../projections/event.js";
import { keyOf } from "../../../projections/reducer.js";
import { LedgerError } from "../../kernel/errors.js";
import type { ForeseenDocuments } from "../foreseen.js";
import { fillSegments } from "../prepare-event.js";
import type { PreparedEvent } from "../prepare-event.js";
import type { Catalogue, Table } from "./catalogue.js";

export interface ForeseenGround {
  readonly catalogue: Catalogue;
  isFollowing(table: Table): boolean;
}

export function foreseenKeys(
  foreseen: ForeseenDocuments,
  ground: ForeseenGround,
): ReadonlyMap<Table, ReadonlySet<string>> {
  const found = new Map<Table, Set<string>>();
  for (const [projection, keys] of foreseen.keys) {
    const table = unlessRefused(() => ground.catalogue.tableOf(projection));
    if (table !== null && ground.isFollowing(table)) found.set(table, new Set(keys));
  }
  for (const event of foreseen.events) {
    const tables = ground.catalogue.folding(event.type).filter((table) => ground.isFollowing(table));
    if (tables.length === 0) continue;
    const folded = asItWouldBe(event, foreseen.at);
    for (const table of tables) {
      const key = unlessRefused(() => keyOf(table.projection, folded));
      if (key === null) continue;
      const known = found.get(table);
      if (known === undefined) found.set(table, new Set([key]));
      else known.add(key);
    }
  }
  return found;
}

/** Where it will stand is not known yet, and what its contents will be called neither: a key that holds one of these is not foreseen. */
function asItWouldBe(
  { stream, type, labels, version, segments, contents }: PreparedEvent,
  at: number,
): ProjectionEvent {
  const references = contents.map(({ digest, bytes }) => ({ $content: digest, bytes: bytes.length, n: 1 }));
  const data = JSON.parse(fillSegments(segments, references)) as EventData; // it is an object
  return projectionEvent({ seq: 0, stream, rev: 1, type, at }, labels, data, version);
}

/** What a call refuses is refused again when it is decided. */
function unlessRefused<Value>(call: () => Value): Value | null {
  try {
    return call();
  } catch (error) {
    if (error instanceof LedgerError) return null;
    throw error;
  }
}
