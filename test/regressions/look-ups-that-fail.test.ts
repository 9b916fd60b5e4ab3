/** Whoever looked up what became of a commit, and was cut off while it looked, kept the lock for ever: it asked for a reset, which
 *  waited for its own transaction. A connection can be lost at any statement, also at the one that asks about the last loss. */
import { expect, test } from "vitest";
import { LedgerError, openLedger } from "../../src/index.js";
import type { Store, StoreTransaction } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { onCleanup } from "../engine/fixture.js";

const lost = (): LedgerError => new LedgerError("STORE_UNAVAILABLE", "the connection must be there, found it lost");

test("a look-up that is cut off lets go of the lock and asks again", async () => {
  const inner = createMemoryStore();
  const fails = { commit: false, entriesAt: false };
  const begin = async (): Promise<StoreTransaction> => {
    const transaction = await inner.begin();
    return new Proxy(transaction, {
      get(target, name) {
        const member = Reflect.get(target, name, target) as unknown;
        if (typeof member !== "function") return member;
        if (name === "commit" && fails.commit)
          return async () => {
            fails.commit = false;
            fails.entriesAt = true;
            await target.commit();
            throw lost();
          };
        if (name === "entriesAt" && fails.entriesAt)
          return async () => {
            fails.entriesAt = false;
            throw lost();
          };
        return member.bind(target) as unknown;
      },
    });
  };
  const store: Store = new Proxy(inner, {
    get(target, name) {
      if (name === "begin") return begin;
      const member = Reflect.get(target, name, target) as unknown;
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
  const ledger = await openLedger(store);
  onCleanup(() => ledger.close());
  fails.commit = true;

  const { position } = await ledger.append("note/1", [{ type: "note.written", data: { n: 1 } }]);

  expect(fails).toEqual({ commit: false, entriesAt: false });
  const events = await ledger.readStream("note/1").toArray();
  expect(events.map((event) => event.position)).toEqual([position]);
});
