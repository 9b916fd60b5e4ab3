/** Documents of a projection whose code is here, as of now or of any event: from their table where that is current, else by
 *  folding. A ledger that is open read-only builds no table, and one of a projection that nobody used yet is not there. */
import type { AnyProjection, FindQuery, FoundDocuments, Projection } from "../../projections/define-projection.js";
import { LedgerError } from "../index.js";
import type { Ledger, ProjectionReader } from "../index.js";
import { listLimitMax } from "../kernel/limits.js";
import { Positions } from "./resolve.js";
import type { Selector } from "./selector.js";

/** Where documents are read, and as of when. */
export interface Reads<Document extends object> {
  readonly position: number;
  readonly reader: ProjectionReader<Document>;
}

/** Reads of a projection, as of the last event or of the one that a selector names. */
export async function readsOf<Document extends object>(
  ledger: Ledger,
  projection: Projection<Document>,
  at?: Selector,
): Promise<Reads<Document>> {
  const positions = await Positions.of(ledger);
  const position = at === undefined ? positions.size - 1 : await positions.find(at);
  if (at === undefined && (await isReadable(ledger, projection)))
    return { position, reader: ledger.projection<Document>(projection) };
  return { position, reader: (await ledger.at(position)).projection<Document>(projection) };
}

async function isReadable(ledger: Ledger, projection: AnyProjection): Promise<boolean> {
  try {
    await ledger.projection(projection.name).find({ limit: 1 });
    return true;
  } catch (error) {
    if (error instanceof LedgerError && error.code === "NOT_READY") return false;
    throw error;
  }
}

/** So many documents that a query finds, page by page. */
export async function* foundDocuments<Document extends object>(
  reader: ProjectionReader<Document>,
  query: FindQuery,
  count: number,
): AsyncGenerator<{ readonly key: string; readonly document: Document }, void, undefined> {
  for (let after: string | null = null, left = count; left > 0;) {
    const page: FoundDocuments<Document> = await reader.find({
      ...query,
      limit: Math.min(left, listLimitMax),
      ...(after === null ? {} : { after }),
    });
    yield* page.documents;
    if (page.next === null) return;
    after = page.next;
    left -= page.documents.length;
  }
}
