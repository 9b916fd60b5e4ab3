/** The documents of the memory store. A state of them never changes: a write gives another one, which shares with it all that
 *  the write did not touch; a snapshot is the state it saw, and a rollback forgets one. */
import { invariant } from "../../kernel/errors.js";
import type {
  DocumentRange,
  DocumentWrite,
  FoldedMark,
  FoundDocument,
  ProjectionRow,
  StoredDocument,
} from "../../journal/documents.js";
import { get, range, set, without } from "./ordered-map.js";
import type { OrderedMap } from "./ordered-map.js";

/** All tables at one moment. */
export interface DocumentState {
  /** By id, ascending. */
  readonly tables: ReadonlyMap<number, MemoryTable>;
  readonly folded: FoldedMark | null;
  /** The largest id ever given. */
  readonly lastId: number;
}

export interface MemoryTable {
  readonly row: ProjectionRow;
  readonly byKey: OrderedMap<MemoryDocument>;
  /** The keys of the documents that are in each index, by their bytes there. */
  readonly byIndex: readonly OrderedMap<Uint8Array>[];
}

export interface MemoryDocument extends StoredDocument {
  readonly indexes: readonly (Uint8Array | null)[];
}

export const noDocuments: DocumentState = { tables: new Map(), folded: null, lastId: 0 };

export function addTable(state: DocumentState, row: Omit<ProjectionRow, "id">): DocumentState {
  const id = state.lastId + 1;
  const table = { row: { ...row, id, indexes: [...row.indexes] }, byKey: null, byIndex: row.indexes.map(() => null) };
  return { ...state, tables: new Map(state.tables).set(id, table), lastId: id };
}

export function putRow(state: DocumentState, row: ProjectionRow): DocumentState {
  const table = tableOf(state, row.id);
  const { name, version, indexes } = table.row;
  const isSame = name === row.name && version === row.version && indexes.join() === row.indexes.join();
  invariant(isSame, `table ${row.id} must stay the one of ${name} ${version}`);
  return withTable(state, { ...table, row: { ...row, indexes } });
}

export function dropTable(state: DocumentState, id: number): DocumentState {
  tableOf(state, id);
  const tables = new Map(state.tables);
  tables.delete(id);
  return { ...state, tables };
}

export function putMark(state: DocumentState, mark: FoldedMark): DocumentState {
  return { ...state, folded: { ...mark, tables: [...mark.tables] } };
}

export function writeDocuments(state: DocumentState, id: number, writes: readonly DocumentWrite[]): DocumentState {
  const table = tableOf(state, id);
  let { byKey } = table;
  const byIndex = [...table.byIndex];
  for (const write of writes) {
    const key = Buffer.from(write.key);
    const before = get(byKey, key);
    const document = write.text === null ? null : changed(table.row, before, write, write.text);
    for (const [index, map] of byIndex.entries())
      byIndex[index] = moved(map, before?.indexes[index] ?? null, document?.indexes[index] ?? null, key);
    byKey = document === null ? without(byKey, key) : set(byKey, key, document);
  }
  return withTable(state, { ...table, byKey, byIndex });
}

export function documentAt(state: DocumentState, id: number, key: string): StoredDocument | null {
  const found = get(tableOf(state, id).byKey, Buffer.from(key));
  return found === undefined ? null : stored(found);
}

export function documentsByKey(
  state: DocumentState,
  id: number,
  after: string | null,
  limit: number,
  reverse: boolean,
): readonly MemoryDocument[] {
  if (!reverse) return documentsBehind(state, id, after, limit);
  const part = { from: null, to: after === null ? null : Buffer.from(after), reverse, limit };
  return range(tableOf(state, id).byKey, part).map(([, document]) => document);
}

/** With their indexes, in the order of their keys. */
export function documentsBehind(
  state: DocumentState,
  id: number,
  after: string | Uint8Array | null,
  limit: number,
): readonly MemoryDocument[] {
  const from = after === null ? null : behind(Buffer.from(after));
  return range(tableOf(state, id).byKey, { from, to: null, reverse: false, limit }).map(([, document]) => document);
}

export function documentsByIndex(state: DocumentState, id: number, part: DocumentRange): readonly FoundDocument[] {
  const { row, byKey, byIndex } = tableOf(state, id);
  const map = byIndex[part.index];
  invariant(map !== undefined, `table ${id} must have an index ${part.index}, found ${row.indexes.length}`);
  return range(map, part).map(([at, key]) => ({ ...stored(get(byKey, key)!), at: Buffer.from(at) }));
}

/** A document without its indexes. */
export function stored({ key, seq, text }: MemoryDocument): StoredDocument {
  return { key, seq, text };
}

function changed(
  row: ProjectionRow,
  before: MemoryDocument | undefined,
  { key, seq, indexes }: DocumentWrite,
  text: string,
): MemoryDocument {
  const count = row.indexes.length;
  invariant(
    indexes.length === count,
    `a document of table ${row.id} must say ${count} indexes, found ${indexes.length}`,
  );
  const bytes = indexes.map((value, index) => {
    if (value instanceof Uint8Array) return new Uint8Array(value);
    invariant(value === null || before !== undefined, `a new document of table ${row.id} must say all its indexes`);
    return value === null ? null : before!.indexes[index]!;
  });
  return { key, seq, text, indexes: bytes };
}

/** An index after a document went from one place to another. */
function moved(
  map: OrderedMap<Uint8Array>,
  from: Uint8Array | null,
  to: Uint8Array | null,
  key: Uint8Array,
): OrderedMap<Uint8Array> {
  if (from === to) return map;
  const left = from === null ? map : without(map, from);
  if (to === null) return left;
  invariant(get(left, to) === undefined, "two documents must not have the same bytes in an index");
  return set(left, to, key);
}

function tableOf(state: DocumentState, id: number): MemoryTable {
  const table = state.tables.get(id);
  invariant(table !== undefined, `table ${id} must be there`);
  return table;
}

function withTable(state: DocumentState, table: MemoryTable): DocumentState {
  return { ...state, tables: new Map(state.tables).set(table.row.id, table) };
}

/** The lowest byte string above one. */
function behind(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([bytes, Buffer.of(0)]);
}
