/** What a fold leaves behind, made a document: JSON alone, `undefined` members dropped, `-0` as `0`, frozen.
 *  Invariant: a container that was settled once is never looked at again, and never changes; so what a fold did not touch costs
 *  nothing, and documents share parts without harm. What is refused is what canonical JSON refuses, and says it in the same
 *  words. Source: design section 7, decision 0018. */
import { types } from "node:util";
import { canonicalText } from "../src/kernel/canonical.js";
import { InvariantError, invalid } from "../src/kernel/errors.js";
import { depthMax } from "../src/kernel/limits.js";

/** Settled containers, each with how many levels it has, itself included. */
const heights = new WeakMap<object, number>();

/** Settles what was folded. When it says the same as `before` (member for member, in the same order), it is `before`. */
export function settle(value: unknown, before: object | null, path = "document"): object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(path, "an object", value);
  const settled = settleContainer(value, before, 0);
  if (settled === null) throw refusalOf(value, path);
  return settled;
}

/** A document as its text says it, frozen. The text is one that was written from a document. */
export function documentOf(text: string): object {
  return settle(JSON.parse(text), null);
}

/** A copy that may be changed: of all of it, for parts that documents share are frozen. */
export function copyOf<Value extends object>(settled: Value): Value {
  const copy: Record<string, unknown> = Array.isArray(settled) ? (settled.slice() as never) : ({ ...settled } as never);
  for (const name in copy) {
    const member = copy[name];
    if (isContainer(member)) copy[name] = copyOf(member);
  }
  return copy as Value;
}

/** Null: something in it is not JSON. Which thing, canonical JSON knows. */
function settleContainer(value: object, before: unknown, level: number): object | null {
  const height = heights.get(value);
  if (height !== undefined) {
    if (isSame(value, before)) return before;
    return level + height > depthMax ? null : value;
  }
  if (level >= depthMax || !isPlain(value)) return null;
  const likened = isContainer(before) ? before : null;
  return Array.isArray(value) ? settleArray(value, likened, level) : settleObject(value, likened, level);
}

function settleArray(value: readonly unknown[], before: object | null, level: number): object | null {
  const likened: readonly unknown[] | null = Array.isArray(before) ? before : null;
  const settled: unknown[] = [];
  let height = 1;
  let same = likened !== null && likened.length === value.length;
  for (let index = 0; index < value.length; index++) {
    const member = settleMember(Object.getOwnPropertyDescriptor(value, index), likened?.[index], level);
    if (member === undefined) return null;
    if (isContainer(member)) height = Math.max(height, 1 + heightOf(member));
    same &&= member === likened?.[index];
    settled.push(member);
  }
  if (Reflect.ownKeys(value).length !== value.length + 1) return null;
  return same ? likened : keep(settled, height);
}

function settleObject(value: object, before: object | null, level: number): object | null {
  const likened = before === null || Array.isArray(before) ? null : (before as Readonly<Record<string, unknown>>);
  const namesBefore = likened === null ? [] : Object.keys(likened);
  const settled: Record<string, unknown> = {};
  let height = 1;
  let count = 0;
  let same = likened !== null;
  for (const name of Reflect.ownKeys(value)) {
    if (typeof name === "symbol" || name === "__proto__") return null;
    const descriptor = Object.getOwnPropertyDescriptor(value, name);
    if (descriptor !== undefined && "value" in descriptor && descriptor.value === undefined && descriptor.enumerable)
      continue;
    const likenedMember = likened !== null && Object.hasOwn(likened, name) ? likened[name] : undefined;
    const member = settleMember(descriptor, likenedMember, level);
    if (member === undefined) return null;
    if (isContainer(member)) height = Math.max(height, 1 + heightOf(member));
    same &&= namesBefore[count] === name && member === likenedMember;
    count += 1;
    settled[name] = member;
  }
  return same && count === namesBefore.length ? likened : keep(settled, height);
}

/** Undefined: it is not JSON. Read through its descriptor, so that no getter runs. */
function settleMember(descriptor: PropertyDescriptor | undefined, before: unknown, level: number): unknown {
  if (descriptor === undefined || !("value" in descriptor) || descriptor.enumerable !== true) return undefined;
  const member: unknown = descriptor.value;
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

/** Finite, and not an integer that was rounded before it came here. */
function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= 1e21);
}

function isPlain(value: object): boolean {
  if (types.isProxy(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) ? prototype === Array.prototype : prototype === Object.prototype || prototype === null;
}

/** Do two settled values say the same, in the same order? */
function isSame<Value>(value: Value, other: unknown): other is Value {
  if (value === other || !isContainer(value) || !isContainer(other)) return value === other;
  const [names, otherNames] = [Object.keys(value), Object.keys(other)];
  if (names.length !== otherNames.length || Array.isArray(value) !== Array.isArray(other)) return false;
  return names.every(
    (name, index) => name === otherNames[index] && isSame(Reflect.get(value, name), Reflect.get(other, name)),
  );
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function keep(container: object, height: number): object {
  heights.set(container, height);
  return Object.freeze(container);
}

function heightOf(settled: object): number {
  return heights.get(settled) ?? 0;
}

function refusalOf(value: object, path: string): Error {
  try {
    canonicalText(value, { path });
  } catch (refusal) {
    return refusal as Error; // a `LedgerError`, always
  }
  return new InvariantError("invariant broken: canonical JSON refuses what is no document");
}
