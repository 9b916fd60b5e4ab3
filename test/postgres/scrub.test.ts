/** The server is made to clean up behind an erasure: beside what goes on, and said to be done when it is. */
import { Client } from "pg";
import { expect, test } from "vitest";
import { content, openLedger } from "../../src/index.js";
import type { ContentReference, Ledger } from "../../src/index.js";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { onCleanup } from "../engine/fixture.js";
import { ownDatabase } from "./journal.js";
import { ask, schemaOf } from "./place.js";

/** A transaction of another program, which goes on. */
async function elsewhere(url: string, statements: readonly string[]): Promise<() => Promise<void>> {
  const plain = new URL(url);
  plain.searchParams.delete("journal");
  const client = new Client({ connectionString: plain.href });
  await client.connect();
  let ended: Promise<void> | null = null;
  const end = (): Promise<void> => (ended ??= client.end());
  onCleanup(end);
  for (const statement of ["BEGIN ISOLATION LEVEL REPEATABLE READ", ...statements]) await client.query(statement);
  return end;
}

async function withSecret(
  url: string,
  busyTimeoutMs = 5_000,
): Promise<{ readonly ledger: Ledger; readonly digest: string }> {
  const ledger = await openLedger(url, { busyTimeoutMs });
  onCleanup(() => ledger.close());
  // Long enough to stand in the table beside.
  const text = Array.from({ length: 4_000 }, (_, n) => (n * 7_919).toString(36)).join("");
  const { position } = await ledger.append("note/1", [{ type: "note.written", data: { text: content(text) } }]);
  const [event] = await ledger.read({ from: position, limit: 1 }).toArray();
  return { ledger, digest: (event!.data["text"] as unknown as ContentReference).$content };
}

const mark = async (url: string): Promise<number> =>
  (await ask(url, `SELECT 1 FROM "${schemaOf(url)}".meta WHERE key = 'scrub'`)).length;

const owed = async (ledger: Ledger): Promise<boolean> => (await ledger.status()).store.scrubOwed;

test("T54 while another program's transaction may see what was erased it is not said to be gone, and is owed until it is", async () => {
  const url = (await ownDatabase())();
  const { ledger, digest } = await withSecret(url);
  const end = await elsewhere(url, ["SELECT 1"]);

  expect((await ledger.erase([digest], { reason: "asked for" })).scrubbed).toBe(false);

  const reader = await openLedger(url, { readOnly: true });
  onCleanup(() => reader.close());
  expect([await owed(ledger), await owed(reader), await mark(url)]).toEqual([true, true, 1]);
  await end();
  await expect
    .poll(async () => {
      await ledger.append("note/1", [{ type: "note.written", data: {} }]);
      return owed(ledger);
    })
    .toBe(false);
  expect([await owed(reader), await mark(url)]).toEqual([false, 0]);
});

test("T54 what is owed when a ledger is closed is made good by whoever opens it next, or by closing", async () => {
  const url = (await ownDatabase())();
  const { ledger, digest } = await withSecret(url);
  const end = await elsewhere(url, ["SELECT 1"]);
  expect((await ledger.erase([digest], { reason: "asked for" })).scrubbed).toBe(false);
  await ledger.close();
  expect(await mark(url)).toBe(1);
  await end();

  const store = await openPostgresStore(url);

  // Who ended may be there for a moment more when it is opened.
  await expect
    .poll(async () => {
      await store.maintain();
      return (await store.health()).scrubOwed;
    })
    .toBe(false);
  await store.close();
  expect(await mark(url)).toBe(0);
});

test("T54 appends go on while the server waits with its cleaning, and closing ends it and leaves no connection", async () => {
  const address = new URL((await ownDatabase())());
  const url = address.href;
  address.searchParams.set("application_name", schemaOf(url));
  const { ledger, digest } = await withSecret(address.href, 8_000);
  const vacuums = (): Promise<unknown[]> =>
    ask(
      url,
      "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND query LIKE 'VACUUM%' AND wait_event_type = 'Lock'",
      [schemaOf(url)],
    );
  const end = await elsewhere(url, [`LOCK TABLE "${schemaOf(url)}".contents IN SHARE UPDATE EXCLUSIVE MODE`]);

  const erasing = ledger.erase([digest], { reason: "asked for" });
  await expect.poll(async () => (await vacuums()).length).toBe(1);
  for (let round = 0; round < 5; round++)
    await ledger.append("note/1", [{ type: "note.written", data: { text: content("y".repeat(2_000 + round)) } }]);

  expect((await vacuums()).length).toBe(1);
  await ledger.close();
  expect((await erasing).scrubbed).toBe(false);
  const left = (): Promise<unknown[]> =>
    ask(url, "SELECT query FROM pg_stat_activity WHERE application_name = $1", [schemaOf(url)]);
  await expect.poll(left).toEqual([]);
  expect(await mark(url)).toBe(1);
  await end();
});
