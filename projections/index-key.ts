/** Index keys: a tuple and the key of its document as one string of bytes, which sorts like the tuple and then the key, on
 *  every store alike.
 *  Invariant: the bytes of no element begin those of another, and every tag is lower than `behindTag`; so the tuples that begin
 *  alike are one range of bytes. Source: design section 7, decision 0018. */
import { invalid, limit } from "../src/kernel/errors.js";
import type { LedgerError } from "../src/kernel/errors.js";
import { indexBytesMax } from "../src/kernel/limits.js";
import { isList } from "../src/kernel/members.js";

/** What an index is made of: a tuple, or null for "not in it". Sorts null, false, true, integers, strings by their code
 *  points; a tuple before those that it begins. @public */
export type IndexTuple = readonly (null | boolean | number | string)[];

const endTag = 0;
const nullTag = 1;
const falseTag = 2;
const trueTag = 3;
const integerTag = 4;
const stringTag = 5;
/** Sorts behind whatever can follow an element. */
const behindTag = 6;
/** Follows the zero byte of a string; no tag is as high. */
const escapedTag = 0xff;

/** The lowest bytes behind those that say that an element follows. */
export const elementFollows: Uint8Array = Uint8Array.of(nullTag);
/** The bytes behind all that can follow. */
export const behindAll: Uint8Array = Uint8Array.of(behindTag);

/** Checks that a tuple can be indexed: its elements are what sorts alike everywhere, and not too long. */
export function checkTuple(tuple: unknown, path: string): asserts tuple is IndexTuple {
  if (!isList(tuple)) throw invalid(path, "a list of null, booleans, safe integers and strings", tuple);
  let bytesMost = 0;
  for (let index = 0; index < tuple.length; index++) {
    const element: unknown = tuple[index];
    checkElement(element, path, index);
    bytesMost += typeof element === "string" ? 2 + 3 * element.length : 9;
  }
  if (bytesMost > indexBytesMax) tupleBytes(tuple as IndexTuple, path); // every element was checked
}

/** Checks one element, of a tuple when it has a place there. */
export function checkElement(element: unknown, path: string, index?: number): asserts element is IndexTuple[number] {
  const wrong = (expected: string): LedgerError =>
    invalid(index === undefined ? path : `${path}[${index}]`, expected, element);
  switch (typeof element) {
    case "string":
      if (!element.isWellFormed()) throw wrong("free of lone surrogates");
      return;
    case "number":
      if (!Number.isSafeInteger(element)) throw wrong("a safe integer");
      return;
    case "boolean":
      return;
    default:
      if (element !== null) throw wrong("null, a boolean, a safe integer or a string");
  }
}

/** The bytes of a tuple of checked elements, without an end: what all tuples that begin with it begin with. */
export function tupleBytes(tuple: IndexTuple, path: string): Buffer {
  const parts = tuple.map(elementBytes);
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  if (size > indexBytesMax) throw limit(path, "bytes as an index key", indexBytesMax, size);
  return Buffer.concat(parts, size);
}

/** The bytes by which a document is found in an index. `LIMIT_EXCEEDED`: the tuple takes more than 1,024. @public */
export function indexKey(tuple: IndexTuple, key: string, path = "tuple"): Uint8Array {
  return Buffer.concat([tupleBytes(tuple, path), Buffer.of(endTag), Buffer.from(key)]);
}

/** The key of the document that an index key belongs to; null when the bytes are none. @public */
export function keyOfIndexKey(bytes: Uint8Array): string | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (at < buffer.length) {
    switch (buffer[at]) {
      case endTag:
        return buffer.toString("utf8", at + 1);
      case nullTag:
      case falseTag:
      case trueTag:
        at += 1;
        break;
      case integerTag:
        at += 9;
        break;
      case stringTag:
        at = endOfString(buffer, at + 1);
        break;
      default:
        return null;
    }
  }
  return null;
}

function elementBytes(element: IndexTuple[number]): Buffer {
  if (element === null) return Buffer.of(nullTag);
  if (typeof element === "boolean") return Buffer.of(element ? trueTag : falseTag);
  if (typeof element === "number") {
    const bytes = Buffer.alloc(9);
    bytes[0] = integerTag;
    bytes.writeUInt32BE((Math.floor(element / 2 ** 32) + 2 ** 31) >>> 0, 1); // the sign turned: negative ones sort first
    bytes.writeUInt32BE(element >>> 0, 5);
    return bytes;
  }
  if (!element.includes("\0")) return Buffer.concat([Buffer.of(stringTag), Buffer.from(element), Buffer.of(endTag)]);
  const parts: Buffer[] = [Buffer.of(stringTag)];
  for (const [index, part] of element.split("\0").entries()) {
    if (index > 0) parts.push(Buffer.of(endTag, escapedTag));
    parts.push(Buffer.from(part));
  }
  return Buffer.concat([...parts, Buffer.of(endTag)]);
}

/** Where the element behind a string begins. */
function endOfString(bytes: Buffer, start: number): number {
  let end = bytes.indexOf(0, start);
  while (end >= 0 && bytes[end + 1] === escapedTag) end = bytes.indexOf(0, end + 2);
  return end < 0 ? bytes.length : end + 1;
}
