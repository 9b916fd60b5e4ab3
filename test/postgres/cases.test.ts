/** Cases from the field that befell stores on PostgreSQL: each holds here, and on SQLite where it can be asked there too. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { content, openLedger } from "../../src/index.js";
import type { ContentReference, Ledger, LedgerError, LedgerEvent, NewEvent, Store } from "../../src/index.js";
import { defineProjection } from "../../projections/define-projection.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { seededBytes } from "../../src/testing/seeded.js";
import { freshPlace, onCleanup, open, openShared, openStore, sharedStoreNames, storeNames } from "../engine/fixture.js";
import { consumerOf, fill, take } from "../engine/following.js";
import { runChild } from "../processes/child.js";
import { calm } from "./calm.js";
import { sql } from "./journal.js";
import { behindProxy } from "./place.js";

const happened: NewEvent = { type: "thing.happened" };

/** Positions of all events, in order, which each one adds to. */
const seen = defineProjection<{ positions: number[] }>()({
  name: "seen",
  version: 1,
  on: {
    "thing.happened": {
      key: () => "all",
      apply: (document, { position }) => ({ positions: [...(document?.positions ?? []), position] }),
    },
  },
});

/** A store whose next commit has sent everything but the COMMIT, and waits for the gate. */
function heldAtCommit(store: Store): { readonly store: Store; readonly reached: Promise<void>; openGate(): void } {
  let openGate = (): void => {};
  let reach = (): void => {};
  const opened = new Promise<void>((resolve) => (openGate = resolve));
  const reached = new Promise<void>((resolve) => (reach = resolve));
  let held = false;
  const front = Object.assign(Object.create(store) as Store, {
    assume: () => null,
    begin: async () => {
      const transaction = await store.begin();
      const commit = transaction.commit.bind(transaction);
      return Object.assign(transaction, {
        commit: async () => {
          if (!held) {
            held = true;
            // A read in between sends what is held back.
            await transaction.entries(0, 1);
            reach();
            await opened;
          }
          await commit();
        },
      });
    },
  });
  return { store: front, reached, openGate };
}

test("B01 nobody reads past a position that is not committed: who comes later waits for it, and so do projections", async () => {
  const place = freshPlace("postgres");
  const plain = await open(place);
  await fill(plain, 1);
  const { store, reached, openGate } = heldAtCommit(await openShared(place));
  onCleanup(() => store.close());
  const slow = await open(store);
  const other = await open(place, { projections: [seen], busyTimeoutMs: 60_000 });
  const reader = await open(place, { readOnly: true, projections: [seen] });
  const subscription = reader.subscribe();
  const first = await take(subscription);
  // From its first use on, the writer keeps the table.
  await other.projection(seen).get("all");

  const second = slow.append("thing/1", [happened]);
  await reached;
  let committed = false;
  const third = other.append("thing/2", [happened]).finally(() => (committed = true));
  await sleep(300);
  const [size, known] = [(await reader.status()).size, await other.projection(seen).get("all")];
  const hasCommitted = committed;
  openGate();

  expect(first.entries.map(({ position }) => position)).toEqual([1]);
  expect([hasCommitted, size, known]).toEqual([false, 2, { positions: [1] }]);
  expect([(await second).position, (await third).position]).toEqual([2, 3]);
  const rest: number[] = [];
  while (rest.length < 2) rest.push(...(await take(subscription)).entries.map(({ position }) => position));
  await subscription.return();
  expect(rest).toEqual([2, 3]);
  expect(await other.projection(seen).get("all")).toEqual({ positions: [1, 2, 3] });
  expect((await other.verify({ level: "deep" })).verdict).toBe("OK");
});

