/** The contract of the Store port, as tests that every adapter must pass. Independent of a test runner.
 *  Each promise of `src/journal/store.ts` is one test. */
import assert from "node:assert/strict";
import type { ContentRow, EntryRow } from "../journal/store.js";
import { sha256Hex } from "../kernel/digest.js";
import { LedgerError } from "../kernel/errors.js";
import { describeStoreAssumed } from "./describe-store-assumed.js";
import { describeStoreDocuments } from "./describe-store-documents.js";
import { describeStoreErasure } from "./describe-store-erasure.js";
import { describeStoreReads } from "./describe-store-reads.js";
import { describeStoreRecords } from "./describe-store-records.js";
import { describeStoreTables } from "./describe-store-tables.js";
import type { StoreFixture, WithStore } from "./store-fixture.js";
import { append, begin, commits, contentRow, entryRow, read, readAll, retry, write } from "./store-histories.js";

/** The two functions of a test runner that the contract needs. @public */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => void;
  readonly test: (name: string, body: () => Promise<void>) => void;
}

/** Declares the contract for one adapter. @public */
export function describeStore(name: string, open: () => Promise<StoreFixture>, { describe, test }: TestRunner): void {
  const withStore: WithStore = (title, body) =>
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
    describeStoreReads(withStore);
    describeStoreRecords(withStore);
    describeStoreErasure(withStore);
    describeStoreDocuments(withStore);
    describeStoreTables(withStore);
    describeStoreAssumed(withStore);

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
        const head = await transaction.head();
        await transaction.rollback();
        return head;
      });
      await new Promise((resolve) => setTimeout(resolve, 20));
      order.push("first commits");
      const committed = await commits(store, first);
      const seen = await second;

      assert.deepEqual(order, ["first commits", "second began"]);
      assert.equal(seen?.seq ?? null, committed ? 0 : null);
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
          await assert.rejects(transaction.append(entries, contents, []), { name: "InvariantError" });
          await transaction.rollback();
        }
        assert.equal((await readAll(store)).length, 1);
        await write(store, { streams: ["a/1"], contents: ["two"] });
        assert.equal((await readAll(store)).length, 2);
      },
    );

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

    withStore(
      "of two openings of the journal one writes at a time, and the next one sees what it wrote",
      async (store, { reopen }) => {
        if (reopen === undefined) return;
        const other = await reopen();
        const first = await begin(store);
        await append(first, { streams: ["a/1"] });
        let hasBegun = false;
        const second = begin(other).then((transaction) => {
          hasBegun = true;
          return transaction;
        });
        // Whoever need not wait has begun long before so much was read.
        for (let round = 0; round < 20; round++) assert.equal(await read(other, (reads) => reads.head()), null);
        assert.equal(hasBegun, false);

        await first.commit();
        const transaction = await second;

        assert.equal((await transaction.head())?.seq, 0);
        assert.deepEqual(await transaction.streamHeads(["a/1"]), [{ rev: 1, seq: 0 }]);
        await append(transaction, { streams: ["a/1"] });
        await transaction.commit();
        assert.equal((await readAll(store)).length, 2);
        await other.close();
      },
    );

    withStore("housekeeping and health can be asked for at any time", async (store) => {
      await store.maintain();
      await write(store, { streams: ["a/1"] });
      await store.maintain();

      const health = await store.health();
      assert.equal(health.kind, store.kind);
      assert.equal(health.copied, false);
      assert.equal(health.wal?.overCap ?? false, false);
    });

    withStore("whoever listens hears at most of what was committed, and nothing when it has ended", async (store) => {
      const heard: number[] = [];
      const end = store.listen((position) => heard.push(position));
      const other = store.listen(() => {});
      await write(store, { streams: ["a/1", "b/1"] });
      await store.maintain();
      other();
      end();
      end();
      const before = heard.length;
      await write(store, { streams: ["a/1"] });
      await store.maintain();

      assert.equal(heard.length, before);
      for (const position of heard) assert.equal(position, 1);
    });

    withStore("closing a store ends what is open: nothing of an open transaction stays", async (store, { reopen }) => {
      await write(store, { streams: ["a/1"] });
      const snapshot = await store.snapshot();
      const transaction = await begin(store);
      await append(transaction, { streams: ["a/1"] });
      const waiting = begin(store);
      await Promise.all([store.close(), assert.rejects(waiting, { code: "CLOSED" })]);

      await assert.rejects(transaction.append([], [], []), { code: "CLOSED" });
      await assert.rejects(
        retry(() => transaction.commit()),
        { code: "CLOSED" },
      );
      await assert.rejects(snapshot.head(), { code: "CLOSED" });
      await transaction.rollback();
      await snapshot.release();
      if (reopen === undefined) return;
      const again = await reopen();
      assert.equal((await readAll(again)).length, 1);
      await again.close();
    });

    withStore("a transaction or snapshot that was given back must not be used", async (store) => {
      const snapshot = await store.snapshot();
      await snapshot.release();
      const transaction = await begin(store);
      await transaction.rollback();

      await assert.rejects(snapshot.head(), { name: "InvariantError" });
      await assert.rejects(transaction.head(), { name: "InvariantError" });
      await assert.rejects(transaction.append([], [], []), { name: "InvariantError" });
    });

    withStore("closing twice is a no-op, and a closed store refuses", async (store) => {
      await write(store, { streams: ["a/1"] });

      await store.close();
      await store.close();

      for (const call of [() => store.begin(), () => store.snapshot(), () => store.reset(), () => store.raw()]) {
        await assert.rejects(retry<unknown>(call), (error) => error instanceof LedgerError && error.code === "CLOSED");
      }
    });
  });
}
