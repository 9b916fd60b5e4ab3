/** Positions and revisions are one type on every way out, and exact where 32 bits end. */
import { describe, expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { Ledger, LedgerEvent, Store } from "../../src/index.js";
import { encodeEntry, entryId, entryTemplate } from "../../src/journal/entry.js";
import type { EntryRow, StoreSnapshot } from "../../src/journal/store.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { call, jsonLines } from "../cli/command.js";
import { describeStores, editRows, freshPlace, onCleanup, sharedStoreNames } from "./fixture.js";
import type { SharedStoreName } from "./fixture.js";

const far = 2 ** 32;
/** Where reading begins: the second of the far entries. */
const first = { position: far + 5, revision: far + 2 };

/** Reads events in each of the ways that there are. */
async function everyWay(ledger: Ledger, from: number, stream: string, revision: number): Promise<LedgerEvent[][]> {
  const subscribed: LedgerEvent[] = [];
  for await (const { entries, caughtUp } of ledger.subscribe({ from })) {
    subscribed.push(...entries);
    if (caughtUp) break;
  }
  const [forward, backward] = [
    await ledger.readStream(stream, { from: revision }).toArray(),
    await ledger.readStream(stream, { direction: "backward", limit: 3 }).toArray(),
  ];
  return [await ledger.read({ from }).toArray(), forward, backward.reverse(), subscribed];
}

function numbersOf(events: readonly LedgerEvent[]): unknown[] {
  return events.flatMap(({ position, revision, tx, version, at }) => [
    position,
    revision,
    tx.first,
    tx.count,
    version,
    at,
  ]);
}

describeStores("B16 positions and revisions", (openOne) => {
  test("B16 are numbers, and the same ones, via all, via stream, via subscription and in the answer to an append", async () => {
    const ledger = await openOne();
    const answers = [];
    for (let n = 0; n < 3; n++) answers.push(await ledger.append("thing/1", [{ type: "thing.happened", data: { n } }]));

    const [all, ...others] = await everyWay(ledger, 1, "thing/1", 1);
    const { head, size } = await ledger.status();

    for (const events of others) expect(events).toEqual(all);
    expect(new Set(numbersOf(all!).map((value) => typeof value))).toEqual(new Set(["number"]));
    expect(answers.map(({ position, revision }) => [position, revision])).toEqual(
      all!.map(({ position, revision }) => [position, revision]),
    );
    for (const value of [head.position, head.at, size, ...answers.flatMap(({ first: each, count }) => [each, count])])
      expect(typeof value).toBe("number");
    expect(JSON.parse(JSON.stringify(all))).toEqual(all);
  });
});

/** Four entries of one stream behind 2^32, as they would stand in a journal that long. */
function farEntries(prev: string, at: number): EntryRow[] {
  const template = entryTemplate("far/1", "far.reached", 1, {});
  const rows: EntryRow[] = [];
  for (let n = -1; n < 3; n++) {
    const [seq, rev] = [first.position + n, first.revision + n];
    const place = { seq, prev: rows.at(-1)?.id ?? prev, txFirst: first.position - 1, txCount: 4, rev, at };
    const entry = encodeEntry(template, JSON.stringify({ n }), place);
    const before = n === -1 ? null : seq - 1;
    rows.push({ seq, id: entryId(entry), stream: "far/1", rev, before, type: "far.reached", at, skew: 0, entry });
  }
  return rows;
}

/** A journal that goes on behind 2^32. */
async function farJournal(name: SharedStoreName): Promise<string> {
  const path = freshPlace(name);
  const ledger = await openLedger(path);
  const { head } = await ledger.status();
  await ledger.close();
  const [open, close] = name === "sqlite" ? ["x'", "'"] : ["decode('", "', 'hex')"];
  const entries = farEntries(head.id, head.at).map(
    ({ seq, id, rev, before, at, entry }) =>
      `(${seq}, ${open}${id}${close}, 9, ${rev}, ${before ?? "NULL"}, 9, ${at}, 0, '${entry}')`,
  );
  await editRows(
    path,
    `INSERT INTO types VALUES (9, 'far.reached');
     INSERT INTO streams VALUES (9, 'far/1', ${first.revision + 2}, ${first.position + 2});
     INSERT INTO entries VALUES ${entries.join(", ")}`,
  );
  return path;
}

/** A store in memory that answers as if its journal went on behind 2^32. */
async function farMemory(): Promise<Store> {
  const store = createMemoryStore();
  const { head } = await (await openLedger(store)).status();
  const rows = farEntries(head.id, head.at);
  const last = rows.at(-1)!;
  const reads: Partial<StoreSnapshot> = {
    head: async () => ({ seq: last.seq, id: last.id, at: last.at, skew: 0, contents: 0 }),
    streamHeads: async (streams) => streams.map((name) => (name === "far/1" ? { rev: last.rev, seq: last.seq } : null)),
    entries: async (from, limit) => rows.filter((row) => row.seq >= from).slice(0, limit),
    ids: async (from, limit) =>
      rows
        .filter((row) => row.seq >= from)
        .map((row) => row.id)
        .slice(0, limit),
    streamEntries: async (_, from, limit, reverse = false) => {
      const found = rows.filter((row) => (reverse ? row.rev <= from : row.rev >= from));
      return (reverse ? found.reverse() : found).slice(0, limit);
    },
  };
  return Object.assign(Object.create(store) as Store, {
    snapshot: async () => Object.assign(Object.create(await store.snapshot()) as StoreSnapshot, reads),
  });
}

describe("B16 behind 2^32", () => {
  test.each([
    ["sqlite", () => farJournal("sqlite")],
    ["postgres", () => farJournal("postgres")],
    ["memory", farMemory],
  ])("B16 positions and revisions are exact numbers on every way out of %s", async (_, make) => {
    const ledger = await openLedger(await make());
    onCleanup(() => ledger.close());

    const ways = await everyWay(ledger, first.position, "far/1", first.revision);

    for (const events of ways) {
      expect(events.map(({ position, revision }) => [position, revision])).toEqual([
        [4_294_967_301, 4_294_967_298],
        [4_294_967_302, 4_294_967_299],
        [4_294_967_303, 4_294_967_300],
      ]);
      expect(events).toEqual(ways[0]);
      expect(new Set(numbersOf(events).map((value) => typeof value))).toEqual(new Set(["number"]));
    }
    expect((await ledger.status()).head.position).toBe(4_294_967_303);
  });

  test.each(sharedStoreNames)(
    "B16 an append goes on there, and a consumer keeps its place there, on %s",
    async (name) => {
      const path = await farJournal(name);
      const ledger = await openLedger(path);
      const answer = await ledger.append("far/1", [{ type: "far.reached", data: { n: 3 } }], {
        expected: first.revision + 2,
      });
      const subscription = ledger.subscribe({ from: first.position, consumer: "mailer", batch: 3 });
      await subscription.next();
      await subscription.next();
      await subscription.return();
      const { consumers } = await ledger.status();
      await ledger.close();

      expect(answer).toMatchObject({ first: 4_294_967_304, position: 4_294_967_304, revision: 4_294_967_301 });
      expect(consumers).toMatchObject([{ position: 4_294_967_303, lag: 1 }]);
      const again = await openLedger(path);
      onCleanup(() => again.close());
      const { value } = await again.subscribe({ consumer: "mailer" }).next();
      expect(value).toMatchObject({ entries: [{ position: 4_294_967_304, revision: 4_294_967_301 }] });
    },
  );

  test.each(sharedStoreNames)(
    "B16 the JSON of log is exact, and so is what is read from it again, on %s",
    async (name) => {
      const path = await farJournal(name);
      const ledger = await openLedger(path, { readOnly: true });
      const events = await ledger.read({ from: first.position }).toArray();
      await ledger.close();

      const done = await call(["log", "--ledger", path, "--json", `#${first.position}..`]);

      expect(done).toMatchObject({ code: 0, stderr: "" });
      expect(done.stdout).toContain('"position":4294967301,');
      const lines = jsonLines(done.stdout);
      expect(lines.map(({ position, revision, tx }) => ({ position, revision, tx }))).toEqual(
        events.map(({ position, revision, tx }) => ({ position, revision, tx })),
      );
      expect(`${lines.map((line) => JSON.stringify(line)).join("\n")}\n`).toBe(done.stdout);
    },
  );
});
