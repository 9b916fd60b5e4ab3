import { walkData } from "./data-walk.js";
import type { Redact } from "./redact.js";

/** A `redact` hook that rewrites every string, at any depth: values and the names of members, in data, contents and labels.
 *  Numbers are left as they are, and bytes are not looked into. When two members of an object get the same name, the
 *  append is refused: one of them would be lost. @public */
export function redactStrings(rewrite: (text: string) => string): Redact {
  const leaf = (value: unknown): unknown => (typeof value === "string" ? rewrite(value) : value);
  return (value, { path }) => walkData(value, { path, leaf, name: rewrite });
}
