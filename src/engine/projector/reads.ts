/** The documents of a projection, for readers: each answer at one position, not older than the head at the call. */
import type { FindQuery, FoundDocuments } from "../../../projections/define-projection.js";
import { DocumentsDigest } from "../../../projections/digest.js";
import type { ProjectionDigest } from "../../../projections/digest.js";
import { parseQuery } from "../../../projections/query.js";
import { checkMembers, checkSignal } from "../../kernel/members.js";
import { parseKey } from "../../kernel/names.js";
import type { Store, StoreSnapshot } from "../../journal/store.js";
import { withSnapshot } from "../snapshot.js";
import { checkWanted } from "../waits.js";
import type { Builds } from "./builds.js";
import type { Table } from "./catalogue.js";
import { findDocuments, scanStored } from "./find.js";
import { notReady } from "./standing.js";
import { damagedDocument, heldOf, readDocuments } from "./stored-document.js";
import type { View, Views } from "./views.js";

/** How documents are read. @public */
export interface ProjectionReadOptions {
  /** Gives the read up (`ABORTED`): at once while it waits for a table to be built, which goes on for others. */
  readonly signal?: AbortSignal;
}

/** The signal of a read. */
export function parseReadOptions(options: ProjectionReadOptions): AbortSignal | undefined {
  checkMembers(options, "options", ["signal"]);
  checkSignal(options.signal, "options.signal");
  return options.signal;
}

export interface ReadsOptions {
  readonly store: Store;
  readonly builds: Builds;
  readonly views: Views;
  /** Runs what `close` waits for; throws when the ledger is closed. */
  readonly run: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

/** The documents of a projection. On a ledger that is open for writing its table is brought up to the head first, which may
 *  take a while with the first read, and is refused with `NOT_READY` where tables are built in the background. On one that is read-only nothing is written, and a table that is behind by events that
 *  concern it is refused (`NOT_READY`). An async projection is read as of its own position, which `status()` tells. All refuse with
 *  `PROJECTION_FAILED` (its reducer could not fold the event in the details), `SCHEMA_UNKNOWN` (an event of its areas that
 *  this program does not know), `STORE_DAMAGED` (a document that is none) and `CLOSED`. @public */
export interface ProjectionReader<Document extends object> {
  readonly name: string;
  readonly version: number;
  /** The document of a key, frozen; null when there is none. */
  get(key: string, options?: ProjectionReadOptions): Promise<Document | null>;
  /** The documents that a query finds, frozen. `INVALID_ARGUMENT` for what no index serves. */
  find(query?: FindQuery, options?: ProjectionReadOptions): Promise<FoundDocuments<Document>>;
  /** One hash over all documents: equal to that of whoever folds the same events. Reads all of them. */
  digest(options?: ProjectionReadOptions): Promise<ProjectionDigest>;
}

export class TableReader<Document extends object> implements ProjectionReader<Document> {
  private readonly table: Table;
  private readonly options: ReadsOptions;

  constructor(table: Table, options: ReadsOptions) {
    this.table = table;
    this.options = options;
  }

  get name(): string {
    return this.table.projection.name;
  }

  get version(): number {
    return this.table.projection.version;
  }

  async get(key: string, options: ProjectionReadOptions = {}): Promise<Document | null> {
    parseKey(key, "key");
    const { projection } = this.table;
    return this.read(parseReadOptions(options), async (reads, { id }) => {
      const [held] = id === null ? [] : await readDocuments(reads, id, projection, [key]);
      return (held?.document ?? null) as Document | null; // what its reducers made
    });
  }

  async find(query: FindQuery = {}, options: ProjectionReadOptions = {}): Promise<FoundDocuments<Document>> {
    const { projection } = this.table;
    parseQuery(projection, query); // refused before anything is built for it
    return this.read(parseReadOptions(options), async (reads, { id }) => {
      if (id === null) return { documents: [], next: null };
      const found = await findDocuments(projection, query, (scan, limit) =>
        scanStored(reads, id, projection, scan, limit),
      );
      return found as FoundDocuments<Document>; // what its reducers made
    });
  }

  async digest(options: ProjectionReadOptions = {}): Promise<ProjectionDigest> {
    const { projection } = this.table;
    const signal = parseReadOptions(options);
    return this.read(signal, async (reads, { id, position }) => {
      const digest = new DocumentsDigest(projection);
      if (id === null) return digest.end(position);
      const pageMax = 1_000;
      let after: string | null = null;
      for (;;) {
        checkWanted(signal);
        const page = await reads.documentsByKey(id, after, pageMax);
        for (const stored of page) {
          const document = heldOf(projection, stored).document!;
          try {
            digest.add(stored.key, document);
          } catch (cause) {
            throw damagedDocument(projection, stored.key, cause); // what a fold leaves behind has a canonical text
          }
        }
        after = page.at(-1)?.key ?? null;
        if (page.length < pageMax) return digest.end(position);
      }
    });
  }

  private read<Result>(
    signal: AbortSignal | undefined,
    look: (reads: StoreSnapshot, view: View) => Promise<Result>,
  ): Promise<Result> {
    return readTables([this.table], this.options, signal, (reads, [view]) => look(reads, view!)); // one a table
  }
}

/** Looks at tables on one snapshot, all of them as of one position that is not older than the head at the call. */
export function readTables<Result>(
  tables: readonly Table[],
  { store, builds, views, run }: ReadsOptions,
  signal: AbortSignal | undefined,
  look: (reads: StoreSnapshot, found: readonly View[]) => Promise<Result>,
): Promise<Result> {
  return run(async () => {
    checkWanted(signal);
    const bringing = store.readOnly
      ? undefined
      : builds.ready(
          tables.map(({ projection }) => projection),
          signal,
        );
    if (bringing !== undefined) await bringing;
    let enough = Infinity;
    for (;;) {
      const found = await withSnapshot(store, async (reads) => {
        const seen: View[] = [];
        for (const table of tables) {
          const view = await views.of(reads, table, enough);
          if (view.type === "behind") return { ...view, table };
          // Two tables that stand behind the head at different places show no moment that there was.
          if (seen[0] !== undefined && seen[0].position !== view.position) return { type: "apart" as const };
          seen.push(view);
        }
        return { type: "found" as const, answer: await look(reads, seen) };
      });
      if (found.type === "found") return found.answer;
      if (found.type === "apart") {
        enough = Infinity;
        continue;
      }
      // As of here is new enough, however fast others write meanwhile.
      enough = Math.min(enough, found.head);
      if (store.readOnly)
        throw notReady(
          found.table.projection,
          "open the ledger for writing with this projection, and read it there once",
        );
      await builds.bring(found.table, signal);
    }
  });
}
