/** The next batch of a subscription: pages of short snapshots, until it is full or the journal ends.
 *  Invariants: every position from the place on is dealt with once, in order, and follows the entry before it by its link;
 *  at most so many events and about so many bytes are held, however slow the reader is. */
import { LedgerError } from "../kernel/errors.js";
import { decodeStored } from "../journal/stored.js";
import type { Store, StoredEntry } from "../journal/store.js";
import type { Areas } from "./areas.js";
import { readWithin } from "./begin.js";
import type { EventFilter } from "./event-filter.js";
import { showEvent } from "./shown-event.js";
import type { LedgerEvent, SubscriptionBatch, UnknownEvents } from "./types.js";

/** Where a subscription is: the last position that is dealt with, −1 before the first, and the id there when it is known. */
export interface Place {
  readonly position: number;
  readonly id: string | null;
}

/** What a batch is read from, and what it may hold. */
export interface BatchSource {
  readonly store: Store;
  readonly areas: Areas;
  readonly busyTimeoutMs: number;
  readonly matches: EventFilter;
  readonly unknown: UnknownEvents;
  readonly eventsMax: number;
}

/** A page holds at most this many entries of 64 KiB, decoded or not. */
const pageMax = 64;
const pageMin = 16;
/** UTF-16 units or bytes of entry text, whichever the store answers. */
const batchSizeMax = 4 * 1024 * 1024;
/** After so many entries without a full batch the reader gets what there is, and its caller a chance to end. */
const lookedMax = 10_000;

/** A batch, and the place behind it. */
export interface ReadBatch {
  readonly batch: SubscriptionBatch;
  readonly place: Place;
}

/** Reads on from a place. `caughtUp`: nothing is behind the new one. A batch without events may end before that. */
export async function readBatch(source: BatchSource, from: Place): Promise<ReadBatch> {
  const draft: Draft = { entries: [], size: 0, place: from };
  let caughtUp = false;
  try {
    caughtUp = await fill(draft, source);
  } catch (error) {
    // What stands before it is handed out first; the next batch begins with the error.
    if (draft.entries.length === 0) throw error;
  }
  const { entries, place } = draft;
  return { batch: { entries, position: place.position, caughtUp }, place };
}

interface Draft {
  readonly entries: LedgerEvent[];
  size: number;
  place: Place;
}

/** Reads until the draft is full or the journal ends, and answers whether it does. */
async function fill(draft: Draft, source: BatchSource): Promise<boolean> {
  const first = draft.place.position;
  for (;;) {
    const left = source.eventsMax - draft.entries.length;
    const { stored, head } = await readPage(source, draft.place, Math.max(pageMin, Math.min(pageMax, left)));
    for (const each of stored) {
      if (draft.entries.length === source.eventsMax || draft.size >= batchSizeMax) return false;
      take(draft, each, source);
    }
    if (draft.place.position === head) return true;
    if (draft.place.position - first >= lookedMax) return false;
    await breathe();
  }
}

function take(draft: Draft, stored: StoredEntry, { matches, areas, unknown }: BatchSource): void {
  const decoded = decodeStored(stored);
  requireLink(draft.place, stored.seq, decoded.fields.prev);
  const event = matches(decoded.fields) ? showEvent(decoded, areas, unknown) : null;
  if (event !== null) {
    draft.entries.push(event);
    draft.size += stored.entry.length;
  }
  draft.place = { position: stored.seq, id: stored.id };
}

/** A store may answer without ever leaving the event loop to others: timers, requests, appends. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function readPage(
  { store, busyTimeoutMs }: BatchSource,
  place: Place,
  entriesMax: number,
): Promise<{ readonly stored: readonly StoredEntry[]; readonly head: number }> {
  return readWithin(store, busyTimeoutMs, async (snapshot) => {
    const head = (await snapshot.head())?.seq ?? -1;
    if (head < place.position) throw rolledBack(place.position, head);
    const stored = head === place.position ? [] : await snapshot.entries(place.position + 1, entriesMax);
    if (stored.length === 0 && head > place.position)
      throw damaged(place.position + 1, "seq", `must be there, found nothing up to the head at #${head}`);
    return { stored, head };
  });
}

function requireLink(place: Place, seq: number, prev: string): void {
  const next = place.position + 1;
  if (seq !== next) throw damaged(next, "seq", `must be there, found #${seq} in its place`);
  if (place.id !== null && prev !== place.id)
    throw damaged(next, "prev", `must follow the event that was read before it, found one that follows ${prev}`);
}

function rolledBack(position: number, head: number): LedgerError {
  return new LedgerError(
    "STORE_ROLLED_BACK",
    `the journal must still have the event that was read as #${position}, found its head at #${head}`,
    {
      details: { position, head },
      hint: "an older ledger took its place; what was read from this one may not be what that one says",
    },
  );
}

function damaged(position: number, field: string, what: string): LedgerError {
  return new LedgerError("STORE_DAMAGED", `event #${position} ${what}`, {
    details: { position, field },
    hint: "run `runledger verify` on it",
  });
}
