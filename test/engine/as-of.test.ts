import fc from "fast-check";
import { expect, test } from "vitest";
import { defineProjection, replay } from "../../projections/index.js";
import { LedgerError } from "../../src/index.js";
import type { Ledger, NewEvent } from "../../src/index.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { describeStores, freshPlace, open, runsOn, sharedStoreNames } from "./fixture.js";
import { accounts, append, closed, counts, moved, opened } from "./tables.js";

const runs = process.env["RUNLEDGER_LONG"] === undefined ? 10 : 100;

const names = ["a", "b", "ä", "\u{1f600}"];
const step = fc.oneof(
  fc
    .record({ account: fc.constantFrom(...names), event: fc.constantFrom(opened, closed) })
    .map(({ account, event }) => [account, event(account)] as const),
  fc
    .record({ account: fc.constantFrom(...names), amount: fc.integer({ min: -20, max: 120 }) })
    .map(({ account, amount }) => [account, moved(account, amount)] as const),
);
const histories = fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 8 });

async function write(ledger: Ledger, history: readonly (readonly (readonly [string, NewEvent])[])[]): Promise<void> {
  for (const call of history) {
    const events = call.map(([, event]) => event);
    await ledger.append(`account/${call[0]?.[0]}`, events);
  }
}

async function codeOf(act: Promise<unknown>): Promise<unknown> {
  const refusal: unknown = await act.then(
    () => null,
    (cause: unknown) => cause,
  );
  return refusal instanceof LedgerError ? refusal.code : refusal;
}

