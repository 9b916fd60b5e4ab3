/** The part of the store contract that is about erasing contents. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { StoreReads } from "../journal/store.js";
import { sha256Hex } from "../kernel/digest.js";
import type { WithStore } from "./store-fixture.js";
import { append, begin, contentRow, read, readAll, write } from "./store-histories.js";

/** Declares the tests about erasing. */
export function describeStoreErasure(withStore: WithStore): void {
  const shown = async (reads: StoreReads, n: number): Promise<string> => {
    const [content] = await reads.contents([n]);
    assert.ok(content !== null && content !== undefined);
    return "bytes" in content ? Buffer.from(content.bytes).toString() : `erased by #${content.erased}`;
  };
  const found = async (reads: StoreReads, text: string): Promise<number | null> =>
    (await reads.contentsByPlain([sha256Hex(text)]))[0]?.n ?? null;

  withStore(
    "an erased content is its number, its digest and the position of the erasing entry, and is not found by hash",
    async (store, { reopen }) => {
      await write(store, { streams: ["a/1"], contents: ["secret", "kept"] });

      await write(store, { streams: ["a/1"], erase: [1] });

      const check = async (reads: StoreReads): Promise<void> => {
        const [erased, kept] = await reads.contents([1, 2]);
        assert.deepEqual(erased, { n: 1, digest: contentRow(1, "secret").digest, erased: 1 });
        assert.ok(kept !== null && kept !== undefined && "bytes" in kept);
        assert.deepEqual([await found(reads, "secret"), await found(reads, "kept")], [null, 2]);
        assert.equal((await reads.head())?.contents, 2);
      };
      await read(store, check);
      const raw = await store.raw();
      const empty = { media: null, salt: null, bytes: null, plain: null };
      assert.deepEqual((await raw.contents(null, 1))[0], {
        n: 1,
        digest: contentRow(1, "secret").digest,
        ...empty,
        erased: 1,
      });
      await raw.close();
      if (reopen === undefined) return;
      const other = await reopen();
      await read(other, check);
      await other.close();
    },
  );

  withStore("an erasure is seen by its transaction at once, and by nobody else before the commit", async (store) => {
    await write(store, { streams: ["a/1"], contents: ["secret"] });
    const transaction = await begin(store);
    const { seq } = await append(transaction, { streams: ["a/1"], contents: ["new"] });

    await transaction.erase([1, 2], seq);

    assert.deepEqual([await shown(transaction, 1), await shown(transaction, 2)], ["erased by #1", "erased by #1"]);
    assert.deepEqual([await found(transaction, "secret"), await found(transaction, "new")], [null, null]);
    await read(store, async (reads) => {
      assert.equal(await shown(reads, 1), "secret");
      assert.equal(await found(reads, "secret"), 1);
    });
    await transaction.rollback();
  });

  withStore("an erasure that was rolled back never was", async (store) => {
    await write(store, { streams: ["a/1"], contents: ["secret", "secret"] });
    const transaction = await begin(store);
    await append(transaction, { streams: ["a/1"], contents: ["secret"] });
    await transaction.erase([1, 3], 1);
    assert.equal(await found(transaction, "secret"), 2);

    await transaction.rollback();

    await read(store, async (reads) => {
      assert.deepEqual([await shown(reads, 1), await shown(reads, 2)], ["secret", "secret"]);
      assert.equal(await found(reads, "secret"), 1);
    });
    await write(store, { streams: ["a/1"], erase: [1] });
    assert.equal(await read(store, (reads) => shown(reads, 1)), "erased by #1");
  });

  withStore("of equal contents the first that is not erased is found", async (store) => {
    await write(store, { streams: ["a/1"], contents: ["same", "same", "same"] });

    for (const [erase, left] of [
      [2, 1],
      [1, 3],
      [3, null],
    ] as const) {
      await write(store, { streams: ["a/1"], erase: [erase] });
      assert.equal(await read(store, (reads) => found(reads, "same")), left);
    }

    await write(store, { streams: ["a/1"], contents: ["same"] });
    assert.equal(await read(store, (reads) => found(reads, "same")), 4);
  });

  withStore(
    "a snapshot that is older than an erasure shows the content or its erasure, nothing else",
    async (store) => {
      await write(store, { streams: ["a/1"], contents: ["secret"] });
      const before = await store.snapshot();

      await write(store, { streams: ["a/1"], erase: [1] });

      assert.ok(["secret", "erased by #1"].includes(await shown(before, 1)));
      assert.equal((await before.head())?.seq, 0);
      await before.release();
      assert.equal(await read(store, (reads) => shown(reads, 1)), "erased by #1");
    },
  );

  withStore(
    "erasing what is not stored, what is erased, or for an entry that is not there is a bug of the caller",
    async (store) => {
      await write(store, { streams: ["a/1"], contents: ["one", "two"] });
      await write(store, { streams: ["a/1"], erase: [1] });

      for (const [numbers, position] of [
        [[1], 1],
        [[3], 1],
        [[0], 1],
        [[2, 2], 1],
        [[2], 2],
        [[2], -1],
      ] as const) {
        const transaction = await begin(store);
        await assert.rejects(transaction.erase(numbers, position), { name: "InvariantError" });
        await transaction.rollback();
      }

      assert.equal(await read(store, (reads) => shown(reads, 2)), "two");
    },
  );

  withStore("scrubbing can be asked for at any time, and is done when nobody reads", async (store) => {
    const scrubbed = async (): Promise<void> => {
      for (let asked = 0; !(await store.scrub()); asked++) assert.ok(asked < 1_000);
    };
    await scrubbed();
    await write(store, { streams: ["a/1"], contents: ["secret"] });
    await write(store, { streams: ["a/1"], erase: [1] });

    await scrubbed();
    await scrubbed();

    assert.equal((await readAll(store)).length, 2);
    await store.close();
    assert.equal(await store.scrub(), false);
  });

  withStore(
    "a scrub that a reader holds back is owed, and made good by the housekeeping when it is gone",
    async (store) => {
      await write(store, { streams: ["a/1"], contents: ["secret"] });
      const reader = await store.snapshot();
      await write(store, { streams: ["a/1"], erase: [1] });

      const scrubbed = await store.scrub();

      // One that refused without having tried owes nothing.
      if (scrubbed) assert.equal((await store.health()).scrubOwed, false);
      await reader.release();
      for (let asked = 0; (await store.health()).scrubOwed; asked++) {
        assert.ok(asked < 1_000);
        await store.maintain();
        await sleep(20);
      }
      for (let asked = 0; !(await store.scrub()); asked++) assert.ok(asked < 100);
    },
  );
}
