/** A raw reader over rows in plain arrays: the natural tool for attacking `verify`, and for whoever writes a second one.
 *  Invariant: it hands the rows over as they stand in the arrays, in their order, as a store would. */
import { completedNodes } from "../engine/tree-nodes.js";
import { entryId } from "../journal/entry.js";
import type {
  RawCheckpoint,
  RawContent,
  RawDocument,
  RawEntry,
  RawFolded,
  RawNode,
  RawProblem,
  RawProjection,
  RawReader,
  RawStream,
  RawStreamPage,
  RawType,
} from "../journal/raw-reader.js";

/** The rows of a journal, to be changed at will. @public */
export interface RawRows {
  entries: RawEntry[];
  streams: RawStream[];
  types: RawType[];
  streamPages: RawStreamPage[];
  contents: RawContent[];
  /** Null: those that belong to the entries as they stand, whatever was done to them. */
  nodes: RawNode[] | null;
  checkpoints: RawCheckpoint[];
  /** What is derived: tables of documents, the mark of what is folded, and the documents, each with the id of its table. */
  projections: RawProjection[];
  folded: RawFolded[];
  documents: (RawDocument & { readonly table: number })[];
  problems: RawProblem[];
}

/** No rows at all. @public */
export function emptyRows(): RawRows {
  return {
    entries: [],
    streams: [],
    types: [],
    streamPages: [],
    contents: [],
    nodes: null,
    checkpoints: [],
    projections: [],
    folded: [],
    documents: [],
    problems: [],
  };
}

/** How a reader over arrays behaves. @public */
export interface ArrayRawReaderOptions {
  /** Always hand over entries as bytes. */
  readonly asBytes?: boolean;
  /** Is called with the position of each entry before it is handed over; may throw, as a damaged page does. */
  readonly onEntry?: (seq: unknown) => void;
}

/** A raw reader over these rows. Entries may be text or bytes; bytes that are text are handed over as text. @public */
export function arrayRawReader(rows: RawRows, options: ArrayRawReaderOptions = {}): RawReader {
  const entryOf = (row: RawEntry, asBytes: boolean): RawEntry => {
    options.onEntry?.(row.seq);
    return { ...row, entry: stored(row.entry, asBytes || options.asBytes === true) };
  };
  return {
    location: "arrays",
    copied: false,
    evidence: async () => [],
    unchanged: async () => true,
    problems: async () => rows.problems,
    entryCount: async () => rows.entries.length,
    entries: async (after, limit, asBytes = false) =>
      page(rows.entries, (row) => row.seq, after, limit).map((row) => entryOf(row, asBytes)),
    streams: async (after, limit) => page(rows.streams, (row) => row.id, after, limit),
    types: async () => rows.types,
    streamPages: async (after, limit) => {
      const from =
        after === null
          ? 0
          : rows.streamPages.findLastIndex(({ stream, page: number }) =>
              isUpTo(stream, number, [after.stream, after.page]),
            ) + 1;
      return rows.streamPages.slice(from, from + limit);
    },
    contents: async (after, limit) => page(rows.contents, (row) => row.n, after, limit),
    nodes: async (after, limit) => {
      const nodes = rows.nodes ?? (await nodesOf(rows.entries));
      const from =
        after === null ? 0 : nodes.findLastIndex(({ level, n }) => isUpTo(level, n, [after.level, after.n])) + 1;
      return nodes.slice(from, from + limit);
    },
    checkpoints: async (after, limit) => page(rows.checkpoints, (row) => row.size, after, limit),
    projections: async () => rows.projections,
    folded: async () => rows.folded[0] ?? null,
    documents: async (table, after, limit) => {
      const documents = rows.documents.filter((row) => row.table === table);
      const from = after === null ? 0 : documents.findLastIndex(({ key }) => isTextUpTo(key, after)) + 1;
      return documents.slice(from, from + limit);
    },
    close: async () => {},
  };
}

/** Text, or bytes where text would hide what is stored. */
function stored(entry: unknown, asBytes: boolean): unknown {
  if (typeof entry === "string") return asBytes || entry.includes("\ufffd") ? Buffer.from(entry) : entry;
  if (!(entry instanceof Uint8Array) || asBytes) return entry;
  const text = Buffer.from(entry).toString("utf8");
  return text.includes("\ufffd") ? entry : text;
}

/** The tree over the entries' bytes, in their order. */
async function nodesOf(entries: readonly RawEntry[]): Promise<readonly RawNode[]> {
  const ids = entries.map(({ entry, id }) =>
    typeof entry === "string" || entry instanceof Uint8Array ? entryId(entry) : String(id),
  );
  return completedNodes({ ids: async () => [], nodes: async () => [] }, 0, ids);
}

function page<T>(rows: readonly T[], key: (row: T) => unknown, after: number | null, limit: number): T[] {
  const from = after === null ? 0 : rows.findLastIndex((row) => isNumberUpTo(key(row), after)) + 1;
  return rows.slice(from, from + limit);
}

function isUpTo(first: unknown, second: unknown, after: readonly [number, number]): boolean {
  return isNumberUpTo(first, after[0] - 1) || (first === after[0] && isNumberUpTo(second, after[1]));
}

function isTextUpTo(value: unknown, max: string | Uint8Array): boolean {
  if (typeof value !== "string" && !(value instanceof Uint8Array)) return false;
  return Buffer.compare(Buffer.from(value), Buffer.from(max)) <= 0;
}

function isNumberUpTo(value: unknown, max: number): boolean {
  return typeof value === "number" && value <= max;
}
