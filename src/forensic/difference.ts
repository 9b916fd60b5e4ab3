/** Where two JSON values differ first: by members in the order of their names, and elements in theirs. The order in which
 *  members are written is no difference. */

/** The first place, and what stands there; `undefined` where nothing does. */
export interface Difference {
  /** A JSON pointer; "" is the whole value. */
  readonly path: string;
  readonly want: unknown;
  readonly have: unknown;
}

const shownUnitsMax = 60;

/** Null when the values are equal. Goes no deeper than `want` does. */
export function firstDifference(want: unknown, have: unknown): Difference | null {
  // Most are equal, and only what differs needs its way told.
  return areEqual(want, have) ? null : find(want, have, "");
}

function areEqual(want: unknown, have: unknown): boolean {
  if (want === have) return true;
  if (!isContainer(want) || !isContainer(have) || Array.isArray(want) !== Array.isArray(have)) return false;
  const names = Object.keys(want);
  if (names.length !== Object.keys(have).length) return false;
  return names.every((name) => Object.hasOwn(have, name) && areEqual(memberOf(want, name), memberOf(have, name)));
}

function find(want: unknown, have: unknown, path: string): Difference | null {
  if (want === have) return null;
  if (!isContainer(want) || !isContainer(have) || Array.isArray(want) !== Array.isArray(have))
    return { path, want, have };
  const names = Array.isArray(want)
    ? Array.from({ length: Math.max(want.length, (have as readonly unknown[]).length) }, (_, index) => String(index))
    : [...new Set([...Object.keys(want), ...Object.keys(have)])].sort();
  for (const name of names) {
    const found = find(memberOf(want, name), memberOf(have, name), `${path}/${escapeToken(name)}`);
    if (found !== null) return found;
  }
  return null;
}

/** What stands at a path; `undefined` when nothing does. */
export function valueAt(value: unknown, path: string): unknown {
  let found = value;
  for (const token of path.split("/").slice(1)) {
    if (!isContainer(found)) return undefined;
    found = memberOf(found, token.replaceAll("~1", "/").replaceAll("~0", "~"));
  }
  return found;
}

/** A value for a finding: its JSON, cut. */
export function showJson(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const text = JSON.stringify(value);
  return text.length <= shownUnitsMax ? text : `${text.slice(0, shownUnitsMax).toWellFormed()}… (${text.length} units)`;
}

function memberOf(container: object, name: string): unknown {
  return Object.hasOwn(container, name) ? (container as Readonly<Record<string, unknown>>)[name] : undefined;
}

function escapeToken(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
