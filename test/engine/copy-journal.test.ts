import { describe, expect, test } from "vitest";
import { content, openLedger } from "../../src/index.js";
import type { Ledger, Store, StoredEntry } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { copyJournal } from "../../src/engine/copy-journal.js";
import { faultyStore } from "../../src/testing/index.js";
import type { Fault, FaultPlan } from "../../src/testing/index.js";
import { onCleanup, open, openStore, storeNames } from "./fixture.js";

async function entriesOf(store: Store): Promise<readonly StoredEntry[]> {
  const snapshot = await store.snapshot();
  const entries = await snapshot.entries(0, 10_000);
  await snapshot.release();
  return entries;
}

/** A journal with all that there is: pages of a stream, nodes, contents, an erasure, runs, a consumer, checkpoints. */
async function write(ledger: Ledger): Promise<void> {
  const many = Array.from({ length: 600 }, (_, n) => ({ type: "note.taken", data: { n, text: content(`note ${n}`) } }));
  await ledger.append("note/long", many);
  const secret = await ledger.append("note/secret", [
    { type: "note.taken", data: { text: content("x".repeat(2_000)) } },
  ]);
  const { runId } = await ledger.runs.create({ title: "sum up", input: { of: "March" } });
  await ledger.queue.enqueue({ runId });
  const claimed = await ledger.queue.claimNext({ holder: "me", runId });
  await ledger.runs.start({ runId }, { fence: claimed!.fence });
  await ledger.runs.finish({ runId, status: "completed" }, { fence: claimed!.fence });
  for await (const { data } of ledger.readStream("note/secret"))
    await ledger.erase([(data as { text: { $content: string } }).text.$content], { reason: "asked for" });
  await ledger.checkpoint();
  expect(secret.revision).toBe(1);
}

describe.each(storeNames)("from %s", (from) => {
  describe.each(storeNames)("to %s", (to) => {
    test("a copy has the same entries, contents, erasures and checkpoints, verifies, and goes on", async () => {
      const old = await openStore(from);
      const ledger = await openLedger(old);
      await write(ledger);
      const before = await ledger.status();
      const checkpoint = await ledger.checkpoint();
      await ledger.close();

      const { store, copied } = await retried(async () => {
        const place = await openStore(to);
        return { store: place, copied: await copyJournal(old, place, 5_000) };
      });

      expect(copied).toMatchObject({ entries: before.size, contents: before.contents, erased: 1 });
      expect(await entriesOf(store)).toEqual(await entriesOf(old));
      const copy = await open(store, { expectAtLeast: checkpoint.note });
      expect(await copy.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });
      expect((await copy.runs.list()).runs.map(({ status }) => status)).toEqual(["completed"]);
      await copy.append("note/more", [{ type: "note.taken", data: { text: content("more") } }]);
      expect(await copy.verify({ level: "deep" })).toMatchObject({ verdict: "OK", size: before.size + 1 });
    });
  });
});

test("a copy is refused where a journal is, and where none is to be copied", async () => {
  const [one, other, none] = [createMemoryStore(), createMemoryStore(), createMemoryStore()];
  for (const store of [one, other]) await (await openLedger(store)).close();
  await expect(copyJournal(one, other, 100)).rejects.toMatchObject({ code: "STORE_EXISTS" });
  await expect(copyJournal(none, createMemoryStore(), 100)).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test.each(["lostReply", "conflict"] as const)(
  "a copy whose commit was done is told as done, whatever was said of it: %s",
  async (fault) => {
    const [from, to] = [createMemoryStore(), createMemoryStore()];
    await (await openLedger(from)).close();

    const copied = await copyJournal(from, faultyStore(to, after(fault)), 100);

    expect(copied.entries).toBe((await entriesOf(from)).length);
    expect(await entriesOf(to)).toEqual(await entriesOf(from));
  },
);

test("a copy whose commit was not done is told as failed, and nothing of it is there", async () => {
  const [from, to] = [createMemoryStore(), createMemoryStore()];
  await (await openLedger(from)).close();
  const lost: FaultPlan = ({ step, moment }) => (step === "commit" && moment === "before" ? "lostReply" : null);

  await expect(copyJournal(from, faultyStore(to, lost), 100)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });

  expect(await entriesOf(to)).toEqual([]);
});

function after(fault: Fault): FaultPlan {
  return ({ step, moment }) => (step === "commit" && moment === "after" ? fault : null);
}

test("a journal that somebody writes meanwhile is not copied, and nothing of it stays", async () => {
  const [from, to] = [createMemoryStore(), createMemoryStore()];
  const ledger = await openLedger(from);
  onCleanup(() => ledger.close());
  const meddling: Store = Object.assign(Object.create(to) as Store, {
    begin: async () => {
      const transaction = await to.begin();
      await ledger.append("note/late", [{ type: "note.taken", data: {} }]);
      return transaction;
    },
  });
  await expect(copyJournal(from, meddling, 100)).rejects.toMatchObject({ code: "STORE_BUSY" });
  expect(await entriesOf(to)).toEqual([]);
});

test("an entry that is not as it was written is not copied", async () => {
  const from = createMemoryStore();
  const ledger = await openLedger(from);
  await ledger.append("note/one", [{ type: "note.taken", data: { n: 1 } }]);
  await ledger.close();
  const changed = Object.assign(Object.create(from) as Store, {
    snapshot: async () => {
      const snapshot = await from.snapshot();
      return Object.assign(Object.create(snapshot) as typeof snapshot, {
        entries: async (position: number, limit: number) =>
          (await snapshot.entries(position, limit)).map((each: StoredEntry) => ({
            ...each,
            entry: String(each.entry).replace('"n":1', '"n":2'),
          })),
      });
    },
  });
  const to = createMemoryStore();
  await expect(copyJournal(changed, to, 100)).rejects.toMatchObject({ code: "STORE_DAMAGED" });
  expect(await entriesOf(to)).toEqual([]);
});

/** A store that refuses a commit, or loses the answer to it, is asked again, as a person would: at another place, for the copy may be
 *  there. */
async function retried<T>(act: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++)
    try {
      return await act();
    } catch (error) {
      const { code } = error as { code?: string };
      if ((code !== "STORE_BUSY" && code !== "STORE_UNAVAILABLE") || tries > 50) throw error;
    }
}
