/** Lists as the server takes them in its binary form: what goes to the journal by the hundred is neither quoted here nor read as
 *  text there. One dimension, from 1 on; NULL is a length of −1. */
import { invariant } from "../../kernel/errors.js";

/** A value as it is sent. A list of numbers, texts or bytes is a copy in the binary form; anything else, and a list of nothing that
 *  says what it is of, is as it is. */
export function asSent(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const list: readonly unknown[] = value;
  const first = list.find((each) => each !== null);
  if (typeof first === "number") return bigints(list as readonly (number | null)[]); // a list is of one type
  if (typeof first === "string") return texts(list as readonly (string | null)[]);
  return first instanceof Uint8Array ? blobs(list as readonly (Uint8Array | null)[]) : list;
}

const oids = { bigint: 20, text: 25, bytea: 17 } as const;
const headBytes = 20;
const lengthBytes = 4;
const bigintBytes = 8;
const high = 2 ** 32;

/** `bigint[]` of safe integers. */
export function bigints(values: readonly (number | null)[]): Buffer {
  const array = Buffer.allocUnsafe(headBytes + values.length * (lengthBytes + bigintBytes));
  let at = writeHead(array, "bigint", values);
  for (const value of values) {
    if (value === null) {
      at = array.writeInt32BE(-1, at);
      continue;
    }
    invariant(Number.isSafeInteger(value), `a number of a list must be an exact integer, found ${value}`);
    at = array.writeInt32BE(bigintBytes, at);
    const upper = Math.floor(value / high);
    at = array.writeInt32BE(upper, at);
    at = array.writeUInt32BE(value - upper * high, at);
  }
  return array.subarray(0, at);
}

/** `text[]`. */
export function texts(values: readonly (string | null)[]): Buffer {
  const bytes = values.reduce((sum, value) => sum + (value === null ? 0 : Buffer.byteLength(value)), 0);
  const array = Buffer.allocUnsafe(headBytes + values.length * lengthBytes + bytes);
  let at = writeHead(array, "text", values);
  for (const value of values) {
    const length = value === null ? -1 : array.write(value, at + lengthBytes);
    at = array.writeInt32BE(length, at) + Math.max(length, 0);
  }
  return array;
}

/** `bytea[]`. */
export function blobs(values: readonly (Uint8Array | null)[]): Buffer {
  const bytes = values.reduce((sum, value) => sum + (value === null ? 0 : value.length), 0);
  const array = Buffer.allocUnsafe(headBytes + values.length * lengthBytes + bytes);
  let at = writeHead(array, "bytea", values);
  for (const value of values) {
    at = array.writeInt32BE(value === null ? -1 : value.length, at);
    if (value === null) continue;
    array.set(value, at);
    at += value.length;
  }
  return array;
}

/** How many dimensions, whether NULL is among the values, the type, how many values, and the number of the first. */
function writeHead(array: Buffer, type: keyof typeof oids, values: readonly unknown[]): number {
  let at = array.writeInt32BE(1, 0);
  at = array.writeInt32BE(values.includes(null) ? 1 : 0, at);
  at = array.writeInt32BE(oids[type], at);
  at = array.writeInt32BE(values.length, at);
  return array.writeInt32BE(1, at);
}

/** Rows as one list a column. */
export function columns(rows: readonly (readonly unknown[])[], count: number): unknown[][] {
  return Array.from({ length: count }, (_, column) => rows.map((row) => row[column]));
}
