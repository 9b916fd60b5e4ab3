/** The records of a capture, read back in order, a few entries and at most a MiB of contents at a time.
 *  Invariant: no record is passed over in silence. One whose content is not there, or whose entry cannot be read, comes by its
 *  number with what is wrong; where its number cannot be told, the reading fails. Source: rows SB-08 and SB-16, case I01. */
import { LedgerError } from "../kernel/errors.js";
import { checkMembers, checkSignal, parseInteger } from "../kernel/members.js";
import { isContentReference } from "../journal/content.js";
import type { Content, ContentReference } from "../journal/content.js";
import { captureKey, sessionEvents, sessionStream } from "../journal/events/session.js";
import type { RecordFacts, SessionEventsAppended } from "../journal/events/session.js";
import type { Engine } from "../engine/engine.js";
import { readContents } from "../engine/read-content.js";
import { withSnapshot } from "../engine/snapshot.js";
import type { LedgerEvent } from "../engine/types.js";

/** A record of a capture, as it is read. @public */
export interface SessionRecord {
  /** From 1. */
  readonly number: number;
  /** What kind of record, in its producer's words. Null, as all that is null below, where the entry that holds it cannot be
   *  read. */
  readonly type: string | null;
  /** Engine time at which it was recorded, ms since the epoch. */
  readonly at: number | null;
  /** When its producer says that it was made; null: it did not say. */
  readonly reportedAt: number | null;
  /** It was cut, or the output ended in it. */
  readonly partial: boolean;
  /** Position of the event that holds it. */
  readonly position: number | null;
  readonly reference: ContentReference | null;
  /** What it holds; null when `trouble` says why not. */
  readonly content: Content | null;
  /** `CONTENT_ERASED`, `CONTENT_MISSING` or `STORE_DAMAGED`. */
  readonly trouble: LedgerError | null;
}

/** Which records to read. @public */
export interface SessionEventsOptions {
  /** The number of the record behind which to begin. Default 0. */
  readonly after?: number;
  /** At most so many. Default: all that are there when it begins. */
  readonly limit?: number;
  readonly signal?: AbortSignal;
}

/** Entries that are held at once; each has at most 64 KiB. */
const pageMax = 16;
/** Contents that are held at once; a larger one comes alone. */
const contentBytesAtOnce = 1024 * 1024;
const appended = "session.eventsAppended";

/** Where to read from, and the number of the first record there. */
interface Start {
  readonly revision: number;
  readonly next: number;
}

const beginning: Start = { revision: 1, next: 1 };

interface Plan {
  readonly stream: string;
  readonly key: string;
  readonly after: number;
  readonly limit: number;
  readonly signal: AbortSignal | undefined;
}

/** Checks the options now, and reads when it is iterated. */
export function readRecords(
  engine: Engine,
  runId: string,
  attemptId: string,
  options: SessionEventsOptions,
): AsyncIterable<SessionRecord> {
  checkMembers(options, "options", ["after", "limit", "signal"]);
  const { after = 0, limit, signal } = options;
  checkSignal(signal, "options.signal");
  const plan = {
    stream: sessionStream(runId, attemptId),
    key: captureKey(runId, attemptId),
    after: parseInteger(after, "options.after", 0),
    limit: limit === undefined ? Infinity : parseInteger(limit, "options.limit", 1),
    signal,
  };
  return { [Symbol.asyncIterator]: () => iterate(engine, plan) };
}

async function* iterate(engine: Engine, plan: Plan): AsyncGenerator<SessionRecord, void, undefined> {
  let left = plan.limit;
  for await (const record of recordsOf(engine, plan)) {
    if (record.number <= plan.after) continue;
    yield record;
    if (--left === 0) return;
  }
}

