/** Random histories of documents: every store answers as a naive model of maps does, snapshots that are held included. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { FoldedMark, ProjectionRow } from "../../src/journal/documents.js";
import type { Store, StoreReads, StoreSnapshot, StoreTransaction } from "../../src/journal/store.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { orderedKeys } from "../../src/testing/store-documents.js";
import { freshPlace, openShared, runsOn, sharedStoreNames } from "../engine/fixture.js";

interface Document {
  readonly seq: number;
  readonly text: string;
  readonly indexes: (Buffer | null)[];
}

interface Table {
  row: ProjectionRow;
  readonly documents: Map<string, Document>;
}

/** What a journal should hold. */
interface Model {
  readonly tables: Map<number, Table>;
  folded: FoldedMark | null;
  lastId: number;
}

type Change =
  | { readonly type: "add"; readonly indexes: number }
  | { readonly type: "drop" | "row" | "mark"; readonly table: number }
  | { readonly type: "put"; readonly table: number; readonly writes: readonly Write[] };

/** Of a key that may be there: what each index says (undefined: as it was), or that it goes. */
interface Write {
  readonly key: string;
  readonly gone: boolean;
  readonly indexes: readonly (string | null | undefined)[];
}

type Step =
  | { readonly type: "transaction"; readonly changes: readonly Change[]; readonly end: "commit" | "rollback" }
  | { readonly type: "hold" | "let go" | "reset" | "reopen" };

const indexesMax = 3;
const id = "0123456789abcdef".repeat(4);

const write: fc.Arbitrary<Write> = fc.record({
  key: fc.constantFrom(...orderedKeys),
  gone: fc.boolean(),
  indexes: fc.array(
    fc.constantFrom("", "\x00", "a", "a\x00", "b", "\xff", null, null, undefined, undefined, undefined),
    {
      minLength: indexesMax,
      maxLength: indexesMax,
    },
  ),
});

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ type: fc.constant("add" as const), indexes: fc.nat(indexesMax) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom("drop" as const, "row" as const, "mark" as const),
      table: fc.nat(9),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("put" as const),
      table: fc.nat(9),
      writes: fc.uniqueArray(write, { selector: ({ key }) => key, maxLength: 8 }),
    }),
  },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("transaction" as const),
      changes: fc.array(change, { minLength: 1, maxLength: 8 }),
      end: fc.constantFrom("commit" as const, "commit" as const, "rollback" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constantFrom("hold" as const, "let go" as const, "reset" as const, "reopen" as const),
    }),
  },
);

/** Makes one change of a transaction, and of the model. */
async function make(transaction: StoreTransaction, model: Model, made: Change, seq: number): Promise<void> {
  if (made.type === "add") {
    const indexes = Array.from({ length: made.indexes }, (_, index) => `by${index}`);
    const row = { name: `p${seq % 3}`, version: 1, indexes, status: "following", position: -1 } as const;
    const given = await transaction.addProjection({ ...row, entryId: null, error: null });
    expect(given).toBe(++model.lastId);
    model.tables.set(given, { row: { ...row, entryId: null, error: null, id: given }, documents: new Map() });
    return;
  }
  const table = [...model.tables.values()][made.table % Math.max(model.tables.size, 1)];
  if (table === undefined) return;
  if (made.type === "put") await putAll(transaction, table, made.writes, seq);
  else if (made.type === "drop") {
    await transaction.dropProjection(table.row.id);
    model.tables.delete(table.row.id);
  } else if (made.type === "row") {
    table.row = { ...table.row, status: "failed", position: seq, entryId: id, error: `{"at":${seq}}` };
    await transaction.putProjection(table.row);
  } else {
    model.folded = { position: seq, entryId: id, tables: [...model.tables.keys()] };
    await transaction.putFolded(model.folded);
  }
}

async function putAll(
  transaction: StoreTransaction,
  table: Table,
  writes: readonly Write[],
  seq: number,
): Promise<void> {
  const { row, documents } = table;
  const rows = writes.map(({ key, gone, indexes }) => {
    const before = documents.get(key);
    const text = gone ? null : `{"of":"${key}","seq":${seq}}`;
    const bytes = indexes.slice(0, row.indexes.length).map((value) => {
      if (value === undefined) return before === undefined ? null : undefined;
      return value === null ? null : Buffer.from(`${value}\x00${Buffer.from(key).toString("latin1")}`, "latin1");
    });
    if (text === null) documents.delete(key);
    else {
      const kept = bytes.map((value, index) => (value === undefined ? before!.indexes[index]! : value));
      documents.set(key, { seq, text, indexes: kept });
    }
    return { key, seq, text, indexes: bytes };
  });
  await transaction.putDocuments(row.id, rows);
}

