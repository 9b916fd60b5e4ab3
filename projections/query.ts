/** Queries: what a host asks for, checked, as the one range of keys or of an index's bytes that answers it. There is no
 *  query that would have to look at more than it finds. Source: design section 7. */
import { decodeUtf8 } from "../src/kernel/canonical.js";
import { invalid, LedgerError } from "../src/kernel/errors.js";
import { listLimitDefault, listLimitMax } from "../src/kernel/limits.js";
import { checkMembers, parseInteger } from "../src/kernel/members.js";
import { parseKey } from "../src/kernel/names.js";
import type { DocumentRange } from "../src/journal/documents.js";
import type { AnyProjection, FindQuery } from "./define-projection.js";
import { behindAll, checkElement, checkTuple, elementFollows, keyOfIndexKey, tupleBytes } from "./index-key.js";
import type { IndexTuple } from "./index-key.js";

/** A query, ready for a store: documents by their keys, behind `after`, or by the bytes of an index. */
export type DocumentScan =
  | { readonly by: "key"; readonly after: string | null; readonly reverse: boolean; readonly limit: number }
  | { readonly by: "index"; readonly range: DocumentRange };

/** Checks a query and turns it into a range; what no index serves is `INVALID_ARGUMENT`, with the path. */
export function parseQuery(projection: AnyProjection, query: FindQuery, path = "query"): DocumentScan {
  checkMembers(query, path, ["index", "prefix", "range", "order", "after", "limit"]);
  const limit =
    query.limit === undefined ? listLimitDefault : parseInteger(query.limit, `${path}.limit`, 1, listLimitMax);
  const reverse = parseOrder(query.order, `${path}.order`);
  if (query.index === undefined) {
    for (const name of ["prefix", "range"] as const)
      if (query[name] !== undefined) throw invalid(`${path}.${name}`, "absent where no index is named", query[name]);
    const after = query.after === undefined ? null : parseKeyCursor(query.after, `${path}.after`);
    return { by: "key", after, reverse, limit };
  }
  const names = [...projection.indexes.keys()];
  const index = names.indexOf(query.index);
  if (index < 0)
    throw invalid(`${path}.index`, `an index of projection ${projection.name}${listed(names)}`, query.index);
  const whole = parseBounds(query, path);
  if (query.after === undefined) return { by: "index", range: { index, ...whole, reverse, limit } };
  const cursor = parseIndexCursor(query.after, whole, `${path}.after`);
  const rest = reverse
    ? { from: whole.from, to: cursor }
    : { from: Buffer.concat([cursor, Buffer.of(0)]), to: whole.to };
  return { by: "index", range: { index, ...rest, reverse, limit } };
}

/** The `next` of a page that was full: where its last document stands, by its key or by the bytes it was found by. */
export function cursorOf(last: string | Uint8Array): string {
  return Buffer.from(last as Uint8Array).toString("base64url"); // a string is taken as UTF-8
}

interface Bounds {
  readonly from: Buffer;
  readonly to: Buffer;
}

function parseBounds({ prefix = [], range }: FindQuery, path: string): Bounds {
  checkTuple(prefix, `${path}.prefix`);
  const start = tupleBytes(prefix, `${path}.prefix`);
  if (range === undefined) return { from: start, to: Buffer.concat([start, behindAll]) };
  checkMembers(range, `${path}.range`, ["gt", "gte", "lt", "lte"]);
  const bound = (name: "gt" | "gte" | "lt" | "lte"): Buffer | undefined => {
    const element: IndexTuple[number] | undefined = range[name];
    if (element === undefined) return undefined;
    checkElement(element, `${path}.range.${name}`);
    return Buffer.concat([start, tupleBytes([element], `${path}.range.${name}`)]);
  };
  const [gt, gte, lt, lte] = [bound("gt"), bound("gte"), bound("lt"), bound("lte")];
  if (gt !== undefined && gte !== undefined) throw invalid(`${path}.range`, "of one lower bound", "gt and gte");
  if (lt !== undefined && lte !== undefined) throw invalid(`${path}.range`, "of one upper bound", "lt and lte");
  return {
    from: gt === undefined ? (gte ?? Buffer.concat([start, elementFollows])) : Buffer.concat([gt, behindAll]),
    to: lt ?? Buffer.concat([lte ?? start, behindAll]),
  };
}

function parseOrder(order: unknown, path: string): boolean {
  if (order === undefined || order === "asc") return false;
  if (order === "desc") return true;
  throw invalid(path, '"asc" or "desc"', order);
}

function parseKeyCursor(cursor: unknown, path: string): string {
  try {
    return parseKey(decodeUtf8(cursorBytes(cursor, path), path), path);
  } catch (cause) {
    throw notACursor(cursor, path, cause);
  }
}

function parseIndexCursor(cursor: unknown, { from, to }: Bounds, path: string): Buffer {
  const bytes = cursorBytes(cursor, path);
  if (keyOfIndexKey(bytes) === null || Buffer.compare(bytes, from) < 0 || Buffer.compare(bytes, to) >= 0)
    throw notACursor(cursor, path);
  return bytes;
}

function cursorBytes(cursor: unknown, path: string): Buffer {
  const bytes = typeof cursor === "string" ? Buffer.from(cursor, "base64url") : null;
  if (bytes === null || bytes.toString("base64url") !== cursor) throw notACursor(cursor, path);
  return bytes;
}

function notACursor(cursor: unknown, path: string, cause?: unknown): LedgerError {
  const refusal = invalid(path, "the `next` of a page of the same query", cursor);
  return cause === undefined
    ? refusal
    : new LedgerError(refusal.code, refusal.message, { details: refusal.details, cause });
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? ", which has none" : ` (${names.join(", ")})`;
}
