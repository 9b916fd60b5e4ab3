/** Index keys: a tuple and the key of its document as one string of bytes, which sorts like the tuple and then the key, on
 *  every store alike.
 *  Invariant: the bytes of no element begin those of another, and every tag is lower than `behindTag`; so the tuples that begin
 *  alike are one range of bytes. Source: design section 7, decision 0018. */
import { invalid, limit } from "../src/kernel/errors.js";
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
  const expected = wrongIn(element);
  if (expected !== null) throw invalid(index === undefined ? path : `${path}[${index}]`, expected, element);
}

/** What an element should have been; null: it is. */
function wrongIn(element: unknown): string | null {
  switch (typeof element) {
    case "string":
      return element.isWellFormed() ? null : "free of lone surrogates";
    case "number":
      return Number.isSafeInteger(element) ? null : "a safe integer";
    case "boolean":
      return null;
    default:
      return element === null ? null : "null, a boolean, a safe integer or a string";
  }
}

/** The bytes of a tuple of checked elements, without an end: what all tuples that begin with it begin with. */
export function tupleBytes(tuple: IndexTuple, path: string): Buffer {
  const bytes = Buffer.allocUnsafe(tupleSize(tuple, path));
  putTuple(bytes, tuple);
  return bytes;
}

/** The bytes by which a document is found in an index. `LIMIT_EXCEEDED`: the tuple takes more than 1,024. @public */
export function indexKey(tuple: IndexTuple, key: string, path = "tuple"): Uint8Array {
  const bytes = Buffer.allocUnsafe(tupleSize(tuple, path) + 1 + Buffer.byteLength(key));
  const end = putTuple(bytes, tuple);
  bytes[end] = endTag;
  bytes.write(key, end + 1);
  return bytes;
}

/** Do two tuples of checked elements, or nulls, stand at the same place of an index? */
export function isSameTuple(tuple: IndexTuple | null, other: IndexTuple | null): boolean {
  if (tuple === null || other === null) return tuple === other;
  return tuple.length === other.length && tuple.every((element, index) => element === other[index]);
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

function tupleSize(tuple: IndexTuple, path: string): number {
  let size = 0;
  for (const element of tuple) size += elementSize(element);
  if (size > indexBytesMax) throw limit(path, "bytes as an index key", indexBytesMax, size);
  return size;
}

function elementSize(element: IndexTuple[number]): number {
  if (typeof element === "number") return 9;
  if (typeof element !== "string") return 1;
  let size = 2 + Buffer.byteLength(element);
  for (let at = element.indexOf("\0"); at >= 0; at = element.indexOf("\0", at + 1)) size++;
  return size;
}

/** Answers where it ends. */
function putTuple(bytes: Buffer, tuple: IndexTuple): number {
  let at = 0;
  for (const element of tuple) at = putElement(bytes, element, at);
  return at;
}

function putElement(bytes: Buffer, element: IndexTuple[number], start: number): number {
  if (typeof element === "string") return putString(bytes, element, start);
  if (typeof element === "number") {
    bytes[start] = integerTag;
    bytes.writeUInt32BE((Math.floor(element / 2 ** 32) + 2 ** 31) >>> 0, start + 1); // the sign turned: negative ones sort first
    return bytes.writeUInt32BE(element >>> 0, start + 5);
  }
  bytes[start] = element === null ? nullTag : element ? trueTag : falseTag;
  return start + 1;
}

function putString(bytes: Buffer, element: string, start: number): number {
  bytes[start] = stringTag;
  let end = start + 1;
  let from = 0;
  for (let zero = element.indexOf("\0"); zero >= 0; zero = element.indexOf("\0", from)) {
    end += bytes.write(element.slice(from, zero), end);
    bytes[end++] = endTag;
    bytes[end++] = escapedTag;
    from = zero + 1;
  }
  end += bytes.write(from === 0 ? element : element.slice(from), end);
  bytes[end] = endTag;
  return end + 1;
}

/** Where the element behind a string begins. */
function endOfString(bytes: Buffer, start: number): number {
  let end = bytes.indexOf(0, start);
  while (end >= 0 && bytes[end + 1] === escapedTag) end = bytes.indexOf(0, end + 2);
  return end < 0 ? bytes.length : end + 1;
}
