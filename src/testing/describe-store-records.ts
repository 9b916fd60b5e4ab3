/** The part of the store contract that is about what stands beside entries and contents: the nodes of the tree, stored
 *  checkpoints and consumers. */
import assert from "node:assert/strict";
import { merkleRoot } from "../journal/merkle.js";
import type { ConsumerRow, StoreReads, TreeNode } from "../journal/store.js";
import { sha256Hex } from "../kernel/digest.js";
import type { WithStore } from "./store-fixture.js";
import { append, begin, entryRow, operate, read, write } from "./store-histories.js";

/** Declares the tests about nodes, checkpoints and consumers. */
export function describeStoreRecords(withStore: WithStore): void {
  withStore("ids are read from a position on, without their entries", async (store) => {
    await write(store, { streams: Array<string>(10).fill("a/1") });
    const snapshot = await store.snapshot();
    const ids = (await snapshot.entries(0, 10)).map(({ id }) => id);
    const transaction = await begin(store);
    await append(transaction, { streams: ["a/1"] });

    assert.deepEqual(await snapshot.ids(0, 3), ids.slice(0, 3));
    assert.deepEqual(await snapshot.ids(8, 10), ids.slice(8));
    assert.deepEqual([await snapshot.ids(10, 10), await snapshot.ids(3, 0)], [[], []]);
    assert.equal((await transaction.ids(9, 10)).length, 2);
    await transaction.rollback();
    await snapshot.release();
  });

  withStore("nodes come with the entries that complete them, in any steps", async (store, { reopen }) => {
    const fill = (count: number): Promise<void> => write(store, { streams: Array<string>(count).fill("a/1") });
    await fill(255);
    assert.deepEqual(await read(store, (reads) => reads.nodes(1, 0, 10)), []);

    await fill(1);
    const before = await store.snapshot();
    await fill(600);
    await fill(10);

    const check = async (reads: StoreReads): Promise<void> => {
      const expected = await Promise.all([0, 256, 512].map(async (from) => merkleRoot(await reads.ids(from, 256))));
      assert.deepEqual(await reads.nodes(1, 0, 10), expected);
      assert.deepEqual(await reads.nodes(1, 1, 1), expected.slice(1, 2));
      assert.deepEqual([await reads.nodes(1, 3, 10), await reads.nodes(2, 0, 10)], [[], []]);
    };
    await read(store, check);
    assert.equal((await before.nodes(1, 0, 10)).length, 1);
    await before.release();
    if (reopen === undefined) return;
    const other = await reopen();
    await read(other, check);
    await other.close();
  });

  withStore("nodes that were rolled back never were", async (store) => {
    await write(store, { streams: Array<string>(300).fill("a/1") });
    const transaction = await begin(store);
    await append(transaction, { streams: Array<string>(300).fill("a/1") });
    assert.equal((await transaction.nodes(1, 0, 10)).length, 2);

    await transaction.rollback();

    assert.equal((await read(store, (reads) => reads.nodes(1, 0, 10))).length, 1);
    await write(store, { streams: Array<string>(300).fill("b/1") });
    await read(store, async (reads) => {
      assert.equal((await reads.nodes(1, 0, 10))[1], merkleRoot(await reads.ids(256, 256)));
    });
  });

  withStore("nodes that are missing, early, doubled or out of order are a bug of the caller", async (store) => {
    await write(store, { streams: Array<string>(256).fill("a/1") });
    const rows = Array.from({ length: 512 }, (_, index) =>
      entryRow({ seq: 256 + index, stream: "a/1", rev: 257 + index, before: 255 + index }),
    );
    const node = (level: number, n: number): TreeNode => ({ level, n, hash: sha256Hex(`${level} ${n}`) });
    const broken: readonly (readonly [count: number, nodes: readonly TreeNode[]])[] = [
      [255, [node(1, 1)]],
      [256, []],
      [256, [node(1, 0)]],
      [256, [node(1, 2)]],
      [256, [node(2, 1)]],
      [256, [node(1, 1), node(1, 1)]],
      [256, [node(1, 1), node(2, 0)]],
      [512, [node(1, 2), node(1, 1)]],
      [512, [node(1, 1)]],
      [0, [node(1, 1)]],
    ];

    for (const [count, nodes] of broken) {
      const transaction = await begin(store);
      await assert.rejects(transaction.append(rows.slice(0, count), [], nodes), { name: "InvariantError" });
      await transaction.rollback();
    }

    await read(store, async (reads) => {
      assert.equal((await reads.head())?.seq, 255);
      assert.equal((await reads.nodes(1, 0, 10)).length, 1);
    });
  });

  withStore("checkpoints are read largest first, and one of the same size is replaced", async (store, { reopen }) => {
    await write(store, { streams: Array<string>(10).fill("a/1") });
    for (const size of [4, 10, 1])
      await operate(store, (transaction) => transaction.putCheckpoint({ size, note: `note of ${size}` }));

    await operate(store, (transaction) => transaction.putCheckpoint({ size: 4, note: "signed\n\n— é" }));

    const all = [
      { size: 10, note: "note of 10" },
      { size: 4, note: "signed\n\n— é" },
      { size: 1, note: "note of 1" },
    ];
    const check = async (reads: StoreReads): Promise<void> => {
      assert.deepEqual(await reads.checkpoints(null, 100), all);
      assert.deepEqual(await reads.checkpoints(null, 2), all.slice(0, 2));
      assert.deepEqual(await reads.checkpoints(9, 100), all.slice(1));
      assert.deepEqual(await reads.checkpoints(4, 1), all.slice(1, 2));
      assert.deepEqual(await reads.checkpoints(0, 100), []);
    };
    await read(store, check);
    if (reopen === undefined) return;
    const other = await reopen();
    await read(other, check);
    await operate(other, (transaction) => transaction.putCheckpoint({ size: 4, note: "other" }));
    assert.deepEqual(await read(store, (reads) => reads.checkpoints(4, 1)), [{ size: 4, note: "other" }]);
    await other.close();
  });

  withStore("a checkpoint covers what is there, at least one entry", async (store) => {
    await write(store, { streams: ["a/1"] });
    const transaction = await begin(store);

    for (const size of [2, 0, -1])
      await assert.rejects(transaction.putCheckpoint({ size, note: "" }), { name: "InvariantError" });
    await append(transaction, { streams: ["a/1"] });
    await transaction.putCheckpoint({ size: 2, note: "of both" });

    assert.deepEqual(await transaction.checkpoints(null, 10), [{ size: 2, note: "of both" }]);
    await transaction.rollback();
    assert.deepEqual(await read(store, (reads) => reads.checkpoints(null, 10)), []);
  });

  const owned: ConsumerRow = {
    name: "mail",
    position: 1,
    id: sha256Hex("an id"),
    incarnation: 2,
    generation: 7,
    claim: { holder: "host é", generation: 7, tokenHash: sha256Hex("token"), acquiredAt: 1_000, expiresAt: 31_000 },
  };
  const free: ConsumerRow = {
    ...owned,
    name: "free",
    position: -1,
    id: null,
    incarnation: 1,
    generation: 0,
    claim: null,
  };

  withStore(
    "a consumer comes back as it was put, is replaced by its name, and can be forgotten",
    async (store, { reopen }) => {
      assert.deepEqual(await read(store, (reads) => reads.consumers()), []);
      assert.equal(await read(store, (reads) => reads.consumer("mail")), null);

      await operate(store, async (transaction) => {
        await transaction.putConsumer(owned);
        await transaction.putConsumer(free);
      });

      assert.deepEqual(await read(store, (reads) => reads.consumers()), [free, owned]);
      assert.deepEqual(await read(store, (reads) => reads.consumer("mail")), owned);
      assert.equal(await read(store, (reads) => reads.consumer("mai")), null);
      const moved = { ...owned, position: 2, claim: null };
      await operate(store, async (transaction) => {
        await transaction.putConsumer(moved);
        await transaction.deleteConsumer("free");
        await transaction.deleteConsumer("nobody");
        assert.deepEqual(await transaction.consumers(), [moved]);
      });
      assert.deepEqual(await read(store, (reads) => reads.consumers()), [moved]);
      if (reopen === undefined) return;
      const other = await reopen();
      assert.deepEqual(await read(other, (reads) => reads.consumers()), [moved]);
      await operate(other, (transaction) => transaction.deleteConsumer("mail"));
      assert.deepEqual(await read(store, (reads) => reads.consumers()), []);
      await other.close();
    },
  );

  withStore("consumers come in the order of the bytes of their names", async (store) => {
    // As UTF-16 units the last two would change places.
    const names = ["A", "a", "a/", "aa", "é", "\ufffd", "😀"];

    await operate(store, async (transaction) => {
      for (const name of [...names].reverse()) await transaction.putConsumer({ ...free, name });
    });

    assert.deepEqual(
      (await read(store, (reads) => reads.consumers())).map(({ name }) => name),
      names,
    );
  });

  withStore("what is operational belongs to its transaction, and a snapshot of it does not move", async (store) => {
    await write(store, { streams: Array<string>(4).fill("a/1") });
    await operate(store, async (transaction) => {
      await transaction.putConsumer(owned);
      await transaction.putCheckpoint({ size: 1, note: "one" });
    });
    const before = await store.snapshot();

    const transaction = await begin(store);
    await transaction.putConsumer({ ...owned, position: 3 });
    await transaction.putConsumer(free);
    await transaction.putCheckpoint({ size: 1, note: "another" });
    assert.equal((await transaction.consumer("mail"))?.position, 3);
    assert.deepEqual(await read(store, (reads) => reads.consumers()), [owned]);
    await transaction.rollback();
    assert.deepEqual(await read(store, (reads) => reads.consumers()), [owned]);
    await operate(store, async (again) => {
      await again.deleteConsumer("mail");
      await again.putCheckpoint({ size: 3, note: "three" });
    });

    assert.deepEqual(await before.consumers(), [owned]);
    assert.deepEqual(await before.checkpoints(null, 10), [{ size: 1, note: "one" }]);
    await before.release();
    assert.deepEqual(await read(store, (reads) => reads.consumer("mail")), null);
    assert.equal((await read(store, (reads) => reads.checkpoints(null, 10))).length, 2);
  });

  withStore("a transaction that was given back keeps nothing more", async (store) => {
    await write(store, { streams: ["a/1"], contents: ["one"] });
    const transaction = await begin(store);
    await transaction.rollback();

    for (const call of [
      () => transaction.erase([1], 0),
      () => transaction.putCheckpoint({ size: 1, note: "" }),
      () => transaction.putConsumer(free),
      () => transaction.deleteConsumer("free"),
      () => transaction.ids(0, 1),
      () => transaction.nodes(1, 0, 1),
      () => transaction.checkpoints(null, 1),
      () => transaction.consumers(),
      () => transaction.consumer("free"),
    ])
      await assert.rejects((): Promise<unknown> => call(), { name: "InvariantError" });
  });

  withStore("raw rows of nodes and checkpoints come in the order of their keys, in pages", async (store) => {
    await write(store, { streams: Array<string>(800).fill("a/1") });
    await operate(store, async (transaction) => {
      for (const size of [9, 5, 700]) await transaction.putCheckpoint({ size, note: `note of ${size}` });
    });
    const raw = await store.raw();
    await write(store, { streams: Array<string>(300).fill("a/1") });

    const hashes = await read(store, (reads) => reads.nodes(1, 0, 3));
    const nodes = hashes.map((hash, n) => ({ level: 1, n, hash }));
    assert.deepEqual(await raw.nodes(null, 10), nodes);
    assert.deepEqual(await raw.nodes(null, 2), nodes.slice(0, 2));
    assert.deepEqual(await raw.nodes({ level: 1, n: 0 }, 1), nodes.slice(1, 2));
    assert.deepEqual(await raw.nodes({ level: 1, n: 2 }, 10), []);
    const checkpoints = [5, 9, 700].map((size) => ({ size, note: `note of ${size}` }));
    assert.deepEqual(await raw.checkpoints(null, 10), checkpoints);
    assert.deepEqual(await raw.checkpoints(5, 1), checkpoints.slice(1, 2));
    assert.deepEqual(await raw.checkpoints(700, 10), []);
    await raw.close();
  });
}
