/** Names and keys, parsed once at the edge. Sources: design sections 4, 6 and 14; rows G-01 to G-06 and D-01. */
import { invalid, limit } from "./errors.js";
import { keyUnitsMax, nameUnitsMax, titleUnitsMax } from "./limits.js";

declare const brand: unique symbol;
/** `<kind>/<name>`, checked. @public */
export type StreamName = string & { readonly [brand]: "StreamName" };
/** `area.pastTense`, checked. @public */
export type EventType = string & { readonly [brand]: "EventType" };

const namePattern = /^[A-Za-z][A-Za-z0-9_.-]*$/;
const areaPattern = /^[a-z][a-zA-Z0-9-]{0,31}$/;
const typePattern = /^[a-z][a-zA-Z0-9-]{0,31}\.[a-z][a-zA-Z0-9]*$/;
const runIdPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;
const attemptIdPattern = /^[A-Za-z][A-Za-z0-9_.-]{0,127}\.[1-9][0-9]{0,15}$/;
const taskIdPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const originPattern = /^[a-z0-9][a-z0-9./-]{0,127}$/;
const codePattern = /^[A-Z][A-Z0-9_]{0,63}$/;
const controlPattern = /[\u0000-\u001f\u007f]/;

/** A name: a letter, then letters, digits, `_`, `.` or `-`; at most 128 units. */
export function parseName(value: unknown, path: string): string {
  const name = parseText(value, path, nameUnitsMax);
  if (!namePattern.test(name)) throw invalid(path, "a letter followed by letters, digits, _, . or -", name);
  return name;
}

/** A key: 1 to 512 units, no control characters, no lone surrogates; compared as it is, never normalised. */
export function parseKey(value: unknown, path: string): string {
  return parseText(value, path, keyUnitsMax);
}

/** An opaque label such as an actor: 1 to 128 units, no control characters, no lone surrogates. */
export function parseLabel(value: unknown, path: string): string {
  return parseText(value, path, nameUnitsMax);
}

/** Why something was done: 1 to 200 units, no control characters, no lone surrogates. A fact, and not erasable. */
export function parseReason(value: unknown, path: string): string {
  return parseText(value, path, titleUnitsMax);
}

/** What something is called for people: 1 to 200 units, as a reason is. A fact, and not erasable. */
export function parseTitle(value: unknown, path: string): string {
  return parseText(value, path, titleUnitsMax);
}

/** A run id, safe as a file name and as a key. */
export function parseRunId(value: unknown, path: string): string {
  return parsePattern(
    value,
    path,
    runIdPattern,
    "a run id: 1 to 200 letters, digits, ., _ or -, starting with a letter or digit",
  );
}

/** The id of an attempt: a name, a dot, and a number from 1. */
export function parseAttemptId(value: unknown, path: string): string {
  return parsePattern(value, path, attemptIdPattern, "the id of an attempt: <node>.<number>");
}

/** A task id, safe as a file name and as a key. */
export function parseTaskId(value: unknown, path: string): string {
  return parsePattern(
    value,
    path,
    taskIdPattern,
    "a task id: 1 to 128 letters, digits, ., _ or -, starting with a letter or digit",
  );
}

/** The name of an area or of a stream kind. */
export function parseArea(value: unknown, path: string): string {
  return parsePattern(value, path, areaPattern, "a lower-case letter followed by at most 31 letters, digits or -");
}

/** The identity of a journal. */
export function parseOrigin(value: unknown, path: string): string {
  return parsePattern(
    value,
    path,
    originPattern,
    "1 to 128 lower-case letters, digits, ., / or -, starting with a letter or digit",
  );
}

/** `<kind>/<name>`: the kind is an area's, the name is a key. */
export function parseStream(value: unknown, path: string): StreamName {
  if (typeof value !== "string") throw invalid(path, 'a stream "<kind>/<name>"', value);
  const slash = value.indexOf("/");
  if (slash < 0) throw invalid(path, 'a stream "<kind>/<name>" with a slash', value);
  parseArea(value.slice(0, slash), `${path} kind`);
  parseKey(value.slice(slash + 1), `${path} name`);
  return value as StreamName; // checked just above
}

/** `area.pastTense`, at most 128 units. */
export function parseType(value: unknown, path: string): EventType {
  const type = parsePattern(value, path, typePattern, 'an event type "area.pastTense"');
  if (type.length > nameUnitsMax) throw limit(path, "UTF-16 units", nameUnitsMax, type.length);
  return type as EventType; // checked just above
}

/** The name of a command: `area.verb`, at most 128 units. */
export function parseCommandName(value: unknown, path: string): string {
  const name = parsePattern(value, path, typePattern, 'a command name "area.verb"');
  if (name.length > nameUnitsMax) throw limit(path, "UTF-16 units", nameUnitsMax, name.length);
  return name;
}

/** The code of a refusal: a capital letter, then capital letters, digits or `_`; at most 64 units. */
export function parseCode(value: unknown, path: string): string {
  return parsePattern(
    value,
    path,
    codePattern,
    "a code: a capital letter, then at most 63 capital letters, digits or _",
  );
}

/** The kind of a checked stream. */
export function kindOf(stream: string): string {
  return stream.slice(0, stream.indexOf("/"));
}

/** The area of a checked type. */
export function areaOf(type: string): string {
  return type.slice(0, type.indexOf("."));
}

function parseText(value: unknown, path: string, unitsMax: number): string {
  if (typeof value !== "string" || value.length === 0)
    throw invalid(path, `a string of 1 to ${unitsMax} UTF-16 units`, value);
  if (value.length > unitsMax) throw limit(path, "UTF-16 units", unitsMax, value.length);
  if (controlPattern.test(value)) throw invalid(path, "free of control characters", value);
  if (!value.isWellFormed()) throw invalid(path, "free of lone surrogates", value);
  return value;
}

function parsePattern(value: unknown, path: string, pattern: RegExp, expected: string): string {
  if (typeof value !== "string" || !pattern.test(value)) throw invalid(path, expected, value);
  return value;
}