/** Those that are asked for, and some before them. */
async function* recordsOf(engine: Engine, plan: Plan): AsyncGenerator<SessionRecord, void, undefined> {
  const { stream, key, after } = plan;
  const end = await endOf(engine, stream);
  if (end === 0)
    throw new LedgerError("NOT_FOUND", `the capture ${key} must be bound, found none`, { details: { stream } });
  const start = after === 0 ? beginning : await seek(engine, stream, end, after + 1);
  let { next } = start;
  /** An entry that cannot be read: which records it holds is told by the next one that can. */
  let lost: LedgerError | null = null;
  for (let revision = start.revision; revision <= end; revision += pageMax) {
    checkWanted(plan);
    for (const entry of await readPage(engine, stream, revision, Math.min(pageMax, end - revision + 1))) {
      if (entry instanceof LedgerError) lost ??= entry;
      else if (entry.type === appended) {
        const { from, records } = entry.data as unknown as SessionEventsAppended; // read and checked by the page
        if (from < next) throw notDense(entry, next, from);
        if (next < from) {
          const trouble = lost ?? notDense(entry, next, from);
          for (; next < from; next++) yield lostRecord(next, trouble);
        }
        lost = null;
        next += records.length;
        if (next > after + 1) yield* withContents(engine, plan, entry, from, records);
      }
    }
    // A store may answer without ever leaving the event loop to others.
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (lost !== null) throw lost;
}

async function* withContents(
  engine: Engine,
  plan: Plan,
  { at, position }: LedgerEvent,
  from: number,
  records: readonly RecordFacts[],
): AsyncGenerator<SessionRecord, void, undefined> {
  let index = Math.max(0, plan.after + 1 - from);
  while (index < records.length) {
    checkWanted(plan);
    const part = fitting(records, index);
    const found = await readContents(
      engine.options.store,
      part.map(({ payload }) => payload),
    );
    for (const [offset, { type, reportedAt = null, partial = false, payload }] of part.entries()) {
      const content = found[offset]!;
      const isThere = !(content instanceof LedgerError);
      yield {
        number: from + index + offset,
        type,
        at,
        reportedAt,
        partial,
        position,
        reference: payload,
        content: isThere ? content : null,
        trouble: isThere ? null : content,
      };
    }
    index += part.length;
  }
}

/** The records from one on whose contents may be held at once. */
function fitting(records: readonly RecordFacts[], start: number): readonly RecordFacts[] {
  let bytes = 0;
  let end = start;
  do bytes += records[end++]!.payload.bytes;
  while (end < records.length && bytes + records[end]!.payload.bytes <= contentBytesAtOnce);
  return records.slice(start, end);
}

/** The last revision of the stream; 0 when there is none. */
async function endOf({ options }: Engine, stream: string): Promise<number> {
  const [head] = await withSnapshot(options.store, (reads) => reads.streamHeads([stream]));
  return head?.rev ?? 0;
}

/** Where to begin for a record. Entries that cannot be read, or say no number, only make it begin earlier. */
async function seek(engine: Engine, stream: string, end: number, number: number): Promise<Start> {
  let low = beginning;
  for (let high = end; low.revision < high;) {
    const revision = Math.ceil((low.revision + high) / 2);
    const [entry] = await readPage(engine, stream, revision, 1);
    const said = entry === undefined || entry instanceof LedgerError || entry.type !== appended ? null : entry;
    const from = said === null ? Infinity : Number(said.data["from"]);
    if (from <= number) low = { revision, next: from };
    else high = revision - 1;
  }
  return low;
}

/** Entries of the stream, each as it is or with what is wrong with it. */
async function readPage(
  engine: Engine,
  stream: string,
  from: number,
  limit: number,
): Promise<readonly (LedgerEvent | LedgerError)[]> {
  try {
    const events = await engine.readStream(stream, { from, limit }).toArray();
    return events.map(checked);
  } catch (error) {
    if (!(error instanceof LedgerError) || error.code !== "STORE_DAMAGED") throw error;
    if (limit === 1) return [error];
    const found: (LedgerEvent | LedgerError)[] = [];
    for (let index = 0; index < limit; index++) found.push(...(await readPage(engine, stream, from + index, 1)));
    return found;
  }
}

/** What the journal says was checked when it was written, by a program that kept to the rules. */
function checked(event: LedgerEvent): LedgerEvent | LedgerError {
  if (event.type !== appended) return event;
  try {
    sessionEvents.events.get(appended)?.parse(event.data);
  } catch (cause) {
    return unlikeRecords(event, cause);
  }
  const { records } = event.data as unknown as SessionEventsAppended; // just checked
  return records.every(({ payload }) => isContentReference(payload)) ? event : unlikeRecords(event, undefined);
}

function unlikeRecords({ position }: LedgerEvent, cause: unknown): LedgerError {
  return new LedgerError("STORE_DAMAGED", `event #${position} must hold records of a capture, found something else`, {
    details: { position },
    cause,
    hint: "run `runledger verify` on it",
  });
}

function notDense({ position }: LedgerEvent, expected: number, found: number): LedgerError {
  return new LedgerError("STORE_DAMAGED", `event #${position} must go on with record ${expected}, found ${found}`, {
    details: { position, expected, found },
    hint: "run `runledger verify --level deep` on it",
  });
}

function lostRecord(number: number, trouble: LedgerError): SessionRecord {
  const unknown = { type: null, at: null, reportedAt: null, partial: false, position: null, reference: null };
  return { number, ...unknown, content: null, trouble };
}

function checkWanted({ signal }: Plan): void {
  if (signal?.aborted === true) throw new LedgerError("ABORTED", "the reading was given up", { cause: signal.reason });
}
