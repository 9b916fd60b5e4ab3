import { sorted } from "../kernel/canonical.js";
import { isContentValue } from "../journal/content.js";

/** A frozen copy of plain data that was found to be canonical JSON, with content values in it as they are: members in the order
 *  of their names, none that is undefined, `-0` as `0`. So what is decided by it does not depend on how it was spelled. */
export function frozenCopy(value: unknown): unknown {
  if (typeof value === "number") return value + 0;
  if (typeof value !== "object" || value === null || isContentValue(value)) return value;
  if (Array.isArray(value)) return Object.freeze(Array.from(value, frozenCopy));
  const copy: Record<string, unknown> = {};
  const members = value as Readonly<Record<string, unknown>>; // plain, it was said
  for (const name of sorted(Object.keys(members))) {
    const member = members[name];
    if (member !== undefined) copy[name] = frozenCopy(member);
  }
  return Object.freeze(copy);
}
