/** Turns what a caller gave into what the writer needs, at the moment of the call and outside the write lock.
 *  Invariant: after this the caller may change its objects; nothing of them is looked at again. */
import { types } from "node:util";
import { writeCanonical } from "../kernel/canonical.js";
import { isDigest } from "../kernel/digest.js";
import { invalid, invariant, LedgerError, limit } from "../kernel/errors.js";
import { dedupeBytesMin, entriesPerTxMax, entryBytesMax, requirementsMax, saltBytes } from "../kernel/limits.js";
import { checkMembers, checkObject, checkSignal, isList, parseInteger } from "../kernel/members.js";
import { parseStream, parseType } from "../kernel/names.js";
import {
  contentDigest,
  ContentValue,
  isContentReference,
  isContentValue,
  plainHash,
  toContent,
} from "../journal/content.js";
import type { ContentReference } from "../journal/content.js";
import { checkLabels, EntryProblem, entryTemplate } from "../journal/entry.js";
import type { EntryLabels, EntryTemplate } from "../journal/entry.js";
import type { RandomBytes } from "../journal/events/journal.js";
import type { Areas } from "./areas.js";
import { redactData, redactLabel } from "./redact.js";
import type { Redact } from "./redact.js";
import type { AppendLabels, AppendOptions, EventReference, Expected, NewEvent, StreamAppend } from "./types.js";

/** A content on its way, with the salt that it will have unless an equal one is stored already. */
export interface PendingContent {
  readonly media: string;
  readonly bytes: Uint8Array;
  readonly salt: Uint8Array;
  readonly digest: string;
  readonly plain: string | null;
}

/** An event whose text is complete but for its place and the numbers of its contents. */
export interface PreparedEvent {
  readonly stream: string;
  readonly type: string;
  readonly path: string;
  readonly template: EntryTemplate;
  /** The data in segments; between two of them stands the reference to a content. */
  readonly segments: readonly string[];
  readonly contents: readonly PendingContent[];
  /** References to contents that must be in the journal already. */
  readonly references: readonly ContentReference[];
}

export interface Requirement {
  readonly stream: string;
  readonly expected: Expected;
  readonly path: string;
}

/** Keys into the journal, for reads in lists. */
export interface Lookups {
  /** Positions whose ids are asked for. */
  readonly positions: readonly number[];
  /** Streams whose last entry's id is asked for. */
  readonly endsOf: readonly string[];
  /** Numbers of contents. */
  readonly contents: readonly number[];
  /** Plain hashes of contents that may be there already. */
  readonly plains: readonly string[];
}

/** One atomic append, ready for the writer. */
export interface PreparedAppend {
  readonly streams: readonly string[];
  readonly events: readonly PreparedEvent[];
  readonly requirements: readonly Requirement[];
  /** The streams that it writes or whose state it requires. */
  readonly touched: readonly string[];
  /** What else of the journal must be known before it is decided; null when nothing. */
  readonly lookups: Lookups | null;
  readonly cause: EventReference | undefined;
  /** What it weighs in the queue, in bytes or more. */
  readonly weight: number;
}

export interface Preparing {
  readonly areas: Areas;
  readonly randomBytes: RandomBytes;
  readonly dedupe: boolean;
  readonly redact: Redact | undefined;
}

const optionNames = ["expected", "require", "signal", "actor", "cause", "correlation", "meta"];
const partNames = ["stream", "events", "expected"];
const eventNames = ["type", "data"];

