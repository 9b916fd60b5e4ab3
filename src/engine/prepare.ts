/** Turns what a caller gave into what the writer needs, at the moment of the call and outside the write lock.
 *  Invariant: after this the caller may change its objects; nothing of them is looked at again. */
import type { FenceProof } from "../kernel/claim.js";
import { isDigest } from "../kernel/digest.js";
import { invalid, limit } from "../kernel/errors.js";
import { entriesPerTxMax } from "../kernel/limits.js";
import { checkMembers, checkSignal, isList } from "../kernel/members.js";
import { parseStream } from "../kernel/names.js";
import { markOf, parseFenceOption } from "./fence-option.js";
import type { Needs } from "./known.js";
import { prepareEvent, weigh } from "./prepare-event.js";
import type { PreparedEvent, Preparing } from "./prepare-event.js";
import { parseCause, parseExpected, parseLabels, parseRequire } from "./prepare-labels.js";
import type { Requirement } from "./prepare-labels.js";
import type { AppendOptions, EventReference, StreamAppend } from "./types.js";

/** One atomic append, ready for the writer. */
export interface PreparedAppend extends Needs {
  readonly streams: readonly string[];
  readonly events: readonly PreparedEvent[];
  readonly requirements: readonly Requirement[];
  readonly cause: EventReference | undefined;
  /** The fence that it presents; null: none. */
  readonly fence: FenceProof | null;
  /** What it weighs in the queue, in bytes or more. */
  readonly weight: number;
}

const optionNames = ["expected", "require", "fence", "signal", "actor", "cause", "correlation", "meta"];
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
  const fence = parseFenceOption(options.fence);
  const labels = parseLabels(options, { cause: cause?.id, fence: markOf(fence) }, preparing.redact);
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
    for (const [at, event] of part.events.entries()) {
      const place = `${path}events[${at}]`;
      checkMembers(event, place, eventNames);
      events.push(prepareEvent(stream, event, place, labels, preparing));
    }
  }
  if (!single && options.expected !== undefined)
    throw invalid("options.expected", "absent: each stream of a list has its own", options.expected);
  requirements.push(...parseRequire(options.require));
  return {
    streams,
    events,
    requirements,
    ...needsOf(streams, events, requirements, cause),
    cause,
    fence,
    weight: events.reduce((sum, event) => sum + weigh(event), 0),
  };
}

/** What of the journal must be known before events are placed. */
export function needsOfEvents(events: readonly PreparedEvent[]): Needs {
  const touched: string[] = [];
  let named = false;
  for (const { stream, contents, references } of events) {
    if (touched.at(-1) !== stream) touched.push(stream);
    named ||= contents.length + references.length > 0;
  }
  return named ? needsOf([...new Set(touched)], events, [], undefined) : { touched, lookups: null };
}

/** What of the journal must be known before events are placed under these conditions. */
export function needsOf(
  streams: readonly string[],
  events: readonly PreparedEvent[],
  requirements: readonly Requirement[],
  cause: EventReference | undefined,
): Needs {
  const touched =
    requirements.length === 0 ? streams : [...new Set([...streams, ...requirements.map((each) => each.stream)])];
  const positions = cause === undefined ? [] : [cause.position];
  const endsOf = requirements.filter(({ expected }) => isDigest(expected)).map(({ stream }) => stream);
  const contents: number[] = [];
  const plains: string[] = [];
  for (const event of events) {
    for (const reference of event.references) contents.push(reference.n);
    for (const content of event.contents) if (content.plain !== null) plains.push(content.plain);
  }
  const none = positions.length + endsOf.length + contents.length + plains.length === 0;
  return { touched, lookups: none ? null : { positions, endsOf, contents, plains } };
}
