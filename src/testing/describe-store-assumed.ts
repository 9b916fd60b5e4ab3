/** The part of the store contract that is about transactions that were begun on an assumption. A store that has none keeps it. */
import assert from "node:assert/strict";
import type { AssumedTransaction, Store } from "../journal/store.js";
import type { WithStore } from "./store-fixture.js";
import { append, read, write } from "./store-histories.js";

/** A store assumes that nobody else writes when nobody did for a while. */
const writesMax = 16;
const busy = { code: "STORE_BUSY" };

/** Declares the tests about assumed transactions. */
export function describeStoreAssumed(withStore: WithStore): void {
  withStore(
    "a transaction that is assumed goes on from the one before it, also before that is committed",
    async (store, { reopen }) => {
      const first = await assumed(store);
      if (first === null) return;
      const size = ((await first.head())?.seq ?? -1) + 1;
      await append(first, { streams: ["b/1", "a/1"], contents: ["one"] });
      const committing = first.commit();
      const second = store.assume!();
      if (second !== null) {
        assert.equal((await second.head())?.seq, size + 1);
        assert.deepEqual(await second.streamHeads(["b/1"]), [{ rev: 1, seq: size }]);
        await append(second, { streams: ["b/1"], contents: ["two"] });
      }
      await committing;
      await second?.commit();

      const expected = second === null ? [size] : [size, size + 2];
      const check = async (place: Store): Promise<void> => {
        const entries = await read(place, (reads) => reads.streamEntries("b/1", 1, 10));
        assert.deepEqual(
          entries.map(({ seq }) => seq),
          expected,
        );
      };
      await check(store);
      const other = await reopen?.();
      if (other === undefined) return;
      await check(other);
      await other.close();
    },
  );

  withStore(
    "what was assumed and is not so writes nothing, and what is behind it neither",
    async (store, { reopen }) => {
      const other = await reopen?.();
      if (other === undefined) return;
      for (const how of ["commit", "check", "commit behind one another"]) {
        const transaction = await assumed(store);
        if (transaction === null) break;
        await write(other, { streams: ["other/1"] });
        if (how === "check") {
          await assert.rejects(transaction.check(), busy);
          await transaction.rollback();
          continue;
        }
        await append(transaction, { streams: ["lost/1"] });
        const committing = transaction.commit();
        const behind = how === "commit" ? null : store.assume!();
        const refused = assert.rejects(committing, busy);
        if (behind !== null)
          await assert.rejects(async () => {
            await append(behind, { streams: ["lost/2"] });
            await behind.commit();
          }, busy);
        await behind?.rollback();
        await refused;
      }

      assert.deepEqual(await read(store, (reads) => reads.streamHeads(["lost/1", "lost/2"])), [null, null]);
      await write(store, { streams: ["lost/1", "other/1"] });
      await other.close();
    },
  );

  withStore("a stream that is there and was not known is never taken for new", async (store, { reopen }) => {
    await write(store, { streams: ["old/1", "old/1", "old/2"] });
    const other = await reopen?.();
    if (other === undefined) return;
    for (const stream of ["old/1", "old/2"]) {
      const transaction = await assumed(other);
      if (transaction === null) break;
      const [found] = await transaction.streamHeads([stream, "new/1"]);
      const isSo = await transaction.check().then(
        () => true,
        (error: unknown) => {
          assert.equal((error as { code?: unknown }).code, busy.code);
          return false;
        },
      );
      if (isSo) assert.deepEqual(found, stream === "old/1" ? { rev: 2, seq: 1 } : { rev: 1, seq: 2 });
      await transaction.rollback();
      await write(other, { streams: [stream] });
    }
    const [one, two] = await read(other, (reads) => reads.streamHeads(["old/1", "old/2"]));
    assert.ok([2, 3].includes(one!.rev) && [1, 2].includes(two!.rev));
    await other.close();
  });
}

/** A transaction that is assumed; null where the store has none. */
async function assumed(store: Store): Promise<AssumedTransaction | null> {
  for (let writes = 0; writes < writesMax; writes++) {
    const transaction = store.assume?.() ?? null;
    if (transaction !== null || store.assume === undefined) return transaction;
    await write(store, { streams: ["a/1"] });
  }
  return null;
}
