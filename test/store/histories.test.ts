/** Random histories of transactions: SQLite and PostgreSQL give the same answers as the memory store, whatever happens in between. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { durableSteps } from "../../src/journal/store.js";
import type { DurableStep, EntryRow, Store, StoreReads, StoreTransaction } from "../../src/journal/store.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import {
  append,
  begin,
  contentRow,
  entryRow,
  nodesFor,
  read,
  readAll,
  write,
} from "../../src/testing/store-histories.js";
import { failureOf, freshPlace, openShared, runsOn, sharedStoreNames } from "../engine/fixture.js";
import { freshPath } from "./place.js";

type Step = AppendStep | { readonly type: "reset" | "reopen" | "maintain" | "scrub" };

interface AppendStep {
  readonly type: "append";
  readonly runs: readonly (readonly [stream: number, count: number])[];
  readonly contents: number;
  /** Places among the contents that are not erased yet. */
  readonly erase: readonly number[];
  readonly checkpoint: boolean;
  readonly consumer: number | null;
  readonly end: "commit" | "rollback";
}

const streams = ["a/1", "a/2", "b/1", "c/ü"];

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant("append" as const),
      runs: fc.array(
        fc.tuple(
          fc.nat(streams.length - 1),
          fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 200, max: 600 })),
        ),
        { minLength: 1, maxLength: 4 },
      ),
      contents: fc.nat(3),
      erase: fc.array(fc.nat(9), { maxLength: 2 }),
      checkpoint: fc.boolean(),
      consumer: fc.option(fc.integer({ min: -2, max: 2 })),
      end: fc.constantFrom("commit" as const, "commit" as const, "rollback" as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom("reset" as const, "reopen" as const, "maintain" as const, "scrub" as const),
    }),
  },
);

/** The same rows for both stores: dense behind the head of the first. */
async function rowsFor(
  transaction: StoreTransaction,
  runs: readonly (readonly [number, number])[],
): Promise<EntryRow[]> {
  let seq = (await transaction.head())?.seq ?? -1;
  const heads = (await transaction.streamHeads(streams)).map((head) => ({
    rev: head?.rev ?? 0,
    seq: head?.seq ?? null,
  }));
  const rows: EntryRow[] = [];
  for (const [stream, count] of runs) {
    for (let each = 0; each < count; each++) {
      const head = heads[stream]!;
      seq++;
      rows.push(
        entryRow({ seq, stream: streams[stream]!, rev: head.rev + 1, before: head.seq, type: `t.t${seq % 3}` }),
      );
      heads[stream] = { rev: head.rev + 1, seq };
    }
  }
  return rows;
}

/** What else a transaction does: the same on both stores. */
async function besides(transaction: StoreTransaction, { erase, checkpoint, consumer }: AppendStep): Promise<void> {
  const head = (await transaction.head())!;
  for (const place of erase) {
    const contents = await transaction.contents(Array.from({ length: head.contents }, (_, index) => index + 1));
    const left = contents.flatMap((content) => (content !== null && "bytes" in content ? [content.n] : []));
    if (left.length > 0) await transaction.erase([left[place % left.length]!], head.seq);
  }
  if (checkpoint) {
    const size = Math.ceil((head.seq + 1) / 2);
    await transaction.putCheckpoint({ size, note: `${size} of ${head.seq + 1}` });
  }
  if (consumer === null) return;
  if (consumer < 0) return transaction.deleteConsumer(`c${-consumer}`);
  const claim = { holder: "h", generation: head.seq + 1, tokenHash: "0".repeat(64), acquiredAt: 1, expiresAt: 2 };
  const row = { name: `c${consumer}`, position: head.seq, id: head.id, incarnation: 1, generation: head.seq + 1 };
  await transaction.putConsumer({ ...row, claim: consumer === 0 ? null : claim });
}

async function answers(reads: StoreReads): Promise<unknown> {
  const heads = await reads.streamHeads(streams);
  return {
    head: await reads.head(),
    heads,
    entries: (await reads.entries(0, 100_000)).map(({ id }) => id),
    last: await reads.entries(1_000_000, 3, true),
    streams: await Promise.all(
      streams.map(async (stream, index) => [
        (await reads.streamEntries(stream, 1, 100_000)).map(({ seq }) => seq),
        (await reads.streamEntries(stream, (heads[index]?.rev ?? 0) - 1, 300, true)).map(({ seq }) => seq),
      ]),
    ),
    contents: (await reads.contents([1, 2, 3, 4, 5])).map(
      (content) =>
        content && [content.digest, "bytes" in content ? Buffer.from(content.bytes).toString() : content.erased],
    ),
    ids: await reads.ids(0, 100_000),
    nodes: await reads.nodes(1, 0, 1_000),
    checkpoints: await reads.checkpoints(null, 100),
    consumers: await reads.consumers(),
    consumer: await reads.consumer("c1"),
    plain: (await reads.contentsByPlain([contentRow(1, "text 1").plain!, contentRow(1, "text 2").plain!])).map(
      (content) => content?.n,
    ),
  };
}

async function rawAnswers(store: Store): Promise<unknown> {
  const raw = await store.raw();
  const found = {
    problems: await raw.problems(),
    entries: (await raw.entries(null, 100_000)).map((row) => ({ ...row })),
    streams: await raw.streams(null, 100),
    types: await raw.types(),
    pages: await raw.streamPages(null, 100),
    nodes: await raw.nodes(null, 1_000),
    checkpoints: await raw.checkpoints(null, 100),
    erased: (await raw.contents(null, 1_000)).map(({ n, erased, plain }) => [n, erased, plain]),
  };
  await raw.close();
  return found;
}