test.each(sharedStoreNames)(
  "B04 of 20 appends at once to one stream each that succeeds is stored, under the revision that it was told, on %s",
  async (name) => {
    const place = freshPlace(name);
    const ledgers: Ledger[] = [];
    for (let n = 0; n < 4; n++) ledgers.push(await open(place, { busyTimeoutMs: 60_000 }));

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        ledgers[n % 4]!.append("thing/1", [{ type: "thing.happened", data: { n } }], { expected: "any" }),
      ),
    );

    const events = await ledgers[0]!.readStream("thing/1").toArray();
    expect(events).toHaveLength(20);
    expect(answers.map(({ revision }) => revision).sort((one, other) => one - other)).toEqual(
      events.map(({ revision }) => revision),
    );
    for (const [n, { revision, position, ids }] of answers.entries())
      expect(events[revision - 1]).toMatchObject({ revision, position, id: ids[0], data: { n } });
  },
);

test("B06 U+0000 in data, in contents and in indexes of documents is stored alike on every store, to the digest", async () => {
  const text = "before\u0000after";
  const left: unknown[] = [];
  for (const name of storeNames) {
    const kept = defineProjection<{ text: string }>()({
      name: "kept",
      version: 1,
      indexes: { byText: ({ text: of }) => [of] },
      on: {
        "note.added": {
          key: ({ data }) => data["key"] as string,
          apply: (_, { data }) => ({ text: data["text"] as string }),
        },
      },
    });
    const options = { clock: manualClock(), origin: "same/bytes", testing: { randomBytes: seededBytes(1) } };
    const ledger = await open(await openStore(name), { ...options, projections: [kept] });
    const data = { key: "one", text, [text]: [text], body: content(text), raw: content(Buffer.from(text)) };
    await ledger.append("note/1", [{ type: "note.added", data }], { meta: { m: text } });

    const [event] = await ledger.readStream("note/1").toArray();
    const { body, raw } = event!.data as unknown as Record<"body" | "raw", ContentReference>;
    expect(event).toMatchObject({ data: { text, [text]: [text] }, meta: { m: text } });
    expect([(await ledger.content(body)).text(), (await ledger.content(raw)).text()]).toEqual([text, text]);
    expect(await ledger.projection(kept).get("one")).toEqual({ text });
    expect(await ledger.projection(kept).find({ index: "byText", prefix: [text] })).toMatchObject({
      documents: [{ key: "one" }],
    });
    expect((await ledger.verify({ level: "deep" })).findings).toEqual([]);
    left.push([event!.id, (await ledger.projection(kept).digest()).digest]);
  }

  expect(left).toEqual(left.map(() => left[0]));
});

test("B06 a lone surrogate is refused by the same error on every store, and nothing of the append is written", async () => {
  const errors: unknown[] = [];
  for (const name of storeNames) {
    const ledger = await open(await openStore(name));
    const before = (await ledger.status()).head;
    for (const data of [{ text: "\ud800" }, { "\udc00": 1 }, { deep: [{ a: "x\ud800y" }] }])
      errors.push(await refusal(ledger.append("note/1", [happened, { type: "thing.happened", data }])));
    errors.push(
      await refusal((async () => ledger.append("note/1", [{ ...happened, data: { body: content("\ud800") } }]))()),
    );
    expect((await ledger.status()).head).toEqual(before);
    expect(await ledger.readStream("note/1").toArray()).toEqual([]);
  }

  expect(errors.slice(0, 3).map((error) => (error as { details: { path: string } }).details.path)).toEqual([
    "events[1].data.text",
    expect.stringContaining("events[1].data"),
    "events[1].data.deep[0].a",
  ]);
  for (let each = 4; each < errors.length; each++) expect(errors[each]).toEqual(errors[each % 4]);
});

test("B06 a projection that throws U+0000 and half a pair says so on every store, and the others go on", async () => {
  const thrown: unknown[] = [];
  for (const name of storeNames) {
    const broken = defineProjection<{ n: number }>()({
      name: "broken",
      version: 1,
      on: {
        "thing.happened": {
          key: () => "all",
          apply: () => {
            throw new Error("no\u0000good \ud800");
          },
        },
      },
    });
    const ledger = await open(await openStore(name), { projections: [broken, seen] });
    await ledger.append("thing/1", [happened]);

    expect(await ledger.projection(seen).get("all")).toEqual({ positions: [1] });
    thrown.push(await refusal(ledger.projection(broken).get("all")));
  }

  expect(thrown[0]).toMatchObject({ code: "PROJECTION_FAILED" });
  expect(thrown).toEqual(thrown.map(() => thrown[0]));
});

