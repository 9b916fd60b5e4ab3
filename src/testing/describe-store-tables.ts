/** The part of the store contract that is about tables of documents: their rows and ids, the mark, and how they come and go. */
import assert from "node:assert/strict";
import type { FoldedMark, ProjectionRow } from "../journal/documents.js";
import { sha256Hex } from "../kernel/digest.js";
import {
  bytes,
  document,
  drop,
  keysBy,
  keysOf,
  newRow,
  orderedKeys,
  part,
  put,
  tableNamed,
} from "./store-documents.js";
import type { WithStore } from "./store-fixture.js";
import { append, begin, operate, read, write } from "./store-histories.js";

/** Declares the tests about tables of documents. */
export function describeStoreTables(withStore: WithStore): void {
  withStore("documents, mark and entries of one transaction are there together", async (store) => {
    const table = await tableNamed(store, "thing");
    for (const ends of ["rollback", "commit"] as const) {
      const transaction = await begin(store);
      const { seq, id } = await append(transaction, { streams: ["a/1"] });
      await transaction.putDocuments(table, [document("a", [], "{}", seq)]);
      await transaction.putFolded({ position: seq, entryId: id, tables: [table] });
      const done =
        ends === "commit"
          ? await transaction.commit().then(
              () => true,
              () => null,
            )
          : false;
      if (ends === "rollback") await transaction.rollback();

      await read(store, async (reads) => {
        const isThere = (await reads.head()) !== null;
        if (done !== null) assert.equal(isThere, done);
        assert.deepEqual(await reads.documents(table, ["a"]), [isThere ? { key: "a", seq, text: "{}" } : null]);
        assert.deepEqual(await reads.folded(), isThere ? { position: seq, entryId: id, tables: [table] } : null);
      });
    }
  });

  withStore("a snapshot keeps the documents of its moment, those of dropped tables too", async (store) => {
    await write(store, { streams: ["a/1"] });
    const table = await tableNamed(store, "thing", ["by"]);
    const gone = await tableNamed(store, "gone", ["by"]);
    const mark: FoldedMark = { position: 0, entryId: sha256Hex("0"), tables: [table] };
    for (const id of [table, gone])
      await put(store, id, [document("a", [bytes("a")]), document("b", [bytes("b")]), document("c", [null])]);
    await operate(store, (transaction) => transaction.putFolded(mark));
    const [before, asleep] = [await store.snapshot(), await store.snapshot()];
    const rows = await before.projections();

    await put(store, table, [document("a", [bytes("z")], "{}", 5), { key: "b", seq: 5, text: null, indexes: [] }]);
    await put(store, table, [document("d", [bytes("d")])]);
    await operate(store, (transaction) => transaction.putFolded({ ...mark, position: 1, tables: [] }));
    await operate(store, async (transaction) => {
      const row = (await transaction.projections()).find(({ id }) => id === table)!;
      await transaction.putProjection({ ...row, status: "failed", error: "{}" });
    });
    await drop(store, gone);
    await tableNamed(store, "new");

    for (const snapshot of [before, asleep]) {
      for (const id of [table, gone]) {
        assert.deepEqual(keysOf(await snapshot.documentsByKey(id, null, 10)), ["a", "b", "c"]);
        assert.deepEqual(await snapshot.documents(id, ["a"]), [{ key: "a", seq: 1, text: `{"is":"a"}` }]);
        assert.deepEqual(await keysBy(snapshot, id, part(0)), ["a", "b"]);
      }
      assert.deepEqual(await snapshot.projections(), rows);
      assert.deepEqual(await snapshot.folded(), mark);
      await snapshot.release();
    }
    await read(store, async (reads) => {
      assert.deepEqual(await keysBy(reads, table, part(0)), ["d", "a"]);
      await assert.rejects(reads.documents(gone, ["a"]), { name: "InvariantError" });
    });
  });

  withStore("ids of tables are given once, after a drop and a reopening too", async (store, { reopen }) => {
    const ids = [await tableNamed(store, "a"), await tableNamed(store, "b", ["x"])];
    await drop(store, ids[1]!);
    ids.push(await tableNamed(store, "c"));
    for (const id of ids) await drop(store, id);

    const other = reopen === undefined ? store : await reopen();
    if (reopen !== undefined) await store.close();
    ids.push(await tableNamed(other, "b", ["x", "y"]));

    assert.deepEqual(ids, [1, 2, 3, 4]);
    assert.deepEqual(
      (await read(other, (reads) => reads.projections())).map(({ id }) => id),
      [4],
    );
    if (reopen !== undefined) await other.close();
  });

  withStore("a table that was rolled back never was: its id may be that of another one", async (store) => {
    const transaction = await begin(store);
    const id = await transaction.addProjection(newRow("rolled back", ["x", "y"]));
    await transaction.putDocuments(id, [document("a", [bytes("a"), bytes("a")])]);
    assert.deepEqual(await keysBy(transaction, id, part(1)), ["a"]);
    await transaction.rollback();
    await assert.rejects(
      read(store, (reads) => reads.documents(id, ["a"])),
      { name: "InvariantError" },
    );

    const other = await tableNamed(store, "other", ["x"]);

    assert.equal(other, id);
    await put(store, other, [document("b", [bytes("b")])]);
    await read(store, async (reads) => {
      assert.deepEqual(keysOf(await reads.documentsByKey(other, null, 10)), ["b"]);
      assert.deepEqual(await keysBy(reads, other, part(0)), ["b"]);
    });
  });

  withStore("rows of tables come back as they were put, in the order of their ids", async (store, { reopen }) => {
    const ids = [
      await tableNamed(store, "z", ["one", "two"]),
      await tableNamed(store, "a"),
      await tableNamed(store, "m"),
    ];
    const moved: ProjectionRow = {
      ...newRow("a"),
      id: ids[1]!,
      status: "failed",
      position: 12,
      entryId: sha256Hex("entry 12"),
      error: `{"message":"é\\n"}`,
    };

    await operate(store, (transaction) => transaction.putProjection(moved));

    const expected = [{ ...newRow("z", ["one", "two"]), id: ids[0]! }, moved, { ...newRow("m"), id: ids[2]! }];
    assert.deepEqual(await read(store, (reads) => reads.projections()), expected);
    await operate(store, (transaction) => transaction.putProjection({ ...newRow("a"), id: ids[1]! }));
    const other = reopen === undefined ? null : await reopen();
    assert.deepEqual((await read(other ?? store, (reads) => reads.projections()))[1], { ...newRow("a"), id: ids[1]! });
    await other?.close();
  });

  withStore("the mark of what is folded is one, and belongs to its transaction", async (store, { reopen }) => {
    const first: FoldedMark = { position: 3, entryId: sha256Hex("3"), tables: [1, 2, 9] };
    assert.equal(await read(store, (reads) => reads.folded()), null);

    await operate(store, (transaction) => transaction.putFolded(first));
    const transaction = await begin(store);
    await transaction.putFolded({ ...first, position: 4, tables: [] });
    assert.deepEqual(await transaction.folded(), { ...first, position: 4, tables: [] });
    assert.deepEqual(await read(store, (reads) => reads.folded()), first);
    await transaction.rollback();

    const other = reopen === undefined ? null : await reopen();
    assert.deepEqual(await read(other ?? store, (reads) => reads.folded()), first);
    await other?.close();
  });

  withStore("two stores on one journal see each other's tables come and go", async (store, { reopen }) => {
    if (reopen === undefined) return;
    const other = await reopen();
    const table = await tableNamed(store, "thing", ["by"]);
    await put(store, table, [document("a", [bytes("a")])]);
    await put(other, table, [document("b", [bytes("b")]), document("a", [undefined], "{}", 2)]);
    assert.deepEqual(await read(store, (reads) => keysBy(reads, table, part(0))), ["a", "b"]);
    await put(store, table, [document("a", [undefined], "{}", 3)]);

    await drop(other, table);
    const transaction = await begin(store);
    await assert.rejects(transaction.putDocuments(table, [document("a", [undefined])]), { name: "InvariantError" });
    await transaction.rollback();
    await assert.rejects(
      read(store, (reads) => reads.documents(table, ["a"])),
      { name: "InvariantError" },
    );
    const next = await tableNamed(store, "thing", ["by", "more"]);
    await put(other, next, [document("c", [null, bytes("c")])]);

    assert.equal(next, table + 1);
    assert.deepEqual(await read(store, (reads) => keysBy(reads, next, part(1))), ["c"]);
    await other.close();
  });

  withStore("raw rows of tables and documents come as they are stored, in pages", async (store) => {
    const table = await tableNamed(store, "thing", ["one", "two"]);
    const mark: FoldedMark = { position: 2, entryId: sha256Hex("2"), tables: [table] };
    await put(
      store,
      table,
      orderedKeys.map((key) => document(key, [Buffer.from(`1${key}`), null], `{"is":"\ufffd"}`)),
    );
    await operate(store, (transaction) => transaction.putFolded(mark));
    const raw = await store.raw();
    await put(store, table, [document("later", [null, null])]);

    const row = { ...newRow("thing", ["one", "two"]), id: table, indexes: `["one","two"]` };
    assert.deepEqual(await raw.projections(), [row]);
    assert.deepEqual(await raw.folded(), { ...mark, tables: `[${table}]` });
    const all = await raw.documents(table, null, 100);
    assert.deepEqual(
      all.map(({ key }) => key),
      orderedKeys,
    );
    for (const { key, seq, text, indexes } of all) {
      assert.deepEqual([seq, text], [1, `{"is":"\ufffd"}`]);
      assert.deepEqual([Buffer.from(indexes[0] as Uint8Array).toString(), indexes[1]], [`1${String(key)}`, null]);
    }
    for (const [index, key] of orderedKeys.entries()) {
      assert.deepEqual(await raw.documents(table, key, 2), all.slice(index + 1, index + 3));
      assert.deepEqual(await raw.documents(table, Buffer.from(key), 1), all.slice(index + 1, index + 2));
    }
    await raw.close();
  });
}
