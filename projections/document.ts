/** What a fold leaves behind, made a document: JSON alone, `undefined` members dropped, `-0` as `0`, frozen.
 *  Invariant: what stands where it stood before is settled already, and is not looked at again; so an event costs what it
 *  changes. What is refused is what canonical JSON refuses, and in the same words. Source: design section 7, decision 0018. */
import { types } from "node:util";
import { canonicalText } from "../src/kernel/canonical.js";
import { InvariantError, invalid } from "../src/kernel/errors.js";
import { depthMax } from "../src/kernel/limits.js";
import { freezeDeep } from "./freeze.js";

/** Settles what was folded. When it says the same as `before` (member for member, in the same order), it is `before`. */
export function settle(value: unknown, before: object | null, path = "document"): object {
  checkRoot(value, path);
  const settled = settleContainer(value, before, 0);
  if (settled === null) throw refusalOf(value, path);
  return settled;
}

/** A document as its text says it, frozen. The text is one that was written from a document: that it is an object is checked. */
export function documentOf(text: string): object {
  const value: unknown = JSON.parse(text);
  checkRoot(value, "document");
  return freezeDeep(value);
}

/** A copy that may be changed, of all of it. */
export function copyOf(document: object): object {
  const copy: Record<string, unknown> = Array.isArray(document) ? (document.slice() as never) : { ...document };
  for (const name in copy) {
    const member = copy[name];
    if (isContainer(member)) copy[name] = copyOf(member);
  }
  return copy;
}

/** Refuses what cannot be a document at all. */
export function checkRoot(value: unknown, path: string): asserts value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(path, "an object", value);
}

/** Why something is no document: canonical JSON knows the place, and says it. */
export function refusalOf(value: object, path: string): Error {
  try {
    canonicalText(value, { path });
  } catch (refusal) {
    return refusal as Error; // a `LedgerError`, always
  }
  return new InvariantError("invariant broken: canonical JSON refuses what is no document");
}

/** Finite, and not an integer that was rounded before it came here. */
export function isExact(value: number): boolean {
  const size = Math.abs(value);
  return size <= Number.MAX_SAFE_INTEGER || (size >= 1e21 && size < Number.POSITIVE_INFINITY); // between: integers, rounded
}

/** No class, no symbols? */
function isBare(value: object, isArray: boolean): boolean {
  if (Object.getOwnPropertySymbols(value).length > 0) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return isArray ? prototype === Array.prototype : prototype === Object.prototype || prototype === null;
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Null: something in it is not JSON. */
function settleContainer(value: object, before: unknown, level: number): object | null {
  if (value === before) return value;
  if (level >= depthMax || types.isProxy(value)) return null; // before anything is asked of it
  const isArray = Array.isArray(value);
  if (!isBare(value, isArray)) return null;
  const names = Object.getOwnPropertyNames(value);
  if (isArray && names.length !== value.length + 1) return null; // `length` is one
  const likened = isContainer(before) && Array.isArray(before) === isArray ? before : null;
  const settled: Record<string, unknown> = isArray ? ([] as never) : {};
  let count = 0;
  let same = likened !== null;
  const namesBefore = likened === null ? [] : Object.keys(likened);
  for (const name of names) {
    if (isArray && name === "length") continue;
    if (name === "__proto__") return null;
    const descriptor = Object.getOwnPropertyDescriptor(value, name);
    if (descriptor?.enumerable !== true || !("value" in descriptor)) return null;
    const member: unknown = descriptor.value;
    if (member === undefined && !isArray) continue;
    const isInPlace = namesBefore[count] === name;
    const old = likened !== null && (isInPlace || Object.hasOwn(likened, name)) ? likened[name] : undefined;
    const kept = settleMember(member, old, level);
    if (kept === undefined) return null;
    same &&= isInPlace && kept === old;
    settled[name] = kept;
    count += 1;
  }
  return same && count === namesBefore.length ? likened : Object.freeze(settled);
}

/** Undefined: it is not JSON. */
function settleMember(member: unknown, before: unknown, level: number): unknown {
  switch (typeof member) {
    case "string":
      return member === before || member.isWellFormed() ? member : undefined;
    case "number":
      return isExact(member) ? member + 0 : undefined; // -0 + 0 is 0
    case "boolean":
      return member;
    case "object":
      return member === null ? null : (settleContainer(member, before, level + 1) ?? undefined);
    default:
      return undefined;
  }
}
