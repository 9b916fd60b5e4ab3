/** Time is the database's: a clock of the host is for tests alone, and what is written in between goes on from what the database
 *  said. */
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { systemClock } from "../../src/kernel/clock.js";
import { openPostgresStore } from "../../src/postgres.js";
import { manualClock } from "../../src/testing/manual-clock.js";
import { onCleanup, open } from "../engine/fixture.js";
import { startChild } from "../processes/child.js";
import { sql } from "./journal.js";
import { journalUrl, refusal, schemaOf } from "./place.js";

const hourMs = 3_600_000;

/** Whole ms since the epoch, by the database's clock. */
async function databaseNow(): Promise<number> {
  const [row] = await sql("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now");
  return row!["now"] as number;
}

const schemasOf = (url: string): Promise<unknown[]> =>
  sql("SELECT nspname FROM pg_namespace WHERE nspname = $1", [schemaOf(url)]);

test("a clock that nobody asked for as a test is refused, and nothing is made", async () => {
  const url = journalUrl();

  expect(await refusal(openLedger(url, { clock: systemClock }))).toMatchObject({
    code: "INVALID_ARGUMENT",
    details: { path: "options.clock" },
  });

  expect(await schemasOf(url)).toEqual([]);
  const store = await openPostgresStore(url);
  onCleanup(() => store.close());
  expect(await refusal(openLedger(store, { clock: systemClock }))).toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a test gives one, and its times are written", async () => {
  const clock = manualClock();
  const ledger = await openLedger(journalUrl(), { clock, testing: {} });
  onCleanup(() => ledger.close());

  expect((await ledger.status()).head.at).toBe(clock.now());
});

test("between two answers time goes on from what the database said, and never falls behind it", async () => {
  const url = journalUrl();
  const store = await openPostgresStore(url);
  onCleanup(() => store.close());
  await open(store);
  const [said, before] = [store.clock!.now(), await databaseNow()];
  await expect.poll(databaseNow).toBeGreaterThan(before + 200);
  const after = store.clock!.now();

  // Two clocks of one machine go apart by a few ms in such a time, and by no more.
  expect(after - said).toBeGreaterThan(150);
  const read = await store.snapshot();
  await read.release();
  expect(store.clock!.now()).toBeGreaterThan(before + 150);
});

test("hosts whose clocks are wrong by hours write times of the database, in the order in which they wrote", async () => {
  const url = journalUrl();
  const began = await databaseNow();
  for (const skewMs of [-7 * hourMs, 0, 40 * 24 * hourMs, -hourMs]) {
    const args = [url, `host ${skewMs}`, "3", "thing/1"];
    const { code, stderr } = await startChild("appender.mjs", args, undefined, { skewMs }).finished;
    expect([code, stderr]).toEqual([0, ""]);
  }
  const ended = await databaseNow();

  const ledger = await open(url);
  const times = (await ledger.read().toArray()).map(({ at }) => at);
  expect(times.length).toBe(13);
  expect(times).toEqual([...times].sort((one, other) => one - other));
  expect(times[0]).toBeGreaterThanOrEqual(began);
  // Engine time may run ahead of a clock by what it takes for jitter.
  expect(times.at(-1)).toBeLessThanOrEqual(ended + 1_000);
});