describeStores("the ledger as it was", (openOne, openStoreOf, name) => {
  test("at each position is what a replay of the events up to it gives", async () => {
    const [account, count] = [accounts(), counts];
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const ledger = await openOne({ projections: [account, count] });
        await write(ledger, history);
        const events = await ledger.read().toArray();
        for (const { position } of events) {
          const past = await ledger.at(position);
          const { projection } = await replay([account, count], events.slice(0, position + 1));
          expect(await past.projection(account).digest()).toEqual(projection(account).digest());
          expect(await past.projection("count").digest()).toEqual(projection(count).digest());
          expect(await past.projection(account).get("a")).toEqual(projection(account).get("a"));
          const query = { index: "owner", prefix: ["ann"], order: "desc", limit: 2 } as const;
          expect(await past.projection(account).find(query)).toEqual(projection(account).find(query));
          expect(await past.read().toArray()).toEqual(events.slice(0, position + 1));
          expect(await past.read({ direction: "backward", limit: 3 }).toArray()).toEqual(
            events
              .slice(0, position + 1)
              .reverse()
              .slice(0, 3),
          );
        }
        await ledger.close();
      }),
      { numRuns: runsOn(name, runs) },
    );
  });

  test("at the last position is what the ledger itself answers", async () => {
    const account = accounts();
    const ledger = await openOne({ projections: [account] });
    await write(ledger, [
      [
        ["a", opened("a")],
        ["b", opened("b", "bob")],
      ],
      [["a", moved("a", 150)]],
      [["b", closed("b")]],
    ]);
    const past = await ledger.at((await ledger.status()).head.position);

    expect(await past.projection(account).digest()).toEqual(await ledger.projection(account).digest());
    expect(await past.projection(account).find()).toEqual(await ledger.projection(account).find());
    expect(await past.projection(account).find({ index: "rich" })).toEqual(
      await ledger.projection(account).find({ index: "rich" }),
    );
    expect(Object.isFrozen(await past.projection(account).get("a"))).toBe(true);
  });

  test("C07 a zero with a sign reads the same live, rebuilt and as it was, in documents and in the digest", async () => {
    const zeros = defineProjection<{ x: number; list: unknown[] }>()({
      name: "zeros",
      version: 1,
      indexes: { x: ({ x }) => [x] },
      on: {
        "account.moved": {
          key: () => "zero",
          apply: (_, { data }) => ({ x: -0, list: [-0, data["amount"], { signed: Object.is(data["amount"], -0) }] }),
        },
      },
    });
    const store = await openStoreOf();
    const first = await open(store, { projections: [zeros] });
    await append(first, "a", { type: "account.moved", data: { amount: -0, inside: [-0] } });
    const live = await first.projection(zeros).digest();
    const past = await (await first.at(live.position)).projection(zeros).digest();
    const replayed = (await replay([zeros], first.read())).projection(zeros);
    await first.close();

    expect(live).toMatchObject({ documents: 1 });
    expect(past).toEqual(live);
    expect(replayed.digest()).toEqual(live);
    expect(replayed.get("zero")).toStrictEqual({ x: 0, list: [0, 0, { signed: false }] });
    const again = await open(store, { projections: [zeros] });
    expect(await again.projection(zeros).get("zero")).toStrictEqual(replayed.get("zero"));
    expect(await again.projection(zeros).digest()).toEqual(live);
  });

  test("a stream ends where it ended then", async () => {
    const ledger = await openOne();
    for (let n = 1; n <= 20; n++) await append(ledger, n % 3 === 0 ? "b" : "a", moved("a", n));
    const all = await ledger.readStream("account/a").toArray();
    for (const position of [0, 1, 7, 20]) {
      const past = await ledger.at(position);
      const expected = all.filter((event) => event.position <= position);
      expect(await past.readStream("account/a").toArray()).toEqual(expected);
      expect(await past.readStream("account/a", { direction: "backward" }).toArray()).toEqual(expected.toReversed());
      expect(await past.readStream("account/a", { from: 3 }).toArray()).toEqual(expected.slice(2));
      expect(await past.readStream("account/none").toArray()).toEqual([]);
    }
  });

  test("a time means the last event that is not later", async () => {
    const clock = manualClock(1_000);
    const ledger = await openOne({ clock });
    for (const [wait, count] of [
      [10, 2],
      [5, 1],
      [100, 3],
    ] as const) {
      clock.advance(wait);
      await append(ledger, "a", ...Array.from({ length: count }, () => moved("a", 1)));
    }
    const events = await ledger.read().toArray();
    const times = [...new Set(events.map(({ at }) => at))];
    for (const time of times.flatMap((at) => [at, at + 1, at - 1])) {
      const expected = events.findLast(({ at }) => at <= time);
      if (expected === undefined) {
        expect(await codeOf(ledger.at(new Date(time)))).toBe("NOT_FOUND");
        continue;
      }
      const past = await ledger.at(new Date(time));
      expect([past.position, past.id, past.at]).toEqual([expected.position, expected.id, expected.at]);
    }
    expect((await ledger.at(new Date(8.64e15))).position).toBe(events.length - 1);
  });

  test("what comes later is not seen, nor does it disturb what is read", async () => {
    const account = accounts();
    const ledger = await openOne({ projections: [account] });
    await append(ledger, "a", opened("a"));
    const past = await ledger.at(1);
    const [reading] = [past.read()];
    await append(ledger, "a", moved("a", 5), closed("a"));

    expect(await past.projection(account).get("a")).toEqual({ owner: "ann", balance: 0, moves: 0 });
    expect(await reading.toArray()).toHaveLength(2);
    expect(await ledger.projection(account).get("a")).toBeNull();
  });

  test("what does not exist is refused with a code", async () => {
    const account = accounts();
    const ledger = await openOne({ projections: [account] });
    await append(ledger, "a", opened("a"));

    expect(await codeOf(ledger.at(2))).toBe("NOT_FOUND");
    expect(await codeOf(ledger.at(new Date(0)))).toBe("NOT_FOUND");
    await expect(ledger.at(new Date(0))).rejects.toThrow(
      /^at must be not before the first event, \d{4}-\S+Z, found 1970-01-01T00:00:00.000Z$/,
    );
    for (const when of [-1, 0.5, Number.NaN, "1", null, undefined, new Date(Number.NaN), {}])
      expect(await codeOf(ledger.at(when as number))).toBe("INVALID_ARGUMENT");
    const past = await ledger.at(1);
    expect(() => past.projection(accounts())).toThrow(LedgerError);
    expect(() => past.projection("other")).toThrow(LedgerError);
    expect(await codeOf(past.projection(account).find({ index: "none" }))).toBe("INVALID_ARGUMENT");
    expect(await codeOf(past.projection(account).get(""))).toBe("INVALID_ARGUMENT");
    await ledger.close();
    expect(() => past.read()).toThrow(expect.objectContaining({ code: "CLOSED" }) as Error);
    expect(await codeOf(ledger.at(0))).toBe("CLOSED");
  });

  test("a projection that stopped is refused from the event on that stopped it, and not before", async () => {
    const account = accounts({ breaks: 13 });
    const ledger = await openOne({ projections: [account] });
    await append(ledger, "a", opened("a"), moved("a", 1), moved("a", 13), moved("a", 1));
    const broken = (await ledger.read().toArray()).find(({ data }) => data["amount"] === 13);
    const position = broken?.position ?? -1;

    expect(await (await ledger.at(position - 1)).projection(account).get("a")).toMatchObject({ balance: 1 });
    for (const later of [position, position + 1])
      expect(await codeOf((await ledger.at(later)).projection(account).get("a"))).toBe("PROJECTION_FAILED");
  });
});

test.each(sharedStoreNames)(
  "on a ledger that is open read-only everything is read all the same, and nothing is written, on %s",
  async (name) => {
    const account = accounts();
    const path = freshPlace(name);
    const writer = await open(path);
    await append(writer, "a", opened("a"), moved("a", 7));
    await writer.close();
    const reader = await open(path, { readOnly: true, projections: [account] });

    const past = await reader.at((await reader.status()).head.position);
    expect(await past.projection(account).get("a")).toEqual({ owner: "ann", balance: 7, moves: 1 });
    expect(await codeOf(reader.projection(account).get("a"))).toBe("NOT_READY");
  },
);