/** Checks and encodes an append, or throws what is wrong with it. */
export function prepareAppend(
  parts: readonly StreamAppend[],
  options: AppendOptions,
  preparing: Preparing,
): PreparedAppend {
  checkMembers(options, "options", optionNames);
  checkSignal(options.signal, "options.signal");
  const cause = parseCause(options.cause);
  const labels = parseLabels(options, cause?.id, preparing.redact);
  const single = parts.length === 1;
  const streams: string[] = [];
  const events: PreparedEvent[] = [];
  const requirements: Requirement[] = [];
  if (parts.length === 0) throw invalid("appends", "at least one stream", "none");
  // Not `forEach`, here and below: it skips the holes of a list, and an event that a caller counted would be missing.
  for (const [index, part] of parts.entries()) {
    const path = single ? "" : `appends[${index}].`;
    const name = single ? "append" : `appends[${index}]`;
    checkMembers(part, name, partNames);
    const stream = parseStream(part.stream, `${path}stream`);
    if (streams.includes(stream)) throw invalid(`${path}stream`, "named once in an append", stream);
    streams.push(stream);
    const expected = part.expected === undefined && single ? options.expected : part.expected;
    if (expected !== undefined && expected !== "any")
      requirements.push({ stream, expected: parseExpected(expected, `${path}expected`), path: name });
    if (!isList(part.events) || part.events.length === 0)
      throw invalid(`${path}events`, "a list of at least one event", part.events);
    if (events.length + part.events.length > entriesPerTxMax)
      throw limit("append", "events", entriesPerTxMax, events.length + part.events.length);
    for (const [at, event] of part.events.entries())
      events.push(prepareEvent(stream, event, `${path}events[${at}]`, labels, preparing));
  }
  if (!single && options.expected !== undefined)
    throw invalid("options.expected", "absent: each stream of a list has its own", options.expected);
  const { require = [] } = options;
  if (!isList(require)) throw invalid("options.require", "a list of streams and what is expected of them", require);
  if (require.length > requirementsMax) throw limit("options.require", "streams", requirementsMax, require.length);
  for (const [index, each] of require.entries()) {
    const path = `options.require[${index}]`;
    checkMembers(each, path, ["stream", "expected"]);
    requirements.push({
      stream: parseStream(each.stream, `${path}.stream`),
      expected: parseExpected(each.expected, `${path}.expected`),
      path,
    });
  }
  return {
    streams,
    events,
    requirements,
    touched:
      requirements.length === 0 ? streams : [...new Set([...streams, ...requirements.map((each) => each.stream)])],
    lookups: lookUps(events, requirements, cause),
    cause,
    weight: events.reduce((sum, event) => sum + weigh(event), 0),
  };
}

function lookUps(
  events: readonly PreparedEvent[],
  requirements: readonly Requirement[],
  cause: EventReference | undefined,
): Lookups | null {
  const positions = cause === undefined ? [] : [cause.position];
  const endsOf = requirements.filter(({ expected }) => isDigest(expected)).map(({ stream }) => stream);
  const contents: number[] = [];
  const plains: string[] = [];
  for (const event of events) {
    for (const reference of event.references) contents.push(reference.n);
    for (const content of event.contents) if (content.plain !== null) plains.push(content.plain);
  }
  if (positions.length + endsOf.length + contents.length + plains.length === 0) return null;
  return { positions, endsOf, contents, plains };
}

function prepareEvent(
  stream: string,
  event: NewEvent,
  path: string,
  labels: EntryLabels,
  preparing: Preparing,
): PreparedEvent {
  checkMembers(event, path, eventNames);
  const type = parseType(event.type, `${path}.type`);
  preparing.areas.checkAppend(stream, type, path);
  const definition = preparing.areas.definitionOf(type);
  const place = { path: `${path}.data`, stream, type };
  const given = event.data === undefined ? {} : redactData(preparing.redact, event.data, place);
  const data = parseData(definition === undefined ? given : definition.parse(given), `${path}.data`);
  const contents: PendingContent[] = [];
  const references: ContentReference[] = [];
  const segments = writeCanonical(data, {
    path: `${path}.data`,
    unitsMax: entryBytesMax,
    ...(definition?.pointers === undefined ? {} : { pointers: definition.pointers }),
    take: (value, at) => {
      const named = isContentValue(value);
      if (!named && (definition?.pointers === undefined || isClassInstance(value))) return false;
      if (isReferenceShaped(value)) return false;
      contents.push(pend(toContent(value, at), preparing));
      return true;
    },
    reference: (value, at) => {
      if (!isContentReference(value))
        throw invalid(at, 'a content reference {"$content", "bytes", "n"}: "$content" names nothing else', value);
      references.push({ ...value });
    },
  });
  const version = definition?.version ?? 1;
  return { stream, type, path, template: entryTemplate(stream, type, version, labels), segments, contents, references };
}

