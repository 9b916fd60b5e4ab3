/** Reading captures back: in order, in parts, whatever is missing, on every store and on a ledger that is open read-only. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { content, openLedger } from "../../src/index.js";
import type { Ledger, SessionRecord } from "../../src/index.js";
import { damage, withoutGuards } from "../cli/damage.js";
import { describeStores, freshPlace, open, sharedStoreNames } from "../engine/fixture.js";
import type { SharedStoreName } from "../engine/fixture.js";
import { refused } from "./queue-fixture.js";
import { bindCapture, numberedLines, numbersOf, range, recordsOf } from "./session-fixture.js";

const text = ({ content: held }: SessionRecord): string | undefined => held?.text();

describeStores("the records of a capture", (openOne) => {
  test("come in order with what they hold, whatever that is", async () => {
    const ledger = await openOne();
    await bindCapture(ledger);
    const reportedAt = new Date("2026-03-01T00:00:00Z");
    const { position, at } = await ledger.sessions.appendEvents({
      runId: "r1",
      from: 1,
      records: [
        { type: "stdout", payload: "a line", reportedAt },
        { type: "turn", payload: { b: [1, null], a: "é" } },
        { type: "stdout", payload: Uint8Array.of(0xff, 0), partial: true },
        { type: "page", payload: content("<p>", "text/html") },
        { type: "stdout", payload: "" },
      ],
    });

    const records = await recordsOf(ledger);
    expect(
      records.map(({ type, reportedAt: said, partial, content: held }) => [type, said, partial, held?.media]),
    ).toEqual([
      ["stdout", reportedAt.getTime(), false, "text/plain;charset=utf-8"],
      ["turn", null, false, "application/json"],
      ["stdout", null, true, "application/octet-stream"],
      ["page", null, false, "text/html"],
      ["stdout", null, false, "text/plain;charset=utf-8"],
    ]);
    expect(records[1]!.content!.json()).toEqual({ a: "é", b: [1, null] });
    expect(records[2]!.content!.bytes).toEqual(Uint8Array.of(0xff, 0));
    expect(records.slice(3).map(text)).toEqual(["<p>", ""]);
    for (const [index, record] of records.entries())
      expect(record).toMatchObject({ number: index + 1, position, at, trouble: null });
  });

  test("begin behind a number and end with a limit, wherever entries end", async () => {
    const ledger = await openOne();
    await bindCapture(ledger);
    // Entries of 1, 2, 3 … records.
    for (let from = 1, size = 1; size <= 24; from += size++)
      await ledger.sessions.appendEvents({ runId: "r1", from, records: numberedLines(size, from) });
    const count = 300;

    expect(numbersOf(await recordsOf(ledger))).toEqual(range(1, count));
    await fc.assert(
      fc.asyncProperty(fc.nat(count + 2), fc.integer({ min: 1, max: count + 2 }), async (after, limit) => {
        const records = await recordsOf(ledger, "r1", { after, limit });
        expect(numbersOf(records)).toEqual(range(after + 1, Math.min(after + limit, count)));
        expect(records.map(text)).toEqual(numbersOf(records).map((number) => `line ${number}`));
      }),
      { numRuns: 30 },
    );
  });

  test("are those that were there when the reading began", async () => {
    const ledger = await openOne();
    await bindCapture(ledger);
    await ledger.sessions.appendEvents({ runId: "r1", from: 1, records: numberedLines(3) });

    const seen: number[] = [];
    for await (const { number } of ledger.sessions.events("r1")) {
      if (number === 1) await ledger.sessions.appendEvents({ runId: "r1", from: 4, records: numberedLines(3, 4) });
      seen.push(number);
    }
    expect(seen).toEqual([1, 2, 3]);
    expect(numbersOf(await recordsOf(ledger))).toEqual(range(1, 6));
  });

  test("that were erased come by their number, and the others as they are", async () => {
    const ledger = await openOne();
    await bindCapture(ledger);
    await ledger.sessions.appendEvents({ runId: "r1", from: 1, records: numberedLines(5) });
    const second = (await recordsOf(ledger))[1]!;
    const { position } = await ledger.erase([second.reference!.$content], { reason: "asked for" });

    const records = await recordsOf(ledger);
    expect(records.map(text)).toEqual(["line 1", undefined, "line 3", "line 4", "line 5"]);
    const { content: _, trouble: __, ...facts } = second;
    expect(records[1]).toMatchObject({ ...facts, content: null });
    expect(records[1]!.trouble).toMatchObject({ code: "CONTENT_ERASED", details: { erasedBy: position } });
    const { verdict } = await ledger.verify({ level: "deep" });
    expect(verdict).toBe("OK");
  });

  test("are not there before it is bound, and none is made up", async () => {
    const ledger = await openOne();

    expect(await refused(recordsOf(ledger, "r9"))).toMatchObject({ code: "NOT_FOUND" });
    await bindCapture(ledger, "r9");
    expect(await recordsOf(ledger, "r9")).toEqual([]);
  });

  test("are given up by a signal, before the first and between", async () => {
    const ledger = await openOne();
    await bindCapture(ledger);
    const records = Array.from({ length: 8 }, (_, index) => ({
      type: "big",
      payload: `${index}`.padEnd(600_000, "x"),
    }));
    await ledger.sessions.appendEvents({ runId: "r1", from: 1, records });
    const gone = AbortSignal.abort();
    expect(await refused(recordsOf(ledger, "r1", { signal: gone }))).toMatchObject({ code: "ABORTED" });

    const controller = new AbortController();
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { number } of ledger.sessions.events("r1", "", { signal: controller.signal })) {
        seen.push(number);
        if (number === 2) controller.abort();
      }
    })();
    expect(await refused(reading)).toMatchObject({ code: "ABORTED" });
    expect(seen).toEqual([1, 2]);
  });

  test("are refused to who asks wrongly", async () => {
    const ledger = await openOne();
    await bindCapture(ledger);
    const wrong: readonly (() => unknown)[] = [
      () => ledger.sessions.events("no run"),
      () => ledger.sessions.events("r1", "a\u0000"),
      () => ledger.sessions.events("r1", 1 as never),
      () => ledger.sessions.events("r1", "", { after: -1 }),
      () => ledger.sessions.events("r1", "", { limit: 0 }),
      () => ledger.sessions.events("r1", "", { signal: {} as never }),
      () => ledger.sessions.events("r1", "", { from: 1 } as never),
      () => ledger.sessions.events("r1", "", null as never),
    ];
    for (const ask of wrong) expect(ask).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });
});

describe("the records of a capture in a journal that is opened again", () => {
  async function captured(count: number, name: SharedStoreName = "sqlite"): Promise<string> {
    const path = freshPlace(name);
    const ledger = await openLedger(path);
    await bindCapture(ledger);
    await ledger.sessions.appendEvents({ runId: "r1", from: 1, records: numberedLines(count) });
    await ledger.close();
    return path;
  }

  const readOnly = (path: string): Promise<Ledger> => open(path, { readOnly: true });

  test.each(sharedStoreNames)("are read by who opened it read-only, on %s", async (name) => {
    const ledger = await readOnly(await captured(450, name));
    expect((await recordsOf(ledger)).map(text)).toEqual(range(1, 450).map((number) => `line ${number}`));
  });

  test("I01 of 1,000 records with one damaged are 999, and the number of that one", async () => {
    const path = await captured(1_000);
    damage(path, "UPDATE contents SET bytes = CAST('line 4x0' AS BLOB) WHERE CAST(bytes AS TEXT) = 'line 400'");
    const records = await recordsOf(await readOnly(path));

    expect(numbersOf(records)).toEqual(range(1, 1_000));
    const damaged = records.filter(({ trouble }) => trouble !== null);
    expect(damaged).toMatchObject([{ number: 400, type: "stdout", content: null, trouble: { code: "STORE_DAMAGED" } }]);
    for (const record of records) if (record.number !== 400) expect(text(record)).toBe(`line ${record.number}`);
  });

  test("I01 say of each whose content is no row any more, or none that can be read, what is wrong", async () => {
    const path = await captured(300);
    withoutGuards(path, (database) => {
      database.pragma("ignore_check_constraints = ON");
      const changed = (sql: string): void => expect(database.prepare(sql).run().changes).toBe(1);
      changed("DELETE FROM contents WHERE CAST(bytes AS TEXT) = 'line 7'");
      changed("UPDATE contents SET media = 'text/html' WHERE CAST(bytes AS TEXT) = 'line 100'");
      changed("UPDATE contents SET salt = zeroblob(32) WHERE CAST(bytes AS TEXT) = 'line 101'");
      changed("UPDATE contents SET media = NULL WHERE CAST(bytes AS TEXT) = 'line 250'");
      changed("UPDATE contents SET digest = zeroblob(32) WHERE CAST(bytes AS TEXT) = 'line 300'");
    });
    const records = await recordsOf(await readOnly(path));

    expect(numbersOf(records)).toEqual(range(1, 300));
    expect(records.flatMap(({ number, trouble }) => (trouble === null ? [] : [[number, trouble.code]]))).toEqual([
      [7, "CONTENT_MISSING"],
      [100, "STORE_DAMAGED"],
      [101, "STORE_DAMAGED"],
      [250, "STORE_DAMAGED"],
      [300, "CONTENT_MISSING"],
    ]);
  });

  test("I01 that stood in an entry that is damaged are counted by those around them", async () => {
    const path = await captured(1_000);
    damage(
      path,
      `UPDATE entries SET entry = replace(entry, '"from":401', '"from":399') WHERE entry LIKE '%"from":401%'`,
    );
    const ledger = await readOnly(path);
    const records = await recordsOf(ledger);

    expect(numbersOf(records)).toEqual(range(1, 1_000));
    const lost = records.filter(({ trouble }) => trouble !== null);
    expect(numbersOf(lost)).toEqual(range(401, 600));
    for (const record of lost)
      expect(record).toMatchObject({ type: null, position: null, trouble: { code: "STORE_DAMAGED" } });
    // Wherever one begins.
    for (const after of [0, 399, 400, 450, 599, 600, 999])
      expect(numbersOf(await recordsOf(ledger, "r1", { after, limit: 3 }))).toEqual(
        range(after + 1, Math.min(after + 3, 1_000)),
      );
  });

  test("I01 end with an error when nobody can tell how many there were", async () => {
    const path = await captured(400);
    damage(
      path,
      `UPDATE entries SET entry = replace(entry, '"from":201', '"from":199') WHERE entry LIKE '%"from":201%'`,
    );
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { number } of (await readOnly(path)).sessions.events("r1")) seen.push(number);
    })();

    expect(await refused(reading)).toMatchObject({ code: "STORE_DAMAGED" });
    expect(seen).toEqual(range(1, 200));
  });
});
