/** The part of the store contract that is about documents: their order, their indexes, and who sees them. */
import assert from "node:assert/strict";
import type { StoreReads } from "../journal/store.js";
import { sha256Hex } from "../kernel/digest.js";
import { bytes, document, keysBy, keysOf, newRow, orderedKeys, part, put, tableNamed } from "./store-documents.js";
import type { WithStore } from "./store-fixture.js";
import { begin, operate, read } from "./store-histories.js";

/** Declares the tests about documents. */
export function describeStoreDocuments(withStore: WithStore): void {
  withStore("documents come back as they were written, are replaced and removed by key", async (store, { reopen }) => {
    const table = await tableNamed(store, "thing");
    const long = `{"text":"${"é".repeat(100_000)}"}`;

    await put(store, table, [document("a", [], long, 7), document("b")]);
    await put(store, table, [document("b", [], `{"is":"new"}`, 9), document("c")]);
    await put(store, table, [
      { key: "c", seq: 9, text: null, indexes: [] },
      { key: "never there", seq: 9, text: null, indexes: [] },
    ]);

    const check = async (reads: StoreReads): Promise<void> => {
      assert.deepEqual(await reads.documents(table, ["b", "c", "a", "b"]), [
        { key: "b", seq: 9, text: `{"is":"new"}` },
        null,
        { key: "a", seq: 7, text: long },
        { key: "b", seq: 9, text: `{"is":"new"}` },
      ]);
      assert.deepEqual(keysOf(await reads.documentsByKey(table, null, 10)), ["a", "b"]);
    };
    await read(store, check);
    if (reopen === undefined) return;
    const other = await reopen();
    await read(other, check);
    await other.close();
  });

  withStore("documents come in the order of the UTF-8 bytes of their keys, from both ends", async (store) => {
    const table = await tableNamed(store, "thing");
    await put(
      store,
      table,
      [...orderedKeys].reverse().map((key) => document(key)),
    );
    const backward = [...orderedKeys].reverse();

    await read(store, async (reads) => {
      assert.deepEqual(keysOf(await reads.documentsByKey(table, null, 100)), orderedKeys);
      assert.deepEqual(keysOf(await reads.documentsByKey(table, null, 100, true)), backward);
      for (const [index, key] of orderedKeys.entries()) {
        assert.deepEqual(keysOf(await reads.documentsByKey(table, key, 2)), orderedKeys.slice(index + 1, index + 3));
        const before = backward.slice(backward.length - index, backward.length - index + 2);
        assert.deepEqual(keysOf(await reads.documentsByKey(table, key, 2, true)), before);
      }
      assert.deepEqual(keysOf(await reads.documentsByKey(table, "B", 1)), ["a"]);
      assert.deepEqual(keysOf(await reads.documentsByKey(table, "B", 1, true)), ["A"]);
      assert.deepEqual(await reads.documentsByKey(table, null, 0), []);
    });
  });

  withStore("an index gives ranges of its bytes, forward and backward, with the bytes it found", async (store) => {
    const table = await tableNamed(store, "thing", ["by"]);
    const places = ["", "\x00", "\x00\xff", "a", "a\x00", "ab", "b", "\xff", "\xff\xff"];
    await put(
      store,
      table,
      [...places.entries()].reverse().map(([index, at]) => document(`k${index}`, [bytes(at)])),
    );
    const keys = places.map((_, index) => `k${index}`);

    await read(store, async (reads) => {
      const all = await reads.documentsByIndex(table, part(0));
      assert.deepEqual(keysOf(all), keys);
      assert.deepEqual(
        all.map(({ at }) => Buffer.from(at).toString("latin1")),
        places,
      );
      assert.deepEqual(await keysBy(reads, table, part(0, { reverse: true })), [...keys].reverse());
      for (const [first, from] of places.entries()) {
        for (const [last, to] of places.entries()) {
          const range = part(0, { from: bytes(from), to: bytes(to) });
          const expected = keys.slice(first, Math.max(last, first));
          assert.deepEqual(await keysBy(reads, table, range), expected);
          assert.deepEqual(await keysBy(reads, table, { ...range, limit: 2 }), expected.slice(0, 2));
          const backward = await keysBy(reads, table, { ...range, reverse: true, limit: 2 });
          assert.deepEqual(backward, [...expected].reverse().slice(0, 2));
        }
        assert.deepEqual(await keysBy(reads, table, part(0, { from: bytes(from) })), keys.slice(first));
      }
      assert.deepEqual(await keysBy(reads, table, part(0, { limit: 0 })), []);
    });
  });

  withStore("a document is in the indexes that it says, and stays where nothing is said", async (store) => {
    const table = await tableNamed(store, "thing", ["one", "two"]);
    await put(store, table, [
      document("a", [bytes("1a"), null]),
      document("b", [bytes("2b"), bytes("9b")]),
      document("c", [null, null]),
    ]);

    await put(store, table, [
      document("a", [undefined, bytes("8a")], `{"n":2}`, 2),
      document("b", [undefined, null], `{"n":2}`, 2),
      document("c", [undefined, undefined], `{"n":2}`, 2),
    ]);
    await read(store, async (reads) => {
      assert.deepEqual(await keysBy(reads, table, part(0)), ["a", "b"]);
      assert.deepEqual(await keysBy(reads, table, part(1)), ["a"]);
      const [found] = await reads.documentsByIndex(table, part(0));
      assert.deepEqual([found?.text, found?.seq], [`{"n":2}`, 2]);
    });

    await put(store, table, [
      document("a", [bytes("3a"), undefined]),
      { key: "b", seq: 3, text: null, indexes: [] },
      document("c", [bytes("1c"), bytes("1c")]),
    ]);
    await read(store, async (reads) => {
      assert.deepEqual(await keysBy(reads, table, part(0)), ["c", "a"]);
      assert.deepEqual(await keysBy(reads, table, part(1)), ["c", "a"]);
    });
    await put(store, table, [document("b", [null, bytes("b")])]);
    assert.deepEqual(await read(store, (reads) => keysBy(reads, table, part(0))), ["c", "a"]);
  });

  withStore("what the caller uses again changes nothing that is stored", async (store) => {
    const table = await tableNamed(store, "thing", ["by"]);
    const [indexes, tables] = [["one"], [table]];
    await operate(store, async (transaction) => {
      const at = Buffer.from("a");
      await transaction.putDocuments(table, [document("a", [at]), document("b", [Buffer.from("b")])]);
      at.write("z");
      if ((await transaction.projections()).length === 1) await transaction.addProjection(newRow("other", indexes));
      await transaction.putFolded({ position: 1, entryId: sha256Hex("1"), tables });
    });
    indexes.push("two");
    tables.push(9);

    const found = await read(store, (reads) => reads.documentsByIndex(table, part(0)));
    found[0]!.at.fill(0x7a);

    await read(store, async (reads) => {
      assert.deepEqual(await keysBy(reads, table, part(0)), ["a", "b"]);
      assert.deepEqual((await reads.projections())[1]?.indexes, ["one"]);
      assert.deepEqual((await reads.folded())?.tables, [table]);
    });
  });

  withStore("a transaction sees its own documents, and nobody else does before the commit", async (store) => {
    const table = await tableNamed(store, "thing", ["by"]);
    await put(store, table, [document("a", [bytes("a")]), document("b", [bytes("b")])]);
    const before = await read(store, (reads) => reads.documentsByKey(table, null, 10));
    const transaction = await begin(store);

    await transaction.putDocuments(table, [document("c", [bytes("c")]), document("a", [bytes("x")], "{}", 5)]);
    await transaction.putDocuments(table, [{ key: "b", seq: 5, text: null, indexes: [] }]);
    const other = await transaction.addProjection(newRow("other"));
    await transaction.putDocuments(other, [document("of another")]);

    assert.deepEqual(await keysBy(transaction, table, part(0)), ["c", "a"]);
    assert.deepEqual(keysOf(await transaction.documentsByKey(table, null, 10)), ["a", "c"]);
    assert.deepEqual(await transaction.documents(table, ["a", "b"]), [{ key: "a", seq: 5, text: "{}" }, null]);
    assert.deepEqual(keysOf(await transaction.documentsByKey(other, null, 10)), ["of another"]);
    const check = async (reads: StoreReads): Promise<void> => {
      assert.deepEqual(await reads.documentsByKey(table, null, 10), before);
      assert.deepEqual(await keysBy(reads, table, part(0)), ["a", "b"]);
      assert.equal((await reads.projections()).length, 1);
    };
    await read(store, check);
    await transaction.rollback();
    await read(store, check);
  });

  withStore("a thousand documents are written and read in one call, and none at all", async (store) => {
    const table = await tableNamed(store, "thing", ["by"]);
    const keys = Array.from({ length: 1_000 }, (_, index) => `key ${String(index).padStart(4, "0")}`);
    const writes = keys.map((key, index) => document(key, [index % 2 === 0 ? bytes(key) : null]));

    await put(store, table, []);
    await put(store, table, writes);

    await read(store, async (reads) => {
      assert.deepEqual(
        await reads.documents(table, keys),
        writes.map(({ key, seq, text }) => ({ key, seq, text })),
      );
      assert.deepEqual(await reads.documents(table, []), []);
      assert.deepEqual(keysOf(await reads.documentsByKey(table, null, 10_000)), keys);
      assert.equal((await reads.documentsByIndex(table, part(0))).length, 500);
    });
    const removed = keys.map((key) => ({ key, seq: 2, text: null, indexes: [] }));
    await put(store, table, removed);
    assert.deepEqual(await read(store, (reads) => reads.documentsByKey(table, null, 10)), []);
  });

  withStore("a table that is not there, and a document that is half said, are bugs of the caller", async (store) => {
    const table = await tableNamed(store, "thing", ["one", "two"]);
    await put(store, table, [document("a", [null, bytes("a")])]);
    const row = { ...newRow("thing", ["one", "two"]), id: table };
    const transaction = await begin(store);

    for (const call of [
      () => transaction.documents(table + 1, ["a"]),
      () => transaction.documentsByKey(table + 1, null, 1),
      () => transaction.documentsByIndex(table + 1, part(0)),
      () => transaction.documentsByIndex(table, part(2)),
      () => transaction.putDocuments(table + 1, []),
      () => transaction.putDocuments(table + 1, [document("a")]),
      () => transaction.dropProjection(table + 1),
      () => transaction.putProjection({ ...row, id: table + 1 }),
      () => transaction.putProjection({ ...row, name: "another" }),
      () => transaction.putProjection({ ...row, version: 2 }),
      () => transaction.putProjection({ ...row, indexes: ["one"] }),
      () => transaction.putDocuments(table, [document("new", [null])]),
      () => transaction.putDocuments(table, [document("a", [null, null, null])]),
      () => transaction.putDocuments(table, [document("a")]),
    ])
      await assert.rejects((): Promise<unknown> => call(), { name: "InvariantError" });

    await transaction.rollback();
    // Whether it is new may be asked late, for writes may be held back until they are committed.
    const half = await begin(store);
    const writing = async (): Promise<void> => {
      await half.putDocuments(table, [document("new", [null, undefined])]);
      await half.commit();
    };
    await assert.rejects(writing, { name: "InvariantError" });
    await half.rollback();
    for (const call of [
      () => transaction.projections(),
      () => transaction.folded(),
      () => transaction.documents(table, ["a"]),
      () => transaction.documentsByKey(table, null, 1),
      () => transaction.documentsByIndex(table, part(0)),
      () => transaction.addProjection(newRow("new")),
      () => transaction.putProjection(row),
      () => transaction.dropProjection(table),
      () => transaction.putFolded({ position: 0, entryId: sha256Hex("0"), tables: [] }),
      () => transaction.putDocuments(table, []),
    ])
      await assert.rejects((): Promise<unknown> => call(), { name: "InvariantError" });
    assert.deepEqual(await read(store, (reads) => reads.projections()), [row]);
  });
}
