/** How what commands are told is checked: the parts that areas share. */
import { errorBytesMax, errorTextUnitsMax, runInputBytesMax, timeMsMax } from "../kernel/limits.js";
import { limit } from "../kernel/errors.js";
import { checkMembers, parseInteger } from "../kernel/members.js";
import { toContent } from "../journal/content.js";
import type { ContentValue } from "../journal/content.js";

/** The members of an input, of these names alone. */
export function members(given: unknown, path: string, names: readonly string[]): Readonly<Record<string, unknown>> {
  checkMembers(given, path, names);
  return given as Readonly<Record<string, unknown>>; // just seen
}

/** What may be absent. */
export function optional<Value>(value: unknown, parse: (value: unknown) => Value): Value | undefined {
  return value === undefined ? undefined : parse(value);
}

/** Ms since the epoch. */
export function parseTime(value: unknown, path: string): number {
  return parseInteger(value, path, 0, timeMsMax);
}

/** The revision of a run that a writer has seen. */
export function parseRevision(value: unknown, path: string): number | undefined {
  return optional(value, (revision) => parseInteger(revision, path, 1));
}

/** The input of a run. */
export function parseInput(value: unknown, path: string): ContentValue {
  return parseContent(value, path, runInputBytesMax);
}

/** What went wrong: text is cut to 8,192 units, not inside a character; anything else is kept as it is. */
export function parseErrorContent(value: unknown, path: string): ContentValue {
  if (typeof value !== "string" || value.length <= errorTextUnitsMax) return parseContent(value, path, errorBytesMax);
  return parseContent(`${value.slice(0, errorTextUnitsMax - 1).replace(/[\ud800-\udbff]$/, "")}…`, path, errorBytesMax);
}

function parseContent(value: unknown, path: string, bytesMax: number): ContentValue {
  const content = toContent(value, path);
  if (content.size > bytesMax) throw limit(path, "bytes", bytesMax, content.size);
  return content;
}
