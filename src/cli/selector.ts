/** Selectors: how a command line names an event. Text in, meaning out; `resolve.ts` looks it up.
 *  Grammar: `@` head, `@~3` three before it, `#123` or `123` a position, `1d0c41` the start of an id (six digits or more),
 *  `run/r17@9` a revision of a stream, `2026-03-01T12:00` the last event at or before a time, `cp:latest` the last event
 *  under the largest stored checkpoint; `A..B`, `A..`, `..B` ranges.
 *  Everything is said in one way only, so that a selector in a report means the same years later. */
import { parseStream } from "../kernel/names.js";
import { UsageError } from "./exit.js";

/** What one event is named by. */
export type Selector =
  | { readonly kind: "head"; readonly back: number }
  | { readonly kind: "position"; readonly position: number }
  | { readonly kind: "id"; readonly prefix: string }
  /** Digits alone, long enough to be the start of an id as well. */
  | { readonly kind: "digits"; readonly position: number; readonly prefix: string }
  | { readonly kind: "revision"; readonly stream: string; readonly revision: number }
  | { readonly kind: "time"; readonly at: number }
  | { readonly kind: "checkpoint" };

/** A range, both ends in it; an absent end is the end of the journal. */
export interface SelectorRange {
  readonly from: Selector | null;
  readonly to: Selector | null;
}

const forms =
  "@, @~3, #123, an id of 6 hex digits or more, stream@revision, a time such as 2026-03-01T12:00:00Z or cp:latest";

/** Parses the name of one event. */
export function parseSelector(text: string): Selector {
  const selector = readSelector(text);
  if (selector !== null) return selector;
  if (text.includes(".."))
    throw new UsageError(`a selector must name one event, found the range ${JSON.stringify(text)}`);
  if (text.includes("/")) {
    throw new UsageError(
      `a selector must be ${forms}, found ${JSON.stringify(text)}`,
      "an event of a stream is named with its revision, as in run/r17@9",
    );
  }
  throw new UsageError(`a selector must be ${forms}, found ${JSON.stringify(text)}`);
}

/** Parses a range. Dots may stand in stream names too, so the one place counts where both sides are selectors. */
export function parseRange(text: string): SelectorRange {
  const found: SelectorRange[] = [];
  for (let at = text.indexOf(".."); at >= 0; at = text.indexOf("..", at + 1)) {
    const [left, right] = [text.slice(0, at), text.slice(at + 2)];
    const from = left === "" ? null : readSelector(left);
    const to = right === "" ? null : readSelector(right);
    if ((left === "" || from !== null) && (right === "" || to !== null)) found.push({ from, to });
  }
  const [range, another] = found;
  if (range === undefined) {
    const hint =
      readSelector(text) === null ? undefined : "`runledger show` shows one event; `A..` starts a range at it";
    throw new UsageError(
      `a range must be A..B, A.. or ..B of selectors (${forms}), found ${JSON.stringify(text)}`,
      hint,
    );
  }
  if (another !== undefined)
    throw new UsageError(
      `a range must be readable in one way, found ${JSON.stringify(text)}`,
      "name its ends by position, as in #3..#9",
    );
  return range;
}

const timePattern = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2}(?:\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/** Parses an ISO time into ms since the epoch; without a zone it is UTC, a date alone is its first moment. */
export function parseIsoTime(text: string): number | null {
  const match = timePattern.exec(text);
  if (match === null) return null;
  const [, date, minutes = "00:00", seconds = ":00", zone = "Z"] = match;
  // Date.parse takes the 31st of any month for a day of the next one.
  const midnight = Date.parse(`${date}T00:00:00Z`);
  const ms = Date.parse(`${date}T${minutes}${seconds}${zone}`);
  if (Number.isNaN(midnight) || Number.isNaN(ms) || new Date(midnight).toISOString().slice(0, 10) !== date) return null;
  return ms;
}

function readSelector(text: string): Selector | null {
  const head = /^@(?:~(|0|[1-9]\d*))?$/.exec(text);
  if (head !== null) return atMostSafe(head[1] === "" ? 1 : Number(head[1] ?? 0), (back) => ({ kind: "head", back }));
  const position = /^#(0|[1-9]\d*)$/.exec(text)?.[1];
  if (position !== undefined) return atMostSafe(Number(position), (each) => ({ kind: "position", position: each }));
  if (/^(?:0|[1-9]\d{0,4})$/.test(text)) return { kind: "position", position: Number(text) };
  if (/^[1-9]\d{5,63}$/.test(text)) return { kind: "digits", position: Number(text), prefix: text };
  if (/^[0-9a-f]{6,64}$/i.test(text)) return { kind: "id", prefix: text.toLowerCase() };
  if (text === "cp:latest") return { kind: "checkpoint" };
  const at = parseIsoTime(text);
  if (at !== null) return { kind: "time", at };
  return readRevision(text);
}

function readRevision(text: string): Selector | null {
  const match = /^(.+)@([1-9]\d*)$/su.exec(text);
  if (match === null) return null;
  const [, stream = "", revision] = match;
  try {
    parseStream(stream, "stream");
  } catch {
    return null;
  }
  return atMostSafe(Number(revision), (each) => ({ kind: "revision", stream, revision: each }));
}

function atMostSafe(value: number, make: (value: number) => Selector): Selector | null {
  return Number.isSafeInteger(value) ? make(value) : null;
}
