/** The contract of the Store port, as tests that every adapter must pass. Independent of a test runner.
 *  Each promise of `src/journal/store.ts` is one test. */
import assert from "node:assert/strict";
import { entryId } from "../journal/entry.js";
import type { ContentRow, EntryRow, Store, StoredEntry, StoreReads, StoreTransaction } from "../journal/store.js";
import { sha256Hex } from "../kernel/digest.js";
import { LedgerError } from "../kernel/errors.js";

/** One store to test, new and empty. @public */
export interface StoreFixture {
  readonly store: Store;
  /** Opens the same journal again, as another process would; absent where a journal lives in one store object. */
  readonly reopen?: () => Promise<Store>;
  /** Erases a content behind the port's back; absent where that cannot be done. */
  readonly erase?: (n: number, at: number) => Promise<void>;
  /** Removes what the fixture made. The store may be closed already. */
  readonly dispose: () => Promise<void>;
}

/** The two functions of a test runner that the contract needs. @public */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => void;
  readonly test: (name: string, body: () => Promise<void>) => void;
}

/** Declares the contract for one adapter. @public */
export function describeStore(name: string, open: () => Promise<StoreFixture>, { describe, test }: TestRunner): void {
  const withStore = (title: string, body: (store: Store, fixture: StoreFixture) => Promise<void>): void =>
    test(title, async () => {
      const fixture = await open();
      try {
        await body(fixture.store, fixture);
      } finally {
        await fixture.store.close();
        await fixture.dispose();
      }
    });

  describe(`${name} keeps the contract of the store port`, () => {
    withStore("an empty store has no head, no streams, no entries and no contents", async (store) => {
      const snapshot = await store.snapshot();

      assert.equal(await snapshot.head(), null);
      assert.deepEqual(await snapshot.streamHeads(["a/1"]), [null]);
      assert.deepEqual(await snapshot.entries(0, 10), []);
      assert.deepEqual(await snapshot.entries(10, 10, true), []);
      assert.deepEqual(await snapshot.entriesAt([0]), [null]);
      assert.deepEqual(await snapshot.streamEntries("a/1", 1, 10), []);
      assert.deepEqual(await snapshot.contents([1]), [null]);
      assert.deepEqual(await snapshot.contentsByPlain([sha256Hex("x")]), [null]);
      await snapshot.release();
    });

    withStore("the head is the last entry with its time, its skew and the number of contents", async (store) => {
      await write(store, { streams: ["a/1", "b/1"], contents: ["one", "two"] });

      const [, last] = await readAll(store);
      assert.deepEqual(await read(store, (reads) => reads.head()), {
        seq: 1,
        id: last!.id,
        at: 1_001,
        skew: -1,
        contents: 2,
      });
    });

    withStore("entries come back as they were written, ascending and descending from a position", async (store) => {
      await write(store, { streams: Array<string>(10).fill("a/1") });

      const positions = (entries: readonly StoredEntry[]): number[] => entries.map((entry) => entry.seq);
      await read(store, async (reads) => {
        assert.deepEqual(positions(await reads.entries(0, 3)), [0, 1, 2]);
        assert.deepEqual(positions(await reads.entries(8, 10)), [8, 9]);
        assert.deepEqual(positions(await reads.entries(10, 10)), []);
        assert.deepEqual(positions(await reads.entries(9, 3, true)), [9, 8, 7]);
        assert.deepEqual(positions(await reads.entries(1, 10, true)), [1, 0]);
        assert.deepEqual(positions(await reads.entries(1_000, 2, true)), [9, 8]);
        for (const entry of await reads.entries(0, 10)) assert.equal(entry.id, entryId(entry.entry));
      });
    });

    withStore(
      "lists of positions, streams, numbers and hashes are answered in their order, with null for what is not there",
      async (store) => {
        await write(store, { streams: ["a/1", "b/1", "a/1"], contents: ["one", "two"] });

        await read(store, async (reads) => {
          assert.deepEqual(
            (await reads.entriesAt([2, 7, 0, 2])).map((entry) => entry?.seq ?? null),
            [2, null, 0, 2],
          );
          assert.deepEqual(await reads.streamHeads(["b/1", "c/1", "a/1", "b/1"]), [
            { rev: 1, seq: 1 },
            null,
            { rev: 2, seq: 2 },
            { rev: 1, seq: 1 },
          ]);
          assert.deepEqual(
            (await reads.contents([2, 9, 1])).map((content) => content?.n ?? null),
            [2, null, 1],
          );
          assert.deepEqual(
            (await reads.contentsByPlain([sha256Hex("two"), sha256Hex("?"), sha256Hex("one")])).map(
              (content) => content?.n ?? null,
            ),
            [2, null, 1],
          );
          assert.deepEqual(
            [
              await reads.entriesAt([]),
              await reads.streamHeads([]),
              await reads.contents([]),
              await reads.contentsByPlain([]),
            ],
            [[], [], [], []],
          );
        });
      },
    );

    withStore("a transaction reads what it wrote, before anybody else does", async (store) => {
      await write(store, { streams: ["a/1"] });
      const before = await store.snapshot();

      const transaction = await begin(store);
      await append(transaction, { streams: ["a/1", "b/1"], contents: ["new"] });

      assert.equal((await transaction.head())?.seq, 2);
      assert.equal((await transaction.head())?.contents, 1);
      assert.deepEqual(await transaction.streamHeads(["a/1", "b/1"]), [
        { rev: 2, seq: 1 },
        { rev: 1, seq: 2 },
      ]);
      assert.deepEqual(
        (await transaction.streamEntries("a/1", 1, 10)).map((entry) => entry.seq),
        [0, 1],
      );
      assert.equal((await transaction.contentsByPlain([sha256Hex("new")]))[0]?.n, 1);
      assert.equal((await before.head())?.seq, 0);
      assert.equal((await read(store, (reads) => reads.head()))?.seq, 0);
      await transaction.rollback();
      await before.release();
    });

    withStore("a snapshot does not move, whatever is written meanwhile", async (store) => {
      await write(store, { streams: ["a/1"], contents: ["one"] });
      const snapshot = await store.snapshot();

      for (let round = 0; round < 5; round++)
        await write(store, { streams: ["a/1", `b/${round}`], contents: [`more ${round}`] });

      assert.equal((await snapshot.head())?.seq, 0);
      assert.equal((await snapshot.head())?.contents, 1);
      assert.deepEqual(await snapshot.streamHeads(["a/1", "b/0"]), [{ rev: 1, seq: 0 }, null]);
      assert.equal((await snapshot.entries(0, 100)).length, 1);
      assert.equal((await snapshot.entries(100, 100, true)).length, 1);
      assert.deepEqual(await snapshot.entriesAt([1]), [null]);
      assert.equal((await snapshot.streamEntries("a/1", 1, 100)).length, 1);
      assert.equal((await snapshot.streamEntries("a/1", 100, 100, true)).length, 1);
      assert.deepEqual(await snapshot.contents([2]), [null]);
      assert.deepEqual(await snapshot.contentsByPlain([sha256Hex("more 0")]), [null]);
      await snapshot.release();
      assert.equal((await read(store, (reads) => reads.head()))?.seq, 10);
    });

    withStore("several snapshots live side by side, each at its own position", async (store) => {
      const snapshots = [];
      for (let round = 0; round < 4; round++) {
        await write(store, { streams: ["a/1"] });
        snapshots.push(await store.snapshot());
      }

      const heads = await Promise.all(snapshots.map((snapshot) => snapshot.head()));

      assert.deepEqual(
        heads.map((head) => head?.seq),
        [0, 1, 2, 3],
      );
      for (const snapshot of snapshots) await snapshot.release();
    });

    withStore("a snapshot may be released twice, and snapshots can be taken again and again", async (store) => {
      await write(store, { streams: ["a/1"] });

      for (let round = 0; round < 100; round++) {
        const snapshot = await store.snapshot();
        assert.equal((await snapshot.head())?.seq, 0);
        await snapshot.release();
        await snapshot.release();
      }
    });

    withStore("what was rolled back never was: entries, streams, types and contents", async (store) => {
      await write(store, { streams: ["a/1"], contents: ["one"] });

      const transaction = await begin(store);
      await append(transaction, { streams: ["a/1", "b/1"], contents: ["two"], type: "other.thing" });
      await transaction.rollback();
      await transaction.rollback();

      await read(store, async (reads) => {
        assert.equal((await reads.head())?.seq, 0);
        assert.equal((await reads.head())?.contents, 1);
        assert.deepEqual(await reads.streamHeads(["a/1", "b/1"]), [{ rev: 1, seq: 0 }, null]);
        assert.deepEqual(await reads.contents([2]), [null]);
        assert.deepEqual(await reads.contentsByPlain([sha256Hex("two")]), [null]);
      });
      await write(store, { streams: ["b/1", "a/1"], contents: ["three"] });
      assert.deepEqual(await read(store, (reads) => reads.streamHeads(["a/1", "b/1"])), [
        { rev: 2, seq: 2 },
        { rev: 1, seq: 1 },
      ]);
      const raw = await store.raw();
      assert.deepEqual(
        (await raw.types()).map((type) => type.name),
        ["test.happened"],
      );
      assert.deepEqual(
        (await raw.streams(null, 10)).map((stream) => stream.name),
        ["a/1", "b/1"],
      );
      await raw.close();
    });

    withStore("a second writer waits until the first is done, and sees what it wrote", async (store) => {
      const first = await begin(store);
      await append(first, { streams: ["a/1"] });
      const order: string[] = [];
      const second = begin(store).then(async (transaction) => {
        order.push("second began");
        assert.equal((await transaction.head())?.seq ?? -1, committed ? 0 : -1);
        await transaction.rollback();
      });
      await new Promise((resolve) => setTimeout(resolve, 20));
      order.push("first commits");
      const committed = await commits(first);
      await second;

      assert.deepEqual(order, ["first commits", "second began"]);
    });

    withStore("writers that crowd together each get their turn, and positions stay dense", async (store) => {
      await Promise.all(
        Array.from({ length: 20 }, (_, index) => write(store, { streams: [`s/${index % 3}`, `s/${index % 3}`] })),
      );

      const entries = await readAll(store);
      assert.deepEqual(
        entries.map((entry) => entry.seq),
        Array.from({ length: 40 }, (_, index) => index),
      );
      assert.deepEqual(
        await read(store, (reads) => reads.streamHeads(["s/0", "s/1", "s/2"])).then((heads) =>
          heads.map((head) => head?.rev),
        ),
        [14, 14, 12],
      );
    });

    withStore(
      "a broken order of positions, revisions or numbers is a bug of the caller, and nothing of it stays",
      async (store) => {
        await write(store, { streams: ["a/1"], contents: ["one"] });
        const good = entryRow({ seq: 1, stream: "a/1", rev: 2, before: 0 });
        const broken: readonly (readonly [EntryRow[], ContentRow[]])[] = [
          [[{ ...good, seq: 2 }], []],
          [[{ ...good, seq: 0 }], []],
          [[{ ...good, rev: 3 }], []],
          [[{ ...good, rev: 1, before: null }], []],
          [[{ ...good, before: null }], []],
          [[good, good], []],
          [[], [contentRow(3, "three")]],
          [[], [contentRow(1, "one again")]],
        ];

        for (const [entries, contents] of broken) {
          const transaction = await begin(store);
          await assert.rejects(transaction.append(entries, contents), { name: "InvariantError" });
          await transaction.rollback();
        }
        assert.equal((await readAll(store)).length, 1);
        await write(store, { streams: ["a/1"], contents: ["two"] });
        assert.equal((await readAll(store)).length, 2);
      },
    );

    withStore("a stream is read from any revision, both ways, across the edges of its pages", async (store) => {
      const revisions = 600;
      for (let done = 0; done < revisions; done += 100) {
        await write(store, {
          streams: Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? "a/long" : "b/long")),
        });
      }
      const position = (rev: number): number => (rev - 1) * 2;
      const expected = (first: number, count: number): number[] =>
        Array.from({ length: count }, (_, index) => position(first + index));
      const check = async (reads: StoreReads): Promise<void> => {
        for (const from of [1, 2, 255, 256, 257, 258, 511, 512, 513, 599, 600]) {
          for (const limit of [1, 2, 256, 257, 1_000]) {
            const ascending = (await reads.streamEntries("a/long", from, limit)).map((entry) => entry.seq);
            assert.deepEqual(
              ascending,
              expected(from, Math.min(limit, revisions - from + 1)),
              `from ${from}, limit ${limit}`,
            );
            const descending = (await reads.streamEntries("a/long", from, limit, true))
              .map((entry) => entry.seq)
              .reverse();
            assert.deepEqual(
              descending,
              expected(Math.max(from - limit + 1, 1), Math.min(limit, from)),
              `down from ${from}, limit ${limit}`,
            );
          }
        }
        assert.deepEqual(await reads.streamEntries("a/long", 601, 10), []);
        assert.equal((await reads.streamEntries("a/long", 10_000, 1, true))[0]?.seq, position(600));
      };

      await read(store, check);
      const transaction = await begin(store);
      await check(transaction);
      await transaction.rollback();
    });

    withStore(
      "a batch that fills several pages of a stream at once reads as one that came in single steps",
      async (store) => {
        await write(store, { streams: ["a/1", ...Array<string>(700).fill("b/1")] });
        for (let round = 0; round < 3; round++) await write(store, { streams: ["b/1"] });
        await write(store, { streams: Array<string>(500).fill("b/1") });

        const found = await read(store, (reads) => reads.streamEntries("b/1", 1, 10_000));
        assert.deepEqual(
          found.map((entry) => entry.seq),
          Array.from({ length: 1_203 }, (_, index) => index + 1),
        );
      },
    );

    withStore(
      "contents keep their bytes, salt and media type, and a caller's buffer can be used again",
      async (store) => {
        const bytes = Buffer.from([0, 255, 254, 10]);
        const row: ContentRow = { ...contentRow(1, "x"), media: "application/octet-stream", bytes, plain: null };
        const transaction = await begin(store);
        await transaction.append([entryRow({ seq: 0, stream: "a/1", rev: 1, before: null })], [row]);
        const kept = { ...row, salt: Buffer.from(row.salt), bytes: Buffer.from(bytes) };
        bytes.fill(7);
        if (!(await commits(transaction))) await write(store, { streams: ["a/1"], rows: [kept] });

        const [found] = await read(store, (reads) => reads.contents([1]));
        assert.ok(found !== null && found !== undefined && "bytes" in found);
        assert.deepEqual([...found.bytes], [0, 255, 254, 10]);
        assert.deepEqual(Buffer.from(found.salt), kept.salt);
        assert.equal(found.media, "application/octet-stream");
        assert.equal(found.plain, null);
        assert.equal(found.digest, row.digest);
      },
    );

    withStore("of equal contents the first is found; one without a plain hash is not", async (store) => {
      await write(store, { streams: ["a/1"], contents: ["same", "same", "other"] });

      assert.equal((await read(store, (reads) => reads.contentsByPlain([sha256Hex("same")])))[0]?.n, 1);
    });

    withStore(
      "an erased content is its number, its digest and the position of the erasure, and is not found by hash",
      async (store, { erase }) => {
        if (erase === undefined) return;
        await write(store, { streams: ["a/1"], contents: ["secret", "kept"] });

        await erase(1, 0);

        await read(store, async (reads) => {
          const [erased, kept] = await reads.contents([1, 2]);
          assert.deepEqual(erased, { n: 1, digest: contentRow(1, "secret").digest, erased: 0 });
          assert.ok(kept !== null && kept !== undefined && "bytes" in kept);
          assert.deepEqual(await reads.contentsByPlain([sha256Hex("secret")]), [null]);
          assert.equal((await reads.head())?.contents, 2);
        });
      },
    );

    withStore("text that shows U+FFFD is handed over as bytes, other text as text", async (store) => {
      await write(store, { streams: ["a/1", "a/1"], data: ["\ufffd", "é\u0000😀"] });

      const [first, second] = await readAll(store);
      assert.ok(first!.entry instanceof Uint8Array);
      assert.equal(entryId(first!.entry), first!.id);
      assert.equal(typeof second!.entry, "string");
      assert.equal(entryId(second!.entry), second!.id);
    });

    withStore("after a commit that gave no answer a reset leaves a store that goes on", async (store) => {
      await write(store, { streams: ["a/1"] });

      await store.reset();

      await write(store, { streams: ["a/1", "b/1"] });
      assert.deepEqual(await read(store, (reads) => reads.streamHeads(["a/1", "b/1"])), [
        { rev: 2, seq: 1 },
        { rev: 1, seq: 2 },
      ]);
    });

    withStore(
      "another opening of the journal sees what was committed, and both write in turn",
      async (store, { reopen }) => {
        if (reopen === undefined) return;
        await write(store, { streams: ["a/1"] });
        const other = await reopen();

        await write(other, { streams: ["a/1", "b/1"], contents: ["one"] });
        await write(store, { streams: ["b/1", "a/1"], contents: ["two"] });
        await write(other, { streams: ["a/1"] });

        for (const each of [store, other]) {
          assert.deepEqual(await read(each, (reads) => reads.streamHeads(["a/1", "b/1"])), [
            { rev: 4, seq: 5 },
            { rev: 2, seq: 3 },
          ]);
          assert.equal((await readAll(each)).length, 6);
        }
        await other.close();
      },
    );

    withStore("the raw rows say the same as the reads", async (store) => {
      await write(store, {
        streams: Array.from({ length: 300 }, (_, index) => (index < 280 ? "a/1" : "b/1")),
        contents: ["one", "two"],
      });
      await write(store, { streams: ["c/1"], data: ["\ufffd"], type: "other.thing" });
      const raw = await store.raw();

      assert.deepEqual(await raw.problems(), []);
      assert.equal(await raw.entryCount(), 301);
      const streams = await raw.streams(null, 10);
      assert.deepEqual(
        streams.map(({ name, rev, seq }) => [name, rev, seq]),
        [
          ["a/1", 280, 279],
          ["b/1", 20, 299],
          ["c/1", 1, 300],
        ],
      );
      assert.deepEqual(
        (await raw.streams(streams[0]!.id as number, 1)).map(({ name }) => name),
        ["b/1"],
      );
      const types = await raw.types();
      assert.deepEqual(
        types.map(({ name }) => name),
        ["test.happened", "other.thing"],
      );
      const stored = await readAll(store);
      let after: number | null = null;
      let count = 0;
      for (;;) {
        const page = await raw.entries(after, 70);
        for (const row of page) {
          const entry = stored[count]!;
          assert.deepEqual([row.seq, row.id, row.entry], [entry.seq, entry.id, entry.entry]);
          assert.equal(
            streams.find(({ id }) => id === row.stream)?.name,
            count < 280 ? "a/1" : count < 300 ? "b/1" : "c/1",
          );
          assert.equal(types.find(({ id }) => id === row.type)?.name, count < 300 ? "test.happened" : "other.thing");
          count++;
        }
        if (page.length < 70) break;
        after = page.at(-1)!.seq as number;
      }
      assert.equal(count, 301);
      assert.deepEqual(
        [stored[1], (await raw.entries(0, 1))[0]].map((row) => row!.seq),
        [1, 1],
      );
      const { rev, before, at, skew } = (await raw.entries(0, 1))[0]!;
      assert.deepEqual({ rev, before, at, skew }, { rev: 2, before: 0, at: 1_001, skew: -1 });
      const [bytes] = await raw.entries(null, 1, true);
      assert.ok(bytes!.entry instanceof Uint8Array);
      const pages = await raw.streamPages(null, 10);
      assert.deepEqual(pages, [
        { stream: streams[0]!.id, page: 0, seqs: Array.from({ length: 256 }, (_, index) => index) },
      ]);
      assert.deepEqual(await raw.streamPages({ stream: pages[0]!.stream as number, page: 0 }, 10), []);
      const contents = await raw.contents(null, 10);
      assert.deepEqual(
        contents.map(({ n, digest, plain, erased }) => [n, digest, plain, erased]),
        [
          [1, contentRow(1, "one").digest, sha256Hex("one"), null],
          [2, contentRow(2, "two").digest, sha256Hex("two"), null],
        ],
      );
      assert.deepEqual(
        (await raw.contents(1, 10)).map(({ n }) => n),
        [2],
      );
      await raw.close();
      await raw.close();
    });

    withStore("raw rows stand still while others write", async (store) => {
      await write(store, { streams: ["a/1"] });
      const raw = await store.raw();

      await write(store, { streams: ["a/1", "b/1"] });

      assert.equal(await raw.entryCount(), 1);
      assert.equal((await raw.entries(null, 10)).length, 1);
      assert.deepEqual(
        (await raw.streams(null, 10)).map(({ rev }) => rev),
        [1],
      );
      await raw.close();
    });

    withStore("housekeeping and health can be asked for at any time", async (store) => {
      await store.maintain();
      await write(store, { streams: ["a/1"] });
      await store.maintain();

      const health = await store.health();
      assert.equal(health.kind, store.kind);
      assert.equal(health.copied, false);
      assert.equal(health.wal?.overCap ?? false, false);
    });

    withStore("closing twice is a no-op, and a closed store refuses", async (store) => {
      await write(store, { streams: ["a/1"] });

      await store.close();
      await store.close();

      for (const call of [() => store.begin(), () => store.snapshot(), () => store.reset(), () => store.raw()]) {
        await assert.rejects(call(), (error) => error instanceof LedgerError && error.code === "CLOSED");
      }
    });
  });
}

