/** Several processes that make one journal, and rebuild one projection: nothing is locked but by transactions, and what a
 *  process leaves behind when it dies is nothing. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { openLedger, openRawReader } from "../../src/index.js";
import { openPostgresStore } from "../../src/postgres.js";
import { onCleanup } from "../engine/fixture.js";
import { addressOf, dropJournal, freshName, serverUrl, sql } from "./journal.js";
import { Proxy } from "./proxy.js";

const builder = fileURLToPath(new URL("../children/postgres-builder.mjs", import.meta.url));
const made: string[] = [];

afterEach(async () => {
  for (const journal of made.splice(0)) await dropJournal(journal);
});

function fresh(): string {
  const name = freshName();
  made.push(name);
  return name;
}

interface Built {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly found: { readonly origin: string; readonly count: number } | null;
}

/** What makes a journal, and not a table of documents. */
const makes = /CREATE SCHEMA|CREATE FUNCTION|INSERT INTO \S+head/;

function build(name: string, version: number, ...more: string[]): Promise<Built> {
  return buildAt(addressOf(name), version, ...more);
}

async function buildAt(address: string, version: number, ...more: string[]): Promise<Built> {
  const child = spawn(process.execPath, [builder, address, String(version), ...more], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return { code, signal, found: said === "" ? null : (JSON.parse(said) as Built["found"]) };
}

/** Asks over and over for advisory locks of this database, until it is told to stop. */
function watchAdvisoryLocks(): () => Promise<number> {
  let seen = 0;
  const ending = new AbortController();
  const watching = (async () => {
    while (!ending.signal.aborted) {
      const [row] = await sql(
        "SELECT count(*)::int AS count FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
      );
      seen += row!["count"] as number;
      await pause(5);
    }
  })();
  return async () => {
    ending.abort();
    await watching;
    return seen;
  };
}

/** Locks on the tables of a journal that somebody still holds. */
async function locksOn(name: string): Promise<unknown[]> {
  return sql(
    "SELECT l.mode, c.relname FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = $1",
    [name],
  );
}

test("B11 processes that make a journal at once, and rebuild in turn, take no lock that outlives them", async () => {
  const name = fresh();
  const stop = watchAdvisoryLocks();

  const first = await Promise.all([build(name, 1), build(name, 1), build(name, 1)]);
  const rebuilt = [...(await Promise.all([build(name, 2), build(name, 2)])), await build(name, 3)];

  expect(await stop()).toBe(0);
  expect(await locksOn(name)).toEqual([]);
  expect([...first, ...rebuilt].map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(new Set([...first, ...rebuilt].map(({ found }) => found?.origin)).size).toBe(1);
  expect(rebuilt.at(-1)?.found?.count).toBe(120);
  const ledger = await openLedger(addressOf(name), { readOnly: true });
  expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK" });
  await ledger.close();
});

test("B11 a process that dies while it makes a journal leaves nothing, and keeps nobody waiting", async () => {
  const name = fresh();

  const died = await build(name, 1, "SIGKILL");

  expect(died).toMatchObject({ signal: "SIGKILL", found: null });
  // The server notices that the connection has gone.
  await expect
    .poll(() =>
      sql("SELECT 1 FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND query LIKE $1", [`%${name}%`]),
    )
    .toEqual([]);
  expect(await sql("SELECT nspname FROM pg_namespace WHERE nspname = $1", [name])).toEqual([]);
  expect(await build(name, 1)).toMatchObject({ code: 0, found: { count: 20 } });
});

test("B11 a process that stands still while it makes a journal keeps others waiting for as long as the server lets it, and no longer", async () => {
  const name = fresh();
  const address = new URL(addressOf(name));
  address.searchParams.set("options", "-c idle_in_transaction_session_timeout=1500");
  const stopped = spawn(process.execPath, [builder, address.href, "1", "SIGSTOP"], { stdio: "ignore" });
  const ended = once(stopped, "close");
  await expect
    .poll(() =>
      sql("SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction' AND query LIKE $1", [
        `%CREATE SCHEMA "${name}"%`,
      ]),
    )
    .toHaveLength(1);

  expect(await build(name, 1)).toMatchObject({ code: 0, found: { count: 20 } });

  // It finds that it has made nothing, and says so.
  stopped.kill("SIGCONT");
  expect(await ended).toEqual([1, null]);
  expect(await locksOn(name)).toEqual([]);
  expect(await build(name, 1)).toMatchObject({ code: 0, found: { count: 40 } });
});

test("B11 who comes while another makes a journal waits for that one's transaction and nothing else, and makes nothing again", async () => {
  const name = fresh();
  const proxy = await Proxy.start(serverUrl);
  onCleanup(() => proxy.close());
  const heard: string[] = [];
  proxy.hear = (text) => void heard.push(text);
  // The second one has looked, has found nothing, and is about to make it.
  const aboutToMake = proxy.cutWhen({ query: /CREATE SCHEMA/, moment: "before", silent: true });
  const second = buildAt(addressOf(name, proxy.url), 1);
  await Promise.race([aboutToMake, second.then((built) => expect(built).toBe("still making"))]);
  // The first one stands still in the middle of its making, and again when it has made it.
  const stopping = [builder, addressOf(name), "1", "SIGSTOP", "before", "after"];
  const first = spawn(process.execPath, stopping, { stdio: ["ignore", "ignore", "inherit"] });
  onCleanup(() => void first.kill("SIGKILL"));
  const ended = once(first, "close");
  const making = (): Promise<Record<string, unknown>[]> =>
    sql("SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction' AND query LIKE $1", [
      `%CREATE SCHEMA "${name}"%`,
    ]);
  await expect.poll(making).toHaveLength(1);
  const [{ pid }] = (await making()) as [{ pid: number }];

  heard.length = 0;
  proxy.restore();
  await expect
    .poll(() =>
      sql("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND $1 = ANY (pg_blocking_pids(pid))", [
        pid,
      ]),
    )
    .toHaveLength(1);
  const whileWaiting = heard.splice(0);
  first.kill("SIGCONT");

  expect(await second).toMatchObject({ code: 0, found: { count: 20 } });
  expect(whileWaiting.filter((text) => makes.test(text))).toHaveLength(1);
  expect(heard.filter((text) => makes.test(text))).toEqual([]);
  const going = setInterval(() => first.kill("SIGCONT"), 20); // it may come to its second stop only now
  expect(await ended).toEqual([0, null]);
  clearInterval(going);
  expect(await locksOn(name)).toEqual([]);
  expect(await build(name, 1)).toMatchObject({ code: 0, found: { count: 60 } });
});

test("a journal is opened, and verified, while tables of documents come and go", async () => {
  const name = fresh();
  await (await openLedger(addressOf(name))).close();
  const store = await openPostgresStore(addressOf(name));
  const row = { name: "thing", version: 1, status: "following", position: -1, entryId: null, error: null } as const;
  const ending = new AbortController();
  const changing = (async () => {
    for (let n = 0; !ending.signal.aborted; n++) {
      const transaction = await store.begin();
      const id = await transaction.addProjection({
        ...row,
        indexes: Array.from({ length: n % 3 }, (_, i) => `by${i}`),
      });
      if (id > 3) await transaction.dropProjection(id - 3);
      await transaction.commit();
      await pause(20);
    }
  })();

  for (let round = 0; round < 6; round++) {
    await (await openLedger(addressOf(name), { readOnly: true })).close();
    const reader = await openRawReader(addressOf(name));
    expect(await reader.problems()).toEqual([]);
    await reader.close();
  }

  ending.abort();
  await changing;
  await store.close();
});

test("tables of documents that are dropped while somebody verifies stay until that is done", async () => {
  const name = fresh();
  await (await openLedger(addressOf(name))).close();
  const store = await openPostgresStore(addressOf(name));
  const row = { name: "thing", version: 1, status: "following", position: -1, entryId: null, error: null } as const;
  const adding = await store.begin();
  const id = await adding.addProjection({ ...row, indexes: [] });
  await adding.commit();
  const reader = await openRawReader(addressOf(name));
  const dropping = await store.begin();
  await dropping.dropProjection(id);
  await dropping.commit();

  // What a writer does a minute later.
  const drop = `SET lock_timeout = 10; DROP TABLE ${name}.doc_${id}; RESET lock_timeout`;
  await expect(sql(drop)).rejects.toMatchObject({ code: "55P03" });
  expect(await reader.problems()).toEqual([]);
  expect(await reader.documents(id, null, 10)).toEqual([]);
  await reader.close();
  await expect
    .poll(() =>
      sql(drop).then(
        () => "dropped",
        () => "held",
      ),
    )
    .toBe("dropped");
  await store.close();
});
