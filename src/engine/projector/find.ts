/** Finding documents in a table, under changes that are not written to it yet. */
import type { AnyProjection, FindQuery, FoundDocuments } from "../../../projections/define-projection.js";
import { cursorOf, parseQuery } from "../../../projections/query.js";
import type { DocumentScan } from "../../../projections/query.js";
import { indexKeys } from "../../../projections/reducer.js";
import type { DocumentReads, StoredDocument } from "../../journal/documents.js";
import { onceKnown } from "../once-known.js";
import type { Held } from "./cache.js";
import { heldOf } from "./stored-document.js";

const nothing: ReadonlyMap<string, Held> = new Map();

/** A document, and where it stands in the order that was asked for. */
export interface Placed {
  readonly at: Uint8Array;
  readonly key: string;
  readonly document: object;
}

/** The first documents of a scan, so many; less when there are no more. */
export type Scanning = (scan: DocumentScan, limit: number) => Promise<readonly Placed[]> | readonly Placed[];

/** Answers a query from a table and what lies over it: documents that are to be seen in place of those. `INVALID_ARGUMENT` for
 *  what no index serves. */
export function findDocuments(
  projection: AnyProjection,
  query: FindQuery,
  scanning: Scanning,
  changed: ReadonlyMap<string, Held> = nothing,
): Promise<FoundDocuments<object>> | FoundDocuments<object> {
  const scan = parseQuery(projection, query);
  const { limit } = scan.by === "key" ? scan : scan.range;
  // One more than asked for says whether there is more; what is hidden by changes must not make the page short.
  return onceKnown(scanning(scan, limit + changed.size + 1), (below) => {
    const found = changed.size === 0 ? below : laidOver(projection, scan, below, changed);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return Object.freeze({
      documents: Object.freeze(page.map(({ key, document }) => Object.freeze({ key, document }))),
      next: found.length > limit && last !== undefined ? cursorOf(last.at) : null,
    });
  });
}

function laidOver(
  projection: AnyProjection,
  scan: DocumentScan,
  below: readonly Placed[],
  changed: ReadonlyMap<string, Held>,
): readonly Placed[] {
  const found = below.filter(({ key }) => !changed.has(key));
  for (const [key, { document }] of changed) {
    const at = document === null ? null : placeOf(projection, scan, key, document);
    if (at !== null) found.push({ at, key, document: document! });
  }
  const { reverse } = scan.by === "key" ? scan : scan.range;
  return found.sort((a, b) => (reverse ? -1 : 1) * Buffer.compare(a.at, b.at));
}

/** Scans a table as it is stored. `known`: a document that need not be parsed again. */
export async function scanStored(
  reads: DocumentReads,
  table: number,
  projection: AnyProjection,
  scan: DocumentScan,
  limit: number,
  known: (key: string) => Held | undefined = () => undefined,
): Promise<readonly Placed[]> {
  const placed: Placed[] = [];
  for (const { at, ...each } of await scanTable(reads, table, scan, limit)) {
    const { document } = known(each.key) ?? heldOf(projection, each);
    if (document !== null) placed.push({ at, key: each.key, document });
  }
  return placed;
}

async function scanTable(
  reads: DocumentReads,
  table: number,
  scan: DocumentScan,
  limit: number,
): Promise<readonly (StoredDocument & { readonly at: Uint8Array })[]> {
  if (scan.by === "index") return reads.documentsByIndex(table, { ...scan.range, limit });
  const found = await reads.documentsByKey(table, scan.after, limit, scan.reverse);
  return found.map((each) => ({ ...each, at: Buffer.from(each.key) }));
}

/** Where a changed document stands in the scan; null when not in it. */
function placeOf(projection: AnyProjection, scan: DocumentScan, key: string, document: object): Uint8Array | null {
  if (scan.by === "key") {
    const at = Buffer.from(key);
    if (scan.after === null) return at;
    const side = Buffer.compare(at, Buffer.from(scan.after));
    return (scan.reverse ? side < 0 : side > 0) ? at : null;
  }
  const { index, from, to } = scan.range;
  const at = indexKeys(projection, document, key)[index] ?? null;
  if (at === null) return null;
  const isIn = Buffer.compare(at, from) >= 0 && (to === null || Buffer.compare(at, to) < 0);
  return isIn ? at : null;
}
