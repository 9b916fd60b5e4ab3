/** Limits that a server sets, reached: each is told by a code, leaves nothing half written, and is over when it is over. */
import { Client } from "pg";
import { describe, expect, test } from "vitest";
import { accept, defineCommand, defineEvents } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { onCleanup, open } from "../engine/fixture.js";
import { ask, expectSound, journalUrl, refusal, schemaOf, serverUrl, withJournal } from "./place.js";
import { startServer } from "./server.js";

/** The codes of what may be over in a moment. */
const passing = /^STORE_(UNAVAILABLE|BUSY)$/;

async function plain(url: string): Promise<Client> {
  const address = new URL(url);
  address.searchParams.delete("journal");
  const client = new Client({ connectionString: address.href });
  client.on("error", () => {});
  await client.connect();
  onCleanup(() => client.end());
  return client;
}

async function note(ledger: Ledger, n: number): Promise<void> {
  await ledger.append("note/1", [{ type: "note.written", data: { n } }]);
}

const numbers = async (ledger: Ledger): Promise<unknown[]> =>
  (await ledger.readStream("note/1").toArray()).map(({ data }) => data["n"]);

test("a server that takes no more connections is told of, and all goes on when it has some again", async () => {
  const connections = 12;
  const flags = [`max_connections=${connections}`, "superuser_reserved_connections=0", "reserved_connections=0"];
  const server = await startServer({ sync: false, flags: flags.flatMap((flag) => ["-c", flag]) });
  onCleanup(() => server.stop());
  const url = withJournal(server.url, "crowded");
  const ledger = await open(url, { busyTimeoutMs: 300 });
  await note(ledger, 0);
  const others: Client[] = [];
  for (let n = 0; n < connections; n++) {
    const client = new Client({ connectionString: server.url });
    client.on("error", () => {});
    if (await client.connect().then(() => true, () => false)) others.push(client); // prettier-ignore
  }
  expect(others.length).toBeGreaterThan(0);

  const told = await Promise.allSettled(Array.from({ length: 20 }, () => numbers(ledger)));
  const other = await refusal(open(url, { busyTimeoutMs: 300 }));

  for (const each of told) {
    if (each.status === "fulfilled") expect(each.value).toEqual([0]);
    else expect(each.reason).toMatchObject({ code: expect.stringMatching(passing) as string });
  }
  expect(other).toMatchObject({ code: "STORE_UNAVAILABLE" });
  await note(ledger, 1);

  await Promise.all(others.map((client) => client.end()));
  await expect.poll(() => open(url).then(() => true, () => false)).toBe(true); // prettier-ignore
  const all = await Promise.all(Array.from({ length: 20 }, () => numbers(ledger)));
  expect(all.every((each) => each.length === 2)).toBe(true);
  await expectSound(ledger);
});

test("more snapshots at once than a ledger has connections wait for one another", async () => {
  const url = new URL(journalUrl());
  const name = schemaOf(url.href);
  url.searchParams.set("application_name", name);
  const ledger = await open(url.href);
  await note(ledger, 0);
  const readers = Array.from({ length: 30 }, () => ledger.read()[Symbol.asyncIterator]());
  await Promise.all(readers.map((reader) => reader.next()));
  const all = await Promise.all(Array.from({ length: 30 }, () => numbers(ledger)));
  const backends = await ask(serverUrl(), "SELECT 1 FROM pg_stat_activity WHERE application_name = $1", [name]);
  expect(all.every((each) => each.length === 1)).toBe(true);
  // Eight that read and one that writes.
  expect(backends.length).toBeLessThanOrEqual(9);
  for (const reader of readers) await reader.return?.();
  await expectSound(ledger);
});

function withSetting(url: string, setting: string): string {
  const address = new URL(url);
  address.searchParams.set("options", `-c ${setting}`);
  return address.href;
}

// Tight, but not so tight that a busy machine does not open a journal within them.
for (const [setting, busyTimeoutMs] of [
  ["statement_timeout=1500", 60_000],
  ["lock_timeout=60000", 300],
] as const) {
  test(`a lock that is not had within ${setting} is told by a code, and writes nothing`, async () => {
    const url = journalUrl();
    const first = await open(url);
    await note(first, 0);
    await first.close();
    const holder = await plain(url);
    const ledger = await open(withSetting(url, setting), { busyTimeoutMs });
    await holder.query("BEGIN");
    await holder.query(`SELECT * FROM "${schemaOf(url)}".head FOR UPDATE`);

    expect(await refusal(note(ledger, 1))).toMatchObject({ code: expect.stringMatching(passing) as string });

    await holder.query("ROLLBACK");
    await note(ledger, 2);
    expect(await numbers(ledger)).toEqual([0, 2]);
    await expectSound(ledger);
  });
}

test("a busy timeout of 0 does not wait for a lock, and does not wait for ever", async () => {
  const url = journalUrl();
  const ledger = await open(url, { busyTimeoutMs: 0 });
  await note(ledger, 0);
  const holder = await plain(url);
  await holder.query("BEGIN");
  await holder.query(`SELECT * FROM "${schemaOf(url)}".head FOR UPDATE`);

  expect(await refusal(note(ledger, 1))).toMatchObject({ code: "STORE_BUSY" });

  await holder.query("ROLLBACK");
  await note(ledger, 2);
  expect(await numbers(ledger)).toEqual([0, 2]);
});

describe("a batch that is slower than the server allows", () => {
  const events = defineEvents("note", { open: true }, { "note.written": {} });
  /** Holds up its process, and so the batch, in the middle of it. */
  const slow = defineCommand("note.slow", {
    decide: (_found, input: { readonly n: number; readonly ms: number }) => {
      const until = performance.now() + input.ms;
      while (performance.now() < until);
      return accept([{ stream: "note/1", type: "note.written", data: { n: input.n } }]);
    },
  });

  test("is refused by an idle_in_transaction_session_timeout, and never done by halves; the next one goes well", async () => {
    const url = journalUrl();
    const ledger = await open(withSetting(url, "idle_in_transaction_session_timeout=500"), {
      events: [events],
      commands: [slow],
      busyTimeoutMs: 2_000,
    });
    await note(ledger, 0);

    expect(await refusal(ledger.execute(slow({ n: 1, ms: 1_500 })))).toMatchObject({ code: "STORE_UNAVAILABLE" });

    await note(ledger, 2);
    expect(await numbers(ledger)).toEqual([0, 2]);
    await expectSound(ledger);
  });

  test("is ended by a statement_timeout in its writes with a code, and writes nothing", async () => {
    const url = journalUrl();
    const first = await open(url);
    await note(first, 0);
    const ledger = await open(withSetting(url, "statement_timeout=1500"));
    await note(ledger, 1);
    const db = await plain(url);
    const schema = schemaOf(url);
    await db.query(`CREATE FUNCTION "${schema}".sleeps() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_sleep(3); RETURN NULL; END $$`);
    await db.query(`CREATE TRIGGER sleeps AFTER INSERT ON "${schema}".entries
      FOR EACH STATEMENT EXECUTE FUNCTION "${schema}".sleeps()`);

    expect(await refusal(note(ledger, 2))).toMatchObject({ code: "STORE_UNAVAILABLE" });

    await db.query(`DROP TRIGGER sleeps ON "${schema}".entries`);
    await db.query(`DROP FUNCTION "${schema}".sleeps()`);
    await note(ledger, 3);
    expect(await numbers(ledger)).toEqual([0, 1, 3]);
    await expectSound(ledger);
  });
});
