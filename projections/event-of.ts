/** A stored entry as reducers see it: facts alone, upcast, frozen; or that this program does not know it. */
import { LedgerError } from "../src/kernel/errors.js";
import { areaOf } from "../src/kernel/names.js";
import type { EventDefinitions } from "../src/journal/define-events.js";
import type { EntryFields, FenceMark } from "../src/journal/entry.js";
import { upcast } from "../src/journal/upcast.js";
import type { EventData, ProjectionEvent } from "./event.js";
import { freezeDeep } from "./freeze.js";

/** An event that this program does not know: it stops the projections that list its area. @public */
export interface UnknownEvent {
  readonly unknown: true;
  readonly position: number;
  readonly type: string;
  /** What was expected and found. */
  readonly message: string;
  readonly cause?: unknown;
}

/** The definitions of a program, by area. */
export type DefinedAreas = ReadonlyMap<string, EventDefinitions>;

/** The event of an entry. An area that is not defined has events of version 1, of any type. */
export function eventOf(fields: EntryFields, areas: DefinedAreas): ProjectionEvent | UnknownEvent {
  const { seq: position, type, tv, data } = fields;
  const area = areas.get(areaOf(type));
  const definition = area?.events.get(type);
  const known = area === undefined ? 1 : (definition?.version ?? 0);
  if (tv > known)
    return unknownEvent(
      position,
      type,
      `this program knows ${known === 0 ? "no such type" : `version ${known}`}, not version ${tv}`,
    );
  if (definition === undefined) return projectionEvent(fields, fields, data, tv);
  try {
    return projectionEvent(fields, fields, upcast({ position, version: tv, data }, definition), definition.version);
  } catch (cause) {
    if (!(cause instanceof LedgerError)) throw cause;
    return { ...unknownEvent(position, type, cause.message), cause };
  }
}

function unknownEvent(position: number, type: string, message: string): UnknownEvent {
  return { unknown: true, position, type, message };
}

/** Where an event stands, for reducers. */
export interface EventPlace {
  readonly seq: number;
  readonly stream: string;
  readonly rev: number;
  readonly type: string;
  readonly at: number;
}

/** What reducers see of an entry beside its place and its data. */
export interface EventLabels {
  readonly actor?: string | undefined;
  readonly command?: string | undefined;
  readonly cause?: string | undefined;
  readonly corr?: string | undefined;
  readonly fence?: FenceMark | undefined;
}

/** An event as reducers see it: frozen, with its data, which nobody else may change. */
export function projectionEvent(
  { seq, stream, rev, type, at }: EventPlace,
  { actor, command, cause, corr, fence }: EventLabels,
  data: EventData,
  version: number,
): ProjectionEvent {
  const event: { -readonly [Member in keyof ProjectionEvent]: ProjectionEvent[Member] } = {
    position: seq,
    stream,
    revision: rev,
    type,
    version,
    data: freezeDeep(data),
    at,
  };
  if (actor !== undefined) event.actor = actor;
  if (command !== undefined) event.command = command;
  if (cause !== undefined) event.cause = cause;
  if (corr !== undefined) event.correlation = corr;
  if (fence !== undefined) event.fence = freezeDeep(fence);
  return Object.freeze(event);
}