test("B08 the time of a database that counts microseconds is hashed and stored in whole ms, and verifies at once", async () => {
  const place = freshPlace("postgres");
  const [before] = (await sql("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms")) as [
    { ms: number },
  ];
  const ledger = await open(place);
  for (let n = 0; n < 20; n++) await ledger.append("thing/1", [happened]);

  expect(await ledger.verify()).toMatchObject({ verdict: "OK", findings: [] });
  const journal = new URL(place).searchParams.get("journal")!;
  const rows = (await sql(`SELECT at::text, entry FROM "${journal}".entries ORDER BY seq`)) as {
    at: string;
    entry: string;
  }[];
  for (const { at, entry } of rows) expect((JSON.parse(entry) as { at: number }).at).toBe(Number(at));
  for (const { at } of rows) {
    expect(at).toMatch(/^\d{13}$/);
    expect(Number(at)).toBeGreaterThanOrEqual(before.ms);
  }
});

test.each(sharedStoreNames)(
  "B13 checkpoints and consumers at 9, 10, 99 and 100 are in the order of numbers, and one at 9 goes on with 10, on %s",
  async (name) => {
    const place = freshPlace(name);
    const ledger = await openLedger(place);
    const notes: number[] = [];
    for (const at of [9, 10, 99, 100]) {
      const { size } = await ledger.status();
      await ledger.append(
        "thing/1",
        Array.from({ length: at - size }, () => happened),
      );
      notes.push((await ledger.checkpoint()).size);
    }
    await ledger.append(
      "thing/1",
      Array.from({ length: 10 }, () => happened),
    );
    for (const at of [9, 10, 99, 100]) {
      const subscription = ledger.subscribe({ consumer: `c${at}`, from: at, batch: 1 });
      await take(subscription);
      const asked = subscription.next();
      await asked;
      await subscription.return();
    }
    await ledger.close();

    const again = await open(place);
    expect(notes).toEqual([9, 10, 99, 100]);
    expect((await again.checkpoints()).map(({ size }) => size)).toEqual([100, 99, 10, 9]);
    expect((await again.checkpoint({ size: 10 })).size).toBe(10);
    for (const at of [9, 10, 99, 100]) {
      const subscription = again.subscribe({ consumer: `c${at}`, batch: 1 });
      expect((await take(subscription)).entries.map(({ position }) => position)).toEqual([at + 1]);
      await subscription.return();
    }
    const store = await openShared(place);
    onCleanup(() => store.close());
    for (const at of [9, 99]) expect(await consumerOf(store, `c${at}`)).toMatchObject({ position: at });
    const backward = await again.read({ from: 101, direction: "backward", limit: 3 }).toArray();
    expect(backward.map(({ position }) => position)).toEqual([101, 100, 99]);
  },
);

test.each(sharedStoreNames)(
  "B15 writers on streams of their own never hear of each other, and a conflict says that this very stream moved, on %s",
  async (name) => {
    const place = freshPlace(name);
    const writers = [await open(place, { busyTimeoutMs: 60_000 }), await open(place, { busyTimeoutMs: 60_000 })];
    const append = (writer: number, stream: string, expected: number | "none"): Promise<unknown> =>
      writers[writer]!.append(stream, [happened], { expected });

    for (let round = 0; round < 40; round++) {
      const expected = round === 0 ? "none" : round;
      await Promise.all([append(0, "thing/0", expected), append(1, "thing/1", expected)]);
    }
    const raced = await Promise.allSettled([append(0, "thing/0", 40), append(1, "thing/0", 40)]);

    const [lost, ...more] = raced.flatMap((each) => (each.status === "rejected" ? [each.reason as LedgerError] : []));
    expect(more).toEqual([]);
    expect(lost).toMatchObject({ code: "REVISION_CONFLICT", details: { expected: 40, actual: 41 } });
    const ends = [await last(writers[0]!, "thing/0"), await last(writers[0]!, "thing/1")];
    expect(ends.map(({ revision }) => revision)).toEqual([41, 40]);
    expect((await writers[1]!.verify()).verdict).toBe("OK");
  },
);