function copyOf({ tables, folded, lastId }: Model): Model {
  const copies = [...tables].map(
    ([table, { row, documents }]) => [table, { row, documents: new Map(documents) }] as const,
  );
  return { tables: new Map(copies), folded, lastId };
}

/** Everything that can be read, held against the model. */
async function check(reads: StoreReads, model: Model): Promise<void> {
  expect(await reads.projections()).toEqual([...model.tables.values()].map(({ row }) => row));
  expect(await reads.folded()).toEqual(model.folded);
  for (const [table, { row, documents }] of model.tables) {
    const shown = (key: string): object => ({ key, seq: documents.get(key)!.seq, text: documents.get(key)!.text });
    const keys = orderedKeys.filter((key) => documents.has(key));
    expect(await reads.documents(table, orderedKeys)).toEqual(
      orderedKeys.map((key) => (documents.has(key) ? shown(key) : null)),
    );
    expect(await reads.documentsByKey(table, null, 100)).toEqual(keys.map(shown));
    const behindA = keys.filter((key) => Buffer.compare(Buffer.from(key), Buffer.from("a")) > 0);
    expect(await reads.documentsByKey(table, "a", 3)).toEqual(behindA.slice(0, 3).map(shown));
    const beforeA = keys.filter((key) => Buffer.compare(Buffer.from(key), Buffer.from("a")) < 0).reverse();
    expect(await reads.documentsByKey(table, "a", 3, true)).toEqual(beforeA.slice(0, 3).map(shown));
    for (const [index] of row.indexes.entries()) {
      const inIndex = keys
        .flatMap((key) => {
          const at = documents.get(key)!.indexes[index]!;
          return at === null ? [] : [{ ...shown(key), at }];
        })
        .sort((one, other) => Buffer.compare(one.at, other.at));
      const all = { index, from: Buffer.alloc(0), to: null, reverse: false, limit: 100 };
      expect(await reads.documentsByIndex(table, all)).toEqual(inIndex);
      const [from, to] = [Buffer.from("\x00a", "latin1"), Buffer.from("a\x00a", "latin1")];
      const within = inIndex.filter(({ at }) => Buffer.compare(at, from) >= 0 && Buffer.compare(at, to) < 0).reverse();
      const range = { index, from, to, reverse: true, limit: 2 };
      expect(await reads.documentsByIndex(table, range)).toEqual(within.slice(0, 2));
    }
  }
}

async function run(open: () => Promise<Store>, steps: readonly Step[]): Promise<void> {
  let store = await open();
  let committed: Model = { tables: new Map(), folded: null, lastId: 0 };
  const held: { readonly snapshot: StoreSnapshot; readonly model: Model }[] = [];
  for (const [at, each] of steps.entries()) {
    if (each.type === "transaction") {
      const transaction = await store.begin();
      const model = copyOf(committed);
      for (const made of each.changes) await make(transaction, model, made, at);
      await check(transaction, model);
      await transaction[each.end]();
      if (each.end === "commit") committed = model;
    } else if (each.type === "hold" && held.length < 4) {
      held.push({ snapshot: await store.snapshot(), model: committed });
    } else if (each.type === "reset") {
      await store.reset();
    } else {
      const ended = each.type === "reopen" ? held.splice(0) : held.splice(0, 1);
      for (const { snapshot, model } of ended) {
        await check(snapshot, model);
        await snapshot.release();
      }
      if (each.type === "reopen" && store.kind !== "memory") {
        await store.close();
        store = await open();
      }
    }
    const snapshot = await store.snapshot();
    await check(snapshot, committed);
    await snapshot.release();
  }
  for (const { snapshot, model } of held) await check(snapshot, model);
  const raw = await store.raw();
  expect(await raw.problems()).toEqual([]);
  await raw.close();
  await store.close();
}

test.each([
  ["memory", 100, () => async (): Promise<Store> => createMemoryStore()],
  ...sharedStoreNames.map((name) => {
    const place = (): (() => Promise<Store>) => {
      const at = freshPlace(name);
      return () => openShared(at);
    };
    return [name, runsOn(name, 20), place] as const;
  }),
] as const)(
  "any history of documents reads on %s as in a model of maps",
  { timeout: 600_000 },
  async (_, runs, place) => {
    const numRuns = process.env["RUNLEDGER_LONG"] === "1" ? 10 * runs : runs;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), (steps) => run(place(), steps)),
      { numRuns },
    );
  },
);
