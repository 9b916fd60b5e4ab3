/** A document that a reducer changes in place. One walk settles what became of it: the checks of `settle`, without drafts,
 *  copies or freezing, and without knowing what it was before.
 *  Invariants: a container is in one document, once, and was made here: whatever a reducer hangs in (a part of the event, a
 *  constant of the host, the same thing twice) is copied when it is first seen there. What could not be settled is spoiled.
 *  What no JSON shows (members that are hidden, named by symbols, computed, or beside the elements of a list) is not looked
 *  for: looking costs as much as all the rest. The drivers that write tables and verify them do. Source: decision 0018. */
import { types } from "node:util";
import { depthMax } from "../src/kernel/limits.js";
import { checkRoot, isExact, refusalOf } from "./document.js";

type Members = Record<string, unknown>;

/** How far to look for a container that moved to the front. One that is farther is copied, which does no harm. */
const lookAheadMax = 16;

export class InPlaceDocument {
  private document: object | null = null;
  private shown = false;
  /** The containers that were made here, in the order of a walk; empty when there is no document. */
  private readonly parts: object[] = [];

  /** The document, frozen. Members named by symbols, which came with what was hung in, are taken away. */
  show(): object | null {
    if (!this.shown)
      for (const part of this.parts) {
        for (const symbol of Object.getOwnPropertySymbols(part)) Reflect.deleteProperty(part, symbol);
        Object.freeze(part);
      }
    this.shown = true;
    return this.document;
  }

  /** The document to be changed. One that was shown is given up for a copy. */
  open(): object | undefined {
    if (this.shown && this.document !== null) {
      this.parts.length = 0;
      this.document = settleParts(this.document, this.parts);
    }
    this.shown = false;
    return this.document ?? undefined;
  }

  /** Settles what became of it; null: there is no document any more. What this throws spoils it. */
  settle(left: unknown): object | null {
    if (left === null || left === undefined) {
      this.parts.length = 0;
      return (this.document = null);
    }
    checkRoot(left, "document");
    this.document = settleParts(left, this.parts);
    if (this.document === null) throw refusalOf(left, "document");
    return this.document;
  }
}

/** The walk that is under way; there is one at a time. `next` is the first of the parts that was not met yet, and `count` how
 *  many there are now: those that were met, which move down in the list, and those that were made. */
let parts: object[] = [];
let next = 0;
let count = 0;

/** Null: something in it is not JSON. */
function settleParts(value: object, own: object[]): object | null {
  parts = own;
  next = 0;
  count = 0;
  const settled = settleContainer(value, 0);
  if (own.length > count) own.length = count;
  return settled;
}

function settleContainer(value: object, level: number): object | null {
  if (level >= depthMax) return null;
  if (parts[next] === value) next += 1;
  else if (!isMet(value)) return adopt(value, level);
  if (parts[count] !== value) parts[count] = value;
  count += 1;
  const isArray = Array.isArray(value);
  // Assigning a member named __proto__ gives another one.
  if (Object.getPrototypeOf(value) !== (isArray ? Array.prototype : Object.prototype)) return null;
  return isArray ? settleElements(value, level) : settleMembers(value as Members, level, count - 1);
}

/** Was it made here, and is it met for the first time? What stands before it in the list is gone. */
function isMet(value: object): boolean {
  const end = Math.min(parts.length, next + lookAheadMax);
  for (let at = next; at < end; at++) {
    if (parts[at] !== value) continue;
    next = at + 1;
    return true;
  }
  return false;
}

function settleMembers(own: Members, level: number, place: number): object | null {
  let dropped = false;
  for (const name in own) {
    const member = own[name];
    if (typeof member === "string") {
      if (!member.isWellFormed()) return null;
    } else if (typeof member === "number") {
      if (!isExact(member)) return null;
      if (Object.is(member, -0)) own[name] = 0;
    } else if (typeof member === "object" && member !== null) {
      const kept = settleContainer(member, level + 1);
      if (kept === null) return null;
      if (kept !== member) own[name] = kept;
    } else if (member === undefined) dropped = true;
    else if (member !== null && typeof member !== "boolean") return null;
    if (name === "__proto__") return null; // as a document it could not be told from its prototype
  }
  if (!dropped) return own;
  const copy: Members = {};
  for (const name in own) if (own[name] !== undefined) copy[name] = own[name];
  return (parts[place] = copy);
}

function settleElements(own: unknown[], level: number): object | null {
  for (let index = 0; index < own.length; index++) {
    const member = own[index];
    if (typeof member === "string") {
      if (!member.isWellFormed()) return null;
    } else if (typeof member === "number") {
      if (!isExact(member)) return null;
      if (Object.is(member, -0)) own[index] = 0;
    } else if (typeof member === "object" && member !== null) {
      const kept = settleContainer(member, level + 1);
      if (kept === null) return null;
      if (kept !== member) own[index] = kept;
    } else if (member !== null && typeof member !== "boolean") return null;
  }
  return own;
}

/** A copy, settled, of what a reducer hung in. */
function adopt(value: object, level: number): object | null {
  if (types.isProxy(value)) return null;
  // As a rule it stands in the place of another one.
  if (count === next) next += 1;
  const place = count++;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (Array.isArray(value)) {
    if (prototype !== Array.prototype) return null;
    const own: unknown[] = value.slice();
    parts[place] = own;
    return settleElements(own, level);
  }
  if (prototype !== Object.prototype && prototype !== null) return null;
  // Each place in the code remembers the few shapes that it copied last; containers of one depth have few.
  const own: Members = level === 0 ? { ...value } : level === 1 ? { ...value } : { ...value };
  parts[place] = own;
  return settleMembers(own, level, place);
}