/** What a child was told of each append, in order. */
interface Told {
  readonly stream: string;
  readonly expected: number | "none";
  readonly revision?: number;
  readonly code?: string;
  readonly actual?: number;
}

test.each(sharedStoreNames)(
  "B15 two processes hear nothing of each other on streams of their own, and on one of both what is there, on %s",
  async (name) => {
    const place = freshPlace(name);
    await (await openLedger(place)).close();
    const names = ["thing/0", "thing/1"] as const;

    const children = await Promise.all([
      runChild("expecter.mjs", [place, ...names, "40"]),
      runChild("expecter.mjs", [place, names[1], names[0], "40"]),
    ]);

    expect(children.map(({ code, stderr }) => [code, stderr])).toEqual([0, 0].map((code) => [code, ""]));
    const told = children.map(({ lines }) => lines.map((line) => JSON.parse(line) as Told));
    for (const [n, each] of told.entries())
      expect(each.filter(({ stream }) => stream === names[n]).map(({ revision }) => revision)).toEqual(numbersTo(40));
    const shared = told.flat().filter(({ stream }) => stream === "thing/both");
    const done = shared.flatMap(({ revision }) => (revision === undefined ? [] : [revision]));
    expect(done.sort((one, other) => one - other)).toEqual(numbersTo(80));
    // Both began with a stream that is not there.
    const lost = shared.filter(({ code }) => code !== undefined);
    expect(lost.length).toBeGreaterThan(0);
    for (const { expected, code, actual } of lost) {
      expect(code).toBe("REVISION_CONFLICT");
      expect(actual).toBeGreaterThan(expected === "none" ? 0 : expected);
      expect(actual).toBeLessThanOrEqual(80);
    }
    const ledger = await open(place);
    expect((await last(ledger, "thing/both")).revision).toBe(80);
    expect((await ledger.verify()).verdict).toBe("OK");
  },
);

for (const [expected, told] of [
  [7, { revision: 8 }],
  [6, { code: "REVISION_CONFLICT", details: { expected: 6, actual: 7 } }],
] as const) {
  test(`B15 a writer that waits for no lock, and knows a stream at 6 that another brought to 7, is told what is there when it expects ${expected}`, async () => {
    const { proxy, url, direct } = await behindProxy();
    const ledger = await open(url);
    const other = await open(direct);
    const begun = await calm(ledger, proxy);
    expect(await other.append("calm/1", [happened], { expected: 6 })).toMatchObject({ revision: 7 });

    const answer = await ledger.append("calm/1", [happened], { expected }).catch((error: unknown) => error);

    expect(begun()).toBe(1);
    expect(answer).toMatchObject(told);
    expect((await last(other, "calm/1")).revision).toBe(expected === 7 ? 8 : 7);
    expect(await other.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });
  });
}

const numbersTo = (end: number): number[] => Array.from({ length: end }, (_, n) => n + 1);

async function last(ledger: Ledger, stream: string): Promise<LedgerEvent> {
  return (await ledger.readStream(stream, { direction: "backward", limit: 1 }).toArray())[0]!;
}

/** What a caller is told, without where the store is. */
async function refusal(call: Promise<unknown>): Promise<unknown> {
  const error = await call.then(
    () => expect.fail("it must be refused"),
    (cause: unknown) => cause as LedgerError,
  );
  return { code: error.code, message: error.message, details: error.details };
}
