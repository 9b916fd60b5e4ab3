/** Projections, said once: which events they fold, into which documents, found by which indexes.
 *  A reducer reads its document and the event, nothing else. Source: design section 7, decision 0018. */
import { types } from "node:util";
import { areaOf, parseName, parseType } from "../src/kernel/names.js";
import { invalid } from "../src/kernel/errors.js";
import { checkBoolean, checkMembers, checkObject, parseInteger } from "../src/kernel/members.js";
import type { EventData, ProjectionEvent } from "./event.js";
import type { IndexTuple } from "./index-key.js";

/** What one type of event does to a projection. @public */
export interface EventHandler<Document extends object, Data extends object = EventData> {
  /** The key of the document that the event is about; null: of none. */
  readonly key: (event: ProjectionEvent<Data>) => string | null;
  /** Changes the document in place, or returns another in its place; null removes it. There is none before the first event
   *  of its key: then what is returned is the document. Reads nothing but its arguments. */
  readonly apply: (document: Document | undefined, event: ProjectionEvent<Data>) => Document | null | undefined | void;
}

/** The facts of each event type, where a host does not say them. @public */
export type AnyEvents = Readonly<Record<string, EventData>>;

/** What `defineProjection` is told. @public */
export interface ProjectionOptions<
  Document extends object,
  Events extends { readonly [Type in keyof Events]: object } = AnyEvents,
> {
  /** A letter, then letters, digits, `_`, `.` or `-`. */
  readonly name: string;
  /** From 1; another one for every change of what the documents or the index declarations are. */
  readonly version: number;
  /** Follows the journal on its own, behind the commits; commands cannot read it. Default false. */
  readonly async?: boolean;
  /** By name: the tuple by which a document is found, or null when it is not in the index. At most 16. */
  readonly indexes?: Readonly<Record<string, (document: Document) => IndexTuple | null>>;
  /** By event type. Events of the same areas that are not named here change nothing. */
  readonly on: Partial<{ readonly [Type in keyof Events]: EventHandler<Document, Events[Type]> }>;
}

/** Which documents to find. @public */
export interface FindQuery {
  /** The index; without one all documents are found, in the order of their keys. */
  readonly index?: string;
  /** What the first elements of the tuple must be. */
  readonly prefix?: IndexTuple;
  /** Bounds of the element behind the prefix. */
  readonly range?: {
    readonly gt?: IndexTuple[number];
    readonly gte?: IndexTuple[number];
    readonly lt?: IndexTuple[number];
    readonly lte?: IndexTuple[number];
  };
  /** By the rest of the tuple, then by key. Default `"asc"`. */
  readonly order?: "asc" | "desc";
  /** Go on behind the page that ended with this `next`. */
  readonly after?: string;
  /** 1 to 10,000. Default 100. */
  readonly limit?: number;
}

/** Documents that a query found. @public */
export interface FoundDocuments<Document extends object> {
  /** In the order that was asked for. Frozen. */
  readonly documents: readonly { readonly key: string; readonly document: Document }[];
  /** For `after`, when there may be more; null at the end. */
  readonly next: string | null;
}

/** The wish to read one document, for the `reads` of a command. @public */
export interface DocumentRead<Document extends object> {
  readonly read: "document";
  readonly projection: Projection<Document>;
  /** Null finds nothing. */
  readonly key: string | null;
}

/** The wish to find documents, for the `reads` of a command. @public */
export interface QueryRead<Document extends object> {
  readonly read: "query";
  readonly projection: Projection<Document>;
  readonly query: FindQuery;
}

