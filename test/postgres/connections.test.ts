/** How many connections one ledger holds while everything happens at once: what src/GUIDE.md and decision 0029 count. */
import { Client } from "pg";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { open } from "../engine/fixture.js";
import { onCleanup } from "../cleanups.js";
import { ask, journalUrl, schemaOf, serverUrl } from "./place.js";

/** The watch stands still: nothing is too old to begin on, and no connection was idle for long. */
beforeEach(() => {
  const watch = performance.now();
  vi.spyOn(performance, "now").mockImplementation(() => watch);
});
afterEach(() => void vi.restoreAllMocks());

test("a ledger writes by one connection and asks aside on one, reads by eight, hears by one, and has one for each verify", async () => {
  const url = journalUrl();
  const journal = schemaOf(url);
  const other = await open(url);
  for (const stream of ["old/0", "old/1"]) await other.append(stream, [{ type: "old.written" }]);
  await other.close();
  const ledger = await open(`${url}&application_name=${journal}`);
  const held = async (): Promise<Record<string, number>> => {
    const rows = await ask(
      serverUrl(),
      `SELECT kind, count(*)::int FROM pg_stat_activity, LATERAL (SELECT CASE WHEN query LIKE 'LISTEN%' THEN 'hears'
         WHEN query LIKE '%(SELECT) one%' THEN 'aside' WHEN query LIKE 'LOCK TABLE%' THEN 'verifies' ELSE 'others' END AS kind) k
       WHERE application_name = $1 GROUP BY kind`,
      [journal],
    );
    return Object.fromEntries(rows.map(({ kind, count }) => [kind, count])) as Record<string, number>;
  };
  const appends = (count: number): Promise<unknown> =>
    Promise.all(Array.from({ length: count }, (_, n) => ledger.append(`note/${n}`, [{ type: "note.written" }])));
  const load = (): Promise<unknown> =>
    Promise.all([appends(32), ...Array.from({ length: 32 }, () => ledger.read().toArray())]);

  // It was wrong about one that it took for new, so the next one that it does not know is asked for aside.
  for (const stream of ["old/0", "old/1"]) {
    for (let n = 0; n < 6; n++) await appends(1);
    await ledger.append(stream, [{ type: "old.written" }]);
  }
  const subscription = ledger.subscribe({ from: "head" });
  await subscription.next();
  const waiting = (async () => {
    for await (const _ of subscription);
  })().catch(() => {}); // until the ledger is closed
  await load();
  await expect.poll(held).toEqual({ aside: 1, hears: 1, others: 1 + 8 });

  const blocker = new Client(serverUrl());
  await blocker.connect();
  onCleanup(() => blocker.end());
  await blocker.query("BEGIN");
  await blocker.query(`LOCK TABLE "${journal}".checkpoints`);
  const verifying = Promise.all([ledger.verify(), ledger.verify()]);
  await expect.poll(held).toMatchObject({ verifies: 2 });
  await load();
  expect(await held()).toEqual({ aside: 1, hears: 1, others: 1 + 8, verifies: 2 });

  await blocker.query("ROLLBACK");
  for (const { verdict } of await verifying) expect(verdict).toBe("OK");
  await expect.poll(held).toEqual({ aside: 1, hears: 1, others: 1 + 8 });
  await ledger.close();
  await waiting;
  await expect.poll(held).toEqual({});
});
