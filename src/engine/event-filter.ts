/** Which events a reader asks for: by stream, by kind of stream, by type; all of the filters that are given must agree. */
import { invalid } from "../kernel/errors.js";
import { isList } from "../kernel/members.js";
import { kindOf, parseArea, parseStream, parseType } from "../kernel/names.js";
import { journalKind } from "../journal/events/journal.js";

export type EventFilter = (event: { readonly stream: string; readonly type: string }) => boolean;

export interface FilterOptions {
  readonly streams?: readonly string[];
  readonly kinds?: readonly string[];
  readonly types?: readonly string[];
}

/** Parses the filters of a reader; null when none is given. */
export function parseFilter({ streams, kinds, types }: FilterOptions): EventFilter | null {
  const byStream = parseList(streams, "options.streams", parseStream);
  const byKind = parseList(kinds, "options.kinds", parseArea);
  const byType = parseList(types, "options.types", parseType);
  if (byStream === null && byKind === null && byType === null) return null;
  return ({ stream, type }) =>
    (byStream === null || byStream.has(stream)) &&
    (byKind === null || byKind.has(kindOf(stream))) &&
    (byType === null || byType.has(type));
}

/** Is it what a host said, as opposed to what the engine keeps for itself? */
export const isFact: EventFilter = ({ stream, type }) =>
  kindOf(stream) !== journalKind && type !== "receipt.recorded" && type !== "fence.refused";

function parseList(
  values: readonly string[] | undefined,
  path: string,
  parse: (value: unknown, path: string) => string,
): ReadonlySet<string> | null {
  if (values === undefined) return null;
  if (!isList(values)) throw invalid(path, "a list", values);
  // Not `map`, which skips the holes of a list.
  return new Set(Array.from(values, (value: unknown, index) => parse(value, `${path}[${index}]`)));
}