/** What one test transaction writes. */
interface Batch {
  /** The stream of each entry. */
  readonly streams: readonly string[];
  readonly type?: string;
  /** Text inside each entry. */
  readonly data?: readonly string[];
  /** Texts of contents with plain hashes. */
  readonly contents?: readonly string[];
  /** Contents as they are. */
  readonly rows?: readonly ContentRow[];
}

/** Appends and commits, again and again until it is known to be committed: the protocol of every writer. */
async function write(store: Store, batch: Batch): Promise<void> {
  for (;;) {
    const transaction = await begin(store);
    const first = await append(transaction, batch);
    try {
      await transaction.commit();
      return;
    } catch {
      await retry(() => store.reset());
      const again = await begin(store);
      const [found] = await again.entriesAt([first.seq]);
      await again.rollback();
      if (found?.id === first.id) return;
    }
  }
}

/** Takes the lock, however often it is refused. */
function begin(store: Store): Promise<StoreTransaction> {
  return retry(() => store.begin());
}

async function retry<T>(act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (cause) {
      if (!(cause instanceof LedgerError) || cause.code !== "STORE_BUSY") throw cause;
    }
  }
}

/** Commits; false when the commit was refused. Lost replies count as committed: the tests that ask do not mind. */
async function commits(transaction: StoreTransaction): Promise<boolean> {
  try {
    await transaction.commit();
    return true;
  } catch (cause) {
    assert.ok(cause instanceof LedgerError);
    return !cause.message.includes("serialised");
  }
}

