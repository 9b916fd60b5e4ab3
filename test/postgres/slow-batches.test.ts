/** Batches that take the server long, between others that do not: the journal's time stays that of the server. */
import { expect, test } from "vitest";
import { content } from "../../src/index.js";
import { DatabaseClock } from "../../src/store/postgres/clock.js";
import { open } from "../engine/fixture.js";
import { ask, journalUrl, schemaOf } from "./place.js";

const rounds = 10;
const slowMs = 100;

test("the journal's time does not run ahead of the server's when some batches take long", async () => {
  const url = journalUrl();
  const schema = schemaOf(url);
  const ledger = await open(url);
  await ask(
    url,
    `CREATE FUNCTION "${schema}".slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(${slowMs} / 1000.0); RETURN NEW; END $$`,
  );
  await ask(
    url,
    `CREATE TRIGGER slow BEFORE INSERT ON "${schema}".contents FOR EACH ROW EXECUTE FUNCTION "${schema}".slow()`,
  );
  for (let round = 0; round < rounds; round++) {
    for (let n = 0; n < 4; n++) await ledger.append("note/1", [{ type: "note.written" }]);
    await ledger.append("note/1", [{ type: "note.written", data: { text: content(`note ${round}`) } }]);
  }
  const [row] = await ask(url, `SELECT skew::int FROM "${schema}".entries ORDER BY seq DESC LIMIT 1`);
  expect(row!["skew"]).toBeLessThan((rounds * slowMs) / 2);
});

test("the database's clock is not set back by an answer that took long, and is by one that cannot be that old", () => {
  const clock = new DatabaseClock();
  clock.hear(1_000_000, performance.now());
  const before = clock.now();
  clock.hear(999_600, performance.now() - 500);
  expect(clock.now()).toBeGreaterThanOrEqual(before);
  clock.hear(500_000, performance.now() - 500);
  expect(clock.now()).toBeLessThan(before);
});
