/** Tables of documents that were dropped stand for a while, for those who read them, and go later. */
import pg from "pg";
import { expect, test } from "vitest";
import { openPostgresStore } from "../../src/postgres.js";
import { newRow } from "../../src/testing/store-documents.js";
import { journalUrl, onCleanup, open } from "../engine/fixture.js";
import { ask, schemaOf } from "./place.js";

test("a retired table that somebody reads keeps no other one, and goes when it is read no more", async () => {
  const url = journalUrl();
  await open(url);
  const store = await openPostgresStore(url);
  onCleanup(() => store.close());
  const ids: number[] = [];
  for (const name of ["one", "two", "three"]) {
    const making = await store.begin();
    ids.push(await making.addProjection(newRow(name)));
    await making.commit();
  }
  const dropping = await store.begin();
  for (const id of ids) await dropping.dropProjection(id);
  await dropping.commit();
  const schema = schemaOf(url);
  const due = `UPDATE "${schema}".meta SET value = '0' WHERE starts_with(key, 'retired_')`;
  await ask(url, due);
  const left = (): Promise<unknown[]> =>
    ask(url, `SELECT key FROM "${schema}".meta WHERE starts_with(key, 'retired_')`);
  const reader = new pg.Client(url);
  await reader.connect();
  onCleanup(() => reader.end());
  await reader.query("BEGIN");
  await reader.query(`SELECT * FROM "${schema}".doc_${ids[1]}`);

  await store.maintain();

  expect(await left()).toEqual([{ key: `retired_${ids[1]}` }]);
  await reader.query("COMMIT");
  const next = await openPostgresStore(url);
  onCleanup(() => next.close());
  await (await next.begin()).rollback();
  await next.maintain();
  expect(await left()).toEqual([]);
});