/** Appends a batch behind what the transaction sees. Returns the first row. */
async function append(transaction: StoreTransaction, batch: Batch): Promise<EntryRow> {
  const head = await transaction.head();
  const names = [...new Set(batch.streams)];
  const heads = new Map((await transaction.streamHeads(names)).map((found, index) => [names[index]!, found]));
  const rows = batch.streams.map((stream, index) => {
    const seq = (head?.seq ?? -1) + 1 + index;
    const before = heads.get(stream) ?? null;
    const rev = (before?.rev ?? 0) + 1;
    heads.set(stream, { rev, seq });
    return entryRow({ seq, stream, rev, before: before?.seq ?? null, type: batch.type, data: batch.data?.[index] });
  });
  const n = (head?.contents ?? 0) + 1;
  await transaction.append(
    rows,
    batch.rows ?? (batch.contents ?? []).map((text, index) => contentRow(n + index, text)),
  );
  return rows[0]!;
}

interface RowFacts {
  readonly seq: number;
  readonly stream: string;
  readonly rev: number;
  readonly before: number | null;
  readonly type?: string | undefined;
  readonly data?: string | undefined;
}

function entryRow({ seq, stream, rev, before, type = "test.happened", data = "" }: RowFacts): EntryRow {
  const entry = JSON.stringify({ data, nonce: Math.random(), rev, seq, stream });
  return { seq, id: entryId(entry), stream, rev, before, type, at: 1_000 + seq, skew: -seq, entry };
}

function contentRow(n: number, text: string): ContentRow {
  const salt = Buffer.alloc(32, n);
  return {
    n,
    digest: sha256Hex(`${text} ${n}`),
    media: "text/plain",
    salt,
    bytes: Buffer.from(text),
    plain: sha256Hex(text),
  };
}

/** Reads at one position. */
async function read<T>(store: Store, act: (reads: StoreReads) => Promise<T>): Promise<T> {
  const snapshot = await store.snapshot();
  try {
    return await act(snapshot);
  } finally {
    await snapshot.release();
  }
}

function readAll(store: Store): Promise<readonly StoredEntry[]> {
  return read(store, (reads) => reads.entries(0, 10_000));
}
