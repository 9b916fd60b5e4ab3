/** Reading: pages of stored entries, checked, upcast, filtered. A reading is fixed at the head that it started at and
 *  holds no snapshot between its pages, so that it can take as long as it likes without holding anybody up. */
import { invalid, LedgerError } from "../kernel/errors.js";
import { checkMembers, checkSignal, parseInteger } from "../kernel/members.js";
import { parseStream } from "../kernel/names.js";
import { decodeStored } from "../journal/stored.js";
import type { Store, StoredEntry, StoreSnapshot } from "../journal/store.js";
import type { Areas } from "./areas.js";
import { parseFilter } from "./event-filter.js";
import type { EventFilter } from "./event-filter.js";
import { parseUnknown, showEvent } from "./shown-event.js";
import type { LedgerEvent, ReadOptions, ReadStreamOptions, UnknownEvents } from "./types.js";

const pageMax = 500;
const everything: EventFilter = () => true;

/** Events to iterate over, or to collect. @public */
export interface Reading extends AsyncIterable<LedgerEvent> {
  /** All of them in a list; mind the size. */
  toArray(): Promise<LedgerEvent[]>;
}

/** One page: where the next one starts, or null at the end. */
interface Page {
  readonly stored: readonly StoredEntry[];
  readonly next: number | null;
}

interface Plan {
  readonly limit: number;
  readonly unknown: UnknownEvents;
  readonly signal: AbortSignal | undefined;
  readonly matches: EventFilter;
  readonly page: (snapshot: StoreSnapshot, from: number | null, size: number) => Promise<Page>;
}

/** Reads the whole journal, or what its filters let through, up to a position at most. */
export function readJournal(store: Store, areas: Areas, options: ReadOptions, positionMax: number = Infinity): Reading {
  checkMembers(options, "options", ["from", "direction", "limit", "streams", "kinds", "types", "unknown", "signal"]);
  const backward = parseDirection(options.direction);
  const from = options.from === undefined ? null : parseInteger(options.from, "options.from", 0);
  const matches = parseFilter(options) ?? everything;
  let end: number | null = null;
  return reading(store, areas, {
    ...parseCommon(options),
    matches,
    async page(snapshot, next, size) {
      const to = (end ??= Math.min((await snapshot.head())?.seq ?? -1, positionMax));
      const start = next ?? from ?? (backward ? to : 0);
      const stored = await snapshot.entries(Math.min(start, backward ? to : Infinity), size, backward);
      const kept = backward ? stored : stored.filter((each) => each.seq <= to);
      const last = kept.at(-1)?.seq;
      const done = last === undefined || (backward ? last === 0 : last >= to);
      return { stored: kept, next: done ? null : last + (backward ? -1 : 1) };
    },
  });
}

/** Reads one stream, up to a position of the journal at most. */
export function readOneStream(
  store: Store,
  areas: Areas,
  stream: string,
  options: ReadStreamOptions,
  positionMax: number = Infinity,
): Reading {
  parseStream(stream, "stream");
  checkMembers(options, "options", ["from", "direction", "limit", "unknown", "signal"]);
  const backward = parseDirection(options.direction);
  const from = options.from === undefined ? null : parseInteger(options.from, "options.from", 1);
  let end: number | null = null;
  return reading(store, areas, {
    ...parseCommon(options),
    matches: everything,
    async page(snapshot, next, size) {
      end ??= await lastRevision(snapshot, stream, positionMax);
      const start = Math.min(next ?? from ?? (backward ? end : 1), backward ? end : Infinity);
      if (end === 0 || start > end) return { stored: [], next: null };
      const stored = await snapshot.streamEntries(
        stream,
        start,
        backward ? size : Math.min(size, end - start + 1),
        backward,
      );
      const after = backward ? start - stored.length : start + stored.length;
      return { stored, next: stored.length === 0 || after < 1 || after > end ? null : after };
    },
  });
}

/** The last revision of a stream up to a position; 0 when there is none. */
async function lastRevision(snapshot: StoreSnapshot, stream: string, positionMax: number): Promise<number> {
  let high = (await snapshot.streamHeads([stream]))[0]?.rev ?? 0;
  if (positionMax === Infinity) return high;
  let low = 0;
  while (low < high) {
    const middle = Math.floor((low + high + 1) / 2);
    const [stored] = await snapshot.streamEntries(stream, middle, 1);
    if (stored !== undefined && stored.seq <= positionMax) low = middle;
    else high = middle - 1;
  }
  return low;
}

function reading(store: Store, areas: Areas, plan: Plan): Reading {
  return {
    [Symbol.asyncIterator]: () => iterate(store, areas, plan),
    async toArray() {
      const events: LedgerEvent[] = [];
      for await (const event of iterate(store, areas, plan)) events.push(event);
      return events;
    },
  };
}

async function* iterate(store: Store, areas: Areas, plan: Plan): AsyncGenerator<LedgerEvent, void, undefined> {
  let left = plan.limit;
  let next: number | null = null;
  do {
    if (plan.signal?.aborted === true)
      throw new LedgerError("ABORTED", "the reading was given up", { cause: plan.signal.reason });
    const snapshot = await store.snapshot();
    let page: Page;
    try {
      page = await plan.page(snapshot, next, Math.min(pageMax, left));
    } finally {
      await snapshot.release();
    }
    for (const stored of page.stored) {
      const decoded = decodeStored(stored);
      if (!plan.matches(decoded.fields)) continue;
      const event = showEvent(decoded, areas, plan.unknown);
      if (event === null) continue;
      yield event;
      if (--left === 0) return;
    }
    next = page.next;
    // A store may answer without ever leaving the event loop to others: timers, requests, appends.
    if (next !== null) await new Promise((resolve) => setImmediate(resolve));
  } while (next !== null);
}

function parseCommon(options: {
  readonly limit?: number;
  readonly unknown?: UnknownEvents;
  readonly signal?: AbortSignal;
}): Pick<Plan, "limit" | "unknown" | "signal"> {
  checkSignal(options.signal, "options.signal");
  return {
    limit: options.limit === undefined ? Infinity : parseInteger(options.limit, "options.limit", 1),
    unknown: parseUnknown(options.unknown),
    signal: options.signal,
  };
}

function parseDirection(direction: unknown): boolean {
  if (direction === undefined || direction === "forward") return false;
  if (direction === "backward") return true;
  throw invalid("options.direction", '"forward" or "backward"', direction);
}
