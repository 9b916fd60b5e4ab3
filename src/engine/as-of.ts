/** The ledger as it was: everything that is read is read up to one position, and projections are folded up to it from the
 *  first event, in pages of one short snapshot each, so that nobody is held up and nothing is written. */
import { types } from "node:util";
import { ReplayFold } from "../../projections/bulk.js";
import type { AnyProjection, FindQuery, FoundDocuments, Projection } from "../../projections/define-projection.js";
import type { ProjectionDigest } from "../../projections/digest.js";
import { FoldedTable } from "../../projections/folded.js";
import { parseQuery } from "../../projections/query.js";
import { invalid, LedgerError } from "../kernel/errors.js";
import { timeMsMax } from "../kernel/limits.js";
import { parseInteger } from "../kernel/members.js";
import { parseKey } from "../kernel/names.js";
import { decodeStored } from "../journal/stored.js";
import type { Store, StoreReads } from "../journal/store.js";
import type { Areas } from "./areas.js";
import type { Catalogue } from "./projector/catalogue.js";
import { parseReadOptions } from "./projector/reads.js";
import type { ProjectionReader, ProjectionReadOptions } from "./projector/reads.js";
import { areaFilter, readDense, storedEvent } from "./projector/tail.js";
import { readJournal, readOneStream } from "./reading.js";
import type { Reading } from "./reading.js";
import { withSnapshot } from "./snapshot.js";
import type { ReadOptions, ReadStreamOptions } from "./types.js";
import { checkWanted, Waits } from "./waits.js";

const pageMax = 1_000;

export interface AsOfOptions {
  readonly store: Store;
  readonly areas: Areas;
  readonly catalogue: Catalogue;
  /** Runs what `close` waits for; throws when the ledger is closed. */
  readonly run: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** Throws when the ledger is closed. */
  readonly checkOpen: () => void;
}

/** The event that a moment ends with. */
interface Moment {
  readonly position: number;
  readonly id: string;
  readonly at: number;
}

/** The ledger as of a position. */
export class AsOf {
  readonly moment: Moment;
  private readonly options: AsOfOptions;
  private readonly waits = new Waits();
  private readonly folded = new Map<AnyProjection, Promise<FoldedTable<object> | Error>>();

  constructor(moment: Moment, options: AsOfOptions) {
    this.moment = moment;
    this.options = options;
  }

  read(options: ReadOptions): Reading {
    this.options.checkOpen();
    return readJournal(this.options.store, this.options.areas, options, this.moment.position);
  }

  readStream(stream: string, options: ReadStreamOptions): Reading {
    this.options.checkOpen();
    return readOneStream(this.options.store, this.options.areas, stream, options, this.moment.position);
  }

  projection<Document extends object>(wanted: Projection<Document> | string): ProjectionReader<Document> {
    this.options.checkOpen();
    const { projection } = this.options.catalogue.tableOf(wanted);
    return new PastProjection<Document>(projection, (signal) => this.foldOnce(projection, signal));
  }

  /** Folds a projection when it is first asked for, once; again when that failed for a reason that is not the projection's. */
  private foldOnce(projection: AnyProjection, signal: AbortSignal | undefined): Promise<FoldedTable<object>> {
    return this.options.run(async () => {
      checkWanted(signal);
      let folding = this.folded.get(projection);
      if (folding === undefined) {
        folding = this.fold(projection);
        this.folded.set(projection, folding);
        folding.catch(() => this.folded.delete(projection));
      }
      const folded = await this.waits.for(folding, signal);
      if (folded instanceof Error) throw folded;
      return folded;
    });
  }

  /** An error says that the projection stopped, which it would do again. */
  private async fold(projection: AnyProjection): Promise<FoldedTable<object> | Error> {
    const { store, areas, checkOpen } = this.options;
    const { position } = this.moment;
    const [table] = new ReplayFold([projection]).tables as [ReplayFold["tables"][number]]; // one for each projection
    const mayConcern = areaFilter(projection.areas);
    for (let from = 0; from <= position && table.error === null; from += pageMax) {
      checkOpen();
      const count = Math.min(pageMax, position + 1 - from);
      for (const stored of await withSnapshot(store, (reads) => readDense(reads, from, count))) {
        if (!mayConcern(stored.entry)) continue;
        const event = storedEvent(stored, areas.defined);
        if ("unknown" in event) table.foldUnknown(event);
        else table.fold(event);
      }
      // A store may answer without ever leaving the event loop to others.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return table.error ?? new FoldedTable<object>(table, position);
  }
}

/** Which event a position or a time means. */
export async function momentOf(reads: StoreReads, when: number | Date): Promise<Moment> {
  const last = (await reads.head())?.seq ?? -1;
  const time = timeOf(when);
  const position = time === null ? parseInteger(when, "at", 0) + 0 : await lastNotLater(reads, last, time);
  if (position > last) throw noSuchPosition(position, last);
  if (time !== null && position < 0) {
    const first = new Date((await momentAt(reads, 0)).at).toISOString();
    throw noSuchMoment(`not before the first event, ${first}`, new Date(time).toISOString(), { at: time, last });
  }
  return momentAt(reads, position);
}

/** Times never fall along the journal, so half of what is left goes with each look. */
async function lastNotLater(reads: StoreReads, last: number, time: number): Promise<number> {
  let [low, high] = [-1, last];
  while (low < high) {
    const middle = Math.floor((low + high + 1) / 2);
    if ((await momentAt(reads, middle)).at <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

async function momentAt(reads: StoreReads, position: number): Promise<Moment> {
  const [stored] = await readDense(reads, position, 1);
  if (stored === undefined) throw noSuchPosition(position, position - 1);
  const { id, fields } = decodeStored(stored);
  return { position, id, at: fields.at };
}

/** Null: not a time. */
function timeOf(when: unknown): number | null {
  if (typeof when === "number") return null;
  const time = types.isDate(when) ? Date.prototype.getTime.call(when) : Number.NaN;
  if (!(Math.abs(time) <= timeMsMax)) throw invalid("at", "a position or a valid Date", when);
  return time;
}

function noSuchPosition(position: number, last: number): LedgerError {
  return noSuchMoment(`at most ${last}, the last position`, String(position), { at: position, last });
}

function noSuchMoment(
  expected: string,
  found: string,
  details: { readonly at: number; readonly last: number },
): LedgerError {
  return new LedgerError("NOT_FOUND", `at must be ${expected}, found ${found}`, { details });
}

class PastProjection<Document extends object> implements ProjectionReader<Document> {
  readonly name: string;
  readonly version: number;
  private readonly projection: AnyProjection;
  private readonly fold: (signal: AbortSignal | undefined) => Promise<FoldedTable<object>>;

  constructor(projection: AnyProjection, fold: (signal: AbortSignal | undefined) => Promise<FoldedTable<object>>) {
    this.name = projection.name;
    this.version = projection.version;
    this.projection = projection;
    this.fold = fold;
  }

  async get(key: string, options: ProjectionReadOptions = {}): Promise<Document | null> {
    parseKey(key, "key");
    return (await this.fold(parseReadOptions(options))).get(key) as Document | null; // what its reducers made
  }

  async find(query: FindQuery = {}, options: ProjectionReadOptions = {}): Promise<FoundDocuments<Document>> {
    parseQuery(this.projection, query); // refused before anything is folded for it
    return (await this.fold(parseReadOptions(options))).find(query) as FoundDocuments<Document>;
  }

  async digest(options: ProjectionReadOptions = {}): Promise<ProjectionDigest> {
    return (await this.fold(parseReadOptions(options))).digest();
  }
}
