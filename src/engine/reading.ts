/** Reading: pages of stored entries, checked, upcast, filtered. A reading is fixed at the head that it started at and
 *  holds no snapshot between its pages, so that it can take as long as it likes without holding anybody up. */
import type { JsonObject } from "../kernel/canonical.js";
import { invalid, invariant, LedgerError } from "../kernel/errors.js";
import { checkMembers, checkSignal, parseInteger } from "../kernel/members.js";
import { kindOf, parseArea, parseStream, parseType } from "../kernel/names.js";
import type { DecodedEntry } from "../journal/stored.js";
import { decodeStored } from "../journal/stored.js";
import type { Store, StoredEntry, StoreSnapshot } from "../journal/store.js";
import type { Areas } from "./areas.js";
import type { LedgerEvent, ReadOptions, ReadStreamOptions, UnknownEvents } from "./types.js";

const pageMax = 500;

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
  readonly matches: (event: { readonly stream: string; readonly type: string }) => boolean;
  readonly page: (snapshot: StoreSnapshot, from: number | null, size: number) => Promise<Page>;
}

/** Reads the whole journal, or what its filters let through. */
export function readJournal(store: Store, areas: Areas, options: ReadOptions): Reading {
  checkMembers(options, "options", ["from", "direction", "limit", "streams", "kinds", "types", "unknown", "signal"]);
  const backward = parseDirection(options.direction);
  const from = options.from === undefined ? null : parseInteger(options.from, "options.from", 0);
  const matches = parseFilters(options);
  let end: number | null = null;
  return reading(store, areas, {
    ...parseCommon(options),
    matches,
    async page(snapshot, next, size) {
      const to = (end ??= (await snapshot.head())?.seq ?? -1);
      const start = next ?? from ?? (backward ? to : 0);
      const stored = await snapshot.entries(Math.min(start, backward ? to : Infinity), size, backward);
      const kept = backward ? stored : stored.filter((each) => each.seq <= to);
      const last = kept.at(-1)?.seq;
      const done = last === undefined || (backward ? last === 0 : last >= to);
      return { stored: kept, next: done ? null : last + (backward ? -1 : 1) };
    },
  });
}

/** Reads one stream. */
export function readOneStream(store: Store, areas: Areas, stream: string, options: ReadStreamOptions): Reading {
  parseStream(stream, "stream");
  checkMembers(options, "options", ["from", "direction", "limit", "unknown", "signal"]);
  const backward = parseDirection(options.direction);
  const from = options.from === undefined ? null : parseInteger(options.from, "options.from", 1);
  let end: number | null = null;
  return reading(store, areas, {
    ...parseCommon(options),
    matches: () => true,
    async page(snapshot, next, size) {
      end ??= (await snapshot.streamHeads([stream]))[0]?.rev ?? 0;
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
      const event = show(decodeStored(stored), areas, plan);
      if (event === null) continue;
      yield event;
      if (--left === 0) return;
    }
    next = page.next;
    // A store may answer without ever leaving the event loop to others: timers, requests, appends.
    if (next !== null) await new Promise((resolve) => setImmediate(resolve));
  } while (next !== null);
}

function show(decoded: DecodedEntry, areas: Areas, plan: Plan): LedgerEvent | null {
  if (!plan.matches(decoded.fields)) return null;
  const definition = areas.definitionOf(decoded.fields.type);
  const { tv, type, seq } = decoded.fields;
  if (definition === undefined || tv > definition.version) {
    const event = toEvent(decoded, decoded.fields.data, tv);
    if (plan.unknown === "accept") return event;
    if (plan.unknown === "ignore") return null;
    if (typeof plan.unknown === "function") return plan.unknown(event);
    throw new LedgerError(
      "SCHEMA_UNKNOWN",
      `event #${seq} ${type} must be of a type and version that this program defines, found version ${tv}`,
      { details: { position: seq, type, version: tv } },
    );
  }
  let data = decoded.fields.data;
  for (let version = tv; version < definition.version; version++) {
    const step = definition.upcast.get(version);
    invariant(step !== undefined, "a definition has a step from each older version");
    data = upcast(step, data, seq, type, version);
  }
  return toEvent(decoded, data, definition.version);
}

function upcast(
  step: (data: JsonObject) => JsonObject,
  data: JsonObject,
  position: number,
  type: string,
  from: number,
): JsonObject {
  let next: unknown;
  try {
    next = step(data);
  } catch (cause) {
    throw new LedgerError(
      "SCHEMA_UNKNOWN",
      `event #${position} ${type} must be upcast from version ${from}, found a step that throws`,
      { details: { position, type, version: from }, cause },
    );
  }
  if (typeof next === "object" && next !== null && !Array.isArray(next) && !("then" in next)) return next as JsonObject;
  throw new LedgerError(
    "SCHEMA_UNKNOWN",
    `event #${position} ${type} must be upcast from version ${from} into an object, found something else`,
    { details: { position, type, version: from } },
  );
}

function toEvent({ id, fields }: DecodedEntry, data: JsonObject, version: number): LedgerEvent {
  const { seq, stream, rev, type, at, tx, actor, command, cause, corr, fence, meta } = fields;
  return {
    position: seq,
    id,
    stream,
    revision: rev,
    type,
    version,
    data,
    at,
    tx: { first: tx[0], count: tx[1] },
    ...(actor === undefined ? {} : { actor }),
    ...(command === undefined ? {} : { command }),
    ...(cause === undefined ? {} : { cause }),
    ...(corr === undefined ? {} : { correlation: corr }),
    ...(fence === undefined ? {} : { fence }),
    ...(meta === undefined ? {} : { meta }),
  };
}

function parseCommon(options: {
  readonly limit?: number;
  readonly unknown?: UnknownEvents;
  readonly signal?: AbortSignal;
}): Pick<Plan, "limit" | "unknown" | "signal"> {
  const unknown = options.unknown ?? "accept";
  if (unknown !== "accept" && unknown !== "ignore" && unknown !== "error" && typeof unknown !== "function") {
    throw invalid("options.unknown", '"accept", "ignore", "error" or a function', unknown);
  }
  checkSignal(options.signal, "options.signal");
  return {
    limit: options.limit === undefined ? Infinity : parseInteger(options.limit, "options.limit", 1),
    unknown,
    signal: options.signal,
  };
}

function parseDirection(direction: unknown): boolean {
  if (direction === undefined || direction === "forward") return false;
  if (direction === "backward") return true;
  throw invalid("options.direction", '"forward" or "backward"', direction);
}

function parseFilters({ streams, kinds, types }: ReadOptions): Plan["matches"] {
  const byStream = parseList(streams, "options.streams", parseStream);
  const byKind = parseList(kinds, "options.kinds", parseArea);
  const byType = parseList(types, "options.types", parseType);
  return ({ stream, type }) =>
    (byStream === null || byStream.has(stream)) &&
    (byKind === null || byKind.has(kindOf(stream))) &&
    (byType === null || byType.has(type));
}

function parseList(
  values: readonly string[] | undefined,
  path: string,
  parse: (value: unknown, path: string) => string,
): ReadonlySet<string> | null {
  if (values === undefined) return null;
  if (!Array.isArray(values)) throw invalid(path, "a list", values);
  return new Set(values.map((value, index) => parse(value, `${path}[${index}]`)));
}