test.each(sharedStoreNames)(
  "any history of appends, rollbacks, resets and reopenings reads the same on %s as in memory",
  { timeout: 600_000 },
  async (name) => {
    const numRuns = runsOn(name, process.env["RUNLEDGER_LONG"] === "1" ? 300 : 25);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const place = freshPlace(name);
        const memory = createMemoryStore();
        let store = await openShared(place);
        for (const each of steps) {
          if (each.type === "reopen") {
            await store.close();
            store = await openShared(place);
          } else if (each.type === "append") {
            const pair = [await memory.begin(), await store.begin()] as const;
            const rows = await rowsFor(pair[0], each.runs);
            const n = ((await pair[0].head())?.contents ?? 0) + 1;
            const contents = Array.from({ length: each.contents }, (_, index) =>
              contentRow(n + index, `text ${(n + index) % 4}`),
            );
            for (const transaction of pair) {
              await transaction.append(rows, contents, await nodesFor(transaction, rows));
              await besides(transaction, each);
            }
            expect(await answers(pair[1])).toEqual(await answers(pair[0]));
            for (const transaction of pair) await transaction[each.end]();
          } else {
            await store[each.type]();
          }
          expect(await read(store, answers)).toEqual(await read(memory, answers));
        }
        expect(await rawAnswers(store)).toEqual(await rawAnswers(memory));
        await store.close();
      }),
      { numRuns },
    );
  },
);

test("every durable step is named, in the order in which the adapter takes them", async () => {
  const seen: DurableStep[] = [];
  const path = freshPath();
  const store = await openSqliteStore(path, {
    faults: (each, moment) => {
      if (moment === "before" && !seen.includes(each)) seen.push(each);
    },
  });
  const transaction = await begin(store);
  await append(transaction, { streams: Array<string>(256).fill("a/1"), contents: ["one"] });
  await transaction.erase([1], 0);
  const table = await transaction.addProjection(projection);
  await transaction.putDocuments(table, [{ key: "a", seq: 0, text: "{}", indexes: [] }]);
  await transaction.putCheckpoint({ size: 1, note: "a note" });
  await transaction.commit();
  await store.scrub();
  for (let round = 0; round < 5; round++) {
    await write(store, {
      streams: Array<string>(1_000).fill("a/1"),
      data: Array<string>(1_000).fill("x".repeat(4_000)),
    });
    await store.maintain();
  }
  await store.close();

  expect(seen).toEqual([...durableSteps]);
});

const projection = {
  name: "thing",
  version: 1,
  indexes: [],
  status: "following",
  position: -1,
  entryId: null,
  error: null,
} as const;
const moments = ["before", "after"] as const;
const inTransaction = [
  "begin",
  "contents",
  "entries",
  "streams",
  "nodes",
  "erase",
  "projections",
  "documents",
  "operational",
  "commit",
] as const;

test.each(inTransaction.flatMap((each) => moments.map((moment) => [moment, each] as const)))(
  "a failure %s %s leaves the journal before or after the transaction, and the store goes on",
  async (when, at) => {
    let failing = false;
    for (const name of ["memory", ...sharedStoreNames] as const) {
      const full = name === "memory" ? new Error("the disk is full") : failureOf(name, "full");
      const faults = (each: DurableStep, moment: "before" | "after"): void => {
        if (failing && each === at && moment === when) throw full;
      };
      const store = name === "memory" ? createMemoryStore({ faults }) : await openShared(freshPlace(name), { faults });
      await write(store, { streams: ["a/1"], contents: ["one"] });
      if (store.kind === "memory" && at === "streams") continue; // it has no such step

      failing = true;
      const failure = await (async () => {
        const transaction = await begin(store);
        try {
          await append(transaction, { streams: Array<string>(256).fill("b/1"), contents: ["two"], erase: [1] });
          const table = await transaction.addProjection(projection);
          await transaction.putDocuments(table, [{ key: "a", seq: 0, text: "{}", indexes: [] }]);
          await transaction.putFolded({ position: 256, entryId: "0".repeat(64), tables: [table] });
          await transaction.putCheckpoint({ size: 2, note: "a note" });
          await transaction.commit();
          return null;
        } catch (error) {
          await transaction.rollback();
          throw error;
        }
      })().catch((error: unknown) => error);
      failing = false;

      expect(failure).toMatchObject(store.kind === "memory" ? { message: "the disk is full" } : { code: "STORE_FULL" });
      const committed = at === "commit" && when === "after";
      await read(store, async (reads) => {
        expect((await reads.head())?.seq).toBe(committed ? 256 : 0);
        expect(await reads.contents([1])).toMatchObject([
          committed ? { erased: 1 } : { plain: contentRow(1, "one").plain },
        ]);
        expect(await reads.nodes(1, 0, 10)).toHaveLength(committed ? 1 : 0);
        expect(await reads.checkpoints(null, 10)).toHaveLength(committed ? 1 : 0);
        expect((await reads.folded())?.position).toBe(committed ? 256 : undefined);
        const [table] = await reads.projections();
        expect(table?.id).toBe(committed ? 1 : undefined);
        if (table !== undefined) expect(await reads.documentsByKey(table.id, null, 10)).toHaveLength(1);
      });
      await write(store, { streams: Array<string>(256).fill("b/1"), contents: ["three"] });
      expect(await readAll(store)).toHaveLength(committed ? 513 : 257);
      await store.close();
    }
  },
);
