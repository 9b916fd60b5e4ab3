/** Documents of several projections, read at one position: a run beside the queue item that says who owns it. */
import type { AnyProjection, FindQuery, FoundDocuments, Projection } from "../../../projections/define-projection.js";
import type { StoreSnapshot } from "../../journal/store.js";
import type { Catalogue } from "./catalogue.js";
import { findDocuments, scanStored } from "./find.js";
import { readTables } from "./reads.js";
import type { ReadsOptions } from "./reads.js";
import { readDocuments } from "./stored-document.js";

/** What can be read of the projections that were named, at their one position. */
export class Together {
  private readonly reads: StoreSnapshot;
  private readonly ids: ReadonlyMap<AnyProjection, number | null>;

  constructor(reads: StoreSnapshot, ids: ReadonlyMap<AnyProjection, number | null>) {
    this.reads = reads;
    this.ids = ids;
  }

  /** The documents of keys, in their order; null where there is none. */
  async get<Document extends object>(
    projection: Projection<Document>,
    keys: readonly string[],
  ): Promise<readonly (Document | null)[]> {
    const id = this.ids.get(projection) ?? null;
    if (id === null || keys.length === 0) return keys.map(() => null);
    const held = await readDocuments(this.reads, id, projection, keys);
    return held.map((each) => each.document as Document | null); // what its reducers made
  }

  /** The documents that a query finds. */
  async find<Document extends object>(
    projection: Projection<Document>,
    query: FindQuery,
  ): Promise<FoundDocuments<Document>> {
    const id = this.ids.get(projection) ?? null;
    if (id === null) return { documents: [], next: null };
    const found = await findDocuments(projection, query, (scan, limit) =>
      scanStored(this.reads, id, projection, scan, limit),
    );
    return found as FoundDocuments<Document>; // what its reducers made
  }
}

/** Reads documents of several projections at one position, not older than the head at the call. */
export function readTogether<Result>(
  projections: readonly AnyProjection[],
  options: ReadsOptions & { readonly catalogue: Catalogue },
  look: (documents: Together) => Promise<Result>,
): Promise<Result> {
  const tables = projections.map((projection) => options.catalogue.tableOf(projection));
  return readTables(tables, options, undefined, (reads, views) => {
    const ids = projections.map((projection, index) => [projection, views[index]?.id ?? null] as const);
    return look(new Together(reads, new Map(ids)));
  });
}