/** The text of an event's data, with the reference to each of its contents in its place. */
export function fillData(event: PreparedEvent, references: readonly ContentReference[]): string {
  let text = event.segments[0] ?? "";
  references.forEach(({ $content, bytes, n }, index) => {
    text += `{"$content":"${$content}","bytes":${bytes},"n":${n}}${event.segments[index + 1] ?? ""}`;
  });
  return text;
}

function pend(value: ContentValue, { randomBytes, dedupe }: Preparing): PendingContent {
  const { media } = value;
  const bytes = ContentValue.bytesOf(value);
  invariant(bytes !== undefined, "a content value has bytes");
  const salt = randomBytes(saltBytes);
  const plain = dedupe && bytes.length >= dedupeBytesMin ? plainHash(media, bytes) : null;
  return { media, bytes, salt, digest: contentDigest(media, salt, bytes), plain };
}

function parseData(data: unknown, path: string): object {
  if (types.isProxy(data)) throw invalid(path, "a plain object", data);
  if (typeof data !== "object" || data === null || Array.isArray(data) || isClassInstance(data))
    throw invalid(path, "a plain object", data);
  return data;
}

function isClassInstance(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== Object.prototype && prototype !== null && !types.isUint8Array(value);
}

function isReferenceShaped(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "$content");
}

function parseCause(cause: unknown): EventReference | undefined {
  if (cause === undefined) return undefined;
  checkObject(cause, "options.cause", "an event, or its position and id");
  const { position, id } = cause as { readonly position?: unknown; readonly id?: unknown }; // any object may have them
  if (!isDigest(id)) throw invalid("options.cause.id", "64 lower-case hex digits", id);
  return { position: parseInteger(position, "options.cause.position", 0), id };
}

function parseLabels(options: AppendLabels, cause: string | undefined, redact: Redact | undefined): EntryLabels {
  const actor = redactLabel(redact, options.actor, { kind: "actor", path: "options.actor" });
  const corr = redactLabel(redact, options.correlation, { kind: "correlation", path: "options.correlation" });
  const meta = redactLabel(redact, options.meta, { kind: "meta", path: "options.meta" });
  const labels = { actor, cause, corr, meta: isEmpty(meta) ? undefined : meta };
  try {
    checkLabels(labels);
  } catch (problem) {
    if (!(problem instanceof EntryProblem)) throw problem;
    const message = `options.${asCallersSay(problem.message)}`;
    const path = `options.${asCallersSay(problem.path)}`;
    if (problem.cause instanceof LedgerError)
      throw new LedgerError(problem.cause.code, message, {
        details: { ...problem.cause.details, path },
        cause: problem.cause,
      });
    throw new LedgerError("INVALID_ARGUMENT", message, { details: { path }, cause: problem });
  }
  return labels.meta === undefined ? labels : { ...labels, meta: { ...labels.meta } };
}

/** What an entry calls `corr` is `correlation` in the options. */
function asCallersSay(text: string): string {
  return text.replace(/^corr\b/, "correlation");
}

function isEmpty(meta: unknown): boolean {
  return typeof meta === "object" && meta !== null && !types.isProxy(meta) && Object.keys(meta).length === 0;
}

/** Parses one of the ways to say in which state a stream must be. */
export function parseExpected(expected: unknown, path: string): Expected {
  if (typeof expected === "number") return parseInteger(expected, path, 0);
  if (expected === "none" || expected === "exists" || expected === "any" || isDigest(expected)) return expected;
  throw invalid(path, 'a revision, "none", "exists", "any" or the id of the stream\'s last event', expected);
}

function weigh(event: PreparedEvent): number {
  let weight = 400;
  for (const segment of event.segments) weight += segment.length;
  for (const content of event.contents) weight += content.bytes.length + 200;
  return weight;
}
