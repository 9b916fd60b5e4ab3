/** One event for reading: as a line, or as an object whose keys never vary. */
import type { LedgerEvent } from "../index.js";
import { escapeJson, escapeText } from "./escape.js";
import { isoTime } from "./figures.js";
import type { Terminal } from "./terminal.js";

/** How much of an id a person needs. */
export const idDigitsShown = 12;
const dataUnitsShown = 120;

/** An event as JSON shows it. Every key is always there; what the event does not have is null. */
export interface EventObject {
  readonly position: number;
  readonly id: string;
  readonly at: number;
  /** `at` as ISO 8601 in UTC. */
  readonly time: string;
  readonly actor: string | null;
  readonly type: string;
  readonly version: number;
  readonly stream: string;
  readonly revision: number;
  readonly tx: { readonly first: number; readonly count: number };
  readonly command: string | null;
  readonly cause: string | null;
  readonly correlation: string | null;
  readonly fence: LedgerEvent["fence"] | null;
  readonly meta: LedgerEvent["meta"] | null;
  readonly data: LedgerEvent["data"];
}

export function eventObject(event: LedgerEvent): EventObject {
  const {
    position,
    id,
    at,
    actor,
    type,
    version,
    stream,
    revision,
    tx,
    command,
    cause,
    correlation,
    fence,
    meta,
    data,
  } = event;
  return {
    position,
    id,
    at,
    time: isoTime(at),
    actor: actor ?? null,
    type,
    version,
    stream,
    revision,
    tx,
    command: command ?? null,
    cause: cause ?? null,
    correlation: correlation ?? null,
    fence: fence ?? null,
    meta: meta ?? null,
    data,
  };
}

/** Puts one event of a list out: a line of JSON, or its line and, unless one is enough, the beginning of its data. */
export async function putEvent(
  event: LedgerEvent,
  terminal: Terminal,
  { json, oneline }: { readonly json?: true; readonly oneline?: true },
  positionDigits: number,
): Promise<void> {
  if (json) return terminal.json(eventObject(event));
  await terminal.line(eventLine(event, terminal, positionDigits));
  if (!oneline) await terminal.line(terminal.style("dim", `    ${dataExcerpt(event.data)}`));
}

/** Short id, position, time, actor, type, stream and revision. */
export function eventLine(event: LedgerEvent, terminal: Terminal, positionDigits: number): string {
  return [
    terminal.style("yellow", event.id.slice(0, idDigitsShown)),
    `#${event.position}`.padEnd(positionDigits + 1),
    terminal.style("dim", isoTime(event.at)),
    event.actor === undefined ? "-" : terminal.style("green", escapeText(event.actor)),
    terminal.style("bold", event.type),
    terminal.style("cyan", `${escapeText(event.stream)}@${event.revision}`),
  ].join("  ");
}

/** The beginning of an event's data, in one line. */
export function dataExcerpt(data: LedgerEvent["data"]): string {
  return cutText(JSON.stringify(data), dataUnitsShown, escapeJson);
}

/** The beginning of a text, with how much was left out; escaped after the cut. */
export function cutText(text: string, unitsMax: number, escape: (text: string) => string): string {
  const start = beginningOf(text, unitsMax);
  return start.length === text.length ? escape(text) : `${escape(start)}… (${text.length - start.length} more)`;
}

/** At most so many UTF-16 units, cut between characters. */
export function beginningOf(text: string, unitsMax: number): string {
  if (text.length <= unitsMax) return text;
  const last = text.charCodeAt(unitsMax - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? unitsMax - 1 : unitsMax);
}
