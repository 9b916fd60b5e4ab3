/** The part of the store contract that is about reading: lists, pages, contents, raw rows. */
import assert from "node:assert/strict";
import { entryId } from "../journal/entry.js";
import { factsOf } from "../journal/store.js";
import type { ContentRow, StoredEntry, StoredFacts, StoreReads } from "../journal/store.js";
import { sha256Hex } from "../kernel/digest.js";
import type { WithStore } from "./store-fixture.js";
import { begin, commits, contentRow, entryRow, read, readAll, write } from "./store-histories.js";

/** Declares the tests about reading. */
export function describeStoreReads(withStore: WithStore): void {
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
      const bytes = Uint8Array.of(0, 255, 254, 10);
      const row: ContentRow = { ...contentRow(1, "x"), media: "application/octet-stream", bytes, plain: null };
      const transaction = await begin(store);
      await transaction.append([entryRow({ seq: 0, stream: "a/1", rev: 1, before: null })], [row], []);
      const kept = { ...row, salt: Buffer.from(row.salt), bytes: Buffer.from(bytes) };
      bytes.fill(7);
      if (!(await commits(store, transaction))) await write(store, { streams: ["a/1"], rows: [kept] });

      const [found] = await read(store, (reads) => reads.contents([1]));
      assert.ok(found !== null && found !== undefined && "bytes" in found);
      assert.deepEqual([...found.bytes], [0, 255, 254, 10]);
      assert.deepEqual(Buffer.from(found.salt), kept.salt);
      assert.equal(found.media, "application/octet-stream");
      assert.equal(found.plain, null);
      assert.equal(found.digest, row.digest);
    },
  );

  withStore("the facts of a content are those of the content, and its size, without its bytes", async (store) => {
    await write(store, { streams: ["a/1"], contents: ["", "größe", "gone"] });
    await write(store, { streams: ["a/1"], erase: [3] });

    await read(store, async (reads) => {
      const contents = await reads.contents([2, 9, 3, 1]);
      const facts = contents.map((content) => (content !== null && "bytes" in content ? factsOf(content) : content));
      const [second, , erased, first] = facts;
      assert.ok(second && "size" in second && first && "size" in first);
      assert.deepEqual([second.size, first.size], [7, 0]);
      assert.deepEqual(erased, { n: 3, digest: contentRow(3, "gone").digest, erased: 1 });
      assert.deepEqual((await reads.contentFacts([2, 9, 3, 1])).map(asPlain), facts.map(asPlain));
      assert.deepEqual(await reads.contentFacts([]), []);
      assert.deepEqual((await reads.contentsByPlain([sha256Hex("größe")])).map(asPlain), [asPlain(second)]);
    });
  });

  withStore("of equal contents the first is found; one without a plain hash is not", async (store) => {
    await write(store, { streams: ["a/1"], contents: ["same", "same", "other"] });

    assert.equal((await read(store, (reads) => reads.contentsByPlain([sha256Hex("same")])))[0]?.n, 1);
  });

  withStore("text that shows U+FFFD is handed over as bytes, other text as text", async (store) => {
    await write(store, { streams: ["a/1", "a/1"], data: ["\ufffd", "é\u0000😀"] });

    const [first, second] = await readAll(store);
    assert.ok(first!.entry instanceof Uint8Array);
    assert.equal(entryId(first!.entry), first!.id);
    assert.equal(typeof second!.entry, "string");
    assert.equal(entryId(second!.entry), second!.id);
  });

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
}

/** Salts may come as one kind of bytes or another. */
function asPlain(facts: StoredFacts | null): unknown {
  return facts !== null && "salt" in facts ? { ...facts, salt: [...facts.salt] } : facts;
}
