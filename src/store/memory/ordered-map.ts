/** A map from byte strings, in their order, that never changes: a change gives another map, which shares with it all but one
 *  path from the root. So whoever holds a map sees its moment, and undoing is forgetting.
 *  Invariant: of two subtrees side by side neither holds more than three times what the other does (Adams' weights 3 and 2). */

/** A map; null is the empty one. */
export type OrderedMap<Value> = Node<Value> | null;

interface Node<Value> {
  readonly key: Uint8Array;
  readonly value: Value;
  readonly left: OrderedMap<Value>;
  readonly right: OrderedMap<Value>;
  readonly size: number;
}

/** A part of a map: from `from` on (null: from the start) to before `to` (null: to the end). */
export interface KeyRange {
  readonly from: Uint8Array | null;
  readonly to: Uint8Array | null;
  readonly reverse: boolean;
  readonly limit: number;
}

export function get<Value>(map: OrderedMap<Value>, key: Uint8Array): Value | undefined {
  let node = map;
  while (node !== null) {
    const order = Buffer.compare(key, node.key);
    if (order === 0) return node.value;
    node = order < 0 ? node.left : node.right;
  }
  return undefined;
}

export function set<Value>(map: OrderedMap<Value>, key: Uint8Array, value: Value): Node<Value> {
  if (map === null) return join(key, value, null, null);
  const order = Buffer.compare(key, map.key);
  if (order === 0) return join(map.key, value, map.left, map.right);
  return order < 0
    ? balance(map.key, map.value, set(map.left, key, value), map.right)
    : balance(map.key, map.value, map.left, set(map.right, key, value));
}

export function without<Value>(map: OrderedMap<Value>, key: Uint8Array): OrderedMap<Value> {
  if (map === null) return null;
  const order = Buffer.compare(key, map.key);
  if (order < 0) return balance(map.key, map.value, without(map.left, key), map.right);
  if (order > 0) return balance(map.key, map.value, map.left, without(map.right, key));
  if (map.right === null) return map.left;
  const next = first(map.right);
  return balance(next.key, next.value, map.left, without(map.right, next.key));
}

/** Keys and values of a range, in order. */
export function range<Value>(map: OrderedMap<Value>, part: KeyRange): readonly (readonly [Uint8Array, Value])[] {
  const found: (readonly [Uint8Array, Value])[] = [];
  collect(map, part, found);
  return found;
}

function collect<Value>(map: OrderedMap<Value>, part: KeyRange, found: (readonly [Uint8Array, Value])[]): void {
  if (map === null || found.length >= part.limit) return;
  const isBehindFrom = part.from === null || Buffer.compare(map.key, part.from) >= 0;
  const isBeforeTo = part.to === null || Buffer.compare(map.key, part.to) < 0;
  const [near, far] = part.reverse ? [map.right, map.left] : [map.left, map.right];
  if (part.reverse ? isBeforeTo : isBehindFrom) collect(near, part, found);
  if (isBehindFrom && isBeforeTo && found.length < part.limit) found.push([map.key, map.value]);
  if (part.reverse ? isBehindFrom : isBeforeTo) collect(far, part, found);
}

/** A node over two subtrees, one of which may have one key too many or too few. */
function balance<Value>(key: Uint8Array, value: Value, left: OrderedMap<Value>, right: OrderedMap<Value>): Node<Value> {
  const [leftSize, rightSize] = [sizeOf(left), sizeOf(right)];
  if (leftSize + rightSize > 1) {
    if (right !== null && rightSize > 3 * leftSize) return turnLeft(key, value, left, right);
    if (left !== null && leftSize > 3 * rightSize) return turnRight(key, value, left, right);
  }
  return join(key, value, left, right);
}

function turnLeft<Value>(key: Uint8Array, value: Value, left: OrderedMap<Value>, right: Node<Value>): Node<Value> {
  const inner = right.left;
  if (inner === null || inner.size < 2 * sizeOf(right.right))
    return join(right.key, right.value, join(key, value, left, inner), right.right);
  return join(
    inner.key,
    inner.value,
    join(key, value, left, inner.left),
    join(right.key, right.value, inner.right, right.right),
  );
}

function turnRight<Value>(key: Uint8Array, value: Value, left: Node<Value>, right: OrderedMap<Value>): Node<Value> {
  const inner = left.right;
  if (inner === null || inner.size < 2 * sizeOf(left.left))
    return join(left.key, left.value, left.left, join(key, value, inner, right));
  return join(
    inner.key,
    inner.value,
    join(left.key, left.value, left.left, inner.left),
    join(key, value, inner.right, right),
  );
}

function join<Value>(key: Uint8Array, value: Value, left: OrderedMap<Value>, right: OrderedMap<Value>): Node<Value> {
  return { key, value, left, right, size: sizeOf(left) + sizeOf(right) + 1 };
}

function first<Value>(node: Node<Value>): Node<Value> {
  let found = node;
  while (found.left !== null) found = found.left;
  return found;
}

function sizeOf(map: OrderedMap<unknown>): number {
  return map === null ? 0 : map.size;
}
