/** The documents as one tx sees and changes them. What it changed is laid over what its batch changed, and is nobody else's
 *  until it is kept; so is a table that stopped in it. */
import type { FindQuery, FoundDocuments, Projection } from "../../../projections/define-projection.js";
import type { ProjectionEvent } from "../../../projections/event.js";
import { failureOf } from "../../../projections/failure.js";
import { foldLive } from "../../../projections/live.js";
import { keyOf } from "../../../projections/reducer.js";
import { LedgerError } from "../../kernel/errors.js";
import type { TxDocuments } from "../documents.js";
import { waitForAll } from "../wait-for-all.js";
import type { Held } from "./cache.js";
import type { Catalogue, Table } from "./catalogue.js";
import { findDocuments } from "./find.js";
import type { Scanning } from "./find.js";
import { Layer } from "./layer.js";
import { requireFollowing } from "./standing.js";
import type { Standing } from "./standing.js";
import { isDamagedDocument } from "./stored-document.js";

/** What one event does to one table: folds into the document of a key, or stops it. */
export type Step = { readonly table: Table; readonly position: number } & (
  { readonly event: ProjectionEvent; readonly key: string } | { readonly error: LedgerError }
);

/** What a tx needs of its batch. */
export interface TxGround {
  readonly catalogue: Catalogue;
  standing(table: Table): Standing | undefined;
  /** A document as the batch leaves it; undefined when it has to be read. */
  peek(table: Table, key: string): Held | undefined;
  /** Reads documents, so that `peek` knows them. */
  load(table: Table, keys: readonly string[]): Promise<void>;
  /** The first documents of a scan as the batch leaves them. */
  scan(table: Table, ...asked: Parameters<Scanning>): ReturnType<Scanning>;
  /** Takes over what a tx did. */
  keep(changes: Layer, stops: ReadonlyMap<Table, Standing>): void;
}

export class TableTx implements TxDocuments {
  private readonly batch: TxGround;
  private readonly changes = new Layer();
  private readonly stops = new Map<Table, Standing>();

  constructor(batch: TxGround) {
    this.batch = batch;
  }

  get<Document extends object>(
    projection: Projection<Document>,
    key: string,
  ): Promise<Document | null> | Document | null {
    const table = this.readable(projection);
    const documentOf = (held: Held): Document | null => held.document as Document | null; // what its reducers made
    const held = this.peek(table, key);
    return held === undefined ? this.read(table, key).then(documentOf) : documentOf(held);
  }

  find<Document extends object>(
    projection: Projection<Document>,
    query: FindQuery,
  ): Promise<FoundDocuments<Document>> | FoundDocuments<Document> {
    const table = this.readable(projection);
    const scanning: Scanning = (scan, limit) => this.batch.scan(table, scan, limit);
    const found = findDocuments(table.projection, query, scanning, this.changes.of(table));
    return found as Promise<FoundDocuments<Document>> | FoundDocuments<Document>; // what its reducers made
  }

  fold(events: readonly ProjectionEvent[]): Promise<void> | undefined {
    const steps: Step[] = [];
    for (const event of events)
      for (const table of this.batch.catalogue.folding(event.type))
        if (this.isFollowing(table)) addStep(steps, table, event);
    return this.take(steps);
  }

  /** Takes what others wrote, in its order. There is nobody to refuse: a table with a damaged document stops before its first
   *  step. */
  async takeTail(steps: readonly Step[]): Promise<void> {
    for (const table of new Set(steps.map((step) => step.table))) {
      const own = steps.filter((step) => step.table === table);
      try {
        await this.take(own);
      } catch (error) {
        if (!isDamagedDocument(error)) throw error;
        this.stop(own[0]!, error);
      }
    }
  }

  /** Takes steps in their order; undefined when nothing had to be read. */
  private take(steps: readonly Step[]): Promise<void> | undefined {
    let missing: Map<Table, Set<string>> | undefined;
    for (const step of steps) {
      if ("error" in step || this.peek(step.table, step.key) !== undefined) continue;
      missing ??= new Map();
      let keys = missing.get(step.table);
      if (keys === undefined) missing.set(step.table, (keys = new Set()));
      keys.add(step.key);
    }
    if (missing === undefined) return this.takeRead(steps);
    return this.load(missing).then(() => this.takeRead(steps));
  }

  keep(): void {
    this.batch.keep(this.changes, this.stops);
  }

  private async read(table: Table, key: string): Promise<Held> {
    await this.batch.load(table, [key]);
    return this.peek(table, key)!;
  }

  private async load(missing: ReadonlyMap<Table, ReadonlySet<string>>): Promise<void> {
    await waitForAll([...missing].map(([table, keys]) => this.batch.load(table, [...keys])));
  }

  private takeRead(steps: readonly Step[]): undefined {
    for (const step of steps) {
      if (!this.isFollowing(step.table)) continue;
      if ("error" in step) this.stop(step, step.error);
      else this.foldOne(step.table, step.event, step.key);
    }
  }

  private foldOne(table: Table, event: ProjectionEvent, key: string): void {
    const { document } = this.peek(table, key)!;
    let after: object | null;
    try {
      after = foldLive<object>(table.projection, event, key, document);
    } catch (error) {
      if (!(error instanceof LedgerError) || failureOf(error) === null) throw error;
      this.stop({ table, position: event.position }, error);
      return;
    }
    if (after !== document) this.changes.set(table, key, { document: after, seq: event.position });
  }

  private stop({ table, position }: { readonly table: Table; readonly position: number }, error: LedgerError): void {
    const failure = failureOf(error);
    this.stops.set(table, {
      type: "stopped",
      position: position - 1,
      error,
      failure: failure?.code === "PROJECTION_FAILED" ? failure : null,
    });
  }

  private peek(table: Table, key: string): Held | undefined {
    return this.changes.get(table, key) ?? this.batch.peek(table, key);
  }

  private isFollowing(table: Table): boolean {
    return !this.stops.has(table) && this.batch.standing(table)?.type === "following";
  }

  private readable<Document extends object>(projection: Projection<Document>): Table {
    const table = this.batch.catalogue.tableOf(projection);
    if (table.projection.async)
      throw new LedgerError(
        "INVALID_ARGUMENT",
        `a command must read a projection that commits keep current, found ${projection.name}, which is async`,
        { details: { projection: projection.name } },
      );
    requireFollowing(table, this.stops.get(table) ?? this.batch.standing(table));
    return table;
  }
}

/** Adds what an event does to a table; nothing when it is about no document. */
export function addStep(steps: Step[], table: Table, event: ProjectionEvent): void {
  const { position } = event;
  try {
    const key = keyOf(table.projection, event);
    if (key !== null) steps.push({ table, position, event, key });
  } catch (error) {
    if (!(error instanceof LedgerError)) throw error;
    steps.push({ table, position, error });
  }
}