/** A projection, made by `defineProjection`. @public */
export interface Projection<Document extends object = object> {
  readonly name: string;
  readonly version: number;
  readonly async: boolean;
  readonly indexes: ReadonlyMap<string, (document: Document) => IndexTuple | null>;
  readonly on: ReadonlyMap<string, EventHandler<Document>>;
  /** The areas of the types that it lists: an unknown type of one of them stops it. */
  readonly areas: ReadonlySet<string>;
  /** For the `reads` of a command: the document of a key, null when there is none. Without a key nothing is read. */
  get(key: string | null | undefined): DocumentRead<Document>;
  /** For the `reads` of a command: the documents that a query finds. */
  find(query: FindQuery): QueryRead<Document>;
}

/** A projection of whatever documents, for lists of several. @public */
// oxlint-disable-next-line typescript/no-explicit-any -- a reducer takes and returns its own documents alone, so no two fit
export type AnyProjection = Projection<any>;

const optionNames = ["name", "version", "async", "indexes", "on"];
const indexesMax = 16;

/** Defines a projection; called twice so that the type of its documents can be given and all else be inferred:
 *  `defineProjection<Invoice>()({ name: "invoice", version: 1, on: { … } })`. A second type says what events hold, by their
 *  types: `defineProjection<Invoice, { "invoice.paid": { invoice: string } }>()`; without it their facts are `any`. Nobody
 *  checks them against it here: the `parse` of `defineEvents` does. @public */
export function defineProjection<
  Document extends object,
  Events extends { readonly [Type in keyof Events]: object } = AnyEvents,
>(...none: readonly never[]): (options: ProjectionOptions<Document, Events>) => Projection<Document> {
  if (none.length > 0)
    throw invalid("defineProjection", "called twice: defineProjection()({ name, version, on })", none[0]);
  return (options) => {
    checkMembers(options, "projection", optionNames);
    const name = parseName(options.name, "projection.name");
    const path = `projection ${name}`;
    const version = parseInteger(options.version, `${path}.version`, 1);
    checkBoolean(options.async, `${path}.async`);
    checkObject(options.on, `${path}.on`, "an object with a handler for each event type");
    // What an event holds is the host's word; nothing in here looks at it.
    const handlers = Object.entries(options.on as Readonly<Record<string, EventHandler<Document>>>);
    const on = new Map(handlers.map(([type, handler]) => [type, parseHandler(type, handler, path)]));
    const indexes = parseIndexes<Document>(options.indexes ?? {}, path);
    const projection: Projection<Document> = {
      name,
      version,
      async: options.async ?? false,
      indexes,
      on,
      areas: new Set([...on.keys()].map(areaOf)),
      get: (key) => ({ read: "document", projection, key: key ?? null }),
      find: (query) => ({ read: "query", projection, query }),
    };
    return projection;
  };
}

function parseHandler<Document extends object>(
  type: string,
  handler: EventHandler<Document>,
  path: string,
): EventHandler<Document> {
  parseType(type, `${path}.on`);
  checkMembers(handler, `${path}.on["${type}"]`, ["key", "apply"]);
  const { key, apply } = handler;
  checkFunction(key, `${path}.on["${type}"].key`);
  checkFunction(apply, `${path}.on["${type}"].apply`);
  return { key, apply };
}

function parseIndexes<Document extends object>(
  indexes: NonNullable<ProjectionOptions<Document>["indexes"]>,
  path: string,
): Projection<Document>["indexes"] {
  checkObject(indexes, `${path}.indexes`, "an object with a function for each index");
  const parsed = new Map(Object.entries(indexes));
  if (parsed.size > indexesMax) throw invalid(`${path}.indexes`, `at most ${indexesMax}`, parsed.size);
  for (const [index, tupleOf] of parsed) {
    parseName(index, `${path}.indexes`);
    checkFunction(tupleOf, `${path}.indexes.${index}`);
  }
  return parsed;
}

/** An async function is refused here, where it is seen by its looks; one that only returns a promise, when it is called. */
function checkFunction(value: unknown, path: string): void {
  if (typeof value !== "function") throw invalid(path, "a function", value);
  if (types.isAsyncFunction(value)) throw invalid(path, "synchronous", "an async function");
}
