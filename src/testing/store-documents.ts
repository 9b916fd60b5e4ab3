/** Tables of documents as the tests of stores make, fill and read them. */
import type { DocumentRange, DocumentWrite, ProjectionRow, StoredDocument } from "../journal/documents.js";
import type { Store, StoreReads } from "../journal/store.js";
import { operate } from "./store-histories.js";

/** In the order of their UTF-8 bytes; as UTF-16 units the last two would change places with those before. */
export const orderedKeys: readonly string[] = [
  "",
  "A",
  "a",
  "a\u0001",
  "a/",
  "aa",
  "é",
  "\ue000",
  "\ufffd",
  "😀",
  "😀a",
];

/** A table by its name, made when there is none: with replies that are lost it may be asked for twice. */
export async function tableNamed(store: Store, name: string, indexes: readonly string[] = []): Promise<number> {
  let id = 0;
  await operate(store, async (transaction) => {
    const found = (await transaction.projections()).find((row) => row.name === name);
    id = found?.id ?? (await transaction.addProjection(newRow(name, indexes)));
  });
  return id;
}

export async function drop(store: Store, id: number): Promise<void> {
  await operate(store, async (transaction) => {
    if ((await transaction.projections()).some((row) => row.id === id)) await transaction.dropProjection(id);
  });
}

export function newRow(name: string, indexes: readonly string[] = []): Omit<ProjectionRow, "id"> {
  return { name, version: 1, indexes, status: "following", position: -1, entryId: null, error: null };
}

export function put(store: Store, table: number, writes: readonly DocumentWrite[]): Promise<void> {
  return operate(store, (transaction) => transaction.putDocuments(table, writes));
}

export function document(
  key: string,
  indexes: DocumentWrite["indexes"] = [],
  text = `{"is":"${key}"}`,
  seq = 1,
): DocumentWrite {
  return { key, seq, text, indexes };
}

export function bytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "latin1"));
}

/** All of an index, forward, with what is said otherwise. */
export function part(index: number, said: Partial<DocumentRange> = {}): DocumentRange {
  return { index, from: bytes(""), to: null, reverse: false, limit: 1_000, ...said };
}

export function keysOf(documents: readonly StoredDocument[]): readonly string[] {
  return documents.map(({ key }) => key);
}

export async function keysBy(reads: StoreReads, table: number, range: DocumentRange): Promise<readonly string[]> {
  return keysOf(await reads.documentsByIndex(table, range));
}
