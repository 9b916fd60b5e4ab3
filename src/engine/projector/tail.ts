/** Entries of others, on their way into tables: checked, upcast, and only those that a table may fold. */
import { eventOf } from "../../../projections/event-of.js";
import type { DefinedAreas, UnknownEvent } from "../../../projections/event-of.js";
import type { ProjectionEvent } from "../../../projections/event.js";
import { LedgerError } from "../../kernel/errors.js";
import { decodeStored } from "../../journal/stored.js";
import type { StoredEntry, StoreReads } from "../../journal/store.js";

/** Tells entries whose text cannot be of one of these areas, without parsing them. */
export function areaFilter(areas: Iterable<string>): (entry: string | Uint8Array) => boolean {
  const names = [...new Set(areas)];
  if (names.length === 0) return () => false;
  const pattern = new RegExp(`"type":"(?:${names.join("|")})\\.`); // names of areas hold nothing that a pattern knows
  return (entry) => typeof entry !== "string" || pattern.test(entry);
}

/** Entries from a position on, all of them: a table that skipped one would be wrong for good. */
export async function readDense(reads: StoreReads, from: number, count: number): Promise<readonly StoredEntry[]> {
  const entries = await reads.entries(from, count);
  const hole = entries.length < count ? entries.length : entries.findIndex(({ seq }, index) => seq !== from + index);
  if (hole < 0) return entries;
  throw new LedgerError("STORE_DAMAGED", `event #${from + hole} must be stored, found none`, {
    details: { position: from + hole },
    hint: "run `runledger verify` on it",
  });
}

/** The event of a stored entry. */
export function storedEvent(stored: StoredEntry, areas: DefinedAreas): ProjectionEvent | UnknownEvent {
  return eventOf(decodeStored(stored).fields, areas);
}

export function isUnknown(event: ProjectionEvent | UnknownEvent): event is UnknownEvent {
  return "unknown" in event;
}
